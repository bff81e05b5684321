"""Queries that wait for a worker: each client in its turn (spec/rpc.md, section 4). Pure."""

from collections import OrderedDict
from collections.abc import Iterator

from framehub.rpc.jobs import Job


class Waiting:
    """One line per client; a client with a thousand queries does not keep another's single one waiting."""

    def __init__(self) -> None:
        self._lines: OrderedDict[bytes, OrderedDict[bytes, Job]] = OrderedDict()
        self.count = 0

    def push(self, job: Job) -> None:
        """At the end of its client's line."""
        self._line(job)[job.wid] = job
        self.count += 1

    def push_front(self, job: Job) -> None:
        """Before all others: it has waited already."""
        line = self._line(job)
        line[job.wid] = job
        line.move_to_end(job.wid, last=False)
        self._lines.move_to_end(job.client.identity, last=False)
        self.count += 1

    def pop(self) -> Job:
        """The next; there must be one."""
        identity, line = next(iter(self._lines.items()))
        _, job = line.popitem(last=False)
        self._turn(identity, line)
        self.count -= 1
        return job

    def remove(self, job: Job) -> None:
        """It waits no more."""
        identity = job.client.identity
        line = self._lines[identity]
        del line[job.wid]
        if not line:
            del self._lines[identity]
        self.count -= 1

    def __iter__(self) -> Iterator[Job]:
        for line in self._lines.values():
            yield from line.values()

    def _line(self, job: Job) -> OrderedDict[bytes, Job]:
        return self._lines.setdefault(job.client.identity, OrderedDict())

    def _turn(self, identity: bytes, line: OrderedDict[bytes, Job]) -> None:
        if line:
            self._lines.move_to_end(identity)
        else:
            del self._lines[identity]
