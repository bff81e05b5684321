"""Answers are kept until they are acknowledged, ids a while longer, and both within bounds."""

from typing import Any

import pytest

from framehub.rpc.jobs import DONE, FINISHED, Client, Job, wids
from framehub.rpc.keeping import OVERHEAD, Keeping, Sending
from framehub.rpc.settings import ProxySettings


class Shelf:
    """A keeping and two clients."""

    def __init__(self, **settings: Any) -> None:
        self.sent: Sending = []
        self.keeping = Keeping(ProxySettings(**settings), self.sent)
        self.clients = {name: Client(name, wids(b"k", name)) for name in (b"a", b"b")}

    def open(self, client: bytes, id_: bytes, argument: bytes = b"arg") -> Job:
        return self.keeping.open(self.clients[client], id_, b"f", argument)

    def answered(self, client: bytes, id_: bytes, size: int = 0, now: float = 0.0) -> Job:
        job = self.open(client, id_)
        self.keeping.answer(job, [b"RESPONSE_RESULT", id_, b"x" * size], now)
        return job

    def known(self, client: bytes) -> set[bytes]:
        return set(self.clients[client].jobs)

    def count(self) -> int:
        """All that is counted must be what is there."""
        kept = [job for job in self.keeping.by_wid.values() if job.answer is not None]
        sizes = dict.fromkeys(self.clients, 0)
        for job in kept:
            assert job.answer is not None
            sizes[job.client.identity] += OVERHEAD + len(job.answer[2])
        assert {name: client.kept_bytes for name, client in self.clients.items()} == sizes
        assert self.keeping.kept_bytes == sum(sizes.values())
        assert set(self.keeping.by_wid) == {
            job.wid for client in self.clients.values() for job in client.jobs.values()
        }
        return len(kept)


def test_what_is_open_is_counted() -> None:
    shelf = Shelf()
    job = shelf.open(b"a", b"1", b"12345")
    assert (shelf.keeping.open_jobs, shelf.keeping.open_bytes) == (1, 5)
    assert shelf.keeping.by_wid == {shelf.clients[b"a"].wid(b"1"): job}
    shelf.keeping.answer(job, [b"RESPONSE_RESULT", b"1", b"r"], 0.0)
    assert (shelf.keeping.open_jobs, shelf.keeping.open_bytes, job.argument) == (0, 0, b"")


def test_an_answer_is_sent_and_kept() -> None:
    """[RPC-3.1.6]"""
    shelf = Shelf()
    job = shelf.answered(b"a", b"1")
    assert shelf.sent == [(b"a", [b"RESPONSE_RESULT", b"1", b""], job)]
    shelf.keeping.repeat(job)
    assert len(shelf.sent) == 2
    assert shelf.count() == 1


def test_an_acknowledged_answer_is_kept_no_more_but_its_id_is() -> None:
    """[RPC-3.1.6]"""
    shelf = Shelf()
    job = shelf.answered(b"a", b"1", 100)
    assert job.state == DONE
    shelf.keeping.acknowledge(job, 1.0)
    assert (job.state, job.answer, shelf.count(), shelf.known(b"a")) == (FINISHED, None, 0, {b"1"})
    shelf.keeping.repeat(job)
    assert len(shelf.sent) == 1
    shelf.keeping.tick(60.9)
    assert shelf.known(b"a") == {b"1"}
    shelf.keeping.tick(61.0)
    assert shelf.known(b"a") == set()


def test_an_answer_that_nobody_acknowledges_is_forgotten_in_time() -> None:
    shelf = Shelf()
    shelf.answered(b"a", b"1", now=0.0)
    shelf.answered(b"a", b"2", now=1.0)
    shelf.keeping.tick(299.9)
    assert shelf.known(b"a") == {b"1", b"2"}
    shelf.keeping.tick(300.0)
    assert shelf.known(b"a") == {b"2"}
    assert shelf.count() == 1


@pytest.mark.parametrize("most", [1, 3])
def test_of_acknowledged_ids_the_oldest_make_room(most: int) -> None:
    shelf = Shelf(max_remembered=most)
    for number in range(5):
        shelf.keeping.acknowledge(shelf.answered(b"a", b"%d" % number), 0.0)
    assert shelf.known(b"a") == {b"%d" % number for number in range(5 - most, 5)}


