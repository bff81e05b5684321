"""ZeroMQ sockets that keep what they were told, and waiting for it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from framehub.runtime.zmq_setup import Kind
from framehub.runtime.zmq_socket import MessageSocket, Sent


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


class Told:
    """A socket, and everything it told."""

    def __init__(self, kind: Kind, react: Callable[["Told", list[bytes]], object] | None = None, **more: Any):
        self.messages: list[list[bytes]] = []
        self.batches = 0
        self.senders: list[str] = []
        self.notices: list[str] = []
        self.flooders: list[bytes] = []
        self._react = react
        self.socket = MessageSocket(
            kind,
            self._batch,
            on_connect=lambda: self.notices.append("connected"),
            on_disconnect=lambda: self.notices.append("disconnected"),
            on_refused=lambda: self.notices.append("refused"),
            on_flood=self.flooders.append,
            **more,
        )

    def _batch(self, batch: list[list[bytes]]) -> None:
        self.batches += 1
        self.messages += batch
        self.senders += self.socket.senders
        if self._react is not None:
            for message in batch:
                self._react(self, message)

    async def got(self, count: int) -> list[list[bytes]]:
        """So many messages; it fails when none comes for long, however long they take together."""
        while (before := len(self.messages)) < count:
            await until(lambda: len(self.messages) > before)
        return self.messages

    def __enter__(self) -> "Told":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.socket.close()


def echo(told: Told, message: list[bytes]) -> None:
    assert told.socket.send(message) is Sent.OK
