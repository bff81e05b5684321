"""A Python function as callers see it: parameters, result and their schemas (spec/rpc.md, section 7). Pure.

The schema of the parameters always describes them by name, in their order, however many there are:

    {"type": "object", "properties": {"a": ..., "b": ...}, "required": ["a"], "additionalProperties": false}

A ``framehub.File`` is ``{"type": "string", "format": "binary"}`` in it.
"""

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct

from framehub.errors import ConfigError
from framehub.rpc.binary_coders import BinaryCoder, Tuple
from framehub.rpc.coders import coder
from framehub.rpc.strict_json import as_plain, misfit

Schema: TypeAlias = dict[str, Any]
FileKind: TypeAlias = Literal["", "file", "optional", "files"]
"""No file; one; one or None; a list of all the rest."""

FILE: Final[Schema] = {"type": "string", "format": "binary"}
FILE_SCHEMAS: Final[dict[FileKind, Schema]] = {
    "file": FILE,
    "optional": {"anyOf": [FILE, {"type": "null"}]},
    "files": {"type": "array", "items": FILE},
}
TYPED: Final = ("json", "msgpack", "envelope")
"""Coders that carry many parameters, of any type that JSON or MessagePack has."""

_LISTS: Final = (list, Sequence)
_UNIONS: Final = (Union, types.UnionType)
_BYTES: Final[Schema] = {"type": "string", "contentEncoding": "base64"}
_USE: Final = (
    "give coders=(argument, result), such as ('msgpack', 'msgpack'), ('bytes', 'bytes') or ('arrow', 'arrow')"
)


class Parameter(Struct, frozen=True):
    """One parameter of a function."""

    name: str
    type: Any = Any
    default: Any = UNSET
    file: FileKind = ""


class Signature(Struct, frozen=True):
    """What a function takes and gives, and by which coders."""

    name: str
    doc: str
    inputs: tuple[Parameter, ...]
    output: Any
    """The type of the result, without its files."""
    output_file: FileKind
    is_pair: bool
    """Whether the result is ``tuple[data, files]``."""
    argument: str
    result: str
    parameters: Schema
    result_schema: Schema


def signature(
    function: Callable[..., Any], name: str | None = None, coders: tuple[str, str] | None = None
) -> Signature:
    """Read a function.

    Raises:
        ConfigError: it cannot be called from afar as it is; the text says what to change.
    """
    own = name or getattr(function, "__name__", "")
    if not own:
        raise ConfigError(f"{function!r} has no name of its own: give name=...")
    described = _inspected(own, function)
    inputs = tuple(_parameter(own, each) for each in described.parameters.values())
    output, output_file, is_pair = _output(own, described.return_annotation)
    uses_files = bool(output_file) or any(each.file for each in inputs)
    argument, result = _coders(own, coders, uses_files)
    _check_files(own, inputs)
    written = get_args(output)[0] if is_pair else Any if output_file else output
    return Signature(
        own,
        inspect.getdoc(_innermost(function)) or "",
        inputs,
        written,
        output_file,
        is_pair,
        argument,
        result,
        _parameters_schema(own, inputs, argument),
        _result_schema(own, written, output_file, is_pair, result),
    )


