"""MFP requests over WebSocket, against a bare picows echo that carries the same bytes.

Server and client are processes of their own; the two kinds take turns, and the best round of each counts. CPU
is the server's, in microseconds a call.
"""

import asyncio
import os
import subprocess
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import uvloop
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect, ws_create_server

import framehub
from framehub.runtime.websocket import quiet

ROUNDS = 3
SECONDS = 0.7
LARGEST = 1 << 25
TARGETS = {(64, 1): 0.4, (64, 64): 0.6, (65_536, 64): 0.8, (1_048_576, 8): 0.8}


class Case(NamedTuple):
    size: int
    flight: int


class Result(NamedTuple):
    rate: float
    cpu_us: float


# --- the servers: `python -m benchmarks.bench_requests bare|mfp` prints its port ---------------------------


class Echo(WSListener):
    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        transport.send(WSMsgType.BINARY, frame.get_payload_as_bytes())


async def serve(kind: str) -> None:
    if kind == "bare":
        server = await ws_create_server(
            lambda _: Echo(), "127.0.0.1", 0, max_frame_size=LARGEST, logger_name=quiet
        )
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.Event().wait()
    app = framehub.Endpoints()
    app.on("echo")(lambda call: call.data)
    async with framehub.listen("ws://127.0.0.1:0/mfp", app) as listener:
        print(listener.port, flush=True)
        await asyncio.Event().wait()


class Server:
    def __init__(self, kind: str) -> None:
        command = [sys.executable, "-m", "benchmarks.bench_requests", kind]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- the clients -------------------------------------------------------------------------------------------


class Answers(WSListener):
    def __init__(self) -> None:
        super().__init__()
        self.waiting: deque[asyncio.Future[None]] = deque()

    def on_ws_frame(self, _transport: WSTransport, _frame: WSFrame) -> None:
        self.waiting.popleft().set_result(None)


async def bare(port: int, case: Case) -> tuple[int, float]:
    transport, listener = await ws_connect(
        Answers, f"ws://127.0.0.1:{port}/", max_frame_size=LARGEST, logger_name=quiet
    )
    assert isinstance(listener, Answers)
    payload = b"x" * case.size
    loop = asyncio.get_running_loop()

    async def call() -> None:
        future = loop.create_future()
        listener.waiting.append(future)
        transport.send(WSMsgType.BINARY, payload)
        await future

    counted = await drive(call, case)
    transport.disconnect()
    return counted


async def mfp(port: int, case: Case) -> tuple[int, float]:
    async with framehub.connect(f"ws://127.0.0.1:{port}/mfp") as peer:
        data = "x" * max(1, case.size - 40)

        async def call() -> None:
            await peer.request("echo", data)

        return await drive(call, case)


async def drive(call: Callable[[], Awaitable[None]], case: Case) -> tuple[int, float]:
    """Keep ``flight`` calls going for a while; how many were made, in how many seconds."""
    began = perf_counter()
    until = began + SECONDS
    done = 0

    async def one() -> None:
        nonlocal done
        while perf_counter() < until:
            await call()
            done += 1

    await asyncio.gather(*(one() for _ in range(case.flight)))
    return done, perf_counter() - began


def measure(
    server: Server, client: Callable[[int, Case], Awaitable[tuple[int, float]]], case: Case
) -> Result:
    before = server.cpu()

    async def run() -> tuple[int, float]:
        return await client(server.port, case)

    calls, seconds = uvloop.run(run())
    return Result(calls / seconds, (server.cpu() - before) / max(calls, 1) * 1e6)


def main() -> None:
    servers = {"bare": Server("bare"), "mfp": Server("mfp")}
    try:
        print("   bytes in flight      bare/s       mfp/s   ratio  target   CPU us a call: bare, mfp")
        for (size, flight), target in TARGETS.items():
            case = Case(size, flight)
            results: dict[str, list[Result]] = {"bare": [], "mfp": []}
            for _ in range(ROUNDS):
                results["bare"].append(measure(servers["bare"], bare, case))
                results["mfp"].append(measure(servers["mfp"], mfp, case))
            best = {kind: max(found) for kind, found in results.items()}
            ratio = best["mfp"].rate / best["bare"].rate
            print(
                f"   {size:>9} / {flight:<4} {best['bare'].rate:>11,.0f} {best['mfp'].rate:>11,.0f}"
                f"   {ratio:5.2f}    {target:4.2f}   {best['bare'].cpu_us:8.1f} {best['mfp'].cpu_us:8.1f}"
            )
    finally:
        for server in servers.values():
            server.process.kill()
            server.process.wait()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
