"""``Peer``: the other end of one MFP connection, to ask and to be asked by.

The rules are in ``framehub.mfp.connection``; here are its futures, its timer and its tap. What the peer asks
of us goes to ``framehub.runtime.serving``.
"""

import asyncio
import logging
from collections.abc import Mapping
from time import monotonic
from typing import Any

from msgspec import UNSET

from framehub.codes import CloseCode
from framehub.errors import (
    ChecksumFailed,
    ConnectionClosed,
    EndpointError,
    RemoteProtocolError,
    RequestAborted,
    RequestTimeout,
    StreamAborted,
)
from framehub.journal.record import NO_ID
from framehub.mfp import envelope
from framehub.mfp.connection import Connection
from framehub.mfp.envelope import Envelope
from framehub.mfp.events import (
    Acknowledged,
    Event,
    MessageLost,
    MessageReceived,
    MessageRefused,
    PongReceived,
    RequestCancelled,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    StreamChunk,
    StreamLost,
    StreamOpened,
    StreamRefused,
)
from framehub.mfp.frames import Files
from framehub.mfp.negotiation import HELLO
from framehub.mfp.outbox import FRAME_OVERHEAD
from framehub.mfp.settings import Settings
from framehub.runtime.alarm import Alarm
from framehub.runtime.calls import File, Reply
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.link import Link
from framehub.runtime.room import Room
from framehub.runtime.serving import Opened, Serving, current, labels, open_payload, pack
from framehub.runtime.streams import CHUNK_BYTES, Inflow, OutStream
from framehub.runtime.tap import IN, OUT, LinkTap
from framehub.runtime.waiting import Waiting

log = logging.getLogger("framehub.peer")


