"""The gateway under attack by RPC peers, in a process of its own: ``python -m tests.attacks.rpc_server JSON``

The JSON says where to listen, where the journal is, the proxy's settings, and the folder of CURVE keys if
there are any. The first line on stdout has the addresses; after that each line on stdin is answered with one
line that says how things stand inside.
"""

import asyncio
import gc
import json
import logging
import resource
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import uvloop

from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import GatewaySettings
from framehub.rpc import words
from framehub.rpc.proxy import About
from framehub.rpc.settings import ProxySettings
from framehub.runtime.rpc_proxy import RpcProxy
from tests.attacks.recording import SMALL_SEGMENTS


class Counted:
    """The proxy's machine, with queries counted as they come, by their function."""

    def __init__(self, proxy: RpcProxy) -> None:
        self.came: Counter[str] = Counter()
        self._client_says = proxy.machine.client_says
        self._proxy = proxy
        proxy.machine.client_says = self._says

    def _says(self, identity: bytes, parts: Any, now: float, **more: Any) -> About:
        if len(parts) == 4 and parts[0] == words.QUERY:
            self.came[parts[3].decode(errors="replace")] += 1
        return self._client_says(identity, parts, now, **more)

    def stand(self) -> dict[str, Any]:
        """How things stand, once what can be thrown away is."""
        gc.collect()
        proxy = self._proxy
        machine = proxy.machine
        return {
            "counts": {what: count for what, count in machine.counts.items() if count},
            "came": self.came,
            "pending": machine.pending,
            "waiting": machine.placing.waiting,
            "workers": len(machine.registry.workers),
            "functions": sorted(n.decode() for n, f in machine.registry.functions.items() if f.workers),
            "clients": len(machine.asking.clients),
            "groups": len(machine.asking.groups.by_identity),
            "kept_of_groups": sum(group.kept_bytes for group in machine.asking.groups.by_identity.values()),
            "described": machine.registry.announced_bytes,
            "refused": {"client": proxy._clients.refused, "worker": proxy._workers.refused},
        }


async def serve(told: dict[str, Any]) -> None:
    keys = Path(told["keys"]) if told.get("keys") else None
    settings = GatewaySettings(
        listen="127.0.0.1:0",
        services=None,
        clients=f"127.0.0.1:{told['clients']}",
        workers=f"127.0.0.1:{told['workers']}",
        journal=Path(told["journal"]),
        rpc=ProxySettings(**told["settings"]),
        curve_key=keys / "server" if keys else None,
        client_keys=keys / "clients" if keys else None,
        worker_keys=keys / "workers" if keys else None,
        drain=0,
        recording=SMALL_SEGMENTS,
    )
    async with Gateway(settings) as gateway:
        proxy = gateway.functions
        assert proxy is not None
        counted = Counted(proxy)
        addresses = (proxy.clients_address, proxy.workers_address)
        print(json.dumps([int(address.rpartition(":")[2]) for address in addresses]), flush=True)
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(counted.stand()), flush=True)


def main() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    uvloop.run(serve(json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
