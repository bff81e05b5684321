"""Queries that wait for a worker: each client and group in its turn (spec/rpc.md, section 4). Pure."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from framehub.rpc.jobs import Job

PASSED_OVER: Final = 20
"""Of so many queries that are taken, one has waited too long, if there are any such."""


class Waiting:
    """Those that may still be answered in time, and those that have waited so long that they hardly will."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._late = Lines()
        self._turn = 0
        self.count = 0
        self.grouped = 0
        """How many of them are of groups: those may have to wait though a worker has room."""

    @property
    def in_time(self) -> int:
        """How many of clients may still be answered in time."""
        return self.count - self.grouped - self._late.count

    def push(self, job: Job) -> None:
        """At the end of its client's line."""
        self._lines.push(job)
        self._counted(job, 1)

    def push_front(self, job: Job) -> None:
        """Before all others: it has waited already."""
        self._lines.push_front(job)
        self._counted(job, 1)

    def pop(self, *, groups: bool = True) -> Job | None:
        """The next that may be given now, if there is one: of a group only if it may have more running.

        Without ``groups`` it is none of a group: the worker that it is for has enough of those.
        """
        self._turn = (self._turn + 1) % PASSED_OVER
        job = self._late.pop(groups=False) if not self._turn else None
        job = job or self._lines.pop(groups=groups and not self._late.count)
        job = job or self._late.pop(groups=False)
        if job is not None:
            self._counted(job, -1)
        return job

    def remove(self, job: Job) -> None:
        """It waits no more."""
        (self._lines if job in self._lines else self._late).remove(job)
        self._counted(job, -1)

    def set_aside(self, before: float) -> None:
        """Let queries that were asked before this time wait for those that were not.

        Those of groups wait however long it takes, and keep what is behind them; those that were given to
        somebody before go first anyway.
        """
        for job in self._lines.older(before):
            self._lines.remove(job)
            self._late.push(job)

    def __iter__(self) -> Iterator[Job]:
        yield from self._lines
        yield from self._late

    def _counted(self, job: Job, number: int) -> None:
        self.count += number
        if job.group is not None:
            self.grouped += number


class Lines:
    """One line per client; a client with a thousand queries does not keep another's single one waiting."""

    def __init__(self) -> None:
        self._lines: OrderedDict[bytes, OrderedDict[bytes, Job]] = OrderedDict()
        self.count = 0

    def push(self, job: Job) -> None:
        """At the end of its client's line."""
        self._line(job)[job.wid] = job
        self.count += 1

    def push_front(self, job: Job) -> None:
        """Before all others."""
        line = self._line(job)
        line[job.wid] = job
        line.move_to_end(job.wid, last=False)
        self._lines.move_to_end(job.client.identity, last=False)
        self.count += 1

    def pop(self, *, groups: bool) -> Job | None:
        """The first of a line in its turn; of a group only if these may, and it may have more running."""
        for identity, line in self._lines.items():
            job = next(iter(line.values()))
            if job.group is None or (groups and job.group.has_room):
                self._lines.move_to_end(identity)
                self.remove(job)
                return job
        return None

    def remove(self, job: Job) -> None:
        """Take it out."""
        identity = job.client.identity
        line = self._lines[identity]
        del line[job.wid]
        self.count -= 1
        if not line:
            del self._lines[identity]

    def older(self, before: float) -> list[Job]:
        """Queries of clients at the beginnings of lines that were asked before this time."""
        found = []
        for line in self._lines.values():
            for job in line.values():
                if job.group is not None or (job.asked_at >= before and not job.given):
                    break
                if not job.given:
                    found.append(job)
        return found

    def __contains__(self, job: Job) -> bool:
        return job.wid in self._lines.get(job.client.identity, ())

    def __iter__(self) -> Iterator[Job]:
        for line in self._lines.values():
            yield from line.values()

    def _line(self, job: Job) -> OrderedDict[bytes, Job]:
        line = self._lines.get(job.client.identity)
        if line is None:
            line = self._lines[job.client.identity] = OrderedDict()
        return line
