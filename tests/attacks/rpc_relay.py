"""A line that can go dead: what is connected through it stays connected, and hears nothing more."""

import asyncio
from contextlib import suppress


class Relay:
    """Passes bytes on to a port of this machine, both ways; ``async with`` it."""

    def __init__(self, to: int) -> None:
        self.port = 0
        self._to = to
        self._frozen: set[asyncio.StreamWriter] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Relay":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def freeze(self) -> None:
        """From now on nothing passes through the connections that are there; new ones are as new."""
        self._frozen |= self._writers

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        self._writers |= {writer, back}
        for source, sink in ((reader, back), (there, writer)):
            task = asyncio.create_task(self._pass_on(source, sink))
            self._tasks.add(task)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65_536):
                if sink not in self._frozen:
                    sink.write(data)
                    await sink.drain()
        if sink not in self._frozen:  # not even the end passes
            sink.close()
