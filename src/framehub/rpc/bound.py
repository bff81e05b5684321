"""A function bound to its coders: bytes to arguments, a result to bytes (spec/rpc.md, section 7). Pure.

Arguments are read by the annotations, by decoders built once. A result is written as far as its coder can;
that it is of the annotated type is not checked.
"""

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import UNSET

from framehub.errors import DecodingError, EncodingError
from framehub.rpc.attaching import Make, Read, as_attached, bytes_of, gathered, handed_out
from framehub.rpc.binary_coders import Tuple
from framehub.rpc.block import join, split
from framehub.rpc.coders import coder, named
from framehub.rpc.signature import Parameter, Signature, signature, takes_null
from framehub.rpc.typed_coders import JsonCoder, MsgpackCoder

Reader = Callable[[bytes], tuple[Any, ...]]

_NO_NAMES: Final[dict[str, Any]] = {}
_SPACE: Final = b" \t\r\n"
_PLACE: Final = re.compile(r"^\[(\d+)\]")
_json: Final = JsonCoder()


class BoundFunction:
    """What a worker needs to know of one of its functions."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        coders: tuple[str, str] | None = None,
        *,
        make_file: Make = as_attached,
        read_file: Read = bytes_of,
    ) -> None:
        self.function = function
        self.signature: Signature = signature(function, name, coders)
        self.name = self.signature.name
        self._make = make_file
        self._read = read_file
        self._result = coder(self.signature.result)
        inputs = self.signature.inputs
        if self.signature.argument == "envelope":
            self._plain = typed_reader("json", [each for each in inputs if not each.file])
            self._arguments: Reader = self._from_block
        elif self.signature.argument in ("json", "msgpack"):
            self._arguments = typed_reader(self.signature.argument, list(inputs))
        else:
            self._arguments = _fixed_reader(self.signature)

    @property
    def description(self) -> dict[str, Any]:
        """What WORKER_DESCRIBE says of the function itself."""
        own = self.signature
        return {"doc": own.doc, "parameters": own.parameters, "result": own.result_schema}

    def call(self, argument: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments in ``argument``, for ``function(*args, **kwargs)``; defaults are filled in.

        Raises:
            DecodingError: the bytes are not what the function takes.
        """
        try:
            return self._arguments(argument), _NO_NAMES
        except DecodingError as exc:
            raise named(exc, self.name) from exc.__cause__

    def encode_result(self, value: Any) -> bytes:
        """What the function returned, as bytes.

        Raises:
            EncodingError: its coder cannot carry it.
        """
        try:
            return (
                self._to_block(value) if self.signature.result == "envelope" else self._result.encode(value)
            )
        except EncodingError as exc:
            raise named(exc, self.name) from exc.__cause__

    def _from_block(self, argument: bytes) -> tuple[Any, ...]:
        block = split(argument)
        plain = iter(self._plain(block.data))
        inputs = self.signature.inputs
        wanted = [(each.name, each.file) for each in inputs if each.file]
        files = iter(handed_out(wanted, block.files, self._make))
        return tuple(next(files) if each.file else next(plain) for each in inputs)

    def _to_block(self, value: Any) -> bytes:
        own = self.signature
        if not own.output_file:
            return join(own.name, _json.encode(value))
        data = None
        if own.is_pair:
            if not isinstance(value, list | tuple) or len(value) != 2:
                raise EncodingError("", f"expected data and files, got {type(value).__name__}")
            data, value = value
        return join(own.name, _json.encode(data), gathered([("result", own.output_file, value)], self._read))


def typed_reader(identity: str, inputs: list[Parameter]) -> Reader:
    """How ``json`` or ``msgpack`` becomes the arguments for these parameters."""
    make = JsonCoder if identity == "json" else MsgpackCoder
    if not inputs:
        return _no_arguments(make(None).decode)
    if len(inputs) == 1:
        return _one_argument(make, inputs[0])
    return _many_arguments(make, inputs, _json_opening if identity == "json" else _msgpack_opening)


def _no_arguments(read: Callable[[bytes], None]) -> Reader:
    def arguments(data: bytes) -> tuple[Any, ...]:
        read(data)
        return ()

    return arguments


def _one_argument(make: type[JsonCoder] | type[MsgpackCoder], own: Parameter) -> Reader:
    """The value itself; null is the default, if the parameter has one and does not take null."""
    name, default = own.name, own.default
    null_is_default = default is not UNSET and not takes_null(own.type)
    read = make(own.type | None if null_is_default else own.type).decode

    def arguments(data: bytes) -> tuple[Any, ...]:
        try:
            value = read(data)
        except DecodingError as exc:
            raise DecodingError("", _placed(name, exc.message)) from exc.__cause__
        return (default,) if null_is_default and value is None else (value,)

    return arguments


def _many_arguments(
    make: type[JsonCoder] | type[MsgpackCoder], inputs: list[Parameter], opening: Callable[[bytes], str]
) -> Reader:
    """An array by position or an object by name; null if every parameter has a default."""
    fields = [_field(each) for each in inputs]
    names = [each.name for each in inputs]
    by_place = make(
        msgspec.defstruct("Arguments", fields, array_like=True, forbid_unknown_fields=True)
    ).decode
    by_name = make(msgspec.defstruct("Arguments", fields, forbid_unknown_fields=True)).decode
    defaults = tuple(each.default for each in inputs)
    has_all = all(default is not UNSET for default in defaults)
    nothing = make(None).decode

    def arguments(data: bytes) -> tuple[Any, ...]:
        found = opening(data)
        if found == "null" and has_all:
            nothing(data)
            return defaults
        if found == "object":
            return msgspec.structs.astuple(by_name(data))
        try:
            return msgspec.structs.astuple(by_place(data))
        except DecodingError as exc:
            message = _PLACE.sub(lambda place: names[int(place[1])], exc.message)
            raise DecodingError("", message) from exc.__cause__

    return arguments


def _field(own: Parameter) -> Any:
    if own.default is UNSET:
        return own.name, own.type
    return own.name, own.type, msgspec.field(default_factory=lambda: own.default)


def _json_opening(data: bytes) -> str:
    first = data[:1]
    if first and first in _SPACE:
        first = data.lstrip(_SPACE)[:1]
    return {b"{": "object", b"n": "null"}.get(first, "array")


def _msgpack_opening(data: bytes) -> str:
    first = data[0] if data else 0
    return (
        "object" if 0x80 <= first <= 0x8F or first in (0xDE, 0xDF) else "null" if first == 0xC0 else "array"
    )


def _fixed_reader(own: Signature) -> Reader:
    found = coder(own.argument)
    if isinstance(found, Tuple) and len(own.inputs) > 1:
        return found.decode
    return lambda data: (found.decode(data),)


def _placed(name: str, message: str) -> str:
    return f"{name}{message}" if message.startswith("[") else f"{name}: {message}"
