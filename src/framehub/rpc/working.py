"""The proxy's side towards workers: registrations, answers, signs of life (spec/rpc.md, section 5). Pure."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from framehub.rpc import texts, words
from framehub.rpc.asking import SILENCED, About
from framehub.rpc.jobs import Conduct, Job
from framehub.rpc.keeping import Keeping, Sending
from framehub.rpc.messages import MAX_NAME, Parts, Way, fault, functions_of, refused_name
from framehub.rpc.placing import Placing
from framehub.rpc.registry import Registry, Worker, read_description
from framehub.rpc.settings import ProxySettings

_PROBE: Final = b"\0" * 16
"""An id that no query has: a message about it is ignored, but it shows whether the peer can be reached."""
MAX_GIVEN: Final = 100
"""Times that a query may be given and returned unbegun; after that, each return counts as a death."""


class Working:
    """What workers say, and what they are told."""

    def __init__(
        self,
        settings: ProxySettings,
        registry: Registry,
        keeping: Keeping,
        placing: Placing,
        to_workers: Sending,
        counts: Counter[str],
        *,
        on_offer: Callable[[Worker], None],
    ) -> None:
        self.roster_changed = False
        """Workers came or went since the owner last looked."""
        self.to_workers = to_workers
        self.settings = settings
        self.registry = registry
        self.keeping = keeping
        self.placing = placing
        self.counts = counts
        self._on_offer = on_offer
        self._others = {
            words.RESPONSE_EXCEPTION: self._answered,
            words.RESPONSE_UNKNOWN_FUNCTION: self._answered,
            words.QUERY_RETURNED: self._returned,
            words.WORKER_DESCRIBE: self._described,
        }

    def says(self, identity: bytes, parts: Parts, now: float) -> About:
        """Handle a message of a worker."""
        worker = self.registry.workers.get(identity)
        if worker is None:
            return self._stranger_says(identity, parts, now)
        worker.heard = now
        if worker.stuck:
            worker.stuck = False
            self._remind(worker)
            self.placing.feed(worker, now)
        count = len(parts)
        type_ = parts[0] if count else b""
        if type_ == words.RESPONSE_RESULT:
            if count == 3 and (parts[1] in worker.jobs or fault(Way.WORKER_TO_PROXY, parts) is None):
                return self._answered(worker, parts, now)
        elif type_ == words.QUERY_RECEIVED:
            job = worker.jobs.get(parts[1]) if count == 2 else None
            if job is not None:
                job.acked = True
                if job.function in worker.once:
                    self.to_workers.append((identity, [words.QUERY_CONFIRMED, job.wid], job))
                return job
            if fault(Way.WORKER_TO_PROXY, parts) is None:
                return self._not_wanted(worker, parts[1], now)
        elif type_ == words.HEART_BEAT:
            if count == 1:
                worker.beats = True
                return None
        elif type_ == words.WORKER_REGISTER:
            return self._register(identity, parts, now)
        elif type_ in self._others and fault(Way.WORKER_TO_PROXY, parts) is None:
            return self._others[type_](worker, parts, now)
        return self._malformed_worker(identity, parts, now)

    def _answered(self, worker: Worker, parts: Parts, now: float) -> About:
        type_, wid, body = parts
        job = worker.drop(wid)
        if job is not None and job.in_line:
            worker.took(now - job.given_at, self.settings.group_ahead)
        if job is None:
            job = self.keeping.by_wid.get(wid)
            own = wid in worker.holds or (job is not None and worker.identity in job.past)
            if job is None or not self.placing.accept_from(worker, job):
                self.counts["answers to nothing"] += 1
                if own:
                    self.to_workers.append((worker.identity, [words.RESPONSE_RECEIVED, wid], job))
                return job
        self.to_workers.append((worker.identity, [words.RESPONSE_RECEIVED, wid], job))
        if type_ == words.RESPONSE_EXCEPTION:
            body = texts.tidy(body)
        job.past = (*job.past, worker.identity)
        self.keeping.answer(job, [type_, job.id, body], now)
        worker.pace.answered(job.function, now, runs=worker.runs)
        if self.placing.waiting:
            self.placing.feed(worker, now)
        if len(worker.jobs) < worker.runs:
            worker.pace.idle(now)
        if worker.leaving:
            self.placing.has_given(worker, wid)
            self._leave_if_done(worker, now)
        return job

    def _not_wanted(self, worker: Worker, wid: bytes, now: float) -> About:
        """A worker has a query that it is not to have: it may wait for our word to begin it.

        What may be run twice it has begun, and somebody may yet ask for its answer.
        """
        job = self.keeping.by_wid.get(wid)
        unasked = job is None and not self.placing.in_grace(now)
        if worker.described and (unasked or self.placing.may_run_once(wid)):
            self.to_workers.append((worker.identity, [words.CANCEL, wid], job))
        return job

    def _returned(self, worker: Worker, parts: Parts, now: float) -> About:
        _, wid, reason = parts
        job = worker.drop(wid)
        self.to_workers.append((worker.identity, [words.RESPONSE_RECEIVED, wid], job))
        if job is None:
            self.counts["answers to nothing"] += 1
            self.placing.has_given(worker, wid)
            return self.keeping.by_wid.get(wid)
        if reason == words.DIED or job.given > MAX_GIVEN:
            self.counts["deaths of processes"] += 1
            self.placing.lost(job, now)
        else:
            self.placing.replace(job, now)
        self.placing.feed(worker, now)
        self._leave_if_done(worker, now)
        return job

    def _described(self, worker: Worker, parts: Parts, now: float) -> About:
        described = read_description(parts[1])
        if isinstance(described, str):
            return self._malformed_worker(worker.identity, parts, now, described)
        self.placing.gone(worker)
        self.registry.describe(worker, described)
        if worker.leaving:
            self.registry.leave(worker, now)
        self._welcome(worker)
        self.placing.registered(worker, now)
        self.roster_changed = True
        return None

    def _register(self, identity: bytes, parts: Parts, now: float) -> About:
        if reason := fault(Way.WORKER_TO_PROXY, parts):
            self._refuse_worker(identity, refused_name(parts), b"", b"", now)
            return self._malformed_worker(identity, parts, now, reason)
        functions = functions_of(parts)
        worker = self.registry.workers.get(identity)
        if not functions:
            if worker is not None:
                self.registry.leave(worker, now)
                self._leave_if_done(worker, now)
            return None
        if worker is None and len(self.registry.workers) >= self.settings.max_workers:
            self._refuse_worker(identity, functions[0][0], b"", b"", now)
            return f"more than {self.settings.max_workers} workers"
        conflict = self.registry.conflict(identity, functions)
        if conflict is not None:
            self._refuse_worker(identity, *conflict, now)
            return f"function {conflict[0].decode()!r} is offered with other coders"
        if worker is not None:
            self.placing.gone(worker)
        worker = self.registry.register(identity, functions, now)
        if worker.leaving:
            self.registry.leave(worker, now)
        self.roster_changed = True
        if worker.described:
            self._welcome(worker)
        self._give_again(worker, now)
        self.placing.registered(worker, now)
        self._on_offer(worker)
        return None

    def _welcome(self, worker: Worker) -> None:
        told = json.dumps({"version": 1, "functions": len(worker.functions)}).encode()
        self.to_workers.append((worker.identity, [words.WORKER_DESCRIBE, told], None))

    def _give_again(self, worker: Worker, now: float) -> None:
        """Send a worker that registered again what it has not answered.

        One that does not describe itself may have died of it and be a new process.
        """
        unsure = not worker.described
        for job in list(worker.jobs.values()):
            function = self.registry.functions.get(job.function)
            if function is None or function not in worker.functions:
                worker.drop(job.wid)
                self.placing.lost(job, now, begun=job.acked)
            elif unsure and (
                job.deaths + 1 >= self.settings.attempts or (job.acked and function.keeps_acknowledged)
            ):
                worker.drop(job.wid)
                self.placing.lost(job, now)
            else:
                job.deaths += unsure
                job.given_at = now
                query = [words.QUERY, job.wid, job.argument, job.function]
                self.to_workers.append((worker.identity, query, job))

    def _remind(self, worker: Worker) -> None:
        """Ask a worker again for what it has, now that it can be asked."""
        owed, worker.owed = worker.owed, []
        for job in owed:
            if worker.jobs.get(job.wid) is job:
                query = [words.QUERY, job.wid, job.argument, job.function]
                self.to_workers.append((worker.identity, query, job))

    def _refuse_worker(
        self, identity: bytes, name: bytes, argument: bytes, result: bytes, now: float
    ) -> None:
        """A refused registration leaves nothing registered of that worker."""
        self.counts["registrations refused"] += 1
        name = name[:MAX_NAME].decode(errors="ignore").encode()
        refusal = [words.INCOMPATIBLE_SPECS_FAILURE, name, argument, result]
        self.to_workers.append((identity, refusal, None))
        if worker := self.registry.workers.get(identity):
            self.bury([worker], now)

    def _leave_if_done(self, worker: Worker, now: float) -> None:
        if worker.leaving and not worker.jobs and not self.placing.may_be_asked(worker, now):
            self.bury([worker], now)

    def bury(self, workers: Iterable[Worker], now: float) -> None:
        """Workers are gone, all at once: others get their queries, or the clients an exception."""
        orphans: list[Job] = []
        for worker in workers:
            self.registry.remove(worker, now)
            self.placing.gone(worker)
            self.roster_changed = True
            orphans += [job for wid in list(worker.jobs) if (job := worker.drop(wid))]
        for job in orphans:
            self.placing.lost(job, now, begun=job.acked)

    def _stranger_says(self, identity: bytes, parts: Parts, now: float) -> About:
        """A peer that is not registered: it may register, describe itself, or ask whether it is known."""
        conduct = self.registry.strangers.get(identity)
        if conduct is not None and conduct.until > now:
            self.counts["from the silenced"] += 1
            return SILENCED
        type_ = parts[0] if parts else b""
        if type_ == words.WORKER_REGISTER:
            return self._register(identity, parts, now)
        if reason := fault(Way.WORKER_TO_PROXY, parts):
            return self._malformed_worker(identity, parts, now, reason)
        if type_ == words.WORKER_DESCRIBE:
            described = read_description(parts[1])
            if isinstance(described, str):
                return self._malformed_worker(identity, parts, now, described)
            self.registry.announce(identity, described, len(parts[1]))
            return None
        if type_ == words.HEART_BEAT:
            self.to_workers.append((identity, [words.HEART_BEAT], None))
            return None
        self.counts["from the unregistered"] += 1
        return "not registered"

    def _malformed_worker(self, identity: bytes, parts: Parts, now: float, reason: str = "") -> str:
        self.counts["malformed"] += 1
        strangers = self.registry.strangers
        if identity not in strangers and len(strangers) >= self.settings.max_clients:
            del strangers[next(iter(strangers))]
        conduct = strangers.setdefault(identity, Conduct(now))
        conduct.strike(self.settings.max_strikes, now)
        if conduct.until > now and (worker := self.registry.workers.get(identity)):
            self.bury([worker], now)
        return reason or fault(Way.WORKER_TO_PROXY, parts) or "malformed"

    # --- the clock -------------------------------------------------------------------------------------

    def probe(self) -> None:
        """Send something harmless to every worker that has queries, or whose silence says nothing.

        To the dead it cannot be sent.
        """
        for worker in self.registry.workers.values():
            if worker.beats and not worker.jobs:
                continue
            if worker.described:
                self._welcome(worker)
            elif worker.beats:
                self.to_workers.append((worker.identity, [words.HEART_BEAT], None))
            else:
                self.to_workers.append((worker.identity, [words.RESPONSE_RECEIVED, _PROBE], None))

    def forgive(self, seconds: float, now: float) -> None:
        """We were not listening for so long: nobody is to blame for that time."""
        for worker in self.registry.workers.values():
            worker.heard = min(worker.heard + seconds, now)
            for job in worker.jobs.values():
                job.given_at = min(job.given_at + seconds, now)

    def tick(self, now: float) -> None:
        """Bury workers that are silent, or do not acknowledge what they were given."""
        silent, unheard = now - self.settings.dead_after, now - self.settings.ack_timeout
        dead = [
            worker
            for worker in self.registry.workers.values()
            if (worker.beats and worker.heard < silent)
            or any(not job.acked and job.given_at < unheard for job in worker.jobs.values())
        ]
        self.counts["dead workers"] += len(dead)
        self.bury(dead, now)

    def forget(self, now: float) -> None:
        """Forget who broke a rule long ago."""
        strangers = self.registry.strangers
        for identity in [i for i, c in strangers.items() if max(c.until, c.since + c.WINDOW) <= now]:
            del strangers[identity]
