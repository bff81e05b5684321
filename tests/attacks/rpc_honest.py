"""Honest callers in a process of their own: ``python -m tests.attacks.rpc_honest ADDRESS [KEYS]``.

Each keeps calling all that can be called, and checks every answer; ``shift`` says what else happens.
"""

import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from random import Random
from time import perf_counter

import uvloop

import framehub
from framehub.errors import RemoteFunctionError, UnsupportedFunctionName
from framehub.runtime.curve import CurveClient, read_public, read_secret
from tests.attacks.shift import obey

PATIENCE = 60.0


class Client:
    """One of them."""

    def __init__(self, number: int, address: str, keys: Path | None) -> None:
        self.rounds = 0
        self.waits: list[float] = []
        self._random = Random(number)
        curve = None
        if keys is not None:
            (server,) = read_public(keys / "server.pub")
            curve = CurveClient(server, read_secret(keys / "client"))
        self.functions = framehub.Functions(address, curve=curve, timeout=PATIENCE)

    def connected(self) -> AbstractAsyncContextManager[object]:
        return self.functions

    async def round(self) -> None:
        """One of everything, each with its answer checked."""
        blob = self._random.randbytes(self._random.randrange(4_000))
        began = perf_counter()
        same = await self.functions.call_bytes("echo", blob)
        self.waits.append(perf_counter() - began)
        self._check("echo", same == blob)
        number = self._random.randrange(10**6)
        self._check("square", await self.functions.call("square", number) == number * number)
        try:
            await self.functions.call("fail", f"for {number}")
        except RemoteFunctionError as exc:
            self._check("fail", exc.message == f"ValueError: for {number}")
        else:
            self._check("fail", right=False)
        try:
            await self.functions.call_bytes("nobody", b"")
        except UnsupportedFunctionName:
            pass
        else:
            self._check("nobody", right=False)
        self._check("coders", await self.functions.coders("typed") == ("Int", "Int"))
        self.rounds += 1

    @staticmethod
    def _check(what: str, right: bool) -> None:
        if not right:
            raise ValueError(f"a wrong answer of {what}")


async def main() -> None:
    keys = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    await obey(lambda number: Client(number, sys.argv[1], keys))


if __name__ == "__main__":
    uvloop.run(main())
