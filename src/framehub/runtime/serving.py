"""The answering half of a peer: from an event to a handler, and from what it returns to a response."""

import asyncio
import inspect
import logging
import sys
from collections.abc import Awaitable
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET

from framehub.codes import ErrorCode, Service
from framehub.errors import FramehubError, LimitExceeded
from framehub.mfp import envelope
from framehub.mfp.connection import Connection
from framehub.mfp.envelope import BadEnvelope, Envelope
from framehub.mfp.events import Event, MessageReceived, RequestReceived, ResponseReceived, StreamOpened
from framehub.runtime.accounts import Account, OverLimit
from framehub.runtime.calls import Call, RawCall, Reply
from framehub.runtime.endpoints import Endpoints, StreamHandler
from framehub.runtime.files import all_read, load
from framehub.runtime.payloads import Opened, pack, unpack
from framehub.runtime.refusals import OVERLOADED, REFUSALS, Busy, UnknownEndpoint, is_cancelled, is_told, told
from framehub.runtime.room import Room
from framehub.runtime.streams import Inflow, InStream
from framehub.runtime.tally import Asked, Respond, Tally
from framehub.runtime.turn import turns_of

if TYPE_CHECKING:
    from framehub.runtime.peer import Peer

log = logging.getLogger("framehub.serving")

current: ContextVar[tuple[bytes, int] | None] = ContextVar("framehub_exchange", default=None)
"""The exchange whose handler is running: what it asks in turn has this as its parent."""

NO_ENVELOPE = "framehub.error"
"""The endpoint named in the answer to a request that named none."""

_PLAIN = frozenset((type(None), bool, int, float, str, list, dict, tuple, bytes, Reply))
"""What handlers mostly return, and nobody can await: to ask is dear."""


