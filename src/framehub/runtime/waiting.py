"""What our own code waits for on one connection: replies, acknowledgements and pongs, as futures."""

import asyncio
from typing import Any, Final

from msgspec import UNSET

from framehub.codes import Service
from framehub.errors import FramehubError, RemoteProtocolError, RequestAborted, RequestTimeout, StreamAborted
from framehub.mfp.envelope import Envelope
from framehub.mfp.events import (
    Acknowledged,
    MessageRefused,
    PongReceived,
    RequestFailed,
    ResponseReceived,
    StreamRefused,
)
from framehub.runtime.calls import Reply
from framehub.runtime.payloads import Opened, unpack

GAVE_UP: Final = "the peer gave up"


class Waiting:
    """Futures by the id of the frame that they wait about."""

    __slots__ = ("_about", "_acks", "_loop", "_pongs", "_replies")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._replies: dict[int, asyncio.Future[Reply]] = {}
        self._acks: dict[int, asyncio.Future[None]] = {}
        self._about: dict[int, int] = {}
        self._pongs: dict[int, asyncio.Future[float]] = {}

    def for_reply(self, id_: int) -> asyncio.Future[Reply]:
        """Wait for the answer to a request."""
        self._replies[id_] = future = self._loop.create_future()
        return future

    def for_ack(self, id_: int, *, about: int) -> asyncio.Future[None]:
        """Wait until the peer has received a frame that is, or belongs to, the message ``about``."""
        self._about[id_] = about
        return self._acks.setdefault(id_, self._loop.create_future())

    def for_pong(self, id_: int) -> asyncio.Future[float]:
        """Wait for a sign of life."""
        return self._pongs.setdefault(id_, self._loop.create_future())

    def forget(self, id_: int) -> bool:
        """Wait no longer; true if a reply was still waited for."""
        self._acks.pop(id_, None)
        self._about.pop(id_, None)
        self._pongs.pop(id_, None)
        return self._replies.pop(id_, None) is not None

    def answered(self, event: ResponseReceived, opened: Opened | None) -> None:
        """A response came."""
        future = self._replies.pop(event.ref, None)
        if isinstance(opened, Envelope):
            data, error, files = opened.data, opened.error, event.frame.files
            reply = Reply(
                None if data is UNSET else data,
                unpack(files, opened) if files else {},
                None if error is UNSET else error,
                error is not UNSET,
            )
            if future is not None and not future.done():
                future.set_result(reply)
        else:
            _fail(future, RemoteProtocolError(f"the answer cannot be read: {opened}"))

    def failed(self, event: RequestFailed) -> None:
        """There will be no response."""
        future = self._replies.pop(event.id, None)
        if event.code is Service.TIMEOUT:
            _fail(future, RequestTimeout(GAVE_UP if event.by_peer else "no answer in time"))
        elif event.code is Service.UNKNOWN:
            _fail(future, RequestAborted("the peer does not know of this request"))
        else:
            _fail(future, RequestAborted("the peer refused this request"))

    @staticmethod
    def timed_out(endpoint: str, why: RequestTimeout, seconds: float) -> RequestTimeout:
        """The same, with what was asked and for how long it was waited."""
        own = "" if str(why) == GAVE_UP else f" ({round(seconds, 3):g} s)"
        return RequestTimeout(f"{endpoint}: {why}{own}")

    def acknowledged(self, event: Acknowledged) -> None:
        """A frame arrived."""
        _settle(self._acks.pop(event.id, None), None)

    def refused(self, event: MessageRefused | StreamRefused) -> None:
        """A message is not taken: nobody will acknowledge what belongs to it."""
        for id_ in [id_ for id_, about in self._about.items() if about == event.id]:
            if isinstance(event, StreamRefused):
                error: FramehubError = StreamAborted("the peer does not take this stream, or no more of it")
            else:
                error = RequestAborted("the peer does not take this message")
            _fail(self._acks.pop(id_, None), error)

    def pong(self, event: PongReceived) -> None:
        """The peer lives."""
        _settle(self._pongs.pop(event.id, None), event.round_trip)

    def close(self, error: FramehubError) -> None:
        """Everything fails."""
        tables: tuple[dict[int, asyncio.Future[Any]], ...] = (self._replies, self._acks, self._pongs)
        for table in tables:
            for future in table.values():
                if not future.done():
                    future.set_exception(error.again())
                    future.exception()  # whoever waited may be gone: nobody else need hear of it
            table.clear()
        self._about.clear()


def _settle(future: asyncio.Future[Any] | None, result: Any) -> None:
    if future is not None and not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any] | None, error: Exception) -> None:
    if future is not None and not future.done():
        future.set_exception(error)
