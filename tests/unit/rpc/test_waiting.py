"""Queries that wait: each client in its turn."""

from framehub.rpc.jobs import Client, Job, wids
from framehub.rpc.waiting import Waiting


class Line:
    """A line of queries named c1 (client c, id 1)."""

    def __init__(self, *names: str) -> None:
        self.clients: dict[str, Client] = {}
        self.waiting = Waiting()
        self.jobs = {name: self.job(name) for name in names}
        for job in self.jobs.values():
            self.waiting.push(job)

    def job(self, name: str) -> Job:
        identity = name[0].encode()
        client = self.clients.setdefault(name[0], Client(identity, wids(b"k", identity)))
        return Job(client, name[1:].encode(), name.encode(), b"f", b"")

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
