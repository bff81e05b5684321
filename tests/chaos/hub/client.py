"""A client of these runs, a process: ``python -m tests.chaos.hub.client URL LEDGER NAME SEED``.

Several conversations at a time, each with a few messages whose answers are compared; what became of each is
written down. A connection that is lost is made again. SIGTERM lets it finish.
"""

import asyncio
import random
import signal
import sys
from pathlib import Path

import uvloop

import framehub
from tests.chaos.hub.service import NUMBER
from tests.chaos.rpc.ledger import Ledger

AT_ONCE = 4
AGAIN_SECONDS = 0.05


class Talking:
    """All conversations of this process."""

    def __init__(self, url: str, ledger: Ledger, name: str, seed: int) -> None:
        self.url = url
        self.ledger = ledger
        self.name = name
        self.dice = random.Random(f"{seed} {name}")
        self.stopping = asyncio.Event()
        self.count = 0

    async def run(self) -> None:
        while not self.stopping.is_set():
            try:
                async with framehub.HubClient(self.url) as hub:
                    await asyncio.gather(*(self.talk_on(hub) for _ in range(AT_ONCE)))
            except (framehub.ConnectFailed, framehub.ConnectionClosed):
                await asyncio.sleep(AGAIN_SECONDS)
        self.ledger.note("end")

    async def talk_on(self, hub: framehub.HubClient) -> None:
        while not self.stopping.is_set():
            self.count += 1
            op = f"{self.name}-{self.count}"
            self.ledger.note("sent", op=op)
            try:
                await self.talk(hub, op)
            except framehub.FramehubError as exc:
                code = exc.code.name if isinstance(exc, framehub.HubStreamError) else ""
                self.ledger.note("error", op=op, kind=type(exc).__name__, code=code, text=str(exc))
                if isinstance(exc, framehub.ConnectionClosed):
                    raise
                await asyncio.sleep(AGAIN_SECONDS)  # nobody offers the service for a moment

    async def talk(self, hub: framehub.HubClient, op: str) -> None:
        async with hub.open(NUMBER, 1, op.encode(), timeout=25) as stream:
            if await anext(stream) != op.encode():
                self.ledger.note("wrong", op=op)
            for number in range(self.dice.randint(1, 12)):
                body = f"{number} {'x' * self.dice.choice((1, 100, 5_000))}"
                await stream.send(body.encode())
                if await anext(stream) != f"{op} {body}".encode():
                    self.ledger.note("wrong", op=op)
                await asyncio.sleep(self.dice.random() * 0.03)
            await stream.end()
            if await stream.read():
                self.ledger.note("wrong", op=op)
        self.ledger.note("done", op=op)


async def main() -> None:
    url, path, name, seed = sys.argv[1:]
    talking = Talking(url, Ledger(Path(path)), name, int(seed))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, talking.stopping.set)
    await talking.run()


if __name__ == "__main__":
    uvloop.run(main())