def _innermost(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _inspected(name: str, function: Callable[..., Any]) -> inspect.Signature:
    inner = _innermost(function)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise ConfigError(f"{name} is a generator: a remote function gives one result; return a list")
    try:
        return inspect.signature(function, eval_str=True)
    except (TypeError, ValueError, NameError, AttributeError, SyntaxError) as exc:
        raise ConfigError(f"{name} cannot be read: {exc}") from exc


def _parameter(function: str, found: inspect.Parameter) -> Parameter:
    place = f"{function}: {found.name}"
    if found.kind in (found.VAR_POSITIONAL, found.VAR_KEYWORD):
        raise ConfigError(f"{place} takes any number of arguments: name each one, or take one list or dict")
    if found.kind is found.KEYWORD_ONLY:
        raise ConfigError(f"{place} is keyword-only: take away the * before it; callers may name it anyway")
    type_ = Any if found.annotation is found.empty else found.annotation
    kind = file_kind(place, type_)
    default = UNSET if found.default is found.empty else found.default
    if kind and default is not UNSET and (kind != "optional" or default is not None):
        raise ConfigError(f"{place}: the only default of a File is None, annotated File | None")
    return Parameter(found.name, type_, default, kind)


def _output(function: str, annotation: Any) -> tuple[Any, FileKind, bool]:
    """Type, kind of its files, and whether they stand beside data."""
    output = Any if annotation is inspect.Signature.empty else annotation
    args = get_args(output)
    if get_origin(output) is tuple and len(args) == 2 and not has_file(args[0]) and has_file(args[1]):
        return output, file_kind(f"{function}: its result", args[1]), True
    return output, file_kind(f"{function}: its result", output), False


def _coders(name: str, coders: tuple[str, str] | None, uses_files: bool) -> tuple[str, str]:
    if coders is None:
        return ("envelope", "envelope") if uses_files else ("json", "json")
    if len(coders) != 2 or not all(isinstance(identity, str) for identity in coders):
        raise ConfigError(f"{name}: coders are two identities, such as ('Int', 'Int'), not {coders!r}")
    argument, result = (coder(identity).identity for identity in coders)
    if uses_files and (argument, result) != ("envelope", "envelope"):
        raise ConfigError(f"{name} takes or gives a File: its coders are ('envelope', 'envelope')")
    return argument, result


# --- files -----------------------------------------------------------------------------------------------


def is_file(type_: Any) -> bool:
    """Whether it is ``framehub.File``, known by its name: this package does not import it."""
    where = getattr(type_, "__module__", ""), getattr(type_, "__qualname__", "")
    return isinstance(type_, type) and where == ("framehub.runtime.files", "File")


def has_file(type_: Any) -> bool:
    """Whether a File stands anywhere in an annotation."""
    return is_file(type_) or any(has_file(inner) for inner in get_args(type_))


def file_kind(place: str, type_: Any) -> FileKind:
    """How a File stands in an annotation.

    Raises:
        ConfigError: in a way that has no meaning.
    """
    if not has_file(type_):
        return ""
    origin, args = get_origin(type_), get_args(type_)
    if origin is Annotated:
        return file_kind(place, args[0])
    if is_file(type_):
        return "file"
    if origin in _UNIONS and len(args) == 2 and types.NoneType in args and any(map(is_file, args)):
        return "optional"
    if (origin in _LISTS and is_file(args[0])) or (
        origin is tuple and args[1:] == (...,) and is_file(args[0])
    ):
        return "files"
    raise ConfigError(f"{place}: a File stands alone, as File | None, or as list[File], not in {type_}")


def _check_files(name: str, inputs: Sequence[Parameter]) -> None:
    kinds = [each.file for each in inputs if each.file]
    if "files" in kinds[:-1]:
        raise ConfigError(
            f"{name}: list[File] takes all files that are left: let it be the last File parameter"
        )


# --- schemas -----------------------------------------------------------------------------------------------


def _parameters_schema(name: str, inputs: tuple[Parameter, ...], argument: str) -> Schema:
    plain = [each for each in inputs if not each.file]
    if argument in TYPED:
        schemas, defs = _schemas([(f"{name}: {each.name}", each.type) for each in plain], argument)
    else:
        schemas, defs = _fixed_schemas(name, len(plain), argument), {}
    if argument in TYPED and len(plain) == 1 and takes_null(plain[0].type) and _is_secret(plain[0].default):
        raise ConfigError(f"{name}: {plain[0].name}: its default cannot be written as JSON; use None")
    own = iter(schemas)
    properties = {
        each.name: FILE_SCHEMAS[each.file] if each.file else _with_default(next(own), each.default)
        for each in inputs
    }
    required = [each.name for each in inputs if each.default is UNSET and each.file != "files"]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return schema | {"$defs": defs} if defs else schema


def _fixed_schemas(name: str, count: int, argument: str) -> list[Schema]:
    found = coder(argument)
    if isinstance(found, Tuple) and count == len(found.items):
        return [item.schema for item in found.items]
    if count != 1:
        also = f" or {len(found.items)}" if isinstance(found, Tuple) else ""
        raise ConfigError(f"{name} has {count} parameters; with the coder {argument} it has to have 1{also}")
    return [_schema_of(argument)]


def _schema_of(identity: str) -> Schema:
    found = coder(identity)
    if isinstance(found, BinaryCoder):
        return found.schema
    return _BYTES if identity == "bytes" else {}


def _result_schema(name: str, written: Any, kind: FileKind, is_pair: bool, result: str) -> Schema:
    if kind and not is_pair:
        return FILE_SCHEMAS[kind]
    if result not in TYPED:
        return _schema_of(result)
    (schema,), defs = _schemas([(f"{name}: its result", written)], result)
    if is_pair:
        both = [schema, FILE_SCHEMAS[kind]]
        schema = {"type": "array", "prefixItems": both, "items": False, "minItems": 2, "maxItems": 2}
    return schema | {"$defs": defs} if defs else schema


def _schemas(types_: list[tuple[str, Any]], identity: str) -> tuple[list[Schema], Schema]:
    for place, type_ in types_:
        try:
            found: Any = msgspec.json.schema_components((type_,))
        except (TypeError, ValueError, RecursionError) as exc:
            why = str(exc).rpartition("\n")[2]
            raise ConfigError(f"{place}: {type_!r} cannot be sent as {identity} ({why}); {_USE}") from exc
        if identity != "msgpack" and _has_bytes(found):
            raise ConfigError(f"{place}: bytes cannot be sent as {identity}; {_USE}, or take a framehub.File")
    schemas, defs = msgspec.json.schema_components([t for _, t in types_], ref_template="#/$defs/{name}")
    return list(schemas), defs


def _has_bytes(schema: Any) -> bool:
    if isinstance(schema, dict):
        return schema.get("contentEncoding") == "base64" or any(map(_has_bytes, schema.values()))
    return isinstance(schema, list | tuple) and any(map(_has_bytes, schema))


def _with_default(schema: Schema, default: Any) -> Schema:
    return schema if default is UNSET or _is_secret(default) else schema | {"default": as_plain(default)}


def _is_secret(default: Any) -> bool:
    """Whether there is a default that no schema can show."""
    return default is not UNSET and misfit(default) is not None


def takes_null(type_: Any) -> bool:
    """Whether None is a value of this type."""
    try:
        msgspec.convert(None, type_)
    except (msgspec.ValidationError, TypeError):
        return False
    return True
