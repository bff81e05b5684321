"""Queries that wait for a worker: each client and group in its turn (spec/rpc.md, section 4). Pure."""

from collections import OrderedDict
from collections.abc import Iterator

from framehub.rpc.jobs import Job


class Waiting:
    """One line per client; a client with a thousand queries does not keep another's single one waiting."""

    def __init__(self) -> None:
        self._lines: OrderedDict[bytes, OrderedDict[bytes, Job]] = OrderedDict()
        self.count = 0
        self.grouped = 0
        """How many of them are of groups: those may have to wait though a worker has room."""

    def push(self, job: Job) -> None:
        """At the end of its client's line."""
        self._line(job)[job.wid] = job
        self._counted(job, 1)

    def push_front(self, job: Job) -> None:
        """Before all others: it has waited already."""
        line = self._line(job)
        line[job.wid] = job
        line.move_to_end(job.wid, last=False)
        self._lines.move_to_end(job.client.identity, last=False)
        self._counted(job, 1)

    def pop(self, *, groups: bool = True) -> Job | None:
        """The next that may be given now, if there is one: of a group only if it may have more running.

        Without ``groups`` it is none of a group: the worker that it is for has enough of those.
        """
        for identity, line in self._lines.items():
            job = next(iter(line.values()))
            if job.group is None or (groups and job.group.has_room):
                del line[job.wid]
                self._turn(identity, line)
                self._counted(job, -1)
                return job
        return None

    def remove(self, job: Job) -> None:
        """It waits no more."""
        identity = job.client.identity
        line = self._lines[identity]
        del line[job.wid]
        if not line:
            del self._lines[identity]
        self._counted(job, -1)

    def __iter__(self) -> Iterator[Job]:
        for line in self._lines.values():
            yield from line.values()

    def _line(self, job: Job) -> OrderedDict[bytes, Job]:
        line = self._lines.get(job.client.identity)
        if line is None:
            line = self._lines[job.client.identity] = OrderedDict()
        return line

    def _counted(self, job: Job, number: int) -> None:
        self.count += number
        if job.group is not None:
            self.grouped += number

    def _turn(self, identity: bytes, line: OrderedDict[bytes, Job]) -> None:
        if line:
            self._lines.move_to_end(identity)
        else:
            del self._lines[identity]
