"""Messages of remote functions: their parts, by name (spec/rpc.md, section 2). Pure.

A message is a list of byte strings, the first of which names its type. Who sends it to whom decides which
types there are and what parts they have: ``FIELDS``. Identities of ZeroMQ are no part of it.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from sys import maxsize
from typing import Any, Final, TypeAlias

from framehub.codes import Message
from framehub.errors import LocalProtocolError
from framehub.names import unfit

Parts: TypeAlias = Sequence[bytes]

MAX_ID: Final = 64
MAX_NAME: Final = 255
MAX_TEXT: Final = 64 * 1024
MAX_DESCRIPTION: Final = 4 << 20
MAX_FUNCTIONS: Final = 1024
MAX_PARTS: Final = 2 + 3 * MAX_FUNCTIONS
"""No lawful message has more."""
SHORT: Final = 1024
"""Every part has fewer bytes, but for one of some types (``room``)."""


class Way(StrEnum):
    """Who speaks to whom."""

    CLIENT_TO_PROXY = "client-proxy"
    PROXY_TO_CLIENT = "proxy-client"
    WORKER_TO_PROXY = "worker-proxy"
    PROXY_TO_WORKER = "proxy-worker"


FIELDS: Final[Mapping[Way, Mapping[Message, tuple[str, ...]]]] = {
    Way.CLIENT_TO_PROXY: {
        Message.QUERY: ("id", "argument", "function"),
        Message.CODER_IDENTITY_QUERY: ("id", "function"),
        Message.RESPONSE_RECEIVED: ("id",),
        Message.FUNCTIONS_QUERY: ("id",),
        Message.CANCEL: ("id",),
    },
    Way.PROXY_TO_CLIENT: {
        Message.RESPONSE_RESULT: ("id", "result"),
        Message.RESPONSE_EXCEPTION: ("id", "text"),
        Message.RESPONSE_UNKNOWN_FUNCTION: ("id", "function"),
        Message.CODER_IDENTITY_FOUND: ("id", "argument_coder", "result_coder"),
        Message.CODER_IDENTITY_NOT_FOUND: ("id",),
        Message.QUERY_RECEIVED: ("id",),
        Message.FUNCTIONS_LIST: ("id", "json"),
    },
    Way.WORKER_TO_PROXY: {
        Message.RESPONSE_RESULT: ("id", "result"),
        Message.RESPONSE_EXCEPTION: ("id", "text"),
        Message.RESPONSE_UNKNOWN_FUNCTION: ("id", "function"),
        Message.QUERY_RECEIVED: ("id",),
        Message.HEART_BEAT: (),
        Message.WORKER_REGISTER: ("functions",),  # a count, then three parts for each of them
        Message.WORKER_DESCRIBE: ("json",),
        Message.QUERY_RETURNED: ("id", "reason"),
    },
    Way.PROXY_TO_WORKER: {
        Message.QUERY: ("id", "argument", "function"),
        Message.RESPONSE_RECEIVED: ("id",),
        Message.INCOMPATIBLE_SPECS_FAILURE: ("function", "argument_coder", "result_coder"),
        Message.HEART_BEAT: (),
        Message.CANCEL: ("id",),
        Message.WORKER_DESCRIBE: ("json",),
        Message.QUERY_CONFIRMED: ("id",),
    },
}
"""The parts after the type."""


def counts(way: Way) -> dict[bytes, int]:
    """By type, how many parts a message surely has: all of them, but for WORKER_REGISTER."""
    fields = FIELDS[way].items()
    return {
        type_.encode(): 1 if type_ is Message.WORKER_REGISTER else 1 + len(names) for type_, names in fields
    }


def room(way: Way) -> dict[bytes, tuple[int, int]]:
    """By type, the place of the one part that may be long, and how many bytes it may have."""
    longest = dict.fromkeys(("argument", "result", "text"), maxsize) | {"json": MAX_DESCRIPTION}
    return {
        type_.encode(): (place, longest[name])
        for type_, names in FIELDS[way].items()
        for place, name in enumerate(names, 1)
        if name in longest
    }


TYPES: Final = {type_.value.encode(): type_ for type_ in Message}
_BLOCKS: Final = frozenset(("argument", "result"))
"""Parts that are anybody's bytes; the others are text, but for ids."""


def type_of(parts: Parts) -> Message | None:
    """The message's type; None if its first part names none."""
    return TYPES.get(parts[0]) if parts else None


def fault(way: Way, parts: Parts) -> str | None:
    """Why these parts are no message that may go this way; None if they are one."""
    if not parts:
        return "a message has at least one part"
    type_ = TYPES.get(parts[0])
    fields = FIELDS[way].get(type_) if type_ is not None else None
    if type_ is None or fields is None:
        return f"type {_short(parts[0])} is not sent by a {way.value.partition('-')[0]}"
    if type_ is Message.WORKER_REGISTER:
        return _registration_fault(parts)
    if len(parts) != 1 + len(fields):
        return f"{type_} has {1 + len(fields)} parts, not {len(parts)}"
    if type_ is Message.INCOMPATIBLE_SPECS_FAILURE and not parts[1]:
        return None  # of a registration whose first name could not be read
    for name, part in zip(fields, parts[1:], strict=True):
        if reason := _part_fault(name, part):
            return f"{type_}: {reason}"
    return None


