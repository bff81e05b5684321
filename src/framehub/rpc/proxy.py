"""The proxy between clients and workers (spec/rpc.md, sections 3 to 5 and 8). Pure.

A switchboard: ``client_says`` and ``worker_says`` take a message and who sent it; what is to be sent stands
in ``to_clients`` and ``to_workers`` afterwards, with the query that it is about. Time comes in as ``now``;
``tick`` is called a few times a second. What could not be sent comes back through ``undelivered``.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from framehub.rpc import words
from framehub.rpc.asking import About, Asking
from framehub.rpc.jobs import DONE, Job
from framehub.rpc.keeping import OVERHEAD, Keeping, Sending
from framehub.rpc.placing import LATE, Placing
from framehub.rpc.registry import Registry
from framehub.rpc.settings import ProxySettings
from framehub.rpc.working import Working

__all__ = ["About", "Job", "Proxy", "Sending"]

_PROBING: Final = 1.0
_FORGETTING: Final = 10.0
_MOST_REFUSALS: Final = 10_000
"""Of clients that do not read: what they are told of queries that were not taken."""


class Proxy:
    """Keeps every query until its client has the answer; see the module."""

    def __init__(
        self,
        settings: ProxySettings,
        *,
        key: bytes,
        now: float,
        missing: Iterable[bytes] = (),
        begun_before: Iterable[bytes] = (),
    ) -> None:
        """``key`` makes ids and is the same after a restart.

        ``missing`` are the workers known before it, ``begun_before`` the queries that may not be run twice
        and were given to somebody then.
        """
        self.settings = settings
        self.to_clients: Sending = []
        self.to_workers: Sending = []
        self.counts: Counter[str] = Counter()
        """What was ignored or refused, how often."""
        self.registry = Registry(window=settings.window)
        self.keeping = Keeping(settings, self.to_clients)
        self.placing = Placing(
            settings,
            self.registry,
            self.keeping,
            self.to_workers,
            started=now,
            missing=missing,
            begun_before=begun_before,
        )
        parts = (settings, self.registry, self.keeping, self.placing)
        self.asking = Asking(*parts, self.to_clients, self.counts, key=key)
        self.working = Working(*parts, self.to_workers, self.counts, on_offer=self.asking.offered)
        self.client_says = self.asking.says
        self.worker_says = self.working.says
        self._ticked = now
        self._probing_until = now
        self._forget_at = now + _FORGETTING
        self._refusals: Sending = []

    @property
    def pending(self) -> int:
        """Queries without an answer."""
        return self.keeping.open_jobs

    @property
    def held_bytes(self) -> int:
        """About what is kept of messages: arguments, answers, ids, descriptions."""
        keeping = self.keeping
        kept = keeping.open_bytes + keeping.kept_bytes + OVERHEAD * len(keeping.by_wid)
        return kept + self.registry.announced_bytes

    @property
    def roster(self) -> list[bytes]:
        """Workers that would come back after a restart and say what they hold, or are not back from one."""
        here = [worker.identity for worker in self.registry.workers.values() if worker.described]
        return [*here, *self.placing.missing]

    def drain(self) -> None:
        """Take no new queries; those that are here go on."""
        self.asking.draining = True

    def worker_disconnected(self, now: float) -> None:
        """Some worker's link is gone: find out whose."""
        self._probing_until = now + _PROBING
        self.working.probe()

    def undelivered(self, unreachable: Sending, blocked: Sending, now: float) -> None:
        """These messages to workers could not be sent: nobody is there, or it takes nothing more now."""
        back: list[Job] = []
        for identity, parts, job in (*unreachable, *blocked):
            worker = self.registry.workers.get(identity)
            if worker is None or job is None or parts[0] != words.QUERY or job.wid not in worker.jobs:
                continue
            if job.acked:  # it had it before: nobody else may get it while this worker lives
                worker.owed.append(job)
            else:
                worker.drop(job.wid)
                back.append(job)
        gone = dict.fromkeys(identity for identity, _, _ in unreachable)
        workers = self.registry.workers
        self.working.bury([workers[identity] for identity in gone if identity in workers], now)
        for identity, _, _ in blocked:
            if worker := self.registry.workers.get(identity):
                worker.stuck = True
        for job in back:
            self.placing.replace(job, now)

    def untold(self, blocked: Sending) -> None:
        """These could not be sent to their clients now: try again later."""
        for message in blocked:
            _, parts, job = message
            if job is not None and job.state == DONE:
                self.keeping.untold[job.wid] = job
            elif parts[0] == words.RESPONSE_EXCEPTION and len(self._refusals) < _MOST_REFUSALS:
                self._refusals.append(message)

    def _refuse_again(self) -> None:
        """Tell clients what they could not be told before, unless they asked again and it was taken."""
        refusals, self._refusals = self._refusals, []
        for message in refusals:
            identity, parts, _ = message
            client = self.asking.groups.find(parts[1]) or self.asking.clients.get(identity)
            if client is not None and parts[1] not in client.jobs:
                self.to_clients.append(message)

    def tick(self, now: float) -> None:
        """Look at the clock: who is dead, what has waited or was kept long enough."""
        lost, self._ticked = now - self._ticked, now
        if lost > LATE:
            self.working.forgive(lost, now)
            self.placing.forgive(lost, now)
        if now < self._probing_until:
            self.working.probe()
        self.working.tick(now)
        self.placing.tick(now)
        self.asking.tick(now)
        self._refuse_again()
        self.keeping.tick(now)
        if now >= self._forget_at:
            self._forget_at = now + _FORGETTING
            self.asking.forget(now)
            self.working.forget(now)
            self.registry.forget(now - self.settings.wait_gone)
