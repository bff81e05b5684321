"""``json``, ``msgpack`` and ``bytes`` (spec/rpc.md, section 6). Pure.

``json`` and ``msgpack`` may be given an annotation: they then read values of that type and refuse others.
Writing is not checked against it: what ``msgspec`` can write is written. Errors name no function: see
``coders.named``.
"""

from typing import Any, Final

import msgspec

from framehub.errors import DecodingError, EncodingError
from framehub.rpc.strict_json import (
    BINARY,
    CONTAINERS,
    MAX_DEPTH,
    SCALARS,
    cut,
    fault,
    foreign,
    is_plain,
    misfit,
)

_write_json: Final = msgspec.json.Encoder(enc_hook=foreign).encode
_write_msgpack: Final = msgspec.msgpack.Encoder(enc_hook=foreign).encode
_SHORT: Final = 2 * MAX_DEPTH  # two bytes for each level
_UNREADABLE: Final = (msgspec.DecodeError, ValueError, RecursionError)
_UNWRITABLE: Final = (TypeError, ValueError, RecursionError, OverflowError)


class JsonCoder:
    """Strict JSON: see ``strict_json`` for what that leaves out."""

    identity: Final = "json"

    def __init__(self, type_: Any = Any) -> None:
        self._read = msgspec.json.Decoder(type_).decode

    def encode(self, value: Any) -> bytes:
        """Raise ``EncodingError`` for what JSON cannot carry, naming the place."""
        kind = type(value)
        is_sure = kind in SCALARS or (kind in CONTAINERS and is_plain(value))
        if not is_sure and (why := misfit(value)) is not None:
            raise EncodingError("", why)
        try:
            return _write_json(value)
        except _UNWRITABLE as exc:
            raise EncodingError("", cut(str(exc))) from exc

    def decode(self, data: bytes) -> Any:
        """Raise ``DecodingError`` for what is not strict JSON, or not of the type."""
        try:
            value = self._read(data)
        except _UNREADABLE as exc:
            raise DecodingError("", explained(exc)) from exc
        if (b"{" in data or (len(data) > _SHORT and data.count(b"[") > MAX_DEPTH)) and (
            why := fault(data)
        ) is not None:
            raise DecodingError("", why)
        return value


class MsgpackCoder:
    """MessagePack; of its extensions only timestamps."""

    identity: Final = "msgpack"

    def __init__(self, type_: Any = Any) -> None:
        self._read = msgspec.msgpack.Decoder(type_, ext_hook=_refuse_extension).decode

    def encode(self, value: Any) -> bytes:
        """Raise ``EncodingError`` for what MessagePack cannot carry."""
        try:
            return _write_msgpack(value)
        except _UNWRITABLE as exc:
            raise EncodingError("", cut(str(exc))) from exc

    def decode(self, data: bytes) -> Any:
        """Raise ``DecodingError`` for what is not MessagePack, or not of the type."""
        try:
            return self._read(data)
        except _UNREADABLE as exc:
            raise DecodingError("", explained(exc)) from exc


class BytesCoder:
    """Bytes as they are."""

    identity: Final = "bytes"

    def encode(self, value: Any) -> bytes:
        """Raise ``EncodingError`` for what is not bytes."""
        if isinstance(value, BINARY):
            return bytes(value)
        raise EncodingError("", f"expected bytes, got {type(value).__name__}")

    def decode(self, data: bytes) -> bytes:
        """The same bytes."""
        return bytes(data)


def explained(exc: Exception) -> str:
    """Why msgspec refused something, in our words: the place first."""
    text, found, place = str(exc).partition(" - at `$")
    text = cut(text[:1].lower() + text[1:].replace("`", ""))
    return f"{cut(place[:-1]).lstrip('.')}: {text}" if found else text


def _refuse_extension(code: int, _: memoryview) -> Any:
    raise ValueError(f"extension type {code} has no meaning here")
