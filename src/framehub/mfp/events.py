"""What a connection tells its owner (spec/mfp.md, section 8). Pure.

Every frame received causes at most one event. ``exchange`` numbers the conversation on its connection.
"""

from typing import TypeAlias

from msgspec import Struct

from framehub.codes import CloseCode, Service
from framehub.mfp.frames import BinaryFrame, MessageFrame, RequestFrame, ResponseFrame

LeftOut: TypeAlias = tuple[tuple[int, str], ...]
"""Files that were not delivered, as (key, why)."""


class MessageReceived(Struct, frozen=True, gc=False):
    """A message; the announced files (``frame.expected``) that came are attached.

    ``left_out`` says by key which files are not, and why; it is empty unless ``bad_files`` is ``deliver``.
    """

    frame: MessageFrame
    exchange: int
    left_out: LeftOut = ()


class RequestReceived(Struct, frozen=True, gc=False):
    """The peer asks; answer with ``respond`` or ``refuse``."""

    frame: RequestFrame
    exchange: int


class ResponseReceived(Struct, frozen=True, gc=False):
    """The answer to our request ``ref``."""

    ref: int
    frame: ResponseFrame
    exchange: int


class RequestFailed(Struct, frozen=True, gc=False):
    """Our request ``id`` ends without an answer: by timeout, abort or unknown; ``by_peer`` says whose."""

    id: int
    code: Service
    by_peer: bool
    exchange: int


class RequestCancelled(Struct, frozen=True, gc=False):
    """The peer's request ``ref`` needs no answer: it gave up (``by_peer``), or we are out of time."""

    ref: int
    code: Service
    by_peer: bool
    exchange: int


class MessageRefused(Struct, frozen=True, gc=False):
    """The peer will not take our message ``id``."""

    id: int
    exchange: int


class MessageLost(Struct, frozen=True, gc=False):
    """An announced message of the peer will never be whole; ``reason`` says why, the peer was told."""

    ref: int
    reason: str
    exchange: int


class StreamOpened(Struct, frozen=True, gc=False):
    """The peer begins a stream; its chunks follow."""

    frame: MessageFrame
    exchange: int


class StreamChunk(Struct, frozen=True, gc=False):
    """The next frame of a stream of the peer's; a ``final`` one ends it."""

    frame: BinaryFrame
    exchange: int


class StreamLost(Struct, frozen=True, gc=False):
    """A stream of the peer's will never end as it should; ``reason`` says why."""

    ref: int
    reason: str
    exchange: int


class StreamRefused(Struct, frozen=True, gc=False):
    """The peer wants no more of our stream ``id``: nothing more may be sent of it."""

    id: int
    exchange: int


class Acknowledged(Struct, frozen=True, gc=False):
    """The peer has received and verified our frame ``id``."""

    id: int
    exchange: int


class PongReceived(Struct, frozen=True, gc=False):
    """The peer answered our ping ``id``."""

    id: int
    round_trip: float
    exchange: int


class ConnectionOver(Struct, frozen=True, gc=False):
    """Close the connection: the peer is dead, or nobody uses it. Told by ``tick`` only."""

    code: CloseCode
    reason: str
    exchange: int = 0


Event: TypeAlias = (
    MessageReceived
    | RequestReceived
    | ResponseReceived
    | RequestFailed
    | RequestCancelled
    | MessageRefused
    | MessageLost
    | StreamOpened
    | StreamChunk
    | StreamLost
    | StreamRefused
    | Acknowledged
    | PongReceived
    | ConnectionOver
)
