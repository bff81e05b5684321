"""One recorded frame, field by field, with where each stands in its bytes. Pure.

What ``framehub decode`` says of bytes alone, this says of a row: which way it went and on which version of
the protocol is known here.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from framehub.codes import HubCommand, HubError, HubState
from framehub.console import frame_rows
from framehub.errors import MalformedFrame
from framehub.hub import headers
from framehub.journal.rpc_rows import PARTS_OF, split
from framehub.mfp import anysum, envelope
from framehub.mfp.frames import BinaryFrame, MessageFrame, ResponseFrame, ServiceFrame
from framehub.mfp.layout import MAP, PAYLOAD, SET
from framehub.rpc.messages import functions_of, type_of

MOST_RAW: Final = 4_096
"""Bytes of a frame that are shown."""
MOST_TEXT: Final = 16_384
"""Characters of a payload that are shown."""
_HUB_WAYS: Final = {
    ("in", True): headers.Way.CLIENT_TO_HUB,
    ("out", True): headers.Way.HUB_TO_CLIENT,
    ("in", False): headers.Way.SERVICE_TO_HUB,
    ("out", False): headers.Way.HUB_TO_SERVICE,
}


class Field(NamedTuple):
    """One field: its name, what it says, and where it stands."""

    name: str
    value: str
    at: int
    bytes: int


def explained(row: dict[str, Any], *, inside: bool = True) -> dict[str, Any]:
    """The row as a line, its fields, the beginning of its bytes and its payload as text.

    Without ``inside`` there is nothing of what it carries.
    """
    told = frame_rows.line(row, inside=False) | {
        "node": row["node"],
        "recorded": row["recorded"],
        "coder": row["coder"],
        "parent": row["parent"].hex() if isinstance(row["parent"], bytes) else row["parent"],
        "fields": [],
        "raw": "",
        "text": "",
        "malformed": "",
    }
    raw = row["raw"]
    if not inside or raw is None:
        return told
    try:
        fields = list(_fields(row, raw)) if row["recorded"] == "full" and row["kind"] != "refused" else []
    except MalformedFrame as exc:
        fields, told["malformed"] = [], str(exc)
    told["fields"] = [field._asdict() for field in fields]
    told["raw"] = raw[:MOST_RAW].hex()
    told["text"] = _payload(row)
    return told


def _payload(row: dict[str, Any]) -> str:
    if row["payload_at"] is None:
        return ""
    payload = row["raw"][row["payload_at"] : row["payload_at"] + row["payload_bytes"]]
    try:
        text: str = payload.decode()
    except UnicodeDecodeError:
        return ""
    return text[:MOST_TEXT]


def _fields(row: dict[str, Any], raw: bytes) -> Iterator[Field]:
    match row["protocol"]:
        case "mfp":
            return _mfp(raw)
        case "hub":
            return _hub(raw, row["version"], _HUB_WAYS[row["direction"], row["ref"] is None])
    return _rpc(raw)


# --- MFP -----------------------------------------------------------------------------------------------


def _mfp(raw: bytes) -> Iterator[Field]:
    frame, summed = anysum.decode(raw)
    head = raw[0]
    yield Field("head", f"{head:08b}: sub-protocol {head >> 5}, flags {head & 15:04b}", 0, 1)
    yield Field("id", str(frame.id), 1, 4)
    at = 5
    if isinstance(frame, ServiceFrame | BinaryFrame | ResponseFrame):
        whose = ""
        if isinstance(frame, ServiceFrame):
            whose = ", the sender's own" if frame.own else ", the receiver's"
        yield Field("ref", f"{frame.ref}{whose}", at, 4)
        at += 4
    if isinstance(frame, ServiceFrame):
        yield Field("code", frame.code.name.lower(), 0, 1)
    elif isinstance(frame, BinaryFrame):
        yield from _binary(frame, at)
    else:
        yield from _carried(frame, head, at)
    if not isinstance(frame, ServiceFrame) and frame.need_ack:
        yield Field("ack", "wanted", 0, 1)
    if summed:
        yield Field("checksum", "right", len(raw) - summed, summed)


def _binary(frame: BinaryFrame, at: int) -> Iterator[Field]:
    yield Field(
        "kind", f"{frame.kind.name.lower()}, {'the last one' if frame.final else 'more follow'}", 0, 1
    )
    if frame.key is not None:
        yield Field("key", str(frame.key), at, 4)
        at += 4
    if frame.data:
        yield Field("data", _size(frame.data), at, len(frame.data))


def _carried(frame: Any, head: int, at: int) -> Iterator[Field]:
    if head & PAYLOAD:
        yield Field("size", f"{len(frame.payload)} bytes of payload", at, 4)
        at += 4
    expected = frame.expected if isinstance(frame, MessageFrame) else ()
    has_map = head & MAP in (MAP, SET)
    mapped = 8 * len(frame.files) + 4 * len(expected) if has_map else 0
    if has_map:
        yield Field("size", f"{mapped} bytes of file map", at, 4)
        at += 4
    if frame.payload:
        yield Field("payload", _size(frame.payload), at, len(frame.payload))
        try:
            named = envelope.decode_ahead(frame.payload).endpoint
        except envelope.BadEnvelope:
            named = None
        if named:
            yield Field("endpoint", named, at, len(frame.payload))
        at += len(frame.payload)
    for place, key in enumerate(expected):
        yield Field("expects", f"a file with key {key}", at + 4 * place, 4)
    for place, (key, blob) in enumerate(frame.files):
        yield Field("file", f"key {key}, {len(blob)} bytes", at + 8 * place, 8)
    at += mapped
    for key, blob in frame.files:
        yield Field(f"file {key}", _size(blob), at, len(blob))
        at += len(blob)
    if isinstance(frame, MessageFrame) and frame.streaming:
        yield Field("stream", "begins", 0, 1)


# --- the hub -------------------------------------------------------------------------------------------


def _hub(raw: bytes, version: int, way: headers.Way) -> Iterator[Field]:
    frame = headers.decode(raw, version, way)
    wide = version == 2
    at = headers.HEADER_BYTES[version]
    stream = "0, the link itself" if frame.stream == 0 else str(frame.stream)
    yield Field("way", way.value.replace("-", " to "), 0, at)
    yield Field("stream", stream, 0, 4 if wide else 3)
    yield Field("state", frame.state.name.lower(), 4 if wide else 2, 1)
    place = 5 if wide else 3
    if frame.state is HubState.COMMAND:
        yield Field("command", f"{frame.parameter}, {HubCommand(frame.parameter).name}", place, 1)
    elif frame.state is HubState.STREAM_ERROR:
        yield Field("error", f"{frame.parameter}, {HubError(frame.parameter).name}", place, 1)
    else:
        yield Field("function", str(frame.parameter), place, 1)
    if frame.number is not None:
        name = "service" if way is headers.Way.CLIENT_TO_HUB else "user"
        yield Field(name, str(frame.number), at, 2)
        at += 2
    if (told := frame.settings) is not None:
        yield Field("version", str(told.version), at, 1)
        timeout = f"{told.timeout_ms} ms" if told.timeout_ms else "the hub's default"
        yield Field("timeout", timeout, at + 1, 4)
        yield Field("service", str(told.service), at + 5, 2)
        at += headers.SETTINGS_BYTES
    if frame.body:
        yield Field("body", _size(frame.body), at, len(frame.body))


# --- remote functions ----------------------------------------------------------------------------------


def _rpc(raw: bytes) -> Iterator[Field]:
    identity, *parts = split(raw) or [b""]
    type_ = type_of(parts)
    yield Field("identity", identity.hex(), 4, len(identity))
    at = 4 + len(identity)
    names = ("type", *PARTS_OF[type_]) if type_ is not None else ()
    registered = list(functions_of(parts)) if type_ is not None and "functions" in names else []
    for place, part in enumerate(parts):
        at += 4
        name = names[place] if place < len(names) else "part"
        if registered and place > 1:
            name = ("function", "argument coder", "result coder")[(place - 2) % 3]
        shown = part.hex() if name == "id" else _size(part) if name in ("argument", "result") else _text(part)
        if name == "functions":
            shown = f"{int.from_bytes(part, 'big')} functions"
        yield Field(name.replace("_", " "), shown, at, len(part))
        at += len(part)


def _text(part: bytes) -> str:
    try:
        text = part.decode()
    except UnicodeDecodeError:
        return _size(part)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _size(blob: bytes) -> str:
    text = blob[:80].decode(errors="replace")
    shown = text if text.isprintable() else blob[:24].hex(" ")
    return f"{len(blob)} bytes: {shown}{'…' if len(blob) > 80 else ''}"
