"""A 2 GiB file streamed from disk over WebSocket: how fast, and how much memory each end takes for it.

Sender and receiver are processes of their own. The file is a hole in memory, so no disk is measured.
Growth is the highest resident size of a process while it streamed, above what it had before.

``python -m benchmarks.bench_big_file MIB`` measures one size and prints JSON.
"""

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import uvloop
from msgspec import Struct
from msgspec.json import decode, encode

import framehub
from benchmarks.report import Report

MEASURES = ("src/framehub/mfp", "src/framehub/runtime")

MIB = 2**20
SIZE_MIB = 2048
LIMIT_MIB = 100.0


class Told(Struct):
    """What one end says of itself."""

    bytes: int
    seconds: float
    growth_mib: float


class Result(Struct):
    mib: int
    mib_a_second: float
    sender: Told
    receiver: Told


def memory(name: str) -> float:
    """MiB of this process: VmRSS is what it has now, VmHWM the most that it ever had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


class Growth:
    """From here on; what was higher before counts too, so this errs on the high side."""

    def __init__(self) -> None:
        self._before = memory("VmRSS")

    @property
    def mib(self) -> float:
        return memory("VmHWM") - self._before


async def receive() -> None:
    """Print a port, take one stream, say how it went."""
    app = framehub.Endpoints()
    told: asyncio.Future[Told] = asyncio.get_running_loop().create_future()

    @app.on_stream("weigh")
    async def weigh(stream: framehub.InStream) -> None:
        growth, began, size = Growth(), perf_counter(), 0
        async for chunk in stream:
            size += len(chunk.data)
        told.set_result(Told(size, perf_counter() - began, growth.mib))
        await stream.peer.send("weighed", size)

    async with framehub.listen("ws://127.0.0.1:0/mfp", app) as listener:
        print(listener.port, flush=True)
        print(encode(await told).decode(), flush=True)
        await asyncio.Event().wait()


async def send(port: int, path: Path) -> None:
    """Stream a file; done when the other side has weighed it."""
    mine = framehub.Endpoints()
    weighed: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    mine.on("weighed")(lambda call: weighed.set_result(call.data))
    async with framehub.connect(f"ws://127.0.0.1:{port}/mfp", endpoints=mine) as peer:
        growth, began = Growth(), perf_counter()
        async with peer.stream("weigh") as out:
            await out.write(path)
        size = await weighed
    print(encode(Told(size, perf_counter() - began, growth.mib)).decode(), flush=True)


def measure(mib: int) -> Result:
    here = [sys.executable, "-m", "benchmarks.bench_big_file"]
    root = Path(__file__).parents[1]
    shared = Path("/dev/shm")
    with tempfile.NamedTemporaryFile(dir=shared if shared.is_dir() else None) as file:
        file.truncate(mib * MIB)
        receiver = subprocess.Popen([*here, "receive"], stdout=subprocess.PIPE, text=True, cwd=root)
        try:
            assert receiver.stdout is not None
            port = receiver.stdout.readline().strip()
            sent = subprocess.run([*here, "send", port, file.name], capture_output=True, check=True, cwd=root)
            sender = decode(sent.stdout, type=Told)
            told = decode(receiver.stdout.readline(), type=Told)
        finally:
            receiver.kill()
            receiver.communicate()
    return Result(mib, mib / sender.seconds, sender, told)


def main(report: Report) -> None:
    result = measure(SIZE_MIB)
    assert result.sender.bytes == result.receiver.bytes == SIZE_MIB * MIB
    report.say(f"{result.mib} MiB in {result.sender.seconds:.1f} s: {result.mib_a_second:,.0f} MiB/s")
    for name, told in (("sender", result.sender), ("receiver", result.receiver)):
        mark = report.at_most(f"memory of a 2 GiB file's {name}", told.growth_mib, LIMIT_MIB, "MiB")
        report.say(f"{name:8} grew by {told.growth_mib:6.1f} MiB   {mark}: {LIMIT_MIB:g}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["receive"]:
            uvloop.run(receive())
        case ["send", port, path]:
            uvloop.run(send(int(port), Path(path)))
        case [mib]:
            print(encode(measure(int(mib))).decode())
