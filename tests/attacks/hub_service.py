"""Honest services of a hub in a process of their own: ``python -m tests.attacks.hub_service PORT [KEYS]``.

One speaks version 2, one version 1; both have the same functions. ``KEYS`` is the folder of CURVE keys. A
line on stdout says that both are registered; after that each line on stdin is answered with what they saw.
"""

import asyncio
import json
import struct
import sys
from pathlib import Path

import uvloop

from framehub.runtime.curve import CurveClient, read_public, read_secret
from tests.attacks.hub_attacker import COMMAND, FIRST, LAST, MESSAGE, RawService, Told

NEW, OLD = 7, 8
"""The services' numbers."""
ECHO, TALK, COUNT, MUTE = 1, 2, 3, 4
"""The functions' numbers: one answer; an answer to each message; many to one; none ever."""
_NAMES = {"echo": ECHO, "talk": TALK, "count": COUNT, "mute": MUTE}
INTERFACE = json.dumps(
    {"name": "honest", "functions": [{"number": number, "name": name} for name, number in _NAMES.items()]}
).encode()


class Functions:
    """What a service does. Which function a stream is about, only its first frame says."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}

    def answer(self, service: RawService, told: Told) -> None:
        stream, state, parameter, body = told
        if state == FIRST:
            self._open[stream] = parameter
        function = self._open.get(stream)
        ended = state not in {FIRST, MESSAGE, LAST}
        if function == ECHO:
            service.says_on(stream, LAST, 0, body)
            ended = True
        elif function == TALK and not ended:
            ended = state == LAST
            service.says_on(stream, state if ended else MESSAGE, 0, body)
        elif function == COUNT:
            for number in range(*struct.unpack(">I", body)):
                service.says_on(stream, MESSAGE, 0, struct.pack(">I", number))
            service.says_on(stream, LAST)
            ended = True
        if ended:
            self._open.pop(stream, None)


async def main() -> None:
    port = int(sys.argv[1])
    curve = None
    if len(sys.argv) > 2:
        keys = Path(sys.argv[2])
        (server,) = read_public(keys / "server.pub")
        curve = CurveClient(server, read_secret(keys / "service"))
    services = [RawService(port, version, answer=Functions().answer, curve=curve) for version in (2, 1)]
    for service, number in zip(services, (NEW, OLD), strict=True):
        await service.joins(number, interface=INTERFACE)
    print("ready", flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        told = {
            "errors": [list(told[:3]) for service in services for told in service.told],
            "pings": sum(service.pings for service in services),
            "connections": sum(service.connections for service in services),
            "commands": sum(service.seen[COMMAND] for service in services),
        }
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
