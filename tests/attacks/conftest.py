"""Gateways to attack: one for each kind of settings, shared by the tests of a process."""

import resource
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pytest
import pytest_asyncio

from .arena import MIB, Arena, Attack, Siege
from .hub_arena import HubArena
from .rpc_arena import RpcArena

Arenas: TypeAlias = Callable[..., Arena]
RpcArenas: TypeAlias = Callable[..., RpcArena]
HubArenas: TypeAlias = Callable[..., HubArena]
B = TypeVar("B", RpcArena, HubArena)

IMPATIENT = {"request_timeout": 3.0, "progress_timeout": 1.0, "max_waiting_bytes": 2**20}
"""So that a test sees the end of what is waited for, and little is much; honest clients need less."""
LINES_OF_A_MODULE = 100
BYTES_OF_A_MODULE = 8 * MIB


@pytest.fixture(scope="session")
def arenas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arenas]:
    """The gateway with these settings."""
    made: dict[str, Arena] = {}
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def make(
        settings: Mapping[str, Any] | None = None, *, journal: Path | None = None, tokens: bool = False
    ) -> Arena:
        name = f"{sorted((settings or {}).items())} {journal} {tokens}"
        if name not in made:
            folder = tmp_path_factory.mktemp("arena")
            made[name] = Arena(folder, settings, journal=journal, tokens=tokens)
        return made[name]

    try:
        yield make
    finally:
        for arena in made.values():
            arena.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def arena(arenas: Arenas) -> Arena:
    """The gateway with the default settings."""
    return arenas()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def beside(arenas: Arenas) -> AsyncIterator[Arena]:
    """A gateway whose honest clients work during all tests of a module, and are judged after the last."""
    arena = arenas(IMPATIENT)
    async with arena.besieged() as siege:
        yield arena
    siege.check(BYTES_OF_A_MODULE, lines=LINES_OF_A_MODULE)


async def thrown(arenas: Arenas, attack: Attack) -> Siege:
    """Throw it and check all that must hold."""
    siege = await arenas(attack.settings, tokens=attack.tokens).under(attack)
    siege.check(attack.bound(attack.count))
    return siege


@pytest.fixture(scope="session")
def rpc_arenas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RpcArenas]:
    """The gateway with these settings of its proxy, with or without CURVE keys."""
    yield from _made(RpcArena, tmp_path_factory)


@pytest.fixture(scope="session")
def hub_arenas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubArenas]:
    """The gateway with these settings of its hub, with or without CURVE keys."""
    yield from _made(HubArena, tmp_path_factory)


def _made(kind: type[B], folders: pytest.TempPathFactory) -> Iterator[Callable[..., B]]:
    made: dict[str, B] = {}
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def make(settings: Mapping[str, Any] | None = None, *, curve: bool = False) -> B:
        name = f"{sorted((settings or {}).items())} {curve}"
        if name not in made:
            made[name] = kind(folders.mktemp("busy"), settings, curve=curve)
        return made[name]

    try:
        yield make
    finally:
        for arena in made.values():
            arena.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
