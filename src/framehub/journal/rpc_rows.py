"""Messages of remote functions as rows (spec/journal.md, section 3.4): which column holds what. Pure.

    raw = (length:4 part)*        every part as at the proxy's socket, the peer's identity first, big-endian

``at`` is (wall clock, monotonic clock) in nanoseconds; on the hot path a row costs one join and one pack.
"""

import struct
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, Literal

from framehub.codes import Kind, Message
from framehub.errors import MalformedFrame
from framehub.journal.brief import CONSTANT
from framehub.journal.mfp_rows import IN, OUT
from framehub.journal.record import FIXED, KIND_NUMBER, NO_ID, PROTOCOLS, RECORDED, Row
from framehub.rpc.messages import FIELDS

__all__ = ["IN", "KIND_OF", "OUT", "PARTS_OF", "PAYLOADS", "RpcRows", "Side", "join", "joined", "split"]

Side = Literal["client", "worker"]

_RPC: Final = PROTOCOLS.index("rpc")
_VERSION: Final = 1
_FULL: Final = RECORDED.index("full")
_LENGTH: Final = struct.Struct(">I")
_LENGTHS: Final = tuple(_LENGTH.pack(size) for size in range(1024))
"""Most parts are short: their lengths are looked up, not packed."""
_REFUSED: Final = KIND_NUMBER["refused"]
_LINKS: Final = 16_384
"""Links remembered; the rest are hashed again."""


KIND_OF: Final = {
    Message.QUERY: Kind.QUERY,
    Message.QUERY_RECEIVED: Kind.QUERY_RECEIVED,
    Message.RESPONSE_RESULT: Kind.RESULT,
    Message.RESPONSE_EXCEPTION: Kind.EXCEPTION,
    Message.RESPONSE_UNKNOWN_FUNCTION: Kind.UNKNOWN_FUNCTION,
    Message.RESPONSE_RECEIVED: Kind.RESPONSE_RECEIVED,
    Message.CODER_IDENTITY_QUERY: Kind.CODERS_QUERY,
    Message.CODER_IDENTITY_FOUND: Kind.CODERS_FOUND,
    Message.CODER_IDENTITY_NOT_FOUND: Kind.CODERS_NOT_FOUND,
    Message.HEART_BEAT: Kind.HEART_BEAT,
    Message.WORKER_REGISTER: Kind.REGISTER,
    Message.INCOMPATIBLE_SPECS_FAILURE: Kind.INCOMPATIBLE,
    Message.WORKER_DESCRIBE: Kind.DESCRIBE,
    Message.FUNCTIONS_QUERY: Kind.FUNCTIONS_QUERY,
    Message.FUNCTIONS_LIST: Kind.FUNCTIONS_LIST,
    Message.CANCEL: Kind.CANCEL,
    Message.QUERY_RETURNED: Kind.QUERY_RETURNED,
    Message.QUERY_CONFIRMED: Kind.QUERY_CONFIRMED,
}
PARTS_OF: Final = {type_: parts for way in FIELDS.values() for type_, parts in way.items()}
"""Names of the parts that follow the type: the same whoever sends it."""
PAYLOADS: Final = ("argument", "result", "text", "json", "reason")
"""Parts that ``payload_at`` points at."""


def _places(parts: tuple[str, ...]) -> tuple[int, int, bool]:
    payload = [place for place, name in enumerate(parts, 1) if name in PAYLOADS]
    function = [place for place, name in enumerate(parts, 1) if name == "function"]
    return payload[0] if payload else 0, function[0] if function else 0, "id" in parts


# By type: number of the kind; places of payload and function among the parts, 0 for none; has it an id.
_PLACES: Final = {
    type_.value.encode(): (KIND_NUMBER[kind], *_places(PARTS_OF[type_])) for type_, kind in KIND_OF.items()
}
_new: Final = tuple.__new__  # half the price of what a NamedTuple makes of its own


