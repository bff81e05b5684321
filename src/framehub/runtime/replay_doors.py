"""Where recorded traffic goes when it is sent again: to a gateway over MFP, or to a proxy of functions."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any, TypeAlias

from framehub.errors import (
    RemoteCallError,
    RemoteTimeout,
    RequestAborted,
    RequestTimeout,
    StreamAborted,
    UnsupportedFunctionName,
)
from framehub.journal import answers
from framehub.journal.acts import ABORTED, TIMEOUT, Ask, Chunk, Open, Query, Tell
from framehub.journal.answers import Answer, Attached, Path
from framehub.runtime.calls import Reply
from framehub.runtime.connect import connect
from framehub.runtime.files import File
from framehub.runtime.functions import Functions
from framehub.runtime.peer import Peer
from framehub.runtime.streams import OutStream

Came: TypeAlias = Callable[[str | None], Answer]
"""Makes an answer of what came, given the coder of the recorded one."""


class Door:
    """How one peer's acts are done where the traffic goes now."""

    async def ready(self) -> None:
        """Be there, so that what is sent next goes at once.

        Raises:
            ConnectFailed: nobody is there, or it would not have us.
        """

    async def ask(self, act: Ask | Query) -> Came:
        """Ask, and wait for what comes.

        Raises:
            FramehubError: nobody is there, or it was not sent, or the connection was lost.
        """
        raise NotImplementedError(type(act))

    async def tell(self, act: Tell) -> None:
        """Send a message; raises as ``ask``."""
        raise NotImplementedError(type(act))

    async def stream(self, act: Open, chunks: AsyncIterator[Chunk], opened: Callable[[], None]) -> None:
        """Send a stream as its chunks come, and say when it is ``opened``; raises as ``ask``."""
        raise NotImplementedError(type(act), chunks, opened)

    async def close(self) -> None:
        """The peer leaves."""


class MfpDoor(Door):
    """A connection of MFP, opened when it is first needed, and again when it was lost."""

    def __init__(self, where: Mapping[str, Any], timeout: float, ignored: Iterable[Path]) -> None:
        self._where = where
        self._timeout = timeout
        self._ignored = tuple(ignored)
        self._stack = AsyncExitStack()
        self._peer: Peer | None = None
        self._opening = asyncio.Lock()

    async def ready(self) -> None:
        """Have a connection."""
        await self._reach()

    async def ask(self, act: Ask | Query) -> Came:
        """Send a request, and wait for its answer."""
        assert isinstance(act, Ask)
        peer = await self._reach()
        try:
            reply = await peer.request(
                act.name, act.data, files=_files(act.files), timeout=self._timeout, raise_on_error=False
            )
        except RequestTimeout:
            return lambda _: TIMEOUT
        except RequestAborted:
            return lambda _: ABORTED
        return lambda _: self._answer(reply)

    async def tell(self, act: Tell) -> None:
        """Send a message, with its files or before them."""
        peer = await self._reach()
        if act.announced:
            try:
                async with asyncio.timeout(self._timeout):
                    await peer.announce(act.name, act.data, _files(act.files), ack=act.ack)
            except TimeoutError:
                raise RequestTimeout(f"{act.name}: not taken in {self._timeout:g} s") from None
        else:
            await peer.send(act.name, act.data, files=_files(act.files), ack=act.ack, timeout=self._timeout)

    async def stream(self, act: Open, chunks: AsyncIterator[Chunk], opened: Callable[[], None]) -> None:
        """Send a stream as its chunks come, until it was received, or is not wanted."""
        peer = await self._reach()
        loop, limit = asyncio.get_running_loop(), asyncio.timeout(self._timeout)
        refused: list[BaseException | None] = []

        def stop(why: BaseException | None) -> None:
            refused.append(why)
            with suppress(RuntimeError):  # it has ended meanwhile
                limit.reschedule(loop.time())

        try:
            async with limit, peer.stream(act.name, act.data) as out:
                out.on_refused(stop)
                opened()
                limit.reschedule(None)
                async for chunk in chunks:
                    limit.reschedule(loop.time() + self._timeout)
                    await _write(out, chunk)
                    if not chunk.final and not refused:
                        limit.reschedule(None)  # the next one may be far
        except TimeoutError:
            if refused:
                raise StreamAborted(str(refused[0])) from None
            raise RequestTimeout(f"{act.name}: not taken in {self._timeout:g} s") from None

    async def close(self) -> None:
        """End the connection."""
        await self._stack.aclose()

    async def _reach(self) -> Peer:
        async with self._opening:
            if self._peer is not None and self._peer.state == "open":
                return self._peer
            await self._stack.aclose()
            peer: Peer = await self._stack.enter_async_context(connect(**self._where))
            self._peer = peer
            return peer

    def _answer(self, reply: Reply) -> Answer:
        said = {"error": reply.error} if reply.is_error else {"data": reply.data}
        files = {key: Attached(file.data, file.name, file.type) for key, file in reply.files.items()}
        return answers.of_reply(said, files, self._ignored)


class RpcDoor(Door):
    """A proxy's clients, all by one socket."""

    def __init__(self, functions: Functions, timeout: float, ignored: Iterable[Path]) -> None:
        self._functions = functions
        self._timeout = timeout
        self._ignored = tuple(ignored)

    async def ask(self, act: Ask | Query) -> Came:
        """Call a function, and wait for its result."""
        assert isinstance(act, Query)
        try:
            result = await self._functions.call_bytes(act.name, act.argument, timeout=self._timeout)
        except UnsupportedFunctionName:
            return lambda _: answers.of_failure("unknown function")
        except RemoteTimeout:
            return lambda _: TIMEOUT
        except RemoteCallError as exc:
            failed = answers.of_exception(exc.message, self._ignored)
            return lambda _: failed
        return lambda coder: answers.of_result(result, coder, self._ignored)


async def _write(out: OutStream, chunk: Chunk) -> None:
    if chunk.key is not None:
        await out.write(chunk.data, key=chunk.key)
    elif not chunk.final:
        await out.write_data(chunk.data)
    elif chunk.data:
        await out.finish(chunk.data)


def _files(attached: Mapping[int, Attached]) -> dict[int, File]:
    return {key: File(file.data, file.name, file.type) for key, file in attached.items()}
