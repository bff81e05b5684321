"""Many callers that all wait at once: ``python -m tests.attacks.rpc_crowd ADDRESS CLIENTS EACH``.

Each has some calls of ``slowly`` under way. When all are answered, one line says how many were right.
"""

import asyncio
import json
import resource
import sys

import uvloop

import framehub


async def main(address: str, clients: int, each: int) -> None:
    callers = [framehub.Functions(address, timeout=100) for _ in range(clients)]
    calls = [
        caller.call("slowly", clients * number + index)
        for number in range(each)
        for index, caller in enumerate(callers)
    ]
    results = await asyncio.gather(*calls, return_exceptions=True)
    right = sum(result == number for number, result in enumerate(results))
    failures = [repr(result) for result in results if isinstance(result, BaseException)]
    for caller in callers:
        await caller.close()
    print(json.dumps({"right": right, "failures": failures[:5]}), flush=True)


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    uvloop.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
