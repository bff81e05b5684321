"""What goes wrong in a world, one thing at a time."""

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Final

from framehub.rpc import words
from framehub.rpc.jobs import GIVEN
from tests.simulation.rpc import functions
from tests.simulation.rpc.process import Process
from tests.simulation.rpc.workers import ForeignWorker, OurWorker

if TYPE_CHECKING:
    from tests.simulation.rpc.world import World

MANY = 4
"""Workers at a time; more do not show more."""
NOISE: Final[tuple[list[bytes], ...]] = (
    [],
    [b""],
    [b"\xff\xfe"],
    [words.QUERY],
    [words.QUERY, b"1", b"x"],
    [words.QUERY, b"", b"x", b"quick"],
    [words.QUERY, b"i" * 65, b"x", b"quick"],
    [words.QUERY, b"1", b"x", b"\xff"],
    [words.RESPONSE_RESULT, b"1", b"x"],
    [words.RESPONSE_RECEIVED],
    [words.WORKER_REGISTER],
    [words.WORKER_REGISTER, b"\0\0\0\2", b"quick", b"json", b"json"],
    [words.WORKER_REGISTER, b"\xff\xff\xff\xff"],
    [words.WORKER_DESCRIBE, b"{"],
    [words.WORKER_DESCRIBE, b'{"functions":{"a":{"redispatch":"never"}}}'],
    [words.HEART_BEAT, b"?"],
    [words.CANCEL, b""],
    [words.QUERY_RETURNED, b"1"],
)


