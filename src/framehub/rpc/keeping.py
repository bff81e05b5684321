"""Every query that the proxy knows: open, answered, or remembered only (spec/rpc.md, section 3). Pure."""

from collections import deque
from collections.abc import Iterable
from typing import Final, TypeAlias

from framehub.rpc import texts, words
from framehub.rpc.groups import Group
from framehub.rpc.jobs import DONE, FINISHED, Client, Job
from framehub.rpc.settings import ProxySettings

Sending: TypeAlias = list[tuple[bytes, list[bytes], Job | None]]
"""Messages to send: to whom, the parts, and the query that they are about."""

Ended: TypeAlias = tuple[bytes, list[bytes], float]
"""A query that is over: the function, the answer, and after how many seconds."""

_CANCELLED: Final = [words.RESPONSE_EXCEPTION, b"", texts.CANCELLED]
"""How a query counts that nobody wanted any more, whatever its worker says in the end."""
OVERHEAD: Final = 1_024
"""What a kept answer counts besides its bytes: however small, it takes memory."""


class Keeping:
    """Keeps answers until they are acknowledged, ids a while longer, and both within bounds."""

    def __init__(self, settings: ProxySettings, to_clients: Sending) -> None:
        self.by_wid: dict[bytes, Job] = {}
        self.open_jobs = 0
        """Queries that are not answered yet."""
        self.open_bytes = 0
        """Their arguments."""
        self.kept_bytes = 0
        """Answers that nobody has acknowledged."""
        self.untold: dict[bytes, Job] = {}
        """Answered queries whose client could not be sent the answer yet."""
        self.ended: list[Ended] | None = None
        """Queries that were answered since somebody took these out; None: nobody counts them."""
        self._settings = settings
        self._to_clients = to_clients
        self._kept: dict[bytes, Job] = {}  # in the order of their deadlines
        self._kept_of_groups: dict[bytes, Job] = {}  # likewise
        self._finished: deque[Job] = deque()

    def open(
        self, client: Client, id_: bytes, function: bytes, argument: bytes, group: Group | None = None
    ) -> Job:
        """A query that was not known before, of a client or of a group, which is its client then."""
        job = Job(client, id_, client.wid(id_), function, argument)
        client.jobs[id_] = job
        self.by_wid[job.wid] = job
        self.open_jobs += 1
        self.open_bytes += len(argument)
        if group is not None:
            job.group = group
            group.opened()
        return job

    def answer(self, job: Job, answer: list[bytes], now: float) -> None:
        """Send the answer and keep it."""
        self.open_jobs -= 1
        self.open_bytes -= len(job.argument)
        job.drop_argument()
        job.state = DONE
        job.worker = None
        job.answer = answer
        self.note(job.function, _CANCELLED if job.cancelled else answer, now - job.asked_at)
        size = OVERHEAD + len(answer[2])
        client = job.client
        client.kept_bytes += size
        self.kept_bytes += size
        if job.group is not None:
            for identity in job.askers:
                self._to_clients.append((identity, answer, job))
            self._keep_of_group(job, job.group, now)
        else:
            self._to_clients.append((client.identity, answer, job))
            job.deadline = now + self._settings.kept_seconds
            self._kept[job.wid] = job
            if (over := client.kept_bytes - self._settings.kept_bytes) > 0:
                self._make_room(job, client.jobs.values(), over + self._settings.kept_bytes // 8)
        if (over := self.kept_bytes - self._settings.kept_bytes_in_all) > 0:
            room = over + self._settings.kept_bytes_in_all // 8
            room = self._make_room(job, self._kept_of_groups.values(), room, acknowledged=True)
            room = self._make_room(job, self._kept.values(), room)
            self._make_room(job, self._kept_of_groups.values(), room)

    def note(self, function: bytes, answer: list[bytes], seconds: float) -> None:
        """A query was answered, or not taken: remember that for whoever counts."""
        if self.ended is not None:
            self.ended.append((function, answer, seconds))

    def repeat(self, job: Job, to: bytes | None = None) -> None:
        """Send a kept answer again: to one who asked, or to all who have not acknowledged it."""
        if job.answer is not None:
            for identity in job.hearers if to is None else (to,):
                self._to_clients.append((identity, job.answer, job))

    def withdraw(self, job: Job, identity: bytes) -> None:
        """One of those who asked for a query of a group has its answer, or wants it no more."""
        job.askers.pop(identity, None)

    def end(self, group: Group) -> None:
        """Nobody will ask for the answers of this group again."""
        for job in [job for job in group.jobs.values() if job.state == DONE]:
            self._let_go(job)
            self._forget(job)

    def acknowledge(self, job: Job, now: float) -> None:
        """The client has its answer: remember only that the id was used."""
        self._let_go(job)
        job.deadline = now + self._settings.remembered_seconds
        self._finished.append(job)
        if len(self._finished) > self._settings.max_remembered:
            self._forget(self._finished.popleft())

    def tick(self, now: float) -> None:
        """Drop what has been kept long enough; try again to tell what could not be told."""
        old = []
        for kept in (self._kept, self._kept_of_groups):
            for job in kept.values():
                if job.deadline > now:
                    break
                old.append(job)
        for job in old:
            self._let_go(job)
            self._forget(job)
        while self._finished and self._finished[0].deadline <= now:
            self._forget(self._finished.popleft())
        untold, self.untold = self.untold, {}
        for job in untold.values():
            self.repeat(job)

    def _keep_of_group(self, job: Job, group: Group, now: float) -> None:
        group.opened(-1)
        job.deadline = now + self._settings.group_seconds
        self._kept_of_groups[job.wid] = job
        if group.ended_until > now:
            self._let_go(job)
            self._forget(job)
        elif (over := group.kept_bytes - self._settings.group_bytes) > 0:
            room = over + self._settings.group_bytes // 8
            room = self._make_room(job, group.jobs.values(), room, acknowledged=True)
            self._make_room(job, group.jobs.values(), room)

    def _make_room(self, newest: Job, jobs: Iterable[Job], size: int, *, acknowledged: bool = False) -> int:
        """Forget the oldest answers of these, but not the newest; some more than must be, for it is slow.

        ``acknowledged``: only those that nobody waits for. What is left to be found is returned.
        """
        old = []
        for job in jobs:
            if size <= 0:
                break
            if job.answer is not None and job is not newest and not (acknowledged and job.askers):
                size -= OVERHEAD + len(job.answer[2])
                old.append(job)
        for job in old:
            self._let_go(job)
            self._forget(job)
        return size

    def _let_go(self, job: Job) -> None:
        assert job.answer is not None
        size = OVERHEAD + len(job.answer[2])
        job.client.kept_bytes -= size
        self.kept_bytes -= size
        del (self._kept if job.group is None else self._kept_of_groups)[job.wid]
        self.untold.pop(job.wid, None)
        job.answer = None
        job.state = FINISHED

    def _forget(self, job: Job) -> None:
        del job.client.jobs[job.id]
        del self.by_wid[job.wid]
