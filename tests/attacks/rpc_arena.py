"""A gateway with remote functions, an honest worker, twenty honest callers and room for an attacker.

Each is a process of its own; ``busy`` says what must hold around every attack.
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from framehub.runtime.curve import CurveClient, read_public, read_secret, write_keys
from framehub.runtime.watchdog import CUT_OFF
from tests.attacks.arena import Process
from tests.attacks.busy import BusyArena, BusyAttack
from tests.attacks.rpc_attacker import Dealer

QUICK = {"wait_start": 1.0, "wait_gone": 3.0, "dead_after": 2.0, "ack_timeout": 2.0, "max_wait": 60.0}
"""Times of the proxy in a test: all waiting ends, and nobody hears BUSY because the machine is slow."""
WARM_CONNECTIONS, AT_A_TIME = 100, 20
"""Those who come before the attackers; so many of them fit into the shortest line of a proxy."""
TOLD = (
    "malformed", "registrations refused", "answers to nothing", "from the unregistered", "ids reused", "busy",
    "acknowledgements of nothing", "cancels of nothing", "questions too many", "from the silenced",
    "under another client's identity", "too many parts or bytes from a client", "deaths of processes",
    "too many parts or bytes from a worker", CUT_OFF,
)  # fmt: skip
"""What is counted of attackers only."""


class RpcArena(BusyArena):
    """One gateway with its settings, its worker and its callers."""

    def __init__(
        self, folder: Path, settings: Mapping[str, Any] | None = None, *, curve: bool = False
    ) -> None:
        self.folder_of_all = folder
        self.keys = _make_keys(folder / "keys") if curve else None
        self.journal = folder / "journal"
        self._errors = folder / "gateway.log"
        self._settings = dict(settings or {})
        self.clients = self.workers = 0
        self._start_gateway()
        self.worker = self.new_worker("worker")
        words = [f"tcp://127.0.0.1:{self.clients}", *self._key_words()]
        self._honest = Process("tests.attacks.rpc_honest", *words, errors=folder / "honest.log")
        self._warm = False

    def close(self) -> None:
        self._honest.end()
        self.worker.end()
        self._gateway.end()

    def new_worker(self, name: str) -> Process:
        """One more worker of the same functions; the caller ends it."""
        words = [f"tcp://127.0.0.1:{self.workers}", *self._key_words()]
        worker = Process("tests.attacks.rpc_worker", *words, errors=self.folder_of_all / f"{name}.log")
        assert worker.line() == "ready"
        return worker

    def restart_gateway(self) -> None:
        """Kill it and start it again, where it was."""
        self._gateway.end()
        self._start_gateway()

    def curve(self, name: str) -> CurveClient:
        """Whose key that is."""
        assert self.keys is not None
        (server,) = read_public(self.keys / "server.pub")
        return CurveClient(server, read_secret(self.keys / name))

    def _start_gateway(self) -> None:
        told = {
            "clients": self.clients,
            "workers": self.workers,
            "journal": str(self.journal),
            "settings": self._settings,
            "keys": str(self.keys) if self.keys else "",
        }
        self._gateway = Process("tests.attacks.rpc_server", json.dumps(told), errors=self._errors)
        self.clients, self.workers = json.loads(self._gateway.line())

    def _key_words(self) -> list[str]:
        return [str(self.keys)] if self.keys else []

    # --- how things stand --------------------------------------------------------------------------------

    def counts(self) -> Counter[str]:
        counted = self.stand()["counts"]
        return Counter({what: counted[what] for what in TOLD if what in counted})

    async def _be_used(self) -> None:
        curve = self.curve("client") if self.keys else None
        visitors = [Dealer(self.clients, curve=curve) for _ in range(WARM_CONNECTIONS)]
        for first in range(0, WARM_CONNECTIONS, AT_A_TIME):
            some = visitors[first : first + AT_A_TIME]
            for visitor in some:
                visitor.says(b"QUERY", b"warm", bytes(100_000), b"echo")
            for visitor in some:
                await visitor.hears(2)
                visitor.says(b"RESPONSE_RECEIVED", b"warm")
        for visitor in visitors:
            visitor.close()


RpcAttack: TypeAlias = BusyAttack[RpcArena]


def _make_keys(folder: Path) -> Path:
    """Keys of the server, a worker, and two clients: one honest, one not."""
    folder.mkdir()
    public = {name: write_keys(folder / name) for name in ("server", "worker", "client", "rogue", "stranger")}
    (folder / "clients").write_text(f"{public['client']}\n{public['rogue']}\n")
    (folder / "workers").write_text(f"{public['worker']}\n")
    return folder
