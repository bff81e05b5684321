"""``connect(..., reconnect=True)``: a peer that is connected to again whenever it is lost.

Nothing is ever sent twice by itself: what was pending when the connection went fails with
``ConnectionClosed``, and whether to ask again is for the caller to say. What is asked while there is no
connection waits for one.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import random as any_number
from time import monotonic
from typing import Any, Final, Literal, TypeAlias

from msgspec import UNSET

from framehub.codes import CloseCode
from framehub.errors import ConnectFailed, ConnectionClosed, FramehubError, RequestTimeout
from framehub.runtime.backoff import Backoff
from framehub.runtime.calls import Reply
from framehub.runtime.dial import Dialer
from framehub.runtime.files import File
from framehub.runtime.peer import Peer
from framehub.runtime.streams import OutStream

log = logging.getLogger("framehub.reconnect")

State: TypeAlias = Literal["connecting", "open", "closed"]
OnState: TypeAlias = Callable[[State], None]

FOR_GOOD: Final = frozenset({400, 401, 403, 404})
"""What a listener answers to somebody whom it will not let in later either."""


class ReconnectingPeer:
    """The other end of one connection after another. Made by ``connect``, not by hand."""

    def __init__(self, there: Dialer, backoff: Backoff, *, random: Callable[[], float] = any_number) -> None:
        self.closed: asyncio.Future[FramehubError] = asyncio.get_running_loop().create_future()
        """Done when it is over for good; its result says why."""
        self._there = there
        self._backoff = backoff
        self._random = random
        self._state: State = "connecting"
        self._callbacks: list[OnState] = []
        self._changed = asyncio.Event()  # open, or closed for good
        self._peer: Peer | None = None
        self._failure = ""
        self._keeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Connect for the first time.

        Raises:
            ConnectFailed: nobody there, or it would not have us; there is no second try.
        """
        peer = await self._there.dial()
        self._opened(peer)
        self._keeper = asyncio.get_running_loop().create_task(self._keep(peer))
        self._keeper.add_done_callback(self._kept)

    @property
    def state(self) -> State:
        """``open``; ``connecting`` while it is lost; ``closed`` when it is over for good."""
        return self._state

    def on_state(self, callback: OnState) -> OnState:
        """Call ``callback`` with every new state."""
        self._callbacks.append(callback)
        return callback

    @property
    def link(self) -> str:
        """The name of the present connection, or of the last one, in the listener's journal."""
        return self._peer.link if self._peer else ""

    @property
    def hello(self) -> dict[str, Any] | None:
        """What the listener said of itself on this connection, once it has."""
        return self._peer.hello if self._peer else None

    @property
    def pending(self) -> int:
        """Everything under way on this connection, both ways."""
        return self._peer.pending if self._peer else 0

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
        """As ``Peer.request``; ``timeout`` counts from now, also while there is no connection."""
        seconds = self._there.settings.request_timeout if timeout is None else timeout
        until = monotonic() + seconds
        peer = await self._present(seconds)
        left = until - monotonic()
        if timeout is None:
            left = min(left, peer.request_timeout)
        return await peer.request(
            endpoint, data, files=files, timeout=left, ack=ack, raise_on_error=raise_on_error
        )

    async def send(
        self,
        endpoint: str,
        data: Any = UNSET,
        *,
        files: Mapping[int, File] | None = None,
        ack: bool = False,
        timeout: float | None = None,
    ) -> None:
        """As ``Peer.send``."""
        until = None if timeout is None else monotonic() + timeout
        peer = await self._present(timeout)
        left = None if until is None else until - monotonic()
        await peer.send(endpoint, data, files=files, ack=ack, timeout=left)

    async def announce(
        self, endpoint: str, data: Any, files: Mapping[int, File], *, ack: bool = False
    ) -> None:
        """As ``Peer.announce``."""
        peer = await self._present(None)
        await peer.announce(endpoint, data, files, ack=ack)

    def stream(self, endpoint: str, data: Any = UNSET) -> AbstractAsyncContextManager[OutStream]:
        """As ``Peer.stream``; a stream belongs to one connection and is lost with it."""
        return self._stream(endpoint, data)

    async def ping(self, *, timeout: float = 10.0) -> float:
        """As ``Peer.ping``."""
        until = monotonic() + timeout
        peer = await self._present(timeout)
        return await peer.ping(timeout=until - monotonic())

    async def close(self, code: int = CloseCode.OK, reason: str = "") -> None:
        """End it for good; everything pending or waiting fails with ``ConnectionClosed``."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        if self._peer is not None:
            await self._peer.close(code, reason)
        self._end(ConnectionClosed(code, reason))

    # --- inside ----------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _stream(self, endpoint: str, data: Any) -> AsyncIterator[OutStream]:
        peer = await self._present(None)
        async with peer.stream(endpoint, data) as out:
            yield out

    async def _present(self, timeout: float | None) -> Peer:
        """The peer of the present connection; wait for one if there is none.

        Raises:
            ConnectFailed, ConnectionClosed: there will not be one.
            RequestTimeout: there was none in time.
        """
        try:
            async with asyncio.timeout(timeout):
                while True:
                    if self.closed.done():
                        raise self.closed.result().again()
                    if self._peer is not None and not self._peer.closed.done():
                        return self._peer
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            why = f": {self._failure}" if self._failure else ""
            raise RequestTimeout(f"not connected to {self._there.address.place}{why}") from None

    async def _keep(self, peer: Peer) -> None:
        """Connect again whenever the connection is lost, until that is hopeless."""
        tries = 0
        while True:
            since = monotonic()
            lost = await asyncio.shield(peer.closed)
            log.info("lost %s: %s", self._there.address.place, lost)
            self._move("connecting")
            if monotonic() - since >= self._backoff.most:
                tries = 0
            while True:
                await asyncio.sleep(self._backoff.delay(tries, self._random))
                tries += 1
                try:
                    peer = await self._there.dial()
                    break
                except ConnectFailed as exc:
                    self._failure = exc.reason
                    if exc.status in FOR_GOOD:
                        self._end(exc)
                        return
            self._opened(peer)

    def _kept(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("no more connections to %s", self._there.address.place, exc_info=error)
            self._end(ConnectionClosed(CloseCode.INTERNAL, "internal error"))

    def _opened(self, peer: Peer) -> None:
        self._peer = peer
        self._failure = ""
        self._move("open")
        self._changed.set()

    def _end(self, error: FramehubError) -> None:
        if not self.closed.done():
            self.closed.set_result(error)
            self._move("closed")
            self._changed.set()

    def _move(self, state: State) -> None:
        self._state = state
        for callback in self._callbacks:
            try:
                callback(state)
            except Exception:
                log.exception("a callback of on_state failed")
