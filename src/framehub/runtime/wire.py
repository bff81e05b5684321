"""The wire under a peer: the machine, its link, its turns, its timer and its tap."""

import asyncio
from collections.abc import Callable
from functools import cached_property, partial
from time import monotonic
from typing import Any, Final

from framehub.codes import Service
from framehub.errors import ConnectionClosed, RequestTimeout
from framehub.journal.record import NO_ID
from framehub.mfp import envelope
from framehub.mfp.conduct import Window
from framehub.mfp.connection import Connection, Received
from framehub.mfp.frames import Files, ServiceFrame
from framehub.mfp.outbox import FRAME_OVERHEAD, Outgoing
from framehub.mfp.settings import Settings
from framehub.runtime.alarm import Alarm
from framehub.runtime.link import Link
from framehub.runtime.payloads import Opened, labels
from framehub.runtime.room import Room
from framehub.runtime.serving import current
from framehub.runtime.streams import CHUNK_BYTES
from framehub.runtime.tap import IN, OUT, LinkTap
from framehub.runtime.waiting import Waiting

MOST_CANCELS: Final = 50
CANCEL_SECONDS: Final = 20.0
"""So many requests that we give up in such a time we say so of: a peer takes twice as many in half of it,
streams and other things among them, and some may be held up on their way."""


