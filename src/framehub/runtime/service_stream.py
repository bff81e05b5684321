"""``ServiceStream``: one conversation of a client, as a function of a service has it."""

import asyncio
from typing import TYPE_CHECKING

from framehub.errors import StreamAborted
from framehub.hub.served import ServedStream
from framehub.runtime.files import Buffer

if TYPE_CHECKING:
    from framehub.runtime.service_link import ServiceLink


class ServiceStream:
    """``async for body in stream`` gives what the client sends, until it has sent its last.

    A stream that is cut off, because the client has gone, closed it or did nothing for too long, raises
    ``StreamAborted``: when it is read, after what had come; when something is sent, at once.
    """

    def __init__(self, link: "ServiceLink", state: ServedStream) -> None:
        self._link = link
        self._state = state
        self._more = asyncio.Event()

    @property
    def user(self) -> int:
        """Whose the client's token is; 0 is anonymous."""
        return self._state.user

    @property
    def first(self) -> bytes:
        """The body that the stream was opened with."""
        return self._state.first

    @property
    def function(self) -> int:
        """The number of the function that was asked for."""
        return self._state.function

    @property
    def is_open(self) -> bool:
        """Whether anything can still be sent."""
        return self._state.over is None and not self._state.is_ended

    def __aiter__(self) -> "ServiceStream":
        return self

    async def __anext__(self) -> bytes:
        state = self._state
        while not state.bodies:
            if state.over is not None:
                raise StreamAborted(state.over)
            if state.is_done or state.is_ended:
                raise StopAsyncIteration
            self._more.clear()
            await self._more.wait()
        return self._link.take(state)

    async def send(self, body: Buffer, parameter: int = 0) -> None:
        """One message to the client; waits while the hub is behind.

        Raises:
            StreamAborted: the stream was cut off.
            LimitExceeded: it is too large for one frame.
            LocalProtocolError: the stream has ended, or ``parameter`` is no byte.
        """
        await self._link.send(self._state, as_bytes(body), parameter)

    async def end(self, body: Buffer = b"", parameter: int = 0) -> None:
        """The last message; the stream is over with it. Raises like ``send``."""
        await self._link.end(self._state, as_bytes(body), parameter)

    async def error(self, text: str | Buffer) -> None:
        """End the stream with an error, which the client gets as it is. Raises like ``send``."""
        await self._link.fail(self._state, text.encode() if isinstance(text, str) else as_bytes(text))

    def wake(self) -> None:
        """Something came, or it is over."""
        self._more.set()


def as_bytes(body: Buffer) -> bytes:
    """A body as it is sent.

    Raises:
        TypeError: that is none.
    """
    if isinstance(body, bytes):
        return body
    if isinstance(body, bytearray | memoryview):
        return bytes(body)
    raise TypeError(f"a body is bytes, not {type(body).__name__}")