def readable_id(parts: Parts) -> bytes | None:
    """What stands where a message has its id, if it could be one: so that its sender can be told."""
    return bytes(parts[1]) if len(parts) > 1 and 1 <= len(parts[1]) <= MAX_ID else None


def functions_of(parts: Parts) -> list[tuple[bytes, bytes, bytes]]:
    """Name, argument coder and result coder of each function of a lawful WORKER_REGISTER."""
    return list(zip(parts[2::3], parts[3::3], parts[4::3], strict=True))


def refused_name(parts: Parts) -> bytes:
    """What a malformed WORKER_REGISTER is refused with: a name that cannot be, or else the first."""
    names = parts[2::3]
    wrong = (name for name in names if unfit(name[:MAX_NAME].decode(errors="ignore")))
    return next(wrong, names[0] if names else b"")


def registration(functions: Sequence[tuple[str, str, str]]) -> list[bytes]:
    """WORKER_REGISTER of functions, each (name, argument coder, result coder); of none it says goodbye."""
    parts = [Message.WORKER_REGISTER.encode(), len(functions).to_bytes(4, "big")]
    parts += [text.encode() for function in functions for text in function]
    return parts


def explain(way: Way, parts: Parts) -> dict[str, Any]:
    """A lawful message as JSON: its type, and each part by its name, bytes and ids in hex."""
    type_ = TYPES[parts[0]]
    if type_ is Message.WORKER_REGISTER:
        named = [[part.decode() for part in function] for function in functions_of(parts)]
        return {"type": type_.value, "functions": named}
    fields = FIELDS[way][type_]
    said = {name: _plain(name, part) for name, part in zip(fields, parts[1:], strict=True)}
    return {"type": type_.value, **said}


def compose(way: Way, said: Mapping[str, Any]) -> list[bytes]:
    """The other way: a message from what ``explain`` gives.

    Raises:
        LocalProtocolError: it names no type, not the right parts, or what no part can be.
    """
    type_ = said.get("type")
    if not isinstance(type_, str) or type_ not in FIELDS[way]:
        raise LocalProtocolError(f"type {type_!r} is not sent by a {way.value.partition('-')[0]}")
    type_ = Message(type_)
    fields = FIELDS[way][type_]
    if set(said) != {"type", *fields}:
        raise LocalProtocolError(f"{type_} has {', '.join(('type', *fields))}, not {', '.join(said)}")
    try:
        if type_ is Message.WORKER_REGISTER:
            parts = registration(said["functions"])
        else:
            parts = [type_.encode(), *(_packed(name, said[name]) for name in fields)]
    except (TypeError, ValueError, AttributeError) as exc:
        raise LocalProtocolError(f"{type_}: {exc}") from exc
    if reason := fault(way, parts):
        raise LocalProtocolError(reason)
    return parts


def _registration_fault(parts: Parts) -> str | None:
    if len(parts) < 2 or len(parts[1]) != 4:
        return "WORKER_REGISTER: its count has 4 bytes"
    count = int.from_bytes(parts[1], "big")
    if count > MAX_FUNCTIONS:
        return f"WORKER_REGISTER: {count} functions are over the limit of {MAX_FUNCTIONS}"
    if len(parts) != 2 + 3 * count:
        return f"WORKER_REGISTER of {count} functions has {2 + 3 * count} parts, not {len(parts)}"
    for name, *coders in functions_of(parts):
        reason: str | None = _part_fault("function", name) or unfit(name.decode())
        for coder in coders:
            reason = reason or _part_fault("coder", coder)
        if reason:
            return f"WORKER_REGISTER: {reason}"
    if len(set(parts[2::3])) != count:
        return "WORKER_REGISTER names a function twice"
    return None


def _part_fault(name: str, part: bytes) -> str | None:
    size = len(part)
    counted = str(size) if size <= SHORT else f"over {SHORT}"  # perhaps the rest was not kept
    if name == "id":
        return None if 1 <= size <= MAX_ID else f"an id has 1 to {MAX_ID} bytes, not {counted}"
    if name in _BLOCKS:
        return None
    if name in ("function", "reason") and not 1 <= size <= MAX_NAME:
        return f"a {name} has 1 to {MAX_NAME} bytes, not {counted}"
    if name.endswith("coder") and size > MAX_NAME:
        return f"a coder's identity has at most {MAX_NAME} bytes, not {counted}"
    if name != "text":  # an exception's text is cut and mended, never refused
        try:
            part.decode()
        except UnicodeDecodeError:
            return f"{name} is not UTF-8"
    return None


def _plain(name: str, part: bytes) -> str:
    if name == "id" or name in _BLOCKS:
        return part.hex()
    return part.decode(errors="replace")


def _packed(name: str, value: str) -> bytes:
    return bytes.fromhex(value) if name == "id" or name in _BLOCKS else value.encode()


def _short(type_: bytes) -> str:
    text = type_[:32].decode(errors="replace")
    return repr(text + ("..." if len(type_) > 32 else ""))