class Troubles:
    """Makes one of the plan's troubles at a time."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._over = False

    def make(self) -> None:
        kind = self._world.rng.choice(self._world.plan.troubles)
        if _MAKERS[kind](self):
            self._world.counts[kind] += 1

    def heal(self) -> None:
        """No more of it: what hangs is noticed, who is blocked is not any more."""
        world = self._world
        self._over = True
        if not world.house.alive:
            world.restart_proxy()
        for process in (*world.workers, *world.clients):
            conn = process.link.conn
            if conn is not None:
                conn.blocked_until = 0.0
            if process.troubled > world.now:
                process.troubled = world.now + 20.0

    # --- links -----------------------------------------------------------------------------------------

    def _one(self, processes: list[Process]) -> Process | None:
        living = self._world.living(processes)
        return self._world.rng.choice(living) if living else None

    def _cut(self, processes: list[Process]) -> bool:
        one, rng = self._one(processes), self._world.rng
        if one is None or one.link is None:
            return False
        back = rng.choice((0.05, 0.3, 3.0)) * (0.5 + rng.random())
        one.troubled = self._world.now + back + 6.0
        one.link.cut(notice=rng.choice((0.001, 0.1)), back=back)
        return True

    def _hang(self, processes: list[Process]) -> bool:
        one, rng = self._one(processes), self._world.rng
        if one is None or one.link is None or one.link.conn is None:
            return False
        one.troubled = self._world.now + 20.0
        one.link.hang(notice=3.0 + 5.0 * rng.random(), back=rng.choice((3.0 + 3.0 * rng.random(), inf)))
        return True

    def _stop(self, processes: list[Process]) -> bool:
        one, rng = self._one(processes), self._world.rng
        if one is None:
            return False
        one.stop()
        # Often just longer than silence is forgiven, and shorter than it takes to make new sockets.
        least, most = rng.choice(((0.2, 5.0), (5.0, 5.9), (5.0, 13.0)))
        self._world.at(self._world.now + rng.uniform(least, most), one.resume)
        return True

    def _block(self, processes: list[Process]) -> bool:
        one, rng = self._one(processes), self._world.rng
        if one is None or one.link is None:
            return False
        seconds = rng.choice((0.2, 2.0, 7.0))
        one.troubled = max(one.troubled, self._world.now + seconds + 6.0)
        one.link.block(seconds)
        return True

    def _cut_client(self) -> bool:
        return self._cut([*self._world.clients])

    def _cut_worker(self) -> bool:
        return self._cut([*self._world.workers])

    def _hang_client(self) -> bool:
        return self._hang([*self._world.clients])

    def _hang_worker(self) -> bool:
        return self._hang([*self._world.workers])

    def _stop_client(self) -> bool:
        return self._stop([*self._world.clients])

    def _stop_worker(self) -> bool:
        return self._stop([*self._world.workers])

    def _stop_proxy(self) -> bool:
        return self._stop([self._world.house])

    def _block_client(self) -> bool:
        return self._block([*self._world.clients])

    def _block_worker(self) -> bool:
        return self._block([*self._world.workers])

    # --- deaths ----------------------------------------------------------------------------------------

    def _notice(self) -> float:
        """How soon the proxy's socket notices that a process is gone; later if its machine is."""
        rng = self._world.rng
        return rng.choice((0.001, 0.05, 3.0 + 5.0 * rng.random()))

    def _kill_worker(self) -> bool:
        world = self._world
        living = [worker for worker in world.workers if worker.alive]
        if not living:
            return False
        worker = world.rng.choice(living)
        worker.die(notice=self._notice())
        back: Callable[[], None] = (
            self._new_foreign if isinstance(worker, ForeignWorker) else self._new_worker
        )
        world.at(world.now + world.rng.choice((0.1, 2.0)), back)
        return True

    def _new_worker(self) -> None:
        self._world.add_worker()

    def _new_foreign(self) -> None:
        world = self._world
        world.workers.append(ForeignWorker(world, world.name("foreign"), world.ledger, world.worker_router))

    def _kill_child(self) -> bool:
        worker = self._one([*self._world.workers])
        return isinstance(worker, OurWorker) and worker.kill_child()

    def _kill_proxy(self) -> bool:
        world = self._world
        if not world.house.alive:
            return False
        if world.rng.random() < world.plan.crashes:
            world.house.dying = True
            world.at(world.now + 0.5, self._end_proxy, world.house)
        else:
            self._end_proxy(world.house)
        return True

    def _end_proxy(self, house: Process) -> None:
        world = self._world
        if house is not world.house:
            return
        if world.house.alive:
            world.house.die()
        world.at(world.now + world.rng.choice((0.05, 1.0)), self._start_proxy, house)

    def _start_proxy(self, house: Process) -> None:
        if house is self._world.house:
            self._world.restart_proxy()

    def _kill_client(self) -> bool:
        world = self._world
        living = [client for client in world.clients if client.alive]
        client = world.rng.choice(living)
        client.alive = False
        client.link.close(notice=self._notice())
        world.ledger.client_died(client)
        world.add_client()
        return True

    def _drain(self) -> bool:
        world = self._world
        living = [w for w in world.living(world.workers) if isinstance(w, OurWorker) and not w.draining]
        if not living:
            return False
        worker = self._world.rng.choice(living)
        worker.drain()
        self._world.at(self._world.now + self._world.rng.choice((0.1, 2.0)), self._new_worker)
        return True

    def _roll(self) -> bool:
        """Every worker is replaced, one after the other, each by one that is there before."""
        world = self._world
        living = [w for w in world.living(world.workers) if isinstance(w, OurWorker) and not w.draining]
        if len(living) > MANY:
            return False
        for number, worker in enumerate(living):
            world.at(world.now + number, self._new_worker)
            world.at(world.now + number + 0.5, worker.do, worker.drain)
        return bool(living)

    # --- the wicked ------------------------------------------------------------------------------------

    def _conflict(self) -> bool:
        """A worker of a function with other coders: all of it is refused."""
        world = self._world
        world.hire([("newer", "json", "json"), *functions.offer("quick", coder="Int")])
        return True

    def _forge(self) -> bool:
        """Somebody answers, acknowledges and cancels what is not its own, with ids it cannot know."""
        world, rng = self._world, self._world.rng
        house = world.house
        if not house.alive or house.stopped:
            return False
        machine = house.machine
        given = [job for job in machine.keeping.by_wid.values() if job.state == GIVEN]
        for job in given[:3]:
            assert job.worker is not None
            others = [w for w in machine.registry.workers if w != job.worker.identity]
            if others:
                other = rng.choice(others)
                house.machine.worker_says(other, [words.RESPONSE_RESULT, job.wid, b"forged"], world.now)
                house.machine.worker_says(other, [words.QUERY_RETURNED, job.wid, words.DIED], world.now)
            liar = b"\1liar"
            house.machine.worker_says(liar, [words.RESPONSE_RESULT, job.wid, b"forged"], world.now)
        identity = b"\1rogue"
        for job in list(machine.keeping.by_wid.values())[:3]:
            house.machine.client_says(identity, [words.RESPONSE_RECEIVED, job.id], world.now)
            house.machine.client_says(identity, [words.CANCEL, job.id], world.now)
        house.flush()
        return bool(given)

    def _malformed(self) -> bool:
        world, rng = self._world, self._world.rng
        if not world.house.alive or world.house.stopped:
            return False
        for _ in range(rng.choice((1, 5, 20))):
            parts = rng.choice(NOISE)
            world.house.machine.client_says(b"\1noise", parts, world.now)
            world.house.machine.worker_says(b"\1noise", parts, world.now)
        world.house.flush()
        return True


_MAKERS: dict[str, Callable[[Troubles], bool]] = {
    "cut a client": Troubles._cut_client,
    "cut a worker": Troubles._cut_worker,
    "half-open client": Troubles._hang_client,
    "half-open worker": Troubles._hang_worker,
    "stop a client": Troubles._stop_client,
    "stop a worker": Troubles._stop_worker,
    "stop the proxy": Troubles._stop_proxy,
    "kill a worker": Troubles._kill_worker,
    "kill a child": Troubles._kill_child,
    "kill the proxy": Troubles._kill_proxy,
    "kill a client": Troubles._kill_client,
    "block a client": Troubles._block_client,
    "block a worker": Troubles._block_worker,
    "drain a worker": Troubles._drain,
    "roll the workers": Troubles._roll,
    "conflicting worker": Troubles._conflict,
    "forge": Troubles._forge,
    "malformed": Troubles._malformed,
}
