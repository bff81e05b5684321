"""Queries that wait: each client in its turn."""

from framehub.rpc.groups import Group, Groups
from framehub.rpc.jobs import Client, Job, wids
from framehub.rpc.waiting import PASSED_OVER, Waiting


class Line:
    """A line of queries named c1 (client c, id 1), the first asked at second 1."""

    def __init__(self, *names: str) -> None:
        self.clients: dict[str, Client] = {}
        self.waiting = Waiting()
        self.jobs = {name: self.job(name) for name in names}
        for job in self.jobs.values():
            self.waiting.push(job)

    def job(self, name: str) -> Job:
        identity = name[0].encode()
        client = self.clients.setdefault(name[0], Client(identity, wids(b"k", identity)))
        job = Job(client, name[1:].encode(), name.encode(), b"f", b"")
        job.asked_at = sum(len(one.jobs) for one in self.clients.values()) + 1.0
        client.jobs[job.id] = job
        return job

    def rest(self) -> list[str]:
        popped = []
        while self.waiting.count:
            job = self.waiting.pop()
            assert job is not None
            popped.append(job.wid.decode())
        return popped


def test_one_client_is_served_in_its_order() -> None:
    assert Line("a1", "a2", "a3").rest() == ["a1", "a2", "a3"]


def test_clients_take_turns() -> None:
    """[RPC-4.3] A client with many does not keep another's single one waiting."""
    assert Line("a1", "a2", "a3", "a4", "b1", "c1", "c2").rest() == ["a1", "b1", "c1", "a2", "c2", "a3", "a4"]


def test_what_waited_before_goes_first() -> None:
    """[RPC-4.5]"""
    line = Line("a1", "b1", "b2")
    line.waiting.push_front(line.job("b9"))
    line.waiting.push_front(line.job("c9"))
    assert line.rest() == ["c9", "b9", "a1", "b1", "b2"]


def test_any_may_be_taken_out() -> None:
    line = Line("a1", "a2", "b1")
    line.waiting.remove(line.jobs["a1"])
    line.waiting.remove(line.jobs["b1"])
    assert line.waiting.count == 1
    assert [job.wid for job in line.waiting] == [b"a2"]
    assert line.rest() == ["a2"]
    assert list(line.waiting) == []


def test_all_that_wait_can_be_seen() -> None:
    assert [job.wid for job in Line("a1", "b1", "a2").waiting] == [b"a1", b"a2", b"b1"]


def test_who_waited_too_long_lets_others_go_first() -> None:
    line = Line("a1", "a2", "b3", "a4", "c5", "b6")
    line.waiting.set_aside(4.0)
    assert (line.waiting.count, line.waiting.in_time) == (6, 3)
    assert [job.wid for job in line.waiting] == [b"a4", b"b6", b"c5", b"a1", b"a2", b"b3"]
    assert line.rest() == ["a4", "b6", "c5", "a1", "b3", "a2"]


def test_who_was_set_aside_can_be_taken_out() -> None:
    line = Line("a1", "a2")
    line.waiting.set_aside(2.0)
    line.waiting.remove(line.jobs["a1"])
    assert (line.waiting.count, line.rest()) == (1, ["a2"])
    line.waiting.set_aside(9.0)
    assert line.waiting.pop() is None


def test_one_in_twenty_has_waited_too_long() -> None:
    line = Line("a1", "a2", "a3", *(f"b{number}" for number in range(4, 80)))
    line.waiting.set_aside(4.0)
    popped = line.rest()
    assert [place for place, name in enumerate(popped, 1) if name[0] == "a"] == [
        *(PASSED_OVER, 2 * PASSED_OVER, 3 * PASSED_OVER)
    ]


def test_who_was_given_to_somebody_before_goes_first_however_old() -> None:
    line = Line("a1", "a2", "a3")
    again = line.job("a0")
    again.asked_at, again.given = 0.5, 1
    line.waiting.push_front(again)
    line.waiting.set_aside(3.0)
    assert line.rest() == ["a0", "a3", "a1", "a2"]


def test_queries_of_groups_are_not_set_aside_and_come_after_those_that_are() -> None:
    line = Line("a1")
    group = Group(b"g", wids(b"k", b"g"), Groups(9, 9, wids=lambda head: wids(b"k", head)))
    for number in range(2):
        job = Job(group, b"%d" % number, b"g%d" % number, b"f", b"")
        job.group = group
        line.waiting.push(job)
    line.waiting.set_aside(9.0)
    assert (line.waiting.count, line.waiting.grouped, line.waiting.in_time) == (3, 2, 0)
    assert line.rest() == ["a1", "g0", "g1"]
