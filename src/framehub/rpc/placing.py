"""Which worker gets a query, and what becomes of it when the worker goes (spec/rpc.md, section 4). Pure."""

from collections.abc import Iterable
from typing import Final

from framehub.rpc import texts, words
from framehub.rpc.groups import Group
from framehub.rpc.jobs import GIVEN, WAITING, Job
from framehub.rpc.keeping import Keeping, Sending
from framehub.rpc.registry import Function, Registry, Worker
from framehub.rpc.settings import ProxySettings

HELD: Final = 30.0
"""Seconds for which a worker is believed to hold what it said; it remembers answers for longer."""
MAX_BEGUN: Final = 100_000
"""Queries that may not be run twice and are remembered as begun; the oldest make room."""
SPARE: Final = 0.9
"""Of the time that callers wait, what is reckoned with."""
ASIDE_SECONDS: Final = 0.05
"""How often it is looked which queries have waited too long, at most."""
LATE: Final = 1.0
"""When two looks at the clock are further apart than this, the time between was ours, not the peers'."""


class Placing:
    """Gives queries to workers, least loaded first; lets them wait when all are full or none is there."""

    def __init__(
        self,
        settings: ProxySettings,
        registry: Registry,
        keeping: Keeping,
        to_workers: Sending,
        *,
        started: float,
        missing: Iterable[bytes],
        begun_before: Iterable[bytes],
    ) -> None:
        self.waiting = 0
        """Queries that wait for a worker."""
        self.to_note: list[bytes] = []
        """Queries that may never be run twice and are about to be given away: to be written down before."""
        self.poisonous: list[tuple[Job, bytes]] = []
        """Queries that were given up, with their arguments."""
        self._settings = settings
        self._registry = registry
        self._keeping = keeping
        self._to_workers = to_workers
        self.grace_until = started + settings.wait_start
        """Until when workers may come back that were there before the proxy started."""
        self._ticked = started
        self.missing = set(missing)
        """Workers from before a restart that are not back."""
        self._begun = dict.fromkeys(begun_before)  # the oldest first
        self._held: dict[bytes, Worker] = {}
        self._held_until = started
        self._for_holders: dict[bytes, Job] = {}

    def is_full(self, name: bytes, now: float, group: Group | None = None) -> bool:
        """Whether one more query of this function would be one too many of those that wait."""
        if self.waiting + len(self._for_holders) < self._settings.max_queue:
            return False
        function = self._registry.functions.get(name)
        if self.missing:
            return True
        if function is None or not function.workers:
            return self.may_come(function, now) > 0
        waiting = function.waiting
        if group is not None:
            return waiting.count > 0 or self._pick(function, group) is None
        return waiting.count > waiting.grouped or self._registry.pick(function) is None

    def is_slow(self, name: bytes, now: float) -> bool:
        """Whether one more query of this function would wait too long, as its workers get on now."""
        function = self._registry.functions.get(name)
        if function is None or not function.workers:
            return False
        given, rate = _pace(function)
        if given < 0:
            return False
        limit = self._set_aside(function, given, rate, now)
        return rate > 0 and (function.waiting.in_time + given) / rate > limit

    def may_come(self, function: Function | None, now: float) -> float:
        """Until when a function that nobody offers may still be offered; zero if not."""
        until = self.grace_until
        if function is not None:
            until = max(until, function.gone_at + self._settings.wait_gone)
        until += self._deaf(now)
        return until if until > now else 0.0

    def in_grace(self, now: float) -> bool:
        """Whether the proxy started so lately that workers may still come back."""
        return now - self._deaf(now) < self.grace_until

    def _deaf(self, now: float) -> float:
        """Seconds in which we were not listening, if this is the first that we hear since."""
        seconds = now - self._ticked
        return seconds if seconds > LATE else 0.0

    def place(self, job: Job, now: float) -> None:
        """Give a new query to a worker, or let it wait."""
        if self.missing and job.wid not in self._held and self.in_grace(now):
            self._for_holders[job.wid] = job  # perhaps somebody has it who is not back yet
            return
        function = self._registry.functions.get(job.function)
        holder = self._held.pop(job.wid, None) if self._held else None
        if holder is not None and function is not None and function in holder.functions:
            if holder.identity in job.past:  # it was taken for dead, and is not
                job.past = tuple(identity for identity in job.past if identity != holder.identity)
                job.deaths -= 1
            self._give(job, function, holder, now)
            job.acked = True  # long ago
            return
        if job.wid in self._begun:
            self._fail(job, texts.UNKNOWN_ANSWER, now)
            return
        if function is not None and function.workers:
            worker = self._pick(function, job.group)
            if worker is not None and not function.waiting.count:
                self._give(job, function, worker, now)
                return
            job.spec = function
            self._wait(job, function)
            if worker is not None and function.waiting.grouped:  # they may be of groups that have to wait
                self._feed_any(function, now)
            return
        job.until = self.may_come(function, now)
        if not job.until:
            self._unknown(job, now)
            return
        self._wait(job, self._registry.function(job.function, gone_at=now - self._settings.wait_gone))

    def replace(self, job: Job, now: float) -> None:
        """Give a query that came back to another worker, before all that wait."""
        job.state = WAITING
        job.worker = None
        if job.cancelled:
            self._fail(job, texts.CANCELLED, now)
            return
        function = self._registry.function(job.function, gone_at=now)
        worker = self._pick(function, job.group)
        if worker is not None:
            self._give(job, function, worker, now)
            return
        job.until = now + self._settings.wait_gone
        self._wait(job, function, front=True)

    def lost(self, job: Job, now: float, *, begun: bool = True) -> None:
        """Its worker, or the process that ran it, has died."""
        assert job.worker is not None
        job.past = (*job.past, job.worker.identity)[-self._settings.attempts :]
        job.worker = None
        job.deaths += 1
        if job.cancelled:
            self._fail(job, texts.CANCELLED, now)
        elif begun and job.once:
            self._fail(job, texts.UNKNOWN_OUTCOME, now)
        elif job.deaths >= self._settings.attempts:
            self.poisonous.append((job, job.argument))
            self._fail(job, texts.POISON, now)
        else:
            self.replace(job, now)

    def cancel(self, job: Job, now: float) -> None:
        """Nobody wants the answer: drop it if it waits, tell the worker if it runs."""
        job.cancelled = True
        function = self._registry.functions.get(job.function)
        waits = job.worker is None or len(job.worker.jobs) > job.worker.runs  # there, as far as is known
        if function is not None and waits:
            function.patience.gave_up(now - job.asked_at, self._settings.max_wait, now)
        if job.state == GIVEN:
            assert job.worker is not None
            if job.worker.described:
                self._to_workers.append((job.worker.identity, [words.CANCEL, job.wid], job))
        else:
            self._take_out(job)
            self._fail(job, texts.CANCELLED, now)

    def accept_from(self, worker: Worker, job: Job) -> bool:
        """Take a waiting query out, for this worker has its answer: the one that had it is gone."""
        if job.state != WAITING or all(function.name != job.function for function in worker.functions):
            return False
        self._take_out(job)
        return True

    def registered(self, worker: Worker, now: float) -> None:
        """A worker is there, again or for the first time: give it what it holds, then what waits."""
        self.missing.discard(worker.identity)
        if worker.holds:
            self._held_until = now + HELD
        for wid in worker.holds:
            self._held[wid] = worker
            if job := self._for_holders.pop(wid, None):
                self.place(job, now)
            elif (job := self._keeping.by_wid.get(wid)) and job.state == WAITING:
                self._take_out(job)
                self.place(job, now)
        if not self.missing:
            self._end_recovery(now)
        self.feed(worker, now)

    def may_run_once(self, wid: bytes) -> bool:
        """Whether this was given to a worker and may not be run twice."""
        return wid in self._begun

    def may_be_asked(self, worker: Worker, now: float) -> bool:
        """Whether somebody may yet ask for what this worker holds: the proxy started only lately."""
        return self.in_grace(now) and any(self._held.get(wid) is worker for wid in worker.holds)

    def has_given(self, worker: Worker, wid: bytes) -> None:
        """A worker has answered this or given it back: it holds it no more."""
        worker.holds.pop(wid, None)
        if self._held.get(wid) is worker:
            del self._held[wid]

    def gone(self, worker: Worker) -> None:
        """A worker left, or says anew what it holds: what it said before counts no more."""
        for wid in worker.holds:
            if self._held.get(wid) is worker:
                del self._held[wid]

    def feed(self, worker: Worker, now: float) -> None:
        """Give a worker with room what waits for it."""
        while self.waiting and worker.has_room:
            found = worker.next_waiting()
            if found is None:
                return
            function, job = found
            self.waiting -= 1
            self._give(job, function, worker, now)

    def forgive(self, seconds: float, now: float) -> None:
        """We were not listening for so long: a worker that came meanwhile is still to be heard."""
        longest = now + max(self._settings.wait_gone, self._settings.wait_start)
        if now - seconds < self.grace_until:
            self.grace_until += seconds
        for function in self._registry.functions.values():
            if not function.workers:
                function.gone_at = min(function.gone_at + seconds, now)
                for job in function.waiting:
                    job.until = min(job.until + seconds, longest)

    def tick(self, now: float) -> None:
        """Give up what has waited long enough for a worker that did not come."""
        self._ticked = now
        if self.missing and now >= self.grace_until:
            self.missing.clear()
            self._end_recovery(now)
        if self._held and now >= self._held_until:
            self._held.clear()
        if not self.waiting:
            return
        for function in list(self._registry.functions.values()):
            if function.waiting.grouped:  # what held them back may have ended elsewhere
                self._feed_any(function, now)
            if function.waiting.in_time:
                self._set_aside(function, *_pace(function), now)
        late = [
            job
            for function in self._registry.functions.values()
            if not function.workers and function.waiting.count
            for job in function.waiting
            if max(job.until, function.gone_at + self._settings.wait_gone) <= now
        ]
        for job in late:
            self._take_out(job)
            if job.given:
                self._fail(job, texts.NO_WORKER, now)
            else:
                self._unknown(job, now)

    @property
    def recovering(self) -> bool:
        """Whether queries wait for workers that were there before the proxy restarted."""
        return bool(self.missing)

    # --- inside ----------------------------------------------------------------------------------------

    def _give(self, job: Job, function: Function, worker: Worker, now: float) -> None:
        if job.coders is not None and job.coders != (function.argument, function.result):
            self._fail(job, texts.CODERS_CHANGED, now)
            return
        job.spec = function
        job.state = GIVEN
        job.worker = worker
        job.acked = False
        job.given += 1
        job.given_at = now
        worker.take(job)
        if len(worker.jobs) >= worker.runs:
            worker.pace.full(now)
        job.once = job.once or function.keeps_acknowledged
        if job.once:
            self.to_note.append(job.wid)
            self._begun[job.wid] = None
            if len(self._begun) > MAX_BEGUN:
                del self._begun[next(iter(self._begun))]
        self._to_workers.append((worker.identity, [words.QUERY, job.wid, job.argument, job.function], job))

    def _pick(self, function: Function, group: Group | None) -> Worker | None:
        """Who may be given a query now, of a client or a group."""
        if group is None:
            return self._registry.pick(function)
        return self._registry.pick_for_group(function) if group.has_room else None

    def _feed_any(self, function: Function, now: float) -> None:
        """Give what may be given of those that wait, as long as somebody has room."""
        left = -1
        while function.waiting.count not in (0, left):
            left = function.waiting.count
            worker = self._registry.pick_for_group(function) or self._registry.pick(function)
            if worker is not None:
                self.feed(worker, now)

    def _wait(self, job: Job, function: Function, *, front: bool = False) -> None:
        (function.waiting.push_front if front else function.waiting.push)(job)
        self.waiting += 1

    def _set_aside(self, function: Function, given: int, rate: float, now: float) -> float:
        """Where callers are known to give up, let those wait that will hardly be answered before.

        They give up after twice as long as a query may wait, and its worker has others before it. Return how
        long it may wait.
        """
        limit = function.patience.limit(self._settings.max_wait, now)
        if limit < self._settings.max_wait and now >= function.aside_at + ASIDE_SECONDS:
            function.aside_at = now
            ahead = max(given, 0) / rate if rate else 0.0
            function.waiting.set_aside(now - max(limit, 2 * SPARE * limit - ahead))
        return limit

    def _take_out(self, job: Job) -> None:
        if self._for_holders.pop(job.wid, None) is None:
            self._registry.functions[job.function].waiting.remove(job)
            self.waiting -= 1

    def _fail(self, job: Job, text: bytes, now: float) -> None:
        self._keeping.answer(job, [words.RESPONSE_EXCEPTION, job.id, text], now)

    def _unknown(self, job: Job, now: float) -> None:
        self._keeping.answer(job, [words.RESPONSE_UNKNOWN_FUNCTION, job.id, job.function], now)

    def _end_recovery(self, now: float) -> None:
        waiting, self._for_holders = self._for_holders, {}
        for job in waiting.values():
            self.place(job, now)


def _pace(function: Function) -> tuple[int, float]:
    """How many queries its workers have that they have not begun, less than none if one could begin another;
    and how many of its answers they give in a second, zero if that is not known."""
    given, known, rate = 0, 0, 0.0
    for worker in function.workers:
        if (beyond := len(worker.jobs) - worker.runs) < 0:
            return -1, 0.0
        given += beyond
        if seconds := worker.pace.of(function.name):
            known += 1
            rate += 1 / seconds
    return given, rate * len(function.workers) / known if known else 0.0