class RpcRows:
    """Makes the rows of a proxy's messages."""

    def __init__(self) -> None:
        self._links: dict[tuple[Side, bytes], bytes] = {}

    def row(
        self,
        at: tuple[int, int],
        direction: int,
        identity: bytes,
        parts: Sequence[bytes],
        *,
        link: bytes,
        kind: Kind | None = None,
        exchange: bytes = NO_ID,
        function: str | None = None,
        coder: str | None = None,
        parent: bytes = NO_ID,
        error: str | None = None,
    ) -> Row:
        """One lawful message, the type first, that came ``IN`` from this peer or went ``OUT`` to it.

        ``kind`` is only for a message that shall count as another than its type says. ``function`` is for
        messages that do not name it.
        """
        number, payload, function_at, has_id = _PLACES[parts[0]]
        if kind is not None:
            number = KIND_NUMBER[kind]
        if function is None and function_at:
            function = parts[function_at].decode("utf-8", "backslashreplace")
        raw = joined(identity, parts)
        at_payload = payload_bytes = -1
        if payload:
            payload_bytes = len(parts[payload])
            # All that stands before it, each with its length, and its own length.
            at_payload = 4 * payload + 8 + len(identity) + len(parts[0])
            if payload == 2:
                at_payload += len(parts[1])
        # fmt: off
        fixed = FIXED.pack(
            at[0], at[1], link, _RPC, _VERSION, direction, 0, -1, -1, number, -1,
            -1, -1, -1, -1, len(raw), at_payload, payload_bytes, -1, exchange, parent, _FULL,
        )
        # fmt: on
        return _new(Row, (fixed, function, parts[1] if has_id else None, error, None, raw, coder))

    def constant(self, link: bytes, direction: int, type_: bytes, identity: int, first: int) -> bytes:
        """What brief rows of one type have in common, with an identity and a first part of these lengths."""
        number, payload, _, has_id = _PLACES[type_]
        at = 12 + identity + len(type_)  # where the first part begins
        payload_at = (at, at + 4 + first)[payload - 1] if payload else 0
        fields = (_RPC, _VERSION, direction, number, 0, -1, -1, -1, payload_at, at if has_id else 0)
        return CONSTANT.pack(link, *fields)

    def refused(
        self, at: tuple[int, int], identity: bytes, parts: Sequence[bytes], reason: str, link: bytes
    ) -> Row:
        """Parts of a peer's that were no lawful message."""
        raw = join([identity, *parts])
        # fmt: off
        fixed = FIXED.pack(
            at[0], at[1], link, _RPC, _VERSION, IN, 0, -1, -1, _REFUSED, -1,
            -1, -1, -1, -1, len(raw), -1, -1, -1, NO_ID, NO_ID, _FULL,
        )
        # fmt: on
        return Row(fixed, None, None, None, reason, raw)

    def link_of(self, side: Side, identity: bytes) -> bytes:
        """The 8 bytes that stand for a peer at one of the proxy's two sockets."""
        link = self._links.get((side, identity))
        if link is None:
            link = blake2b(identity, digest_size=8, person=side.encode()).digest()
            if len(self._links) >= _LINKS:
                self._links.clear()
            self._links[side, identity] = link
        return link


def join(parts: Sequence[bytes]) -> bytes:
    """Parts, each after its length."""
    return b"".join([piece for part in parts for piece in (_LENGTH.pack(len(part)), part)])


def joined(identity: bytes, parts: Sequence[bytes]) -> bytes:
    """The same of a message and its peer, faster for those that come most."""
    try:
        if len(parts) == 4:
            a, b, c, d = parts
            return b"".join(
                (_LENGTHS[len(identity)], identity, _LENGTHS[len(a)], a, _LENGTHS[len(b)], b,
                 _LENGTHS[len(c)], c, _LENGTHS[len(d)], d)
            )  # fmt: skip
        if len(parts) == 3:
            a, b, c = parts
            return b"".join(
                (_LENGTHS[len(identity)], identity, _LENGTHS[len(a)], a, _LENGTHS[len(b)], b,
                 _LENGTHS[len(c)], c)
            )  # fmt: skip
        if len(parts) == 2:
            a, b = parts
            return b"".join((_LENGTHS[len(identity)], identity, _LENGTHS[len(a)], a, _LENGTHS[len(b)], b))
    except IndexError:
        pass  # a long one
    return join([identity, *parts])


def split(raw: bytes) -> list[bytes]:
    """The parts that ``join`` was given.

    Raises:
        MalformedFrame: a length or a part is cut short.
    """
    parts = []
    at, end = 0, len(raw)
    while at < end:
        if end - at < 4:
            raise MalformedFrame("the length of a part is cut short", offset=at)
        (size,) = _LENGTH.unpack_from(raw, at)
        at += 4
        if size > end - at:
            raise MalformedFrame(f"a part of {size} bytes is cut short", offset=at)
        parts.append(raw[at : at + size])
        at += size
    return parts
