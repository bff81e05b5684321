"""The gateway under attack at its hub, in a process of its own: ``python -m tests.attacks.hub_server JSON``

The JSON says where the journal is, the hub's settings, and the folder of CURVE keys if there are any. The
first line on stdout has the ports; after that each line on stdin is answered with one line that says how
things stand inside.
"""

import asyncio
import gc
import json
import logging
import resource
import sys
from pathlib import Path
from typing import Any

import uvloop

from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import GatewaySettings
from framehub.hub.settings import HubSettings
from framehub.runtime.hub import Hub
from tests.attacks.recording import SMALL_SEGMENTS


def stand(hub: Hub) -> dict[str, Any]:
    """How things stand, once what can be thrown away is."""
    gc.collect()
    switch = hub.switch
    tables = [
        len(switch.streams),
        switch.timers,
        sum(len(client.streams) for client in switch.clients),
        sum(len(instance.streams) for instance in switch.instances.values()),
    ]
    return {
        "counts": {what: count for what, count in switch.counts.items() if count},
        "clients": len(switch.clients),
        "services": sorted(instance.number for instance in switch.instances.values()),
        "tables": tables,
        "held": switch.held_bytes,
        "stuck": len(switch.stuck),
        "refused": hub._socket.refused,
    }


async def serve(told: dict[str, Any]) -> None:
    keys = Path(told["keys"]) if told.get("keys") else None
    settings = GatewaySettings(
        listen="127.0.0.1:0",
        services="127.0.0.1:0",
        clients=None,
        workers=None,
        journal=Path(told["journal"]),
        hub=HubSettings(**told["settings"]),
        curve_key=keys / "server" if keys else None,
        service_keys=keys / "services" if keys else None,
        origins=("https://friend.example",),
        drain=0,
        recording=SMALL_SEGMENTS,
    )
    async with Gateway(settings) as gateway:
        hub = gateway.hub
        assert hub is not None
        ports = [gateway.url.rpartition(":")[2].partition("/")[0], hub.address.rpartition(":")[2]]
        print(json.dumps([int(port) for port in ports]), flush=True)
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(stand(hub)), flush=True)


def main() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    uvloop.run(serve(json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
