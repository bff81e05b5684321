"""Those who run functions: ours, with its machine and child processes, and a foreign one."""

from collections import deque
from collections.abc import Callable
from random import Random

from framehub.rpc import words
from framehub.rpc.messages import registration
from framehub.rpc.settings import WorkerSettings
from framehub.rpc.worker import Workbench
from tests.simulation.rpc import functions
from tests.simulation.rpc.ledger import Ledger, Run
from tests.simulation.rpc.network import Link, Parts, Router, Timeline
from tests.simulation.rpc.process import Process


class OurWorker(Process):
    """Runs what ``Workbench`` says, in a few modelled processes."""

    foreign = False

    def __init__(
        self,
        time: Timeline,
        name: str,
        ledger: Ledger,
        settings: WorkerSettings,
        router: Callable[[], Router],
        *,
        offered: list[tuple[str, str, str]],
        processes: int,
    ) -> None:
        super().__init__(time, name)
        self.ledger = ledger
        self.offered = offered
        self.rng: Random = time.rng
        self.identity = b"w" + time.rng.randbytes(15)
        names = [name for name, _, _ in offered]
        once = [name for name in names if name in functions.FUNCTIONS and functions.FUNCTIONS[name].once]
        self.bench = Workbench(
            settings, offered, functions.about(names, settings.window, processes), once=once
        )
        self.link: Link = Link(time, self, router, lambda: self.identity)
        self.link.dial(0.0)
        self.draining = False
        self.refused = False
        self._free = processes
        self._queue: deque[tuple[bytes, str, bytes]] = deque()
        self._runs: dict[bytes, tuple[str, bytes, Run]] = {}

    def hears(self, parts: Parts) -> None:
        self.do(self._said, parts)

    def is_connected(self) -> None:
        self.do(self._connected)

    def tick(self) -> None:
        self.bench.tick(self.time.now)
        self._flush()

    def drain(self) -> None:
        """Finish what is there and go."""
        self.draining = True
        self.bench.drain()
        unstarted = [wid for wid, _, _ in self._queue]
        self._queue.clear()
        self.bench.give_back(unstarted, self.time.now)
        self._flush()

    def die(self, *, notice: float) -> None:
        """kill -9."""
        self.alive = False
        self._runs.clear()
        self.link.close(notice=notice)

    def kill_child(self) -> bool:
        """A process that runs something dies; False if none does."""
        if not self._runs or not self.alive:
            return False
        wid = self.rng.choice(list(self._runs))
        self._child_died(wid, self._runs[wid][2])
        return True

    def _said(self, parts: Parts) -> None:
        self.bench.said(parts, self.time.now)
        self._flush()

    def _connected(self) -> None:
        self.bench.connected(self.time.now)
        self._flush()

    def _flush(self) -> None:
        bench = self.bench
        while bench.out or bench.to_begin or bench.to_cancel:
            out, bench.out = bench.out, []
            for parts in out:
                self.link.send(parts)
            begin, bench.to_begin = bench.to_begin, []
            self._queue.extend(begin)
            cancel, bench.to_cancel = bench.to_cancel, []
            for wid in cancel:
                self._cancel(wid)
            self._begin()
        if bench.renew:
            bench.renew = False
            self.ledger.counts["workers' sockets made anew"] += 1
            self.troubled = max(self.troubled, self.time.now + 6.0)
            self.link.renew()
        if bench.refused and self.alive:
            self.refused = True
            self.ledger.counts["workers refused"] += 1
            self.die(notice=0.01)
        elif self.draining and self.alive and not bench.running and not bench.unacknowledged:
            self.ledger.counts["workers drained"] += 1
            self.die(notice=0.01)

    def _begin(self) -> None:
        while self._queue and self._free:
            wid, name, argument = self._queue.popleft()
            self._free -= 1
            run = self.ledger.began(name, argument, self, self.time.now)
            self._runs[wid] = (name, argument, run)
            seconds = self.rng.choice(functions.FUNCTIONS[name].seconds)
            deadly = functions.is_deadly(name, argument)
            ends = self._dies if deadly else self._ends
            self.time.at(self.time.now + seconds, self.do, ends, wid, run)

    def _ends(self, wid: bytes, run: Run) -> None:
        found = self._runs.get(wid)
        if found is None or found[2] is not run:
            return
        name, argument, _ = self._runs.pop(wid)
        self._free += 1
        if name == "fails":
            self.bench.finished(wid, exception=functions.failure(argument), now=self.time.now)
        else:
            self.bench.finished(wid, result=functions.result(name, argument), now=self.time.now)
        self._begin()
        self._flush()

    def _dies(self, wid: bytes, run: Run) -> None:
        found = self._runs.get(wid)
        if found is not None and found[2] is run:
            self._child_died(wid, run)

    def _child_died(self, wid: bytes, run: Run) -> None:
        run.process_died = True
        self.ledger.counts["children died"] += 1
        del self._runs[wid]
        self._free += 1
        self.do(self._tell_died, wid)

    def _tell_died(self, wid: bytes) -> None:
        self.bench.died([wid], self.time.now)
        self._begin()
        self._flush()

    def _cancel(self, wid: bytes) -> None:
        for waiting in self._queue:
            if waiting[0] == wid:
                self._queue.remove(waiting)
                self.bench.finished(wid, exception="cancelled", now=self.time.now)
                return
        if wid in self._runs:
            self.time.at(self.time.now + 0.5, self.do, self._end_cancelled, wid, self._runs[wid][2])

    def _end_cancelled(self, wid: bytes, run: Run) -> None:
        found = self._runs.get(wid)
        if found is not None and found[2] is run:
            del self._runs[wid]
            self._free += 1
            self.bench.finished(wid, exception="cancelled", now=self.time.now)
            self._begin()
            self._flush()


