"""Clients, a hub and services on one modelled network: the same seed, the same story."""

from collections import Counter, deque
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Any

from tests.simulation.hub import plan, tables
from tests.simulation.hub.clients import Client
from tests.simulation.hub.house import House
from tests.simulation.hub.services import Service
from tests.simulation.hub.sockets import Socket
from tests.simulation.hub.troubles import MANY, Troubles
from tests.simulation.rpc.ledger import Broken
from tests.simulation.rpc.network import Router
from tests.simulation.rpc.process import Process

REMEMBERED = 60
"""Steps that a failure tells."""
TICK = 0.25
LOOK = 50
"""Every so many events all tables are looked through; the quick look comes after each."""
HEALED = 20.0
"""Seconds after the last trouble in which every stream must have come to an end."""


class World:
    """One seed's."""

    def __init__(self, rng: Random, troubles: tuple[str, ...] | None = None) -> None:
        self.rng = rng
        self.now = 0.0
        self.plan = plan.draw(rng, troubles)
        self.counts: Counter[str] = Counter()
        self.steps: deque[tuple[float, object, tuple[object, ...]]] = deque(maxlen=REMEMBERED)
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0
        self._looks = 0
        self._bodies = 0
        self._names: Counter[str] = Counter()
        self.over = False
        """Nobody comes any more."""
        self.house = self._new_house()
        self.clients: list[Client] = []
        self.services: list[Service] = []
        self.strangers: list[Service] = []

    # --- time ------------------------------------------------------------------------------------------

    def at(self, time: float, what: Callable[..., None], *about: Any) -> None:
        if time < inf:
            self._count += 1
            heappush(self._events, (time, self._count, what, about))

    def _run_until(self, end: float, *, unless: Callable[[], bool] | None = None) -> None:
        events, steps = self._events, self.steps
        while events and events[0][0] <= end:
            time, _, what, about = heappop(events)
            if time > self.now:
                self.now = time
            steps.append((time, what, about))
            what(*about)
            if unless is not None and unless():
                return
        self.now = max(self.now, end)

    # --- who is there ----------------------------------------------------------------------------------

    def _new_house(self) -> House:
        return House(self, self.plan, self.counts, self._watch)

    def router(self) -> Router:
        return self.house.router

    def restart(self) -> None:
        self.house = self._new_house()
        self.counts["hubs started again"] += 1

    def name(self, kind: str) -> str:
        self._names[kind] += 1
        return f"{kind}-{self._names[kind]}"

    def add_service(self) -> None:
        living = [service for service in self.services if service.alive]
        if len(living) < MANY and not self.over:
            missing = set(range(self.plan.numbers)) - {service.number for service in living}
            number = min(missing) if missing else self.rng.randrange(self.plan.numbers)
            self.services.append(Service(self, self.name("service"), number))

    def body(self) -> bytes:
        """Bytes that are nobody else's."""
        self._bodies += 1
        return b"%d." % self._bodies + bytes(self.rng.choice(self.plan.sizes))

    # --- the story -------------------------------------------------------------------------------------

    def run(self) -> None:
        """The whole of it.

        Raises:
            Broken: a rule did not hold.
        """
        mine, rng = self.plan, self.rng
        for _ in range(mine.services):
            self.add_service()
        for _ in range(mine.clients):
            self.clients.append(Client(self, self.name("client")))
        for _ in range(mine.streams):
            self.at(0.3 + rng.random() * mine.span, self._open)
        troubles = Troubles(self)
        if mine.troubles:
            time = 0.4
            while time < mine.span:
                self.at(time, troubles.make)
                time += rng.random() * 2 * mine.gap
        self.at(TICK, self._tick)
        self._run_until(mine.span + 0.5)
        troubles.heal()
        self._run_until(self.now + HEALED, unless=lambda: not self.house.book.live)
        if self.house.book.live:
            raise Broken("HINV-9", f"still open: {list(self.house.book.live.values())[:3]}")
        self._run_until(self.now + 0.5)
        self._leave()

    def _open(self) -> None:
        self.rng.choice(self.clients).open()

    def _tick(self) -> None:
        if self.house.alive and not self.house.stopped:
            self.house.tick()
        late = TICK if self.rng.random() < self.plan.jitter else 0.0
        self.at(self.now + TICK + late * self.rng.random(), self._tick)

    def _leave(self) -> None:
        """Everybody leaves: nothing is left at the hub."""
        self.over = True
        for client in self.clients:
            client.alive = False
            if client.socket is not None and not client.socket.is_hung:
                client.socket.cut(hub=0.1, client=0.1)
        for service in (*self.services, *self.strangers):
            if service.alive:
                service.die(notice=0.1)
        self._run_until(self.now + 60.0, unless=self._is_deserted)
        self._run_until(self.now + 1.0)
        tables.check_deserted(self.house.switch, self.house.book)

    def _is_deserted(self) -> bool:
        switch = self.house.switch
        return not switch.clients and not switch.instances

    def _watch(self, house: House) -> None:
        """After everything that the hub did."""
        self.counts["events"] += 1
        tables.check_quickly(house.switch, house.book)
        self._looks += 1
        if self._looks % LOOK == 0:
            tables.check(house.switch, house.book)


def told(step: tuple[float, object, tuple[object, ...]]) -> str:
    """A step as text."""
    time, what, about = step
    owner = getattr(what, "__self__", None)
    who = str(owner) if isinstance(owner, Process | Client | Socket) else type(owner).__name__
    words = " ".join(_plain(one) for one in about)
    return f"{time:10.4f} {who} {getattr(what, '__name__', what)} {words}"


def _plain(one: object) -> str:
    if isinstance(one, bytes):
        return one[:16].hex()
    if isinstance(one, list):
        return "[" + ", ".join(_plain(part) for part in one[:4]) + "]"
    owner = getattr(one, "link", None)
    if owner is not None and not isinstance(one, Process):
        return str(owner.peer)
    return getattr(one, "__name__", str(one))
