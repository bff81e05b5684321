"""The service of these runs, a process: ``python -m tests.chaos.hub.service ADDRESS LEDGER``.

Its function answers each message with the conversation's name and the message, and writes down when a
conversation begins and how it ends.
"""

import asyncio
import sys
from pathlib import Path

import framehub
from tests.chaos.rpc.ledger import Ledger

NUMBER = 7
service = framehub.Service(number=NUMBER, name="talk", timeout=30)


@service.function(1)
async def talk(stream: framehub.ServiceStream) -> None:
    op = stream.first.decode()
    ledger.note("opened", op=op)
    try:
        await stream.send(stream.first)
        async for body in stream:
            await stream.send(stream.first + b" " + body)
    except (framehub.FramehubError, asyncio.CancelledError) as exc:
        ledger.note("ended", op=op, how=type(exc).__name__, why=str(exc))
        raise
    ledger.note("ended", op=op, how="done", why="")


if __name__ == "__main__":
    ledger = Ledger(Path(sys.argv[2]))
    service.run(sys.argv[1])
