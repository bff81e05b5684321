"""Messages of remote functions as bytes (spec/rpc.md, section 2; spec/journal.md, 3.4 and 3.5)."""

import struct
import unicodedata
from typing import Any

from tests.spark.oracle import jsontext
from tests.spark.oracle.mfp_bytes import Unlawful

CLIENT, WORKER = "client", "worker"

KINDS = {
    # type: kind, its parts, whom it comes from, whom it goes to
    "QUERY": ("query", ("id", "argument", "function"), CLIENT, WORKER),
    "QUERY_RECEIVED": ("query_received", ("id",), WORKER, CLIENT),
    "RESPONSE_RESULT": ("result", ("id", "result"), WORKER, CLIENT),
    "RESPONSE_EXCEPTION": ("exception", ("id", "text"), WORKER, CLIENT),
    "RESPONSE_UNKNOWN_FUNCTION": ("unknown_function", ("id", "function"), WORKER, CLIENT),
    "RESPONSE_RECEIVED": ("response_received", ("id",), CLIENT, WORKER),
    "CANCEL": ("cancel", ("id",), CLIENT, WORKER),
    "QUERY_RETURNED": ("query_returned", ("id", "reason"), WORKER, None),
    "QUERY_CONFIRMED": ("query_confirmed", ("id",), None, WORKER),
    "CODER_IDENTITY_QUERY": ("coders_query", ("id", "function"), CLIENT, None),
    "CODER_IDENTITY_FOUND": ("coders_found", ("id", "coder", "coder"), None, CLIENT),
    "CODER_IDENTITY_NOT_FOUND": ("coders_not_found", ("id",), None, CLIENT),
    "FUNCTIONS_QUERY": ("functions_query", ("id",), CLIENT, None),
    "FUNCTIONS_LIST": ("functions_list", ("id", "json"), None, CLIENT),
    "WORKER_REGISTER": ("register", (), WORKER, None),
    "WORKER_DESCRIBE": ("describe", ("json",), WORKER, WORKER),
    "INCOMPATIBLE_SPECS_FAILURE": ("incompatible", ("name", "coder", "coder"), None, WORKER),
    "HEART_BEAT": ("heart_beat", (), WORKER, WORKER),
}
TURNING = frozenset(("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))
"""What Unicode calls the characters that set the direction of what follows."""
PAYLOADS = ("argument", "result", "text", "json", "reason")
SIDES = {
    (kind, way): side
    for kind, _, comes_from, goes_to in KINDS.values()
    for way, side in (("in", comes_from), ("out", goes_to))
    if side is not None
}
"""Who is at the other end, by kind and direction."""


def decode(raw: bytes, direction: str) -> dict[str, Any]:
    """What a message says: columns of the journal, ``endpoint`` only where it names a function.

    Raises:
        Unlawful: it is none, or nobody sends it this way.
    """
    parts, places = _parts(raw)
    if len(parts) < 2:
        raise Unlawful("no type")
    try:
        kind, names, comes_from, goes_to = KINDS[parts[1].decode("ascii")]
    except (UnicodeDecodeError, KeyError):
        raise Unlawful("no such type") from None
    if (comes_from if direction == "in" else goes_to) is None:
        raise Unlawful("not sent this way")
    said: dict[str, Any] = {"kind": kind, "query": None, "payload_at": None, "payload_bytes": None}
    rest, rest_at = parts[2:], places[2:]
    if kind == "register":
        _register(rest)
        return said
    if len(rest) != len(names):
        raise Unlawful("too many or too few parts")
    for name, part, at in zip(names, rest, rest_at, strict=True):
        if name == "id":
            if not 1 <= len(part) <= 64:
                raise Unlawful("an id has 1 to 64 bytes")
            said["query"] = part
        elif name in ("function", "name"):
            said["endpoint"] = _text(part, shortest=1 if name == "function" else 0)
        elif name == "coder":
            _text(part)
        if name in PAYLOADS:
            if name in ("json", "reason"):
                _text(part, shortest=name == "reason", longest=255 if name == "reason" else None)
            said |= {"payload_at": at, "payload_bytes": len(part)}
    return said


def _parts(raw: bytes) -> tuple[list[bytes], list[int]]:
    """The parts, and where each begins."""
    parts, places, at = [], [], 0
    while at < len(raw):
        if at + 4 > len(raw):
            raise Unlawful("half a length")
        (size,) = struct.unpack_from(">I", raw, at)
        at += 4
        if at + size > len(raw):
            raise Unlawful("cut short")
        parts.append(raw[at : at + size])
        places.append(at)
        at += size
    return parts, places


def _text(part: bytes, *, shortest: int = 0, longest: int | None = 255) -> str:
    if len(part) < shortest or (longest is not None and len(part) > longest):
        raise Unlawful("a name too long or too short")
    try:
        return part.decode()
    except UnicodeDecodeError:
        raise Unlawful("no UTF-8") from None


def _register(parts: list[bytes]) -> None:
    if not parts or len(parts[0]) != 4:
        raise Unlawful("no count")
    (count,) = struct.unpack(">I", parts[0])
    if count > 1024 or len(parts) != 1 + 3 * count:
        raise Unlawful("a count that is not theirs")
    names = [_text(name, shortest=1) for name in parts[1::3]]
    if len(set(names)) != len(names):
        raise Unlawful("a name stands twice")
    for name in names:
        if name in (".", "..") or any(letter in "/\\" or _steers(letter) for letter in name):
            raise Unlawful("a name that nothing can have")
    for coder in parts[2::3] + parts[3::3]:
        _text(coder)


def _steers(letter: str) -> bool:
    """Whether it controls a terminal, or the direction of what follows."""
    turns = letter in "\u061c\u200e\u200f" or unicodedata.bidirectional(letter) in TURNING
    return unicodedata.category(letter) == "Cc" or turns


def block(payload: bytes) -> tuple[dict[str, Any], list[int], list[bytes]] | None:
    """A block of the coder ``envelope``: the envelope, keys, files; None if it is none (6.13 to 6.15)."""
    if len(payload) < 8:
        return None
    json_bytes, map_bytes = struct.unpack_from(">II", payload)
    at = 8 + json_bytes + map_bytes
    if at > len(payload) or map_bytes % 8 or map_bytes > 8 * 1024:
        return None
    said = envelope(payload[8 : 8 + json_bytes])
    if said is None:
        return None
    keys, files = [], []
    for place in range(8 + json_bytes, 8 + json_bytes + map_bytes, 8):
        key, size = struct.unpack_from(">II", payload, place)
        keys.append(key)
        files.append(payload[at : at + size])
        at += size
    if at != len(payload) or len(set(keys)) != len(keys):
        return None
    named = [entry[0] if isinstance(entry, list) and entry else None for entry in filemap(said)]
    if len(named) != len(keys) or set(named) != set(keys):
        return None
    return said, keys, files


def envelope(payload: bytes) -> dict[str, Any] | None:
    """The envelope that a payload is (spec/mfp.md, section 7); None if it is none."""
    try:
        said = jsontext.parse(payload, deepest=jsontext.DEEPEST + 1)
    except jsontext.NoJson:
        return None
    if not isinstance(said, dict) or not isinstance(said.get("endpoint"), str) or not said["endpoint"]:
        return None
    return said


def filemap(said: dict[str, Any] | None) -> list[Any]:
    entries = (said or {}).get("filemap")
    return entries if isinstance(entries, list) else []
