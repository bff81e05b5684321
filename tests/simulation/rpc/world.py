"""Clients, a proxy and workers on one modelled network: the same seed, the same story."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Any

from framehub.rpc import groups
from tests.simulation.rpc import functions, plan, tables
from tests.simulation.rpc.clients import ForeignClient, OurClient
from tests.simulation.rpc.house import Disk, House
from tests.simulation.rpc.ledger import Broken, Ledger, Query, must
from tests.simulation.rpc.network import Router
from tests.simulation.rpc.process import Process
from tests.simulation.rpc.troubles import Troubles
from tests.simulation.rpc.workers import ForeignWorker, OurWorker

REMEMBERED = 60
"""Steps that a failure tells."""
TICK = 0.25
QUIET = 100.0
"""Seconds in which every answer must have been acknowledged: workers repeat them ever more seldom."""
LOOK = 40
"""Every so many events all tables are looked through; the quick look comes after each."""


class World:
    """One seed's."""

    def __init__(self, rng: Random, troubles: tuple[str, ...] | None = None) -> None:
        self.rng = rng
        self.now = 0.0
        self.plan = plan.draw(rng)
        if troubles is not None:
            self.plan = replace(self.plan, troubles=troubles)
        self.counts: Counter[str] = Counter()
        self.steps: deque[tuple[float, object, tuple[object, ...]]] = deque(maxlen=REMEMBERED)
        self.ledger = Ledger(self.counts, self.plan)
        self.disk = Disk(rng.randbytes(32))
        self.group = groups.head(rng.randbytes(32), self.plan.limit)
        self.coders: dict[bytes, list[tuple[str, str, str]]] = {}
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0
        self._looks = 0
        self._names: Counter[str] = Counter()
        self.house = self._new_house()
        self.workers: list[OurWorker | ForeignWorker] = []
        self.clients: list[OurClient | ForeignClient] = []

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
        settings = self.plan.proxy
        return House(self, self.ledger, settings, self.disk, 2 * self.plan.delay, self._watch)

    def client_router(self) -> Router:
        return self.house.clients

    def worker_router(self) -> Router:
        return self.house.workers

    def name(self, kind: str) -> str:
        self._names[kind] += 1
        return f"{kind}-{self._names[kind]}"

    def add_client(self) -> None:
        self.clients.append(
            OurClient(self, self.name("client"), self.ledger, self.plan.client, self.client_router)
        )

    def add_worker(self, *, every: bool = False) -> None:
        """One more of ours; it offers everything, or all but ``rare``."""
        names = [name for name in functions.NAMES if name != "rare" or every or self.rng.random() < 0.5]
        self.hire(functions.offer(*names))

    def hire(self, offered: list[tuple[str, str, str]]) -> OurWorker:
        worker = OurWorker(
            self,
            self.name("worker"),
            self.ledger,
            self.plan.worker,
            self.worker_router,
            offered=offered,
            processes=self.plan.processes,
        )
        self.coders[worker.identity] = offered
        self.workers.append(worker)
        return worker

    def restart_proxy(self) -> None:
        self.house = self._new_house()
        self.ledger.restarts.append(self.now)
        self.counts["proxies started again"] += 1

    # --- the story -------------------------------------------------------------------------------------

    def run(self) -> None:
        """The whole of it.

        Raises:
            Broken: a rule did not hold.
        """
        mine, rng = self.plan, self.rng
        for number in range(mine.workers):
            self.add_worker(every=not number)
        for _ in range(mine.foreign_workers):
            self.workers.append(ForeignWorker(self, self.name("foreign"), self.ledger, self.worker_router))
        for _ in range(mine.clients):
            self.add_client()
        for _ in range(mine.foreign_clients):
            name = self.name("stranger")
            roomy = mine.proxy.max_queue > 1_000 and mine.proxy.max_bytes > 1_000_000
            roomy = roomy and mine.proxy.max_wait == inf  # whatever it asks for is taken
            self.clients.append(
                ForeignClient(self, name, self.ledger, self.client_router, careless=roomy and not mine.tight)
            )
        for number in range(mine.queries):
            self.at(0.3 + rng.random() * mine.span, self._ask, number)
        troubles = Troubles(self)
        if mine.troubles:
            time = 0.5
            while time < mine.span:
                self.at(time, troubles.make)
                time += rng.random() * 2 * mine.gap
        self.at(0.1, self._tick)
        self._run_until(mine.span + 0.5)
        troubles.heal()
        self._heal()
        self._run_until(self.now + plan.HEALED, unless=lambda: self.ledger.open <= 0)
        self.ledger.all_settled()
        self._wind_up()

    def _heal(self) -> None:
        """From now on nothing goes wrong, and there is somebody for everything."""
        for worker in self.workers:
            if worker.alive and worker.offered[0][0] == "newer":
                worker.die(notice=0.01)
        self._run_until(self.now + 0.1)
        self.add_worker(every=True)
        for process in (self.house, *self.workers, *self.clients):
            process.resume()

    def _ask(self, number: int) -> None:
        client = self.rng.choice([client for client in self.clients if client.alive])
        hurried = self.rng.random() < self.plan.hurry
        timeout = self.rng.choice((0.3, 2.0, 5.0)) if hurried else self.plan.span + plan.HEALED + 10.0
        cancel = self.rng.random() < self.plan.cancels
        if isinstance(client, ForeignClient) or self.rng.random() >= self.plan.grouped:
            client.ask(number, timeout=timeout, ample=not hurried, cancel=cancel)
            return
        query = client.ask(number, timeout=timeout, ample=not hurried, cancel=cancel, group=self.group)
        if query is not None and self.rng.random() < 0.5:
            self.at(self.now + self.rng.choice((0.0, 0.1, 5.0)) * self.rng.random(), self._ask_again, query)

    def _ask_again(self, query: Query) -> None:
        """A task that was started again, or a second one that does the same."""
        ours = [one for one in self.clients if one.alive and isinstance(one, OurClient)]
        if ours:
            timeout = self.plan.span + plan.HEALED + 10.0
            self.rng.choice(ours).ask_again(query, timeout=timeout)

    def _tick(self) -> None:
        late = self.plan.late_ticks
        for process in (self.house, *self.workers, *self.clients):
            if process.alive and not process.stopped and (not late or self.rng.random() >= late):
                process.tick()
        self.at(self.now + TICK, self._tick)

    def _wind_up(self) -> None:
        """Time passes: nothing is left anywhere."""
        self._run_until(self.now + 2 * self.plan.worker.resend)
        self._run_until(self.now + QUIET, unless=self._is_quiet)
        self._run_until(self.now + 2.0)
        for worker in self.workers:
            if isinstance(worker, OurWorker) and worker.draining and worker.alive:
                raise Broken("drain", f"{worker} does not come to an end: {worker.bench._answers}")
        for client in self.clients:
            if isinstance(client, ForeignClient) and client.alive and client.is_sure:
                self.ledger.all_told(client)
        for _ in range(3):
            self.now += 400.0
            self._run_until(self.now + 1.0)
        house = self.house.machine
        tables.check_proxy(house, self.coders)
        tables.check_idle(house)
        for client in self.clients:
            if isinstance(client, OurClient) and client.alive:
                tables.check_client(client.machine)
        for worker in self.workers:
            if isinstance(worker, OurWorker) and worker.alive:
                tables.check_worker(worker.bench)
            if worker.alive:
                worker.die(notice=0.01)
        self._run_until(self.now + 30.0)
        tables.check_deserted(house)

    def _is_quiet(self) -> bool:
        """Nothing is to be run, and no worker has an answer left that the proxy may not have."""
        if self.house.machine.pending:
            return False
        return not any(w.alive and isinstance(w, OurWorker) and w.bench.unacknowledged for w in self.workers)

    def _watch(self, house: House) -> None:
        """After everything that the proxy did."""
        self.counts["events"] += 1
        tables.check_quickly(house.machine)
        self._looks += 1
        if self._looks % LOOK == 0:
            tables.check_proxy(house.machine, self.coders)

    def living(self, processes: list[Any]) -> list[Any]:
        return [one for one in processes if one.alive and not one.stopped]


def told(step: tuple[float, object, tuple[object, ...]]) -> str:
    """A step as text."""
    time, what, about = step
    owner = getattr(what, "__self__", None)
    who = str(owner) if isinstance(owner, Process) else type(owner).__name__
    words = " ".join(_plain(one) for one in about)
    return f"{time:10.4f} {who} {getattr(what, '__name__', what)} {words}"


def _plain(one: object) -> str:
    if isinstance(one, bytes):
        return one[:12].hex() if not one.isascii() else one[:60].decode()
    if isinstance(one, list):
        return "[" + ", ".join(_plain(part) for part in one[:4]) + "]"
    owner = getattr(one, "link", None)
    if owner is not None and not isinstance(one, Process):
        return str(owner.peer)
    return getattr(one, "__name__", str(one))


__all__ = ["World", "must", "told"]
