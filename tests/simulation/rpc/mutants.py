"""Machines with one fault each. The ledger is worth something if it finds every one."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import pytest

from framehub.rpc import asking, jobs, words
from framehub.rpc.asking import Asking
from framehub.rpc.client import Queries
from framehub.rpc.jobs import DONE, Client, Job
from framehub.rpc.keeping import Keeping
from framehub.rpc.messages import Parts
from framehub.rpc.placing import Placing
from framehub.rpc.proxy import Proxy
from framehub.rpc.registry import Function, Registry, Worker
from framehub.rpc.worker import Workbench
from framehub.rpc.working import Working


class Mutant(NamedTuple):
    """A fault: where it is, and the rules of which it may break the first."""

    rules: str
    where: Any
    name: str
    what: Any
    troubles: tuple[str, ...] | None = None
    """What shows it: worlds with these troubles only. None for any world."""


def nothing(*_: object, **__: object) -> None:
    """Does nothing."""


# --- clients -----------------------------------------------------------------------------------------------

_said = Queries.said
_client_tick = Queries.tick
_listen = Queries._listen


def hears_twice(self: Queries, parts: Parts, now: float) -> str | None:
    """Keeps waiting for what was answered."""
    kept = self._open.get(parts[1]) if len(parts) > 2 else None
    reason = _said(self, parts, now)
    if kept is not None and parts[0] != words.FUNCTIONS_LIST:
        self._open[parts[1]] = kept
    return reason


def never_late(self: Queries, now: float) -> None:
    """Has no timeouts."""
    for waiting in self._open.values():
        waiting.deadline = 1e18
    _client_tick(self, now)


def never_again(self: Queries, waiting: Any, now: float) -> None:
    """Asks only once."""
    waiting.again_at = now + 1e9


def deaf(self: Queries, now: float) -> None:
    """Never makes a new socket."""
    _listen(self, now)
    self.renew = False


# --- the proxy ---------------------------------------------------------------------------------------------

_asked = Asking._asked
_answer = Keeping.answer
_withdraw = Keeping.withdraw
_bury = Working.bury
_lost = Placing.lost
_answered = Working._answered
_placing = Placing.__init__
_working_tick = Working.tick


def knows_no_ids(self: Asking, client: Client, parts: Parts, now: float, parent: bytes) -> Any:
    """Takes a query that is sent again for a new one."""
    old = client.jobs.get(parts[1])
    if old is not None and old.state >= jobs.DONE:
        if old.state == jobs.DONE:
            self.keeping.acknowledge(old, now)
        self.keeping._finished.remove(old)
        self.keeping._forget(old)
    return _asked(self, client, parts, now, parent)


def trusts_anybody(self: Working, worker: Worker, parts: Parts, now: float) -> Any:
    """Takes an answer from whoever gives it."""
    job = self.keeping.by_wid.get(parts[1])
    if job is not None and job.worker is not None and job.worker is not worker:
        job.worker.jobs.pop(job.wid, None)
        worker.jobs[job.wid] = job
        job.worker = worker
    return _answered(self, worker, parts, now)


def loses_orphans(self: Working, workers: Sequence[Worker], now: float) -> None:
    """What a dead worker had is forgotten."""
    for worker in workers:
        for job in worker.jobs.values():
            self.keeping.open_jobs -= 1
            self.keeping.open_bytes -= len(job.argument)
            del self.keeping.by_wid[job.wid]
            job.client.jobs.pop(job.id)
        worker.jobs.clear()
    _bury(self, workers, now)


def always_again(self: Placing, job: Job, now: float, *, begun: bool = True) -> None:
    """Gives what may not be run twice to another worker, acknowledged or not."""
    del begun
    _lost(self, job, now, begun=False)


def never_poison(self: Placing, job: Job, now: float, *, begun: bool = True) -> None:
    """Counts no deaths."""
    job.deaths = 0
    _lost(self, job, now, begun=begun)


def forgets_for_the_group(self: Keeping, job: Job, identity: bytes) -> None:
    """An answer of a group is forgotten when one client has it."""
    _withdraw(self, job, identity)
    if job.state == DONE and not job.askers:
        self._let_go(job)
        self._forget(job)


def overloads(self: Registry, function: Function) -> Worker | None:
    """Gives a worker any number of queries."""
    return next((worker for worker in function.workers if not worker.leaving and not worker.stuck), None)


def same_wids(key: bytes, identity: bytes) -> Callable[[bytes], bytes]:
    """The same id of two clients is the same."""
    del identity
    return jobs.wids(key, b"")


def hasty(self: Working, now: float) -> None:
    """Half a second of silence is death."""
    dead = [w for w in self.registry.workers.values() if w.beats and w.heard < now - 0.5]
    self.bury(dead, now)
    _working_tick(self, now)


def forgets_begun(self: Placing, *about: Any, begun_before: object, **more: Any) -> None:
    """After a restart, does not know what was begun."""
    del begun_before
    _placing(self, *about, begun_before=(), **more)


def waits_for_nobody(self: Placing, *about: Any, missing: object, **more: Any) -> None:
    """After a restart, does not wait for the workers that were there."""
    del missing
    _placing(self, *about, missing=(), **more)


def leaks(self: Keeping, job: Job, answer: list[bytes], now: float) -> None:
    """Counts arguments as waiting for ever."""
    size = len(job.argument)
    _answer(self, job, answer, now)
    self.open_bytes += size


def remembers_for_ever(self: Keeping, now: float) -> None:
    """Forgets no id."""
    del now
    untold, self.untold = self.untold, {}
    for job in untold.values():
        self.repeat(job)


def keeps_nothing(self: Keeping, job: Job, answer: list[bytes], now: float) -> None:
    """An answer that was sent is as good as acknowledged."""
    _answer(self, job, answer, now)
    if job.answer is not None:
        self.acknowledge(job, now)


# --- workers -----------------------------------------------------------------------------------------------

_given = Workbench._given
_finished = Workbench.finished
_acknowledged = Workbench._acknowledged
_send_answer = Workbench._answer


def runs_twice(self: Workbench, parts: Parts, now: float) -> None:
    """Knows nothing of what it has already."""
    for kept in (self._answers, self._remembered):
        if gone := kept.pop(parts[1], None):
            self._kept_bytes -= len(gone.parts[2])
    self._running.pop(parts[1], None)
    _given(self, parts, now)


def forgets_answers(self: Workbench, wid: bytes, parts: list[bytes], now: float) -> None:
    """An answer that was sent is forgotten."""
    _send_answer(self, wid, parts, now)
    self._kept_bytes -= len(self._answers.pop(wid).parts[2])


def forgets_acknowledged(self: Workbench, wid: bytes, now: float) -> None:
    """An answer that was acknowledged is forgotten at once."""
    _acknowledged(self, wid, now)
    if gone := self._remembered.pop(wid, None):
        self._kept_bytes -= len(gone.parts[2])


def mixes_up(
    self: Workbench, wid: bytes, *, result: bytes | None = None, exception: str = "", now: float
) -> None:
    """Answers with what another query was to get."""
    other = next((one for one in self._running if one != wid), wid)
    _finished(self, other, result=result, exception=exception, now=now)
    if other != wid:
        _finished(self, wid, result=result, exception=exception, now=now)


def begins_unasked(self: Workbench, parts: Parts, now: float) -> None:
    """Begins what may run once before the proxy knows that it has it."""
    _given(self, parts, now)
    if self._unconfirmed.pop(parts[1], None) is not None:
        self._begin(parts[1])


MUTANTS: Final = {
    "a client hands on an answer twice": Mutant("RINV-3", Queries, "said", hears_twice),
    "a client has no timeouts": Mutant("RINV-1", Queries, "tick", never_late),
    "a client asks only once": Mutant("RINV-1", Queries, "_again", never_again),
    "a client never makes a new socket": Mutant("RINV-1", Queries, "_listen", deaf),
    "the proxy knows no ids": Mutant("RINV-4 RINV-3", Asking, "_asked", knows_no_ids),
    "the proxy repeats no answer": Mutant("RINV-1", Keeping, "repeat", nothing),
    "the proxy keeps no answer": Mutant("RINV-1 RINV-4 RINV-5", Keeping, "answer", keeps_nothing),
    "the proxy is never busy": Mutant("RINV-13", Asking, "_busy", nothing),
    "the proxy trusts anybody": Mutant("RINV-2", Working, "_answered", trusts_anybody),
    "the proxy loses a dead worker's queries": Mutant(
        "RINV-1 RINV-4 tables", Working, "bury", loses_orphans, ("kill a worker",)
    ),
    "the proxy repeats what may run once": Mutant("RINV-4", Placing, "lost", always_again),
    "the proxy knows no poison": Mutant("RINV-4 RINV-1", Placing, "lost", never_poison),
    "the proxy overloads a worker": Mutant("RINV-10", Registry, "pick", overloads),
    "the proxy forgets what a group may ask again": Mutant(
        "RINV-4", Keeping, "withdraw", forgets_for_the_group
    ),
    "the proxy mixes up clients": Mutant("RINV-8 RINV-2 tables", asking, "wids", same_wids),
    "the proxy takes other coders": Mutant("RINV-9 RINV-14", Registry, "conflict", nothing),
    "the proxy is hasty": Mutant("RINV-4 RINV-1", Working, "tick", hasty),
    "the proxy forgets what was begun": Mutant(
        "RINV-4", Placing, "__init__", forgets_begun, ("kill the proxy", "kill a worker")
    ),
    "the proxy waits for nobody": Mutant(
        "RINV-4", Placing, "__init__", waits_for_nobody, ("kill the proxy",)
    ),
    "the proxy counts bytes for ever": Mutant("tables RINV-13", Keeping, "answer", leaks),
    "the proxy forgets no id": Mutant("bounded", Keeping, "tick", remembers_for_ever),
    "the proxy does not see what was not sent": Mutant("RINV-1 bounded", Proxy, "undelivered", nothing),
    "the proxy does not tell later": Mutant("RINV-1", Proxy, "untold", nothing, ("block a client",)),
    "the proxy forgives no worker": Mutant("RINV-1 RINV-4", Working, "forgive", nothing, ("stop the proxy",)),
    "a worker runs what it has": Mutant("RINV-4", Workbench, "_given", runs_twice),
    "a worker forgets its answers": Mutant("RINV-1 RINV-4", Workbench, "_answer", forgets_answers),
    "a worker forgets what was acknowledged": Mutant(
        "RINV-4", Workbench, "_acknowledged", forgets_acknowledged
    ),
    "a worker does not say what it holds": Mutant("RINV-4 RINV-5", Workbench, "holds", []),
    "a worker begins unasked": Mutant("RINV-4", Workbench, "_given", begins_unasked, ("stop a worker",)),
    "a worker mixes up its answers": Mutant("RINV-2", Workbench, "finished", mixes_up),
}


def put(mutant: Mutant, patch: pytest.MonkeyPatch) -> None:
    """Break the machine."""
    patch.setattr(mutant.where, mutant.name, mutant.what)
