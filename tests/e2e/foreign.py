"""Peers for tests of remote functions: plain sockets, a relay that hangs, workers as processes."""

import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import zmq
import zmq.asyncio

JOBS = """
import asyncio, os, time
from pathlib import Path
import framehub

worker = framehub.Worker(processes=int(os.environ["PROCESSES"]))

def note(op):
    with open(os.environ["LOG"], "a") as log:
        log.write(f"{op} {os.getpid()} {os.getppid()}\\n")

@worker.function
def slow(op: str, seconds: float) -> str:
    note(op)
    time.sleep(seconds)
    return op

@worker.function
def held(op: str, marker: str) -> str:
    note(op)
    while not Path(marker).exists():
        time.sleep(0.01)
    return op

@worker.function
def square(x: int) -> int:
    return x * x

@worker.function
def spin(op: str) -> None:
    note(op)
    while True:
        pass

@worker.function
def power(op: str) -> int:
    note(op)
    return (7**1_000_000) ** 20_000 % 10  # one operation, which holds the GIL for minutes

@worker.function
def fail(text: str) -> None:
    raise ValueError(text)

@worker.function
def die(op: str) -> None:
    note(op)
    os._exit(3)

@worker.function
def crop(picture: framehub.File, size: int = 4) -> framehub.File:
    return framehub.File(picture.data[:size], picture.name, "image/png")

@worker.function
def sizes(label: str, files: list[framehub.File]) -> dict[str, int]:
    return {label + file.name: len(file.data) for file in files}

@worker.function(coders=("Pair<Int, Int>", "Int"))
def add(a: int, b: int) -> int:
    return a + b

@worker.function(max_runtime=0.5)
def short(op: str) -> None:
    note(op)
    while True:
        pass

@worker.function
async def watched(op: str) -> str:
    note(op)
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        note(op + "-cancelled")
        raise
    return op

if __name__ == "__main__":
    worker.run()
"""


class Workers:
    """Workers as processes of their own, and the log of what they ran."""

    def __init__(self, folder: Path, address: str) -> None:
        self.log = folder / "log"
        self.log.touch()
        self._script = folder / "jobs.py"
        self._script.write_text(JOBS)
        self._address = address
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, processes: int = 1) -> "subprocess.Popen[bytes]":
        env = {
            **os.environ,
            "FRAMEHUB_WORKERS": self._address,
            "LOG": str(self.log),
            "PROCESSES": str(processes),
        }
        self._started.append(subprocess.Popen([sys.executable, str(self._script)], env=env))
        return self._started[-1]

    def runs(self) -> list[tuple[str, int, int]]:
        """What was run: the call's name, the process, and that one's parent."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return [(op, int(pid), int(parent)) for op, pid, parent in lines]

    def counts(self) -> Counter[str]:
        return Counter(op for op, _, _ in self.runs())

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait()


@contextmanager
def workers(folder: Path, address: str) -> Iterator[Workers]:
    made = Workers(folder, address)
    try:
        yield made
    finally:
        made.close()


class Dealer:
    """A plain ZeroMQ socket: it knows nothing but what a test says."""

    def __init__(self, context: zmq.asyncio.Context, address: str, identity: bytes | None = None) -> None:
        self._socket = context.socket(zmq.DEALER)
        self._socket.set(zmq.LINGER, 0)
        if identity is not None:
            self._socket.set(zmq.IDENTITY, identity)
        self._socket.connect(address)

    async def says(self, *parts: bytes) -> None:
        await self._socket.send_multipart(parts)

    async def hears(self) -> list[bytes]:
        async with asyncio.timeout(30):
            return await self._socket.recv_multipart()

    async def answers(self, count: int) -> dict[bytes, bytes]:
        """So many answers by their ids; acknowledgements are passed over, two answers to one id are not."""
        found: dict[bytes, bytes] = {}
        while len(found) < count:
            type_, id_, *body = await self.hears()
            if type_ != b"QUERY_RECEIVED":
                assert id_ not in found
                found[id_] = body[0]
        return found

    async def is_quiet(self, seconds: float = 0.3) -> bool:
        """Whether nothing comes for so long."""
        return not await self._socket.poll(int(seconds * 1_000))

    def close(self) -> None:
        self._socket.close(0)


@asynccontextmanager
async def dealers() -> AsyncIterator[zmq.asyncio.Context]:
    context = zmq.asyncio.Context()
    try:
        yield context
    finally:
        context.destroy(0)


class Relay:
    """Passes bytes between peers and an address, until it is told not to; then both ends hang."""

    def __init__(self, target: str) -> None:
        host, _, port = target.removeprefix("tcp://").rpartition(":")
        self._target = (host, int(port))
        self._hung: list[dict[str, bool]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        self.connections = 0

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"tcp://{host}:{port}"

    def hang(self, *ways: str) -> None:
        """Of the connections that are there, pass nothing more "up", to the target, or "down", or both."""
        for hung in self._hung:
            hung.update(dict.fromkeys(ways, True))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        self._writers += [writer, far_writer]
        hung = {"up": False, "down": False}
        self._hung.append(hung)
        for way, source, sink in (("up", reader, far_writer), ("down", far_reader, writer)):
            task = asyncio.ensure_future(self._pass(way, hung, source, sink))
            self._tasks.add(task)

    async def _pass(
        self, way: str, hung: dict[str, bool], source: asyncio.StreamReader, sink: asyncio.StreamWriter
    ) -> None:
        with suppress(ConnectionError):
            while data := await source.read(1 << 16):
                if not hung[way]:
                    sink.write(data)
                    await sink.drain()
        if hung[way]:
            await asyncio.Event().wait()  # the other end is not told either
        sink.close()

    async def close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        for writer in self._writers:
            with suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def relay(target: str) -> AsyncIterator[tuple[Relay, str]]:
    made = Relay(target)
    address = await made.start()
    try:
        yield made, address
    finally:
        await made.close()