class Wire:
    """Sends what the machine says, in turn, and waits for what comes of it."""

    def __init__(
        self, settings: Settings, link: Link, *, link_id: bytes, tap: LinkTap | None, checksum: bool
    ) -> None:
        self.closed: asyncio.Future[ConnectionClosed] = asyncio.get_running_loop().create_future()
        """Done when the connection is gone; its result says why."""
        self.chunk_bytes = min(CHUNK_BYTES, settings.max_frame_bytes - FRAME_OVERHEAD)
        """What one frame of a stream of ours carries at most."""
        self._connection = Connection(settings)
        self._connection.ask_before_cancels(self._may_cancel)
        self._outbox = self._connection.outbox
        self._link = link
        self.link_id = link_id
        """The connection's name in our own journal."""
        self._tap = tap
        self._took = tap.took if tap is not None else None
        self._checksum = checksum
        self._waiting = Waiting()
        self._room = Room()
        self._alarm = Alarm()

    @cached_property
    def _cancels(self) -> Window:
        """Requests that we gave up and said so: made when there is one."""
        return Window("requests given up", MOST_CANCELS, CANCEL_SECONDS)

    def _may_cancel(self) -> bool:
        return self._cancels.fits(monotonic())

    def respond(
        self, ref: int, payload: bytes, files: Files = (), *, endpoint: str | None, error: str | None = None
    ) -> None:
        """Send an answer of ours, if somebody still waits for it."""
        if not self.closed.done():
            self._connection.respond(ref, payload, files, checksum=self._checksum)
            self._flush(endpoint=endpoint, error=error)

    def refuse(self, ref: int) -> None:
        """Say that there will be no answer."""
        self._connection.refuse(ref)
        self._flush()

    def greet(self, endpoint: str, data: Any) -> None:
        """Send the first message of a connection, before anything can be in its way."""
        self._connection.message(envelope.encode(endpoint, data))
        self._flush(endpoint=endpoint)

    def pause_reading(self, why: str = "owner") -> None:
        """Take nothing more from this peer until ``resume_reading``, for every reason."""
        self._link.pause(why)

    def resume_reading(self, why: str = "owner") -> None:
        """Take frames again."""
        self._link.resume(why)

    def link_full(self) -> None:
        """The peer reads slowly: nothing more is sent until it has caught up."""
        self._room.full()

    def link_ready(self) -> None:
        """The peer has caught up."""
        self._room.ready()

    # --- streams: the wire side of OutStream and InStream ----------------------------------------------

    async def open_stream(self, endpoint: str, data: Any) -> int:
        """Send the message that opens a stream; its id."""
        payload = envelope.encode(endpoint, data)
        await self._writable()
        ref = self._connection.message(payload, streaming=True, checksum=self._checksum)
        self._flush(endpoint=endpoint, parent=self._parent())
        return ref

    async def send_chunk(self, ref: int, data: bytes, *, key: int | None, ack: bool) -> None:
        """Send one frame of a stream; waits while the peer is slow."""
        await self._writable()
        id_ = self._connection.chunk(ref, data, key=key, need_ack=ack, checksum=self._checksum)
        await self._sent(id_, ack=ack, about=ref)

    async def end_stream(self, ref: int, data: bytes = b"") -> None:
        """Send the last frame of a stream."""
        await self._writable()
        self._connection.chunk(ref, data, final=True, checksum=self._checksum)
        self._flush()

    def watch_stream(self, ref: int, tell: Callable[[BaseException | None], None]) -> None:
        """Call ``tell`` when the peer wants no more of a stream of ours, or is gone; once, if at all."""
        refused = self._waiting.for_ack(ref, about=ref)  # nobody acknowledges it: it can only fail
        refused.add_done_callback(lambda done: tell(done.exception()))

    def unwatch_stream(self, ref: int) -> None:
        """It is over."""
        self._waiting.forget(ref)

    def give_up(self, ref: int) -> None:
        """Abort a stream of ours, if it is still open."""
        if self._connection.give_up(ref):
            self._flush()

    def abort_stream(self, ref: int) -> None:
        """Abort a stream of the peer's, if it is still open."""
        if self._connection.abort_stream(ref):
            self._flush()

    async def _writable(self, until: float | None = None) -> None:
        """Wait until the peer keeps up.

        Raises:
            ConnectionClosed: there is nobody to write to.
            RequestTimeout: it does not, and it is too late.
        """
        if not self._room.free:
            try:
                async with asyncio.timeout(None if until is None else until - monotonic()):
                    await self._room.turn()
            except TimeoutError:
                raise RequestTimeout("the peer does not read") from None
        if self.closed.done():
            raise self.closed.result().again()

    async def _sent(self, id_: int, *, ack: bool, endpoint: str | None = None, about: int = 0) -> None:
        if not ack:
            self._flush(endpoint=endpoint, parent=self._parent())
            return
        future = self._waiting.for_ack(id_, about=about or id_)
        self._flush(endpoint=endpoint, parent=self._parent())
        try:
            await future
        finally:
            del future  # it knows the error that it ended with, whose traceback knows us
            self._waiting.forget(id_)
            self._connection.forget(id_)

    @property
    def exchanges(self) -> int:
        """Conversations on this connection so far."""
        return self._outbox.exchanges

    # --- inside ----------------------------------------------------------------------------------------

    def exchange_name(self, exchange: int) -> bytes:
        """How the journal calls a conversation: by the link's name, then its number on the link."""
        return self.link_id + exchange.to_bytes(8, "big")

    def _flush(self, *, endpoint: str | None = None, error: str | None = None, parent: bytes = NO_ID) -> None:
        """Send what waits; the labels belong to the one frame among it that is no service frame."""
        tap, send = self._tap, self._link.send
        if tap is None:
            for out in self._outbox.drain():
                send(*out.pieces)
            return
        late = tap.promises
        plain = endpoint if error is None and parent is NO_ID else None
        for out in self._outbox.drain():
            pieces = out.pieces
            if late is not None and type(out.frame) is ServiceFrame and out.frame.code is Service.ACK:
                late.when_durable(partial(self._acknowledge, out))
            elif send(*pieces) and (
                plain is None or len(pieces) > 1 or not tap.gave(pieces[0], out.exchange, plain)
            ):
                tap.frame(OUT, out.frame, out.data, out.exchange, endpoint, error, parent)

    def _record(
        self, received: Received, data: bytes | memoryview, opened: Opened | None, now: float
    ) -> None:
        """Record a frame that is more than a payload for an endpoint."""
        assert self._tap is not None
        endpoint, error = labels(opened)
        self._tap.frame(IN, received.frame, data, received.exchange, endpoint, error, now=now)

    def _acknowledge(self, out: Outgoing) -> None:
        """What it acknowledges is durable."""
        if not self.closed.done() and self._link.send(*out.pieces) and self._tap:
            self._tap.frame(OUT, out.frame, out.data, out.exchange)

    def _parent(self) -> bytes:
        """The exchange whose handler asks, where anybody writes that down."""
        asked = current.get() if self._tap else None
        return NO_ID if asked is None else asked[0] + asked[1].to_bytes(8, "big")
