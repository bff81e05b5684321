"""Gateways to attack: one for each kind of settings, shared by the tests of a process."""

import resource
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from .arena import Arena

Arenas: TypeAlias = Callable[..., Arena]


@pytest.fixture(scope="session")
def arenas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arenas]:
    """The gateway with these settings."""
    made: dict[str, Arena] = {}
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def make(settings: Mapping[str, Any] | None = None, *, journal: Path | None = None) -> Arena:
        name = f"{sorted((settings or {}).items())} {journal}"
        if name not in made:
            made[name] = Arena(tmp_path_factory.mktemp("arena"), settings, journal=journal)
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