class Serving:
    """Runs handlers for one peer and sends their answers."""

    def __init__(
        self,
        peer: "Peer",
        connection: Connection,
        endpoints: Endpoints,
        inflow: Inflow,
        room: Room,
        *,
        recorded: bool,
    ) -> None:
        self.draining = False
        """Take nothing new."""
        self.account: Account | None = None
        """What the user may take, where that is limited."""
        self._peer = peer
        self._recorded = recorded
        self._inflow = inflow
        self._room = room
        self._connection = connection
        self._endpoints = endpoints
        self._most = connection.settings.max_requests
        self._most_streams = connection.settings.max_streams
        self._turns = turns_of(asyncio.get_running_loop())
        self._busy_after = connection.settings.busy_after
        self._handlers: dict[asyncio.Task[None], None] = {}  # an empty set takes three times as much
        self._answers: dict[int, asyncio.Task[None]] = {}  # those of them that somebody waits for
        self._readers: dict[asyncio.Task[None], None] = {}
        self._reading = asyncio.Lock()
        self._asked: Asked | None = None  # made when somebody wants to know
        self._voice: Respond = peer

    @property
    def running(self) -> int:
        """Handlers that have begun and not ended."""
        return len(self._handlers) + len(self._readers)

    def request(self, event: RequestReceived, opened: Opened) -> None:
        """Answer now, or begin what will answer later."""
        ref, exchange = event.frame.id, event.exchange
        if self._endpoints.tally is not None:
            self._count(self._endpoints.tally).begin(ref, opened)
        try:
            if self._turns.reading.is_over(self._busy_after, opened):
                raise Busy(OVERLOADED)
            if self.account is not None:
                self.account.begin(monotonic(), counted=True)
            outcome = self._call(opened, event, is_request=True)
        except BaseException as exc:  # a handler ends its own work, never ours
            outcome = exc
        if type(outcome) not in _PLAIN and inspect.isawaitable(outcome):
            self._answers[ref] = self._begin(
                self._answer_in_time(ref, opened, outcome, exchange), outcome, exchange
            )
            self._hold_back()
        elif self._room.free and (type(outcome) is not Reply or all_read(outcome.files)):
            self._respond(ref, opened, outcome, exchange)
        else:
            self._answer_in_turn(ref, opened, outcome, exchange)

    def message(self, event: MessageReceived, opened: Opened) -> None:
        """Deliver; what nobody takes is refused."""
        try:
            if self.account is not None:
                self.account.begin(monotonic(), counted=False)
            outcome = self._call(opened, event, is_request=False)
        except REFUSALS:
            self._connection.refuse(event.frame.id)
            return
        except BaseException:
            self._log_failure(opened, event.exchange)
            return
        if type(outcome) not in _PLAIN and inspect.isawaitable(outcome):
            self._begin(self._finish_later(opened, outcome, event.exchange), outcome, event.exchange)
            self._hold_back()

    def stream(self, event: StreamOpened, opened: Opened) -> None:
        """Begin the handler that will read it; a stream that nobody reads is aborted."""
        ref = event.frame.id
        handler = self._endpoints.find_stream(opened.endpoint) if isinstance(opened, Envelope) else None
        if handler is None or self.draining or not self._may_stream():
            self._connection.abort_stream(ref)
            return
        assert isinstance(opened, Envelope)
        stream = InStream(
            self._peer,
            ref,
            self._inflow,
            endpoint=opened.endpoint,
            data=None if opened.data is UNSET else opened.data,
            exchange=self._peer.exchange_name(event.exchange).hex(),
        )
        self._inflow.add(ref, stream)
        task = self._start(self._read_to_the_end(handler, stream, opened, event.exchange), event.exchange)
        self._readers[task] = None
        task.add_done_callback(self._has_read)
        # Of so many some have ended streams: they need nothing of the connection to end themselves.
        if len(self._readers) >= self._most + self._most_streams:
            self._peer.pause_reading("readers")

    def _may_stream(self) -> bool:
        try:
            if self.account is not None:
                self.account.begin(monotonic(), counted=True)
        except OverLimit:
            return False
        return True

    def _has_read(self, reader: asyncio.Task[None]) -> None:
        self._readers.pop(reader, None)
        if len(self._readers) <= self._most // 2 + self._most_streams:
            self._peer.resume_reading("readers")
        self._let_go()

    async def _read_to_the_end(
        self, handler: StreamHandler, stream: InStream, opened: Opened, exchange: int
    ) -> None:
        try:
            await handler(stream)
        except BaseException as exc:
            if is_cancelled(exc):
                raise
            if not stream.ended_by(exc):  # that is the sender's doing, and it knows
                self._log_failure(opened, exchange)
        finally:
            stream.abort()  # if the handler left early, the sender should not go on

    def cancel(self, ref: int, code: Service) -> None:
        """Nobody waits for this answer any more."""
        if self._asked:
            self._asked.given_up(ref, code)
        if task := self._answers.pop(ref, None):
            task.cancel()  # it counts until it has ended: giving up is no way to have more running

    def close(self) -> None:
        """The link is gone: end every handler, but let those of streams read what has come."""
        if self._asked:
            self._asked.close()
        for task in self._handlers:
            task.cancel()
        self._answers.clear()
        for reader in self._readers:
            self._last_call(reader)
        self._let_go()

    def minds(self, event: Event) -> bool:
        """Whether a payload that is no envelope is the peer's fault: not where bare bytes have a handler."""
        if isinstance(event, MessageReceived | RequestReceived):
            return self._endpoints.raw is None and event.frame.payload != b""
        return isinstance(event, StreamOpened | ResponseReceived) and event.frame.payload != b""

    # --- inside ----------------------------------------------------------------------------------------

    def _let_go(self) -> None:
        """When nothing runs any more, nor will: the peer knows us, and is not to wait for the collector."""
        if not self.running and hasattr(self, "_peer") and self._peer.closed.done():
            del self._peer, self._voice, self._asked

    def _count(self, tally: Tally) -> Asked:
        if self._asked is None:
            self._voice = self._asked = Asked(tally, self._peer)
        return self._asked

    def _last_call(self, reader: asyncio.Task[None]) -> None:
        timer = asyncio.get_running_loop().call_later(self._inflow.patience, reader.cancel)
        reader.add_done_callback(lambda _: timer.cancel())

    def _call(self, opened: Opened, event: RequestReceived | MessageReceived, *, is_request: bool) -> Any:
        """Call the handler; of a coroutine function this only makes the coroutine."""
        if self.draining:
            raise Busy("stopping; nothing new is taken")
        left_out = dict(event.left_out) if type(event) is MessageReceived else {}
        call: Call | RawCall
        handler: Any
        if type(opened) is Envelope:
            handler = self._endpoints.find(opened.endpoint)
            if handler is None:
                streamed = self._endpoints.find_stream(opened.endpoint) is not None
                raise UnknownEndpoint(opened.endpoint, streamed=streamed)
            data, files = opened.data, event.frame.files
            call = Call(
                opened.endpoint,
                self._peer,
                None if data is UNSET else data,
                unpack(files, opened) if files else {},
                self._peer.user,
                is_request,
                event.exchange,
                left_out,
            )
        else:
            handler = self._endpoints.raw
            if handler is None:
                raise cast(BadEnvelope, opened)
            call = RawCall(
                payload=event.frame.payload,
                peer=self._peer,
                files=dict(event.frame.files),
                user=self._peer.user,
                is_request=is_request,
                number=event.exchange,
                left_out=left_out,
            )
        if not self._recorded:
            return handler(call)
        # Not reset, which would cost as much again: only what a handler calls or starts asks for it.
        current.set((self._peer.link_id, event.exchange))
        return handler(call)

    def _start(self, coroutine: Any, exchange: int) -> asyncio.Task[None]:
        token = current.set((self._peer.link_id, exchange))
        try:
            task: asyncio.Task[None] = asyncio.get_running_loop().create_task(coroutine)
        finally:
            current.reset(token)
        return task

    def _begin(self, coroutine: Any, outcome: Any, exchange: int) -> asyncio.Task[None]:
        """Run a handler as a task."""
        task = self._start(coroutine, exchange)
        self._handlers[task] = None

        def ended(task: asyncio.Task[None]) -> None:
            self._handlers.pop(task, None)
            if len(self._handlers) <= self._most // 2:
                self._peer.resume_reading("handlers")
            if inspect.iscoroutine(outcome):
                outcome.close()  # if it was cancelled before it began
            self._let_go()

        task.add_done_callback(ended)
        return task

    def _hold_back(self) -> None:
        """When too many handlers run, the peer is not read until some have ended.

        Not if each answers a request that is waited for: those have a limit, and may ask the peer in turn.
        """
        if len(self._handlers) >= self._most and len(self._answers) < len(self._handlers):
            self._peer.pause_reading("handlers")

    async def _finish_later(self, opened: Opened, outcome: Awaitable[Any], exchange: int) -> None:
        try:
            await outcome
        except BaseException as exc:
            if is_cancelled(exc):
                raise
            self._log_failure(opened, exchange)

    async def _answer_in_time(self, ref: int, opened: Opened, outcome: Awaitable[Any], exchange: int) -> None:
        """Wait for a handler and answer, if there is time to begin with it."""
        if self._turns.running.is_over(self._busy_after, opened) and inspect.iscoroutine(outcome):
            if self._is_awaited(ref):
                self._respond(ref, opened, Busy(OVERLOADED), exchange)
            return
        await self._answer_later(ref, opened, outcome, exchange)

    async def _answer_later(self, ref: int, opened: Opened, outcome: Awaitable[Any], exchange: int) -> None:
        try:
            result = await outcome
        except BaseException as exc:
            if is_cancelled(exc):
                raise
            result = exc
        if isinstance(result, Reply) and not all_read(result.files):
            await self._answer_with_files(ref, opened, result, exchange)
            return
        await self._room.turn()
        if self._is_awaited(ref):
            self._respond(ref, opened, result, exchange)

    async def _answer_with_files(self, ref: int, opened: Opened, reply: Reply, exchange: int) -> None:
        """Answer with files that are still to be read: one answer at a time, for they wait in memory."""
        endpoint = opened.endpoint if isinstance(opened, Envelope) else NO_ENVELOPE
        result: Reply | Exception
        async with self._reading:
            try:
                files = await load(self._connection, endpoint, reply.data, reply.files, error=reply.error)
                result = Reply(reply.data, files, reply.error)
            except Exception as exc:
                result = exc
            await self._room.turn()
            if self._is_awaited(ref):
                self._respond(ref, opened, result, exchange)

    def _is_awaited(self, ref: int) -> bool:
        """Whether this task's answer is waited for: the peer may have given up, and used the id again."""
        if self._answers.get(ref) is not asyncio.current_task():
            return False
        del self._answers[ref]
        return True

    def _answer_in_turn(self, ref: int, opened: Opened, result: Any, exchange: int) -> None:
        """Answer when the peer has read what it was sent before, and we what is to be sent."""

        async def known() -> Any:
            return result

        outcome = known()
        self._answers[ref] = self._begin(
            self._answer_later(ref, opened, outcome, exchange), outcome, exchange
        )
        self._hold_back()

    def _respond(self, ref: int, opened: Opened, result: Any, exchange: int) -> None:
        """Send what a handler returned, or the exception that it ended with."""
        if isinstance(result, BaseException):
            self._fail(ref, opened, result, exchange)
            return
        try:
            if isinstance(opened, BadEnvelope):
                if not isinstance(result, bytes | None):
                    raise TypeError(f"a raw handler returns bytes or None, not {type(result).__name__}")
                self._voice.respond(ref, result or b"", endpoint=None)
                return
            endpoint = opened.endpoint
            if type(result) is not Reply:
                self._voice.respond(ref, envelope.encode(endpoint, result), endpoint=endpoint)
                return
            payload, blobs = pack(endpoint, result.data, result.files, error=result.error)
            error = None if result.error is None else envelope.error_name(result.error)
            self._voice.respond(ref, payload, blobs, endpoint=endpoint, error=error)
        except Exception as exc:
            self._fail(ref, opened, exc, exchange)

    def _fail(self, ref: int, opened: Opened, exc: BaseException, exchange: int) -> None:
        """Answer with an error: the application's own value, or one of ours that gives nothing away."""
        error = self._error_value(opened, exc, exchange)
        endpoint = opened.endpoint if isinstance(opened, Envelope) else NO_ENVELOPE
        try:
            payload = envelope.encode(endpoint, error=error)
            self._voice.respond(ref, payload, endpoint=endpoint, error=envelope.error_name(error))
        except FramehubError as unsendable:
            name = self._peer.exchange_name(exchange).hex()
            log.error("exchange %s: an error cannot be sent: %s", name, unsendable)
            error = envelope.library_error(ErrorCode.INTERNAL, "the error itself cannot be sent")
            payload = envelope.encode(endpoint, error=error)
            try:
                self._voice.respond(ref, payload, endpoint=endpoint, error=ErrorCode.INTERNAL)
            except LimitExceeded:  # the endpoint's name alone is too long
                self._peer.refuse(ref)
                self.cancel(ref, Service.ABORT)

    def _error_value(self, opened: Opened, exc: BaseException, exchange: int) -> Any:
        if not is_told(exc):
            self._log_failure(opened, exchange, exc)
        return told(exc, self._peer.exchange_name(exchange).hex())

    def _log_failure(self, opened: Opened, exchange: int, exc: BaseException | None = None) -> None:
        endpoint = opened.endpoint if isinstance(opened, Envelope) else "(raw)"
        name = self._peer.exchange_name(exchange).hex()
        log.error("exchange %s: handler of %r failed", name, endpoint, exc_info=exc or sys.exc_info())
