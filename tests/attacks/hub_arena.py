"""A gateway with a hub, honest services, twenty honest clients and room for an attacker.

Each is a process of its own; ``busy`` says what must hold around every attack. Here also: afterwards nothing
of the attacker is left at the hub, its tables agree with each other, and the honest services were neither
told of errors nor disconnected.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framehub.runtime.curve import CurveClient, read_public, read_secret, write_keys
from tests.attacks.arena import MIB, Process
from tests.attacks.attacker import crowd
from tests.attacks.busy import BusyArena, BusyAttack
from tests.attacks.hub_attacker import visiting
from tests.attacks.hub_service import ECHO, NEW, OLD
from tests.attacks.shift import CLIENTS

WARM_CONNECTIONS = 100
WARM_BYTES = 100_000
OURS = 66
"""The number of the service that an attack may offer."""
TALKING = CLIENTS
"""Streams that honest clients have open all the time."""


class HubArena(BusyArena):
    """One gateway with the settings of its hub, its services and its clients."""

    def __init__(
        self, folder: Path, settings: Mapping[str, Any] | None = None, *, curve: bool = False
    ) -> None:
        self.keys = _make_keys(folder / "keys") if curve else None
        self._errors = folder / "gateway.log"
        keys = [str(self.keys)] if self.keys else []
        told = {"journal": str(folder / "journal"), "settings": dict(settings or {}), "keys": "".join(keys)}
        self._gateway = Process("tests.attacks.hub_server", json.dumps(told), errors=self._errors)
        self.port, self.services = json.loads(self._gateway.line())
        words = [str(self.services), *keys]
        self._service = Process("tests.attacks.hub_service", *words, errors=folder / "service.log")
        assert self._service.line() == "ready"
        self._honest = Process("tests.attacks.hub_honest", str(self.port), errors=folder / "honest.log")
        self._warm = False

    def close(self) -> None:
        self._honest.end()
        self._service.end()
        self._gateway.end()

    def curve(self, name: str) -> CurveClient:
        """Whose key that is."""
        assert self.keys is not None
        (server,) = read_public(self.keys / "server.pub")
        return CurveClient(server, read_secret(self.keys / name))

    # --- how things stand --------------------------------------------------------------------------------

    def counts(self) -> Counter[str]:
        return Counter(self.stand()["counts"])

    def of_services(self) -> dict[str, Any]:
        """What the honest services saw."""
        self._service.tell("stand")
        told: dict[str, Any] = json.loads(self._service.line())
        return told

    async def calm(self) -> None:
        stand = await self.until(
            lambda stand: (
                stand["clients"] == CLIENTS and stand["services"] == [NEW, OLD] and not stand["held"]
            )
        )
        assert stand["stuck"] == 0
        assert len(set(stand["tables"])) == 1, stand
        assert TALKING <= stand["tables"][0] <= 4 * TALKING
        told = self.of_services()
        assert told["errors"] == []
        assert told["connections"] == 2

    async def _be_used(self) -> None:
        async def visit() -> None:
            async with visiting(self.port) as visitor:
                await visitor.opens(1, NEW, ECHO, bytes(WARM_BYTES))
                assert len((await visitor.hears()).body) == WARM_BYTES

        await crowd([visit] * WARM_CONNECTIONS)


COARSE = 128 * MIB
"""Where memory is not what is attacked: the journal's own work takes some, now and then."""


@dataclass(frozen=True)
class HubAttack(BusyAttack[HubArena]):
    """What is thrown at a hub."""

    allowed: int = COARSE


def _make_keys(folder: Path) -> Path:
    """Keys of the server, of services honest and not, and of a stranger."""
    folder.mkdir()
    public = {name: write_keys(folder / name) for name in ("server", "service", "rogue", "stranger")}
    (folder / "services").write_text(f"{public['service']}\n{public['rogue']}\n")
    return folder
