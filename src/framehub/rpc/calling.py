"""A remote function as its caller knows it: from what its worker said of it (spec/rpc.md, section 7). Pure.

    square = Calling("square", "json", "json", parameters)
    square.encode((12,), {})          b"12"; a wrong one is refused: "square: x: expected integer, ..."
    square.decode(b"144")             144

Workers that say nothing of their parameters can be called all the same: one argument is sent as it is.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct

from framehub.errors import ConfigError, DecodingError, EncodingError
from framehub.rpc.attaching import Make, Read, as_attached, bytes_of, gathered, handed_out
from framehub.rpc.block import Block
from framehub.rpc.coders import coder, named
from framehub.rpc.schema import Checker
from framehub.rpc.signature import FILE_SCHEMAS, TYPED, FileKind


class _Input(Struct, frozen=True):
    """A parameter, as described."""

    name: str
    check: Checker
    default: Any
    required: bool
    file: FileKind


class Calling:
    """How to call one function. ``parameters`` and ``result_schema`` are those of FUNCTIONS_LIST, or None."""

    def __init__(
        self,
        name: str,
        argument: str,
        result: str,
        parameters: Mapping[str, Any] | None = None,
        result_schema: Mapping[str, Any] | None = None,
        *,
        make_file: Make = as_attached,
        read_file: Read = bytes_of,
    ) -> None:
        self.name = name
        self.argument = argument
        self.result = result
        self._make = make_file
        self._read = read_file
        try:
            self._argument = coder(argument)
            self._result = coder(result)
        except ConfigError as exc:
            raise EncodingError(name, str(exc)) from exc
        self._inputs = _described(parameters, with_files=argument == "envelope")
        self._is_plain = argument in ("json", "msgpack") and bool(self._inputs)
        self._shape = _shape(result_schema) if result == "envelope" else None

    def encode(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
        """The argument on the wire.

        Raises:
            EncodingError: the arguments are not what the function takes, or no bytes can be made of them.
        """
        try:
            return self._argument.encode(self.bind(args, kwargs))
        except EncodingError as exc:
            raise named(exc, self.name) from exc.__cause__

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Arguments as one value, before its coder.

        Raises:
            EncodingError: they are not what the function takes.
        """
        if self._inputs is None:
            return self._bind_blindly(args, kwargs)
        if self._is_plain and len(args) == len(self._inputs) and not kwargs:
            for each, value in zip(self._inputs, args, strict=True):
                if (why := each.check.error(value, each.name)) is not None:
                    raise EncodingError("", why)
            return args[0] if len(args) == 1 else list(args)
        given = _matched(self._inputs, args, kwargs)
        plain = [each for each in self._inputs if not each.file]
        value = self._value(plain, given, by_name=bool(kwargs))
        if self.argument != "envelope":
            return value
        files = [(each.name, each.file, given.get(each.name)) for each in self._inputs if each.file]
        filled = [(name, kind, [] if kind == "files" and v is None else v) for name, kind, v in files]
        return Block(self.name, value, gathered(filled, self._read))

    def decode(self, data: bytes) -> Any:
        """The result, from the wire.

        Raises:
            DecodingError: the bytes are none.
        """
        try:
            value = self._result.decode(data)
            return self._unfolded(value) if isinstance(value, Block) else value
        except DecodingError as exc:
            raise named(exc, self.name) from exc.__cause__

    def _value(self, plain: list[_Input], given: dict[str, Any], by_name: bool) -> Any:
        own = {each.name: given[each.name] for each in plain if each.name in given}
        if self.argument not in TYPED:
            whole = [own.get(each.name, each.default) for each in plain]
            for each, value in zip(plain, whole, strict=True):
                if value is UNSET:
                    raise EncodingError("", f"{each.name} is missing")
            return whole[0] if len(whole) == 1 else tuple(whole)
        if len(plain) > 1:
            return own if by_name else list(own.values())
        for each in plain:  # the one there is, or none
            value = own.get(each.name, each.default)
            return None if value is UNSET else value
        return None

    def _bind_blindly(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if args and kwargs:
            raise EncodingError("", "its parameters are not known here: give all by position, or all by name")
        value = dict(kwargs) or (args[0] if len(args) == 1 else list(args) or None)
        return Block(self.name, value) if self.argument == "envelope" else value

    def _unfolded(self, block: Block) -> Any:
        if self._shape is None:
            by_key = {file.key: self._make(file.data, file.name, file.type) for file in block.files}
            return (block.data, by_key) if by_key else block.data
        kind, is_pair = self._shape
        files = handed_out([("result", kind)] if kind else [], block.files, self._make)
        return (block.data, files[0]) if is_pair else files[0] if kind else block.data


def bind_by_schema(
    parameters: Mapping[str, Any] | None,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    argument: str = "json",
) -> Any:
    """Arguments as one value for the coder ``argument``, by what a worker said of its parameters.

    Raises:
        EncodingError: they are not what the function takes; it names no function.
    """
    return Calling("", argument, "json", parameters).bind(args, kwargs)


def _described(parameters: Mapping[str, Any] | None, *, with_files: bool) -> list[_Input] | None:
    """The parameters a schema describes, or None if it describes none that we understand."""
    if not isinstance(parameters, Mapping) or not isinstance(parameters.get("properties"), Mapping):
        return None
    defs, required = parameters.get("$defs", {}), parameters.get("required", ())
    return [
        _Input(
            name,
            Checker(schema, defs),
            schema.get("default", UNSET) if isinstance(schema, Mapping) else UNSET,
            isinstance(required, list | tuple) and name in required,
            _file_kind(schema) if with_files else "",
        )
        for name, schema in parameters["properties"].items()
    ]


def _file_kind(schema: Any) -> FileKind:
    return next((kind for kind, own in FILE_SCHEMAS.items() if own == schema), "")


def _shape(schema: Mapping[str, Any] | None) -> tuple[FileKind, bool] | None:
    """What a result with files looks like: the kind of its files, and whether they stand beside data."""
    if not isinstance(schema, Mapping):
        return None
    both = schema.get("prefixItems")
    if isinstance(both, list) and len(both) == 2 and _file_kind(both[1]):
        return _file_kind(both[1]), True
    return _file_kind(schema), False


def _matched(inputs: list[_Input], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Each given argument by its name, in the order of the parameters."""
    if len(args) > len(inputs):
        raise EncodingError("", f"takes {_counted(len(inputs))}, got {len(args)}")
    by_place = dict(zip((each.name for each in inputs), args, strict=False))
    for name in kwargs:
        if name in by_place:
            raise EncodingError("", f"{name} is given twice")
        if all(name != each.name for each in inputs):
            raise EncodingError("", f"has no parameter {name}")
    all_given = by_place | dict(kwargs)
    given = {each.name: all_given[each.name] for each in inputs if each.name in all_given}
    for each in inputs:
        if each.name not in given:
            if each.required:
                raise EncodingError("", f"{each.name} is missing")
        elif not each.file and (why := each.check.error(given[each.name], each.name)) is not None:
            raise EncodingError("", why)
    return given


def _counted(number: int) -> str:
    return "no arguments" if number == 0 else f"{number} argument{'s' if number > 1 else ''}"