class ForeignWorker(Process):
    """Registers, acknowledges, runs, answers; no heart beats, no description.

    With an identity of its own or without; it keeps answers until they are acknowledged, or it does not.
    """

    foreign = True
    draining = False
    refused = False

    def __init__(self, time: Timeline, name: str, ledger: Ledger, router: Callable[[], Router]) -> None:
        super().__init__(time, name)
        self.ledger = ledger
        self.rng: Random = time.rng
        self.offered = functions.offer("quick", "rare")
        named = time.rng.random() < 0.5
        fixed = name.encode() + time.rng.randbytes(3)
        self.link: Link = Link(time, self, router, lambda: fixed if named else b"\0" + time.rng.randbytes(4))
        self.link.dial(0.0)
        self._keeps = time.rng.random() < 0.5
        self._answers: dict[bytes, Parts] = {}

    def hears(self, parts: Parts) -> None:
        self.do(self._said, parts)

    def is_connected(self) -> None:
        self.link.send(registration(self.offered))
        for answer in self._answers.values():
            self.link.send(answer)

    def die(self, *, notice: float) -> None:
        self.alive = False
        self.link.close(notice=notice)

    def kill_child(self) -> bool:
        return False

    def _said(self, parts: Parts) -> None:
        if parts[0] == words.QUERY:
            _, wid, argument, name = parts
            self.link.send([words.QUERY_RECEIVED, wid])
            self.ledger.began(name.decode(), argument, self, self.time.now)
            seconds = self.rng.choice(functions.FUNCTIONS[name.decode()].seconds)
            answer = [words.RESPONSE_RESULT, wid, functions.result(name.decode(), argument)]
            self.time.at(self.time.now + seconds, self.do, self._answer, answer)
        elif parts[0] == words.RESPONSE_RECEIVED:
            self._answers.pop(parts[1], None)

    def _answer(self, answer: Parts) -> None:
        if self._keeps:
            self._answers[answer[1]] = answer
        self.link.send(answer)
