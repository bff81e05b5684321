"""Frames as plain JSON values: what ``framehub decode --json`` prints and the vectors hold. Pure.

Absent fields are omitted, names are in lower case, bytes are hex (docs/reference/frames-as-json.md).
"""

from typing import Any

from framehub.codes import BinaryKind, Service
from framehub.errors import LocalProtocolError
from framehub.mfp.frames import (
    BinaryFrame,
    Files,
    Frame,
    MessageFrame,
    RequestFrame,
    ResponseFrame,
    ServiceFrame,
)


def to_plain(frame: Frame) -> dict[str, Any]:
    """One frame as a JSON object."""
    if isinstance(frame, ServiceFrame):
        return {
            "type": "service",
            "id": frame.id,
            "ref_id": frame.ref,
            "code": frame.code.name.lower(),
            "own": frame.own,
            "flags": {"checksum": frame.checksum},
        }
    plain: dict[str, Any] = {"type": _TYPE[type(frame)], "id": frame.id}
    if isinstance(frame, BinaryFrame | ResponseFrame):
        plain["ref_id"] = frame.ref
    plain["flags"] = {"checksum": frame.checksum, "need_ack": frame.need_ack}
    if isinstance(frame, BinaryFrame):
        plain |= {"kind": frame.kind.name.lower(), "final": frame.final}
        if frame.key is not None:
            plain["key"] = frame.key
        if frame.data:
            plain["data"] = frame.data.hex()
        return plain
    if frame.payload:
        plain["payload"] = frame.payload.hex()
    if frame.files:
        plain["files"] = [[key, len(blob), blob.hex()] for key, blob in frame.files]
    if isinstance(frame, MessageFrame):
        if frame.expected:
            plain["expected"] = list(frame.expected)
        if frame.streaming:
            plain["streaming"] = True
    return plain


_TYPE = {MessageFrame: "message", RequestFrame: "request", ResponseFrame: "response", BinaryFrame: "binary"}


def from_plain(plain: dict[str, Any]) -> Frame:
    """The frame that ``to_plain`` printed.

    Raises:
        LocalProtocolError: a field is missing, unknown or of the wrong kind; the text names it.
    """
    if not isinstance(plain, dict):
        raise LocalProtocolError("a frame is a JSON object")
    fields = _Fields(plain)
    type_ = fields.word("type", ("service", "message", "request", "response", "binary"))
    id_ = fields.number("id")
    flags = _Fields(fields.take("flags", {}), inside="flags.")
    checksum = flags.truth("checksum")
    frame: Frame
    if type_ == "service":
        frame = ServiceFrame(
            id=id_,
            code=Service[fields.word("code", tuple(code.name.lower() for code in Service)).upper()],
            ref=fields.number("ref_id"),
            own=fields.truth("own"),
            checksum=checksum,
        )
    elif type_ == "binary":
        frame = BinaryFrame(
            id=id_,
            ref=fields.number("ref_id"),
            kind=BinaryKind[fields.word("kind", tuple(kind.name.lower() for kind in BinaryKind)).upper()],
            key=fields.number("key") if "key" in plain else None,
            data=fields.hex("data"),
            final=fields.truth("final"),
            need_ack=flags.truth("need_ack"),
            checksum=checksum,
        )
    else:
        shared: dict[str, Any] = {
            "id": id_,
            "payload": fields.hex("payload"),
            "files": fields.files(),
            "need_ack": flags.truth("need_ack"),
            "checksum": checksum,
        }
        if type_ == "message":
            expected = fields.numbers("expected")
            frame = MessageFrame(**shared, expected=expected, streaming=fields.truth("streaming"))
        elif type_ == "request":
            frame = RequestFrame(**shared)
        else:
            frame = ResponseFrame(**shared, ref=fields.number("ref_id"))
    flags.refuse_rest()
    fields.refuse_rest()
    return frame


class _Fields:
    """Take fields out of an object one by one; say which one is wrong."""

    def __init__(self, plain: Any, *, inside: str = "") -> None:
        if not isinstance(plain, dict):
            raise LocalProtocolError(f"{inside.rstrip('.')}: want an object")
        self._rest = dict(plain)
        self._inside = inside

    def take(self, name: str, default: Any) -> Any:
        return self._rest.pop(name, default)

    def word(self, name: str, allowed: tuple[str, ...]) -> str:
        value = self.take(name, None)
        if value not in allowed:
            raise LocalProtocolError(f"{self._inside}{name}: want one of {', '.join(allowed)}, got {value!r}")
        return str(value)

    def number(self, name: str) -> int:
        return self._number(name, self.take(name, None))

    def _number(self, name: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**32:
            raise LocalProtocolError(f"{self._inside}{name}: want a number of 32 bits, got {value!r}")
        return value

    def numbers(self, name: str) -> tuple[int, ...]:
        value = self.take(name, [])
        if not isinstance(value, list):
            raise LocalProtocolError(f"{self._inside}{name}: want a list of numbers, got {value!r}")
        return tuple(self._number(name, item) for item in value)

    def truth(self, name: str) -> bool:
        value = self.take(name, False)
        if not isinstance(value, bool):
            raise LocalProtocolError(f"{self._inside}{name}: want true or false, got {value!r}")
        return value

    def hex(self, name: str) -> bytes:
        return self._hex(name, self.take(name, ""))

    def _hex(self, name: str, value: Any) -> bytes:
        try:
            return bytes.fromhex(value)
        except (TypeError, ValueError):
            raise LocalProtocolError(f"{self._inside}{name}: want hex digits, got {value!r}") from None

    def files(self) -> Files:
        value = self.take("files", [])
        if not isinstance(value, list):
            raise LocalProtocolError("files: want a list of [key, size, hex]")
        files = []
        for item in value:
            if not isinstance(item, list) or len(item) != 3:
                raise LocalProtocolError(f"files: want [key, size, hex], got {item!r}")
            blob = self._hex("files", item[2])
            if self._number("files", item[1]) != len(blob):
                raise LocalProtocolError(f"files: size {item[1]} declared, {len(blob)} bytes given")
            files.append((self._number("files", item[0]), blob))
        return tuple(files)

    def refuse_rest(self) -> None:
        if self._rest:
            raise LocalProtocolError(f"unknown field {self._inside}{min(self._rest)}")