class Peer:
    """One connection's other end. Made by ``connect`` and ``listen``, not by hand."""

    def __init__(
        self,
        settings: Settings,
        link: Link,
        endpoints: Endpoints,
        *,
        link_id: bytes,
        tap: LinkTap | None = None,
        user: int = 0,
        checksum: bool = False,
    ) -> None:
        self.user = user
        self.hello: dict[str, Any] | None = None
        """What the listener said of itself, once it has."""
        self.closed: asyncio.Future[ConnectionClosed] = asyncio.get_running_loop().create_future()
        """Done when the connection is gone; its result says why."""
        self._connection = Connection(settings)
        self._inflow = Inflow(
            pause=lambda: link.pause("streams"),
            resume=lambda: link.resume("streams"),
            patience=settings.progress_timeout,
        )
        self._serving = Serving(self, self._connection, endpoints, self._exchange_name, self._inflow)
        self._link = link
        self._link_id = link_id
        self._tap = tap
        self._checksum = checksum
        self._waiting = Waiting()
        self._room = Room()
        self.chunk_bytes = min(CHUNK_BYTES, settings.max_frame_bytes - FRAME_OVERHEAD)
        """What one frame of a stream of ours carries at most."""
        self._alarm = Alarm(self._tick)
        if tap:
            tap.opened()

    @property
    def link(self) -> str:
        """The connection's name in the journal of the node that listens."""
        if self.hello is not None and isinstance(self.hello.get("link"), str):
            return str(self.hello["link"])
        return self._link_id.hex()

    @property
    def pending(self) -> int:
        """Everything under way, both ways."""
        return self._connection.pending + self._serving.running

    # --- ask and tell ----------------------------------------------------------------------------------

    async def request(
        self,
        endpoint: str,
        data: Any = UNSET,
        *,
        files: Mapping[int, File] | None = None,
        timeout: float | None = None,
        ack: bool = False,
        raise_on_error: bool = True,
    ) -> Reply:
        """Ask ``endpoint`` and wait for its answer.

        Raises:
            EndpointError: the answer is an error; ``.value`` is what was sent.
            RequestTimeout: no answer came in ``timeout`` seconds (default: the connection's).
            RequestAborted: the peer will not answer.
            ConnectionClosed: the connection ended first.
            LimitExceeded: too big for one frame, or too many requests wait.
        """
        payload, blobs = pack(endpoint, data, files)
        await self._writable()
        id_ = self._connection.request(
            payload, blobs, now=monotonic(), timeout=timeout, need_ack=ack, checksum=self._checksum
        )
        future = self._waiting.for_reply(id_)
        self._flush(endpoint=endpoint, parent=current.get())
        try:
            reply = await future
        except asyncio.CancelledError:
            if self._waiting.forget(id_) and self._connection.cancel(id_):
                self._flush()
            raise
        if reply.error is not None and raise_on_error:
            raise EndpointError(reply.error)
        return reply

    async def send(
        self,
        endpoint: str,
        data: Any = UNSET,
        *,
        files: Mapping[int, File] | None = None,
        ack: bool = False,
    ) -> None:
        """Tell ``endpoint`` something; with ``ack`` return when the peer has received and verified it."""
        payload, blobs = pack(endpoint, data, files)
        await self._writable()
        id_ = self._connection.message(payload, blobs, need_ack=ack, checksum=self._checksum)
        await self._sent(id_, ack=ack, endpoint=endpoint)

    async def announce(
        self, endpoint: str, data: Any, files: Mapping[int, File], *, ack: bool = False
    ) -> None:
        """Tell ``endpoint`` something whose files follow, each in a frame of its own.

        With ``ack`` each file is acknowledged before the next one goes.

        Raises:
            RequestAborted: the peer said that it does not take this message.
        """
        names = {key: (file.name, file.type) for key, file in files.items()}
        payload = envelope.encode(endpoint, data, names=names)
        await self._writable()
        ref = self._connection.message(payload, expected=tuple(files), need_ack=ack, checksum=self._checksum)
        await self._sent(ref, ack=ack, endpoint=endpoint)
        for key, file in files.items():
            await self._writable()
            if not self._connection.is_telling(ref):
                raise RequestAborted("the peer does not take this message")
            id_ = self._connection.file(ref, key, file.data, need_ack=ack, checksum=self._checksum)
            await self._sent(id_, ack=ack, about=ref)

    def stream(self, endpoint: str, data: Any = UNSET) -> OutStream:
        """A stream to ``endpoint``: ``async with peer.stream(...) as out: await out.write(b"...")``."""
        return OutStream(self, endpoint, data)

    async def ping(self, *, timeout: float = 10.0) -> float:
        """Seconds there and back.

        Raises:
            RequestTimeout: no sign of life in ``timeout`` seconds.
        """
        await self._writable()
        id_ = self._connection.ping(monotonic())
        future = self._waiting.for_pong(id_)
        self._flush()
        try:
            async with asyncio.timeout(timeout):
                return await future
        except TimeoutError:
            raise RequestTimeout(f"no pong in {timeout:g} s") from None
        finally:
            self._waiting.forget(id_)
            self._connection.forget(id_)

    async def close(self, code: int = CloseCode.OK, reason: str = "") -> None:
        """End the connection; everything pending fails with ``ConnectionClosed``."""
        self._link.close(code, reason)
        await asyncio.shield(self.closed)

    def respond(
        self, ref: int, payload: bytes, files: Files = (), *, endpoint: str | None, error: str | None = None
    ) -> None:
        """Send an answer of ours, if somebody still waits for it."""
        if not self.closed.done():
            self._connection.respond(ref, payload, files, checksum=self._checksum)
            self._flush(endpoint=endpoint, error=error)

    def greet(self, endpoint: str, data: Any) -> None:
        """Send the first message of a connection, before anything can be in its way."""
        self._connection.message(envelope.encode(endpoint, data))
        self._flush(endpoint=endpoint)

    def pause_reading(self) -> None:
        """Take nothing more from this peer until ``resume_reading``."""
        self._link.pause("owner")

    def resume_reading(self) -> None:
        """Take frames again."""
        self._link.resume("owner")

    # --- streams: the wire side of OutStream and InStream ----------------------------------------------

    async def open_stream(self, endpoint: str, data: Any) -> int:
        """Send the message that opens a stream; its id."""
        payload = envelope.encode(endpoint, data)
        await self._writable()
        ref = self._connection.message(payload, streaming=True, checksum=self._checksum)
        self._flush(endpoint=endpoint, parent=current.get())
        return ref

    async def send_chunk(self, ref: int, data: bytes, *, key: int | None, ack: bool) -> None:
        """Send one frame of a stream; waits while the peer is slow."""
        await self._writable()
        id_ = self._connection.chunk(ref, data, key=key, need_ack=ack, checksum=self._checksum)
        await self._sent(id_, ack=ack, about=ref)

    async def end_stream(self, ref: int) -> None:
        """Send the last frame of a stream."""
        await self._writable()
        self._connection.chunk(ref, b"", final=True, checksum=self._checksum)
        self._flush()

    def give_up(self, ref: int) -> None:
        """Abort a stream of ours, if it is still open."""
        if self._connection.give_up(ref):
            self._flush()

    def abort_stream(self, ref: int) -> None:
        """Abort a stream of the peer's, if it is still open."""
        if self._connection.abort_stream(ref):
            self._flush()

    async def _writable(self) -> None:
        """Wait until the peer keeps up.

        Raises:
            ConnectionClosed: there is nobody to write to.
        """
        await self._room.turn()
        if self.closed.done():
            raise self.closed.result()

    async def _sent(self, id_: int, *, ack: bool, endpoint: str | None = None, about: int = 0) -> None:
        if not ack:
            self._flush(endpoint=endpoint, parent=current.get())
            return
        future = self._waiting.for_ack(id_, about=about or id_)
        self._flush(endpoint=endpoint, parent=current.get())
        try:
            await future
        finally:
            self._waiting.forget(id_)
            self._connection.forget(id_)

    # --- what the link says ----------------------------------------------------------------------------

    def frame_received(self, data: bytes) -> None:
        """Take one frame from the link."""
        if self.closed.done():
            return
        try:
            frame, exchange, event = self._connection.receive(data, monotonic())
        except RemoteProtocolError as exc:
            if self._tap:
                self._tap.refused(data, str(exc))
            self._flush()
            bad_sum = isinstance(exc, ChecksumFailed)
            self._link.close(CloseCode.BAD_CHECKSUM if bad_sum else CloseCode.PROTOCOL_ERROR, str(exc))
            return
        opened = open_payload(frame, event)
        if self._tap:
            endpoint, error = labels(opened)
            self._tap.frame(IN, frame, data, exchange, endpoint=endpoint, error=error)
        if event is not None:
            self._handle(event, opened)
        self._flush()

    def link_full(self) -> None:
        """The peer reads slowly: nothing more is sent until it has caught up."""
        self._room.full()

    def link_ready(self) -> None:
        """The peer has caught up."""
        self._room.ready()

    def link_lost(self, code: int, reason: str) -> None:
        """The connection is gone: fail everything that waits."""
        if self.closed.done():
            return
        error = ConnectionClosed(code, reason)
        if self._tap:
            self._tap.closed(code, reason)
        self.closed.set_result(error)
        self._connection.close()
        self._inflow.close(error)
        self._serving.close()
        self._alarm.cancel()
        self._waiting.close(error)
        self._room.ready()

    # --- inside ----------------------------------------------------------------------------------------

    def _handle(self, event: Event, opened: Opened | None) -> None:
        if isinstance(event, RequestReceived):
            self._serving.request(event, _known(opened))
        elif isinstance(event, ResponseReceived):
            self._waiting.answered(event, opened)
        elif isinstance(event, StreamChunk):
            self._inflow.push(event.frame.ref, event.frame)
        elif isinstance(event, MessageReceived):
            self._on_message(event, _known(opened))
        elif isinstance(event, Acknowledged):
            self._waiting.acknowledged(event)
        elif isinstance(event, RequestFailed):
            self._waiting.failed(event)
        elif isinstance(event, RequestCancelled):
            self._serving.cancel(event.ref)
        elif isinstance(event, PongReceived):
            self._waiting.pong(event)
        elif isinstance(event, StreamOpened):
            self._serving.stream(event, _known(opened))
        elif isinstance(event, StreamLost):
            self._inflow.lose(event.ref, StreamAborted(event.reason))
        elif isinstance(event, MessageRefused | StreamRefused):
            self._waiting.refused(event)
        elif isinstance(event, MessageLost):
            log.info("link %s: announced message %d is lost: %s", self.link, event.ref, event.reason)

    def _on_message(self, event: MessageReceived, opened: Opened) -> None:
        if isinstance(opened, Envelope) and opened.endpoint == HELLO:
            self.hello = opened.data if isinstance(opened.data, dict) else None
        else:
            self._serving.message(event, opened)

    def _exchange_name(self, exchange: int) -> bytes:
        return self._link_id + exchange.to_bytes(8, "big")

    def _flush(self, *, endpoint: str | None = None, error: str | None = None, parent: bytes = NO_ID) -> None:
        """Send what waits; the labels belong to the one frame among it that is no service frame."""
        for data, frame, exchange in self._connection.drain():
            self._link.send(data)
            if self._tap:
                self._tap.frame(OUT, frame, data, exchange, endpoint=endpoint, error=error, parent=parent)
        self._alarm.set(self._connection.next_deadline)

    def _tick(self) -> None:
        for event in self._connection.tick(monotonic()):
            self._handle(event, None)
        self._flush()


def _known(opened: Opened | None) -> Opened:
    """What came with an event about a payload: it was looked into."""
    assert opened is not None
    return opened
