"""``HubStream``: one conversation with a service, inside ``async with``."""

import asyncio
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Final

from framehub.errors import LimitExceeded, LocalProtocolError
from framehub.hub.called import Answer, CalledStream
from framehub.runtime.files import Buffer
from framehub.runtime.hub_connection import HubConnection
from framehub.runtime.service_stream import as_bytes

READ_BYTES: Final = 16 * 1024 * 1024
"""What ``read`` gathers at most."""


class HubStream:
    """Made by ``HubClient.open``. ``async for body in stream`` gives what the service answers, to its last.

    Iterating raises after what had come: ``ServiceFailed`` if the service said so, ``HubStreamError`` if the
    hub did, ``StreamAborted`` if the service closed it, ``ConnectionClosed``. Leaving the block ends a stream
    that is still open.
    """

    def __init__(
        self,
        connection: Callable[[], HubConnection],
        service: int,
        function: int,
        body: bytes,
        timeout: float | None,
    ) -> None:
        self.service = service
        self.function = function
        self._find = connection
        self._body: bytes | None = body
        self._timeout = timeout
        self._more = asyncio.Event()
        self._opened: tuple[HubConnection, CalledStream] | None = None

    async def __aenter__(self) -> "HubStream":
        if self._body is None:
            raise LocalProtocolError("a stream is opened once: open another one")
        body, self._body = self._body, None
        connection = self._find()
        state = await connection.open(
            self.service, self.function, body, timeout=self._timeout, wake=self._more.set
        )
        self._opened = connection, state
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close_stream(self._state)
        self._connection.discard(self._state)

    @property
    def id(self) -> int:
        """Its number on this connection."""
        return self._state.id

    @property
    def is_open(self) -> bool:
        """Whether the service may still say something."""
        return not self._state.is_over

    async def send(self, body: Buffer) -> None:
        """One message to the service; waits while the hub is behind.

        Raises:
            FramehubError: the stream was cut off: what reading it raises.
            LimitExceeded: it is too large for one frame.
            LocalProtocolError: the stream is over, or had its last message.
        """
        await self._connection.send(self._state, as_bytes(body))

    async def end(self, body: Buffer = b"") -> None:
        """Our last message: the service may go on, we say no more. Raises like ``send``."""
        await self._connection.end(self._state, as_bytes(body))

    async def close(self) -> None:
        """End it both ways, now; what came before can still be read."""
        self._connection.close_stream(self._state)

    def __aiter__(self) -> "HubStream":
        return self

    async def __anext__(self) -> bytes:
        while (answer := await self._next()) is not None:
            if answer.body or not answer.is_last:  # an empty last frame says that it was the last, no more
                return answer.body
        raise StopAsyncIteration

    async def answers(self) -> AsyncIterator[Answer]:
        """The same, each with the service's parameter beside it and whether it is the last."""
        while (answer := await self._next()) is not None:
            yield answer

    async def read(self, max_bytes: int = READ_BYTES) -> bytes:
        """All that is still to come, as one; for answers that are known to be small.

        Raises:
            LimitExceeded: it is more than ``max_bytes``.
        """
        bodies, size = [], 0
        async for body in self:
            size += len(body)
            if size > max_bytes:
                hint = "read it piece by piece"
                raise LimitExceeded("bytes of an answer", allowed=max_bytes, got=size, hint=hint)
            bodies.append(body)
        return b"".join(bodies)

    @property
    def _connection(self) -> HubConnection:
        return self._inside()[0]

    @property
    def _state(self) -> CalledStream:
        return self._inside()[1]

    def _inside(self) -> tuple[HubConnection, CalledStream]:
        if self._opened is None:
            raise LocalProtocolError("this stream is not open yet: async with hub.open(...) as stream")
        return self._opened

    async def _next(self) -> Answer | None:
        connection, state = self._inside()
        while not state.answers:
            if state.error is not None:
                raise state.error.again()
            if state.is_over:
                return None
            self._more.clear()
            await self._more.wait()
        return connection.take(state)
