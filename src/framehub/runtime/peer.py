"""``Peer``: the other end of one MFP connection, to ask and to be asked by.

The rules are in ``framehub.mfp.connection``; here are its futures, its timer and its tap. What the peer asks
of us goes to ``framehub.runtime.serving``.
"""

import asyncio
import logging
from collections.abc import Mapping
from time import monotonic
from typing import Any, Literal

from msgspec import UNSET

from framehub.codes import CloseCode
from framehub.errors import (
    ConnectionClosed,
    EndpointError,
    RemoteProtocolError,
    RequestAborted,
    RequestTimeout,
    StreamAborted,
)
from framehub.mfp import envelope
from framehub.mfp.envelope import BadEnvelope, Envelope
from framehub.mfp.events import (
    Acknowledged,
    ConnectionOver,
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
from framehub.mfp.negotiation import HELLO, NOTHING_TOLD, understand
from framehub.mfp.outbox import FRAME_OVERHEAD
from framehub.mfp.settings import Settings
from framehub.runtime.accounts import Account
from framehub.runtime.calls import Reply
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.files import File, all_read, load, load_within, read_all, sizes
from framehub.runtime.link import Link
from framehub.runtime.payloads import Opened, known, open_payload, pack
from framehub.runtime.serving import Serving
from framehub.runtime.streams import Inflow, OutStream
from framehub.runtime.tap import LinkTap
from framehub.runtime.wire import Wire

log = logging.getLogger("framehub.peer")


class Peer(Wire):
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
        expects_hello: bool = False,
    ) -> None:
        super().__init__(settings, link, link_id=link_id, tap=tap, checksum=checksum)
        self.user = user
        self.hello: dict[str, Any] | None = None
        """What the listener said of itself, once it has."""
        self._expects_hello = expects_hello
        self._alarm.ring = self._tick
        self._told = NOTHING_TOLD
        if checksum:
            self._connection.seal()
        self._inflow = Inflow(link, patience=settings.progress_timeout)
        self._serving = Serving(
            self, self._connection, endpoints, self._inflow, self._room, recorded=tap is not None
        )
        self._patience = min(settings.request_timeout, settings.progress_timeout)
        self._alarm.set(self._connection.next_deadline)
        if tap:
            tap.opened()

    @property
    def link(self) -> str:
        """The connection's name in the journal of the node that listens."""
        return self._told.link or self.link_id.hex()

    @property
    def state(self) -> Literal["open", "closed"]:
        """Whether the connection is there; ``connect(reconnect=True)`` knows ``connecting`` too."""
        return "closed" if self.closed.done() else "open"

    @property
    def request_timeout(self) -> float:
        """Seconds for a request that names none: ours, or the listener's where that is less."""
        return self._connection.request_timeout

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
            OSError: a file cannot be read; nothing was sent.
        """
        connection = self._connection
        timeout = connection.request_timeout if timeout is None else timeout
        until = (now := monotonic()) + timeout
        if files and not all_read(files):
            files = await load_within(until - now, self._connection, endpoint, data, files)
            now = monotonic()
        payload, blobs = pack(endpoint, data, files)
        if not self._room.free or self.closed.done():
            await self._writable(until)
            now = monotonic()
        id_ = connection.request(
            payload, blobs, now=now, timeout=until - now, need_ack=ack, checksum=self._checksum
        )
        future = self._waiting.for_reply(id_)
        self._flush(endpoint=endpoint, parent=self._parent())
        if until < self._alarm.at:
            self._alarm.set(until)
        try:
            reply = await future
        except asyncio.CancelledError:
            if self._waiting.forget(id_) and self._connection.cancel(id_):
                self._flush()
            raise
        except RequestTimeout as exc:
            raise self._waiting.timed_out(endpoint, exc, timeout) from None
        finally:
            del future  # it knows the error that it ended with, whose traceback knows us
        if reply.is_error and raise_on_error:
            raise EndpointError(reply.error)
        return reply

    async def send(
        self,
        endpoint: str,
        data: Any = UNSET,
        *,
        files: Mapping[int, File] | None = None,
        ack: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Tell ``endpoint`` something; with ``ack`` return when the peer has received and verified it.

        That is not to say that it has a use for it: a message that nobody takes is acknowledged all the same.

        Raises:
            RequestTimeout: it could not be sent, or was not acknowledged, in ``timeout`` seconds.
            LimitExceeded: too big for one frame.
            OSError: a file cannot be read; nothing was sent.
        """
        try:
            async with asyncio.timeout(timeout) as limit:
                if files and not all_read(files):
                    files = await load(self._connection, endpoint, data, files)
                payload, blobs = pack(endpoint, data, files)
                await self._writable()
                id_ = self._connection.message(payload, blobs, need_ack=ack, checksum=self._checksum)
                await self._sent(id_, ack=ack, endpoint=endpoint)
        except TimeoutError:
            if not limit.expired():
                raise  # a file system's
            raise RequestTimeout(f"not taken in {timeout:g} s") from None

    async def announce(
        self, endpoint: str, data: Any, files: Mapping[int, File], *, ack: bool = False
    ) -> None:
        """Tell ``endpoint`` something whose files follow, each in a frame of its own.

        With ``ack`` each file is acknowledged before the next one goes. A file on disk is read when its turn
        comes: one is in memory at a time.

        Raises:
            RequestAborted: the peer said that it does not take this message.
            LimitExceeded: a file is too big for one frame, or all are for one message; nothing was sent.
            OSError: a file cannot be read. Found out before anything is sent, or else the message is aborted.
        """
        on_disk = not all_read(files)
        found = await sizes(files) if on_disk else [len(file.data) for file in files.values()]
        names = {key: (file.name, file.type) for key, file in files.items()}
        payload = envelope.encode(endpoint, data, names=names)
        self._connection.check_announced(len(payload), found)
        await self._writable()
        ref = self._connection.message(payload, expected=tuple(files), need_ack=ack, checksum=self._checksum)
        try:
            await self._sent(ref, ack=ack, endpoint=endpoint)
            for key, file in files.items():
                blob = await self._blob(file)
                await self._writable()
                if not self._connection.is_telling(ref):
                    raise RequestAborted("the peer does not take this message")
                id_ = self._connection.file(ref, key, blob, need_ack=ack, checksum=self._checksum)
                await self._sent(id_, ack=ack, about=ref)
        except BaseException:
            self.give_up(ref)
            raise

    def stream(self, endpoint: str, data: Any = UNSET) -> OutStream:
        """A stream to ``endpoint``: ``async with peer.stream(...) as out: await out.write(b"...")``."""
        return OutStream(self, endpoint, data)

    async def ping(self, *, timeout: float = 10.0) -> float:
        """Seconds there and back.

        Raises:
            RequestTimeout: no sign of life in ``timeout`` seconds.
        """
        if self.closed.done():
            raise self.closed.result().again()
        id_ = self._connection.ping(monotonic())  # also to a peer that does not read: to find that out
        future = self._waiting.for_pong(id_)
        self._flush()
        try:
            async with asyncio.timeout(timeout):
                return await future
        except TimeoutError:
            raise RequestTimeout(f"no pong in {timeout:g} s") from None
        finally:
            del future
            self._waiting.forget(id_)
            self._connection.forget(id_)

    async def close(self, code: int = CloseCode.OK, reason: str = "") -> None:
        """End the connection; everything pending fails with ``ConnectionClosed``."""
        self._link.close(code, reason)
        await asyncio.shield(self.closed)

    def keep_to(self, account: Account) -> None:
        """Begin only what this account allows."""
        self._serving.account = account
        account.joined(self, lambda: self._connection.taken)

    def drain(self) -> None:
        """Answer what was asked, take nothing new."""
        self._serving.draining = True

    # --- what the link says ----------------------------------------------------------------------------

    def frame_received(self, data: bytes | memoryview) -> None:
        """Take one frame from the link."""
        if self.closed.done():
            return
        now = monotonic()
        if now + self._patience < self._alarm.at:  # what comes may have to be given up some day
            self._alarm.set(now + self._patience)
        try:
            received = self._connection.receive(data, now)
        except RemoteProtocolError as exc:
            if self._tap:
                self._tap.refused(bytes(data), str(exc))
            self._give_up_on_peer(exc)
            return
        frame, event = received.frame, received.event
        opened = open_payload(frame, event)
        took = self._took
        if took is not None and not took(data, received.exchange, opened, now):
            self._record(received, data, opened, now)
        if event is not None:
            if type(opened) is BadEnvelope and self._serving.minds(event) and self._is_too_much(opened):
                return
            if self._outbox.frames:
                self._flush()  # an acknowledgement goes before the application sees anything
            if type(event) is RequestReceived:
                self._serving.request(event, known(opened))
            elif type(event) is ResponseReceived:
                self._waiting.answered(event, opened)
            else:
                self._handle(event, opened)
        if self._outbox.frames:
            self._flush()

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
        self._alarm.stop()
        self._waiting.close(error)
        self._room.ready()

    # --- inside ----------------------------------------------------------------------------------------

    def _handle(self, event: Event, opened: Opened | None) -> None:
        if type(event) is StreamChunk:
            self._inflow.push(event.frame.ref, event.frame)
        elif isinstance(event, MessageReceived):
            self._on_message(event, known(opened))
        elif isinstance(event, StreamOpened):
            self._serving.stream(event, known(opened))
        else:
            self._handle_rare(event)

    def _handle_rare(self, event: Event) -> None:
        if isinstance(event, Acknowledged):
            self._waiting.acknowledged(event)
        elif isinstance(event, RequestFailed):
            self._waiting.failed(event)
        elif isinstance(event, RequestCancelled):
            self._serving.cancel(event.ref, event.code)
        elif isinstance(event, PongReceived):
            self._waiting.pong(event)
        elif isinstance(event, StreamLost):
            self._inflow.lose(event.ref, StreamAborted(event.reason))
        elif isinstance(event, MessageRefused | StreamRefused):
            self._waiting.refused(event)
        elif isinstance(event, MessageLost):
            log.debug("link %s: announced message %d is lost: %s", self.link, event.ref, event.reason)

    def _is_too_much(self, fault: BadEnvelope) -> bool:
        """Count a fault; the one too many is not answered, nor acknowledged."""
        try:
            self._connection.strike(monotonic(), str(fault))
        except RemoteProtocolError as exc:
            self._outbox.drain()
            self._give_up_on_peer(exc)
            return True
        return False

    def _give_up_on_peer(self, exc: RemoteProtocolError) -> None:
        self._flush()
        self._link.close(exc.close_code, str(exc))
        self._serving.close()  # nobody will hear an answer

    async def _blob(self, file: File) -> bytes:
        if isinstance(file.source, bytes):
            return file.source
        (read,) = (await read_all({0: file}, most=self._connection.settings.max_frame_bytes)).values()
        return read.data

    def _on_message(self, event: MessageReceived, opened: Opened) -> None:
        if self._expects_hello and isinstance(opened, Envelope) and opened.endpoint == HELLO:
            self._expects_hello = False
            self._greeted(opened.data)
        else:
            self._serving.message(event, opened)

    def _greeted(self, data: Any) -> None:
        """The listener says who it is and what it takes; a client does without it where it is nonsense."""
        self.hello = data if isinstance(data, dict) else None
        self._told = understand(data)
        self._connection.keep_to(self._told)
        self.chunk_bytes = min(self.chunk_bytes, self._told.limits.frame_bytes - FRAME_OVERHEAD)

    def _tick(self) -> None:
        self._connection.deaf = self._link.excused
        for event in self._connection.tick(monotonic()):
            if isinstance(event, ConnectionOver):
                self._link.close(event.code, event.reason)
                continue
            # Of an announced message that is delivered without the files that did not come.
            opened = open_payload(event.frame, event) if isinstance(event, MessageReceived) else None
            self._handle(event, opened)
        self._flush()
        self._alarm.set(self._connection.next_deadline)
