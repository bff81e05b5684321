"""``make buffers``: connect, send one large frame, close, a thousand times: a gateway needs no more memory.

The gateway is a process of its own, so that what clients need is not counted. It ends with 1 if its memory
grew by more than ``--most`` MiB from after the warm-up.
"""

import argparse
import asyncio
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from framehub.runtime.connect import connect
from framehub.runtime.files import File

MIB = 1 << 20
SERVE = ("-m", "framehub", "serve", "--app", f"{__package__}.app:endpoints", "--listen", "127.0.0.1:0")
SETTLED_SECONDS = 3.0
"""After this nothing is shrunk or given back any more."""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make buffers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--warm-up", type=int, default=50, help="rounds before the first look")
    parser.add_argument("--bytes", type=int, default=MIB - 1_000, help="of the frame")
    parser.add_argument("--together", type=int, default=4, help="connections at a time")
    parser.add_argument("--most", type=float, default=16, help="MiB that it may grow by")
    return parser.parse_args()


async def rounds(url: str, count: int, data: bytes) -> None:
    """One connection after the other."""
    for _ in range(count):
        async with connect(url) as peer:
            reply = await peer.request("size", files={1: File(data)})
            assert reply.data == len(data)


def resident(gateway: Process) -> float:
    """MiB."""
    told = Path(f"/proc/{gateway.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", told)
    assert found is not None
    return int(found[1]) / 1024


async def settled(gateway: Process) -> float:
    await asyncio.sleep(SETTLED_SECONDS)
    return resident(gateway)


async def main(told: argparse.Namespace) -> int:
    data = bytes(told.bytes)
    gateway = await asyncio.create_subprocess_exec(sys.executable, *SERVE, stdout=PIPE)
    try:
        assert gateway.stdout is not None
        ready = (await gateway.stdout.readline()).decode()
        url = re.search(r"mfp=(\S+)", ready)
        assert url is not None, ready
        await rounds(url[1], told.warm_up, data)
        before = await settled(gateway)
        each, more = divmod(told.rounds, told.together)
        await asyncio.gather(*(rounds(url[1], each + (n < more), data) for n in range(told.together)))
        at_once = resident(gateway)
        after = await settled(gateway)
    finally:
        gateway.send_signal(signal.SIGTERM)
        await gateway.wait()
    grown = after - before
    print(f"{told.rounds} connections, a frame of {told.bytes:,} bytes on each")
    print(f"resident: {before:.1f} MiB before, {at_once:.1f} MiB at the end, {after:.1f} MiB soon after")
    print(f"grown by {grown:+.1f} MiB, at most {told.most:g}: {'ok' if grown <= told.most else 'TOO MUCH'}")
    return 0 if grown <= told.most else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(options())))