def test_answers_of_one_client_have_a_bound() -> None:
    """[RPC-9.1] At the bound all are kept; with one byte more the oldest go, and no other client's."""
    shelf = Shelf(kept_bytes=4 * (OVERHEAD + 10))
    other = shelf.answered(b"b", b"0", 10)
    for number in range(4):
        shelf.answered(b"a", b"%d" % number, 10)
    assert shelf.count() == 5
    shelf.answered(b"a", b"4", 0)
    assert shelf.known(b"a") == {b"2", b"3", b"4"}  # an eighth more than must be, not to do it each time
    assert other.state == DONE
    assert shelf.count() == 4


def test_answers_of_all_clients_have_a_bound() -> None:
    """[RPC-9.1]"""
    shelf = Shelf(kept_bytes_in_all=3 * (OVERHEAD + 10))
    shelf.answered(b"a", b"1", 10)
    shelf.answered(b"b", b"1", 10)
    shelf.answered(b"a", b"2", 10)
    assert shelf.count() == 3
    shelf.answered(b"b", b"2", 0)
    assert (shelf.known(b"a"), shelf.known(b"b")) == ({b"2"}, {b"2"})
    shelf.count()


def test_the_newest_answer_is_kept_however_big() -> None:
    shelf = Shelf(kept_bytes=1, kept_bytes_in_all=1)
    shelf.answered(b"a", b"1", 5_000)
    assert shelf.known(b"a") == {b"1"}
    shelf.answered(b"a", b"2", 5_000)
    assert shelf.known(b"a") == {b"2"}


def test_small_answers_are_bounded_too() -> None:
    """[RPC-9.1] An empty answer takes memory all the same."""
    shelf = Shelf(kept_bytes=100 * OVERHEAD)
    for number in range(1_000):
        shelf.answered(b"a", b"%d" % number)
    assert shelf.count() <= 100


def test_making_room_leaves_open_and_acknowledged_queries_alone() -> None:
    shelf = Shelf(kept_bytes=2 * OVERHEAD)
    shelf.open(b"a", b"open")
    shelf.keeping.acknowledge(shelf.answered(b"a", b"done"), 0.0)
    for number in range(3):
        shelf.answered(b"a", b"%d" % number)
    assert shelf.known(b"a") == {b"open", b"done", b"2"}
    assert shelf.keeping.open_jobs == 1


def test_what_could_not_be_told_is_told_with_the_next_look_at_the_clock() -> None:
    """[RPC-3.1.9]"""
    shelf = Shelf()
    job = shelf.answered(b"a", b"1")
    shelf.keeping.untold[job.wid] = job
    shelf.keeping.tick(1.0)
    assert len(shelf.sent) == 2
    shelf.keeping.tick(2.0)
    assert len(shelf.sent) == 2


def test_what_is_forgotten_is_told_no_more() -> None:
    shelf = Shelf()
    job = shelf.answered(b"a", b"1")
    shelf.keeping.untold[job.wid] = job
    shelf.keeping.tick(300.0)
    assert (len(shelf.sent), shelf.keeping.untold) == (1, {})


def test_who_counts_is_told_of_every_answer_once_and_nobody_else() -> None:
    shelf = Shelf()
    shelf.answered(b"a", b"1")
    assert shelf.keeping.ended is None
    shelf.keeping.ended = []
    job = shelf.open(b"a", b"2")
    job.asked_at = 1.0
    shelf.keeping.answer(job, [b"RESPONSE_RESULT", b"2", b"r"], 3.5)
    shelf.keeping.repeat(job)
    assert shelf.keeping.ended == [(b"f", [b"RESPONSE_RESULT", b"2", b"r"], 2.5)]


def test_what_nobody_wanted_any_more_counts_as_cancelled_whatever_came_of_it() -> None:
    shelf = Shelf()
    shelf.keeping.ended = []
    job = shelf.open(b"a", b"1")
    job.cancelled = True
    shelf.keeping.answer(job, [b"RESPONSE_RESULT", b"1", b"r"], 1.0)
    assert shelf.keeping.ended == [(b"f", [b"RESPONSE_EXCEPTION", b"", b"cancelled"], 1.0)]
