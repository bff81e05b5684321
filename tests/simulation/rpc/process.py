"""A process that can be stopped: what happens to it meanwhile waits, and then comes all at once."""

from collections.abc import Callable
from math import inf
from typing import Any

from tests.simulation.rpc.network import Link, Timeline


class Process:
    """Something that lives in the world."""

    link: Link | None = None

    def __init__(self, time: Timeline, name: str) -> None:
        self.time = time
        self.name = name
        self.alive = True
        self.stopped = False
        self.troubled = -inf
        """When something last happened to it, or to its connection, that may make it look dead."""
        self._backlog: list[tuple[Callable[..., None], tuple[Any, ...]]] = []

    def do(self, what: Callable[..., None], *about: Any) -> None:
        """Now, or when it runs again."""
        if self.stopped:
            self._backlog.append((what, about))
        elif self.alive:
            what(*about)

    def tick(self) -> None:
        """A look at the clock."""

    def stop(self) -> None:
        self.stopped = True
        self.troubled = inf

    def resume(self) -> None:
        if not self.stopped:
            return
        self.stopped = False
        self.troubled = self.time.now
        if not self.alive:
            return
        early = self.time.rng.random() < 0.5  # timers or sockets, whichever the loop looks at first
        if early:
            self.tick()
        backlog, self._backlog = self._backlog, []
        for what, about in backlog:
            self.do(what, *about)
        if not early:
            self.tick()

    def was_troubled_since(self, time: float) -> bool:
        return not self.alive or self.troubled >= time

    def __repr__(self) -> str:
        return self.name
