"""Those who ask: ``python -m tests.chaos.rpc.driver ADDRESS LEDGER NAME SEED``.

Several clients, each with some calls under way at any time, until SIGTERM; then what is under way is waited
for. Every call is in the ledger before it is sent, and its answer as soon as the application has it.
"""

import asyncio
import random
import signal
import sys
from pathlib import Path
from typing import Final

import uvloop

import framehub
from tests.chaos.rpc.ledger import FUNCTIONS, Ledger, argument_of, digest

CLIENTS: Final = 2
WIDTH: Final = 4
"""Calls that one client has under way."""
TIMEOUT: Final = 100.0
"""Seconds: far beyond what any of this takes."""


async def ask(functions: framehub.Functions, ledger: Ledger, op: str, dice: random.Random) -> None:
    """One call, from its first line in the ledger to its last."""
    function = dice.choice(FUNCTIONS)
    seconds = round(dice.choice((0.0, 0.02, 0.1, 0.5)), 3)
    text = "x" * dice.choice((0, 10, 1_000, 20_000))
    ledger.note("sent", op=op, function=function, argument=digest(argument_of(op, seconds, text)))
    try:
        result = await functions.call(function, op, seconds, text, timeout=TIMEOUT)
    except framehub.RemoteCallError as exc:
        ledger.note("error", op=op, kind=type(exc).__name__, text=str(exc))
    else:
        ledger.note("result", op=op, result=digest(result.encode()))


async def drive(address: str, ledger: Ledger, name: str, seed: int) -> None:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)

    async def one(client: int) -> None:
        async with framehub.Functions(address) as functions:

            async def lane(number: int) -> None:
                dice = random.Random(f"{seed} {name} {client} {number}")
                count = 0
                while not stopping.is_set():
                    count += 1
                    await ask(functions, ledger, f"{name}-{client}-{number}-{count}", dice)

            await asyncio.gather(*map(lane, range(WIDTH)))

    await asyncio.gather(*map(one, range(CLIENTS)))
    ledger.note("end")


if __name__ == "__main__":
    uvloop.run(drive(sys.argv[1], Ledger(Path(sys.argv[2])), sys.argv[3], int(sys.argv[4])))
