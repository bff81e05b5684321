"""The proxy as a whole: what could not be sent, and the clock."""

import json

import pytest

from framehub.rpc import proxy, texts
from framehub.rpc.jobs import DONE, WAITING
from framehub.rpc.keeping import OVERHEAD
from framehub.rpc.proxy import Job
from tests.unit.rpc.board import Board, F, G, wid


def query(worker: bytes, job: Job) -> tuple[bytes, list[bytes], Job | None]:
    return worker, [b"QUERY", job.wid, job.argument, job.function], job


def test_what_is_pending_is_counted() -> None:
    board = Board()
    board.register(b"w", F)
    board.ask(b"c", b"1")
    board.ask(b"c", b"2")
    assert board.proxy.pending == 2
    board.answer(b"w", b"c", b"1")
    assert board.proxy.pending == 1


def test_what_is_held_is_counted() -> None:
    board = Board()
    assert board.proxy.held_bytes == 0
    board.worker(b"w", b"WORKER_DESCRIBE", b"{}")
    assert board.proxy.held_bytes == 2
    board.register(b"w", F)
    board.ask(b"c", b"1", b"12345")
    assert board.proxy.held_bytes == 5 + OVERHEAD
    board.answer(b"w", b"c", b"1", b"123")
    assert board.proxy.held_bytes == 3 + 2 * OVERHEAD
    board.client(b"c", b"RESPONSE_RECEIVED", b"1")
    assert board.proxy.held_bytes == OVERHEAD


def test_an_unreachable_worker_is_dead() -> None:
    """[RPC-5.2.1] What it was not sent is no death, what it had before is one."""
    board = Board()
    board.register(b"w", F)
    had, unsent = board.ask(b"c", b"1"), board.ask(b"c", b"2")
    board.register(b"x", F)
    board.clear()
    board.proxy.undelivered([query(b"w", unsent), (b"w", [b"HEART_BEAT"], None)], [], 0.0)
    assert set(board.proxy.registry.workers) == {b"x"}
    assert (had.deaths, unsent.deaths) == (1, 0)
    assert board.to_workers() == [
        (b"x", [b"QUERY", had.wid, b"a", b"f"]),
        (b"x", [b"QUERY", unsent.wid, b"a", b"f"]),
    ]


def test_workers_that_are_unreachable_together_are_one_death() -> None:
    """[RPC-4.6]"""
    board = Board(attempts=2)
    for name in (b"w", b"x", b"y"):
        board.register(name, F)
    job = board.ask(b"c", b"1")
    board.worker(b"w", b"QUERY_RECEIVED", job.wid)
    board.clear()
    board.proxy.undelivered([(name, [b"HEART_BEAT"], None) for name in (b"w", b"x", b"y")], [], 0.0)
    assert (job.deaths, job.state, board.to_workers()) == (1, WAITING, [])


def test_what_a_peer_that_nobody_knows_was_not_sent_does_not_matter() -> None:
    board = Board()
    beat = (b"stranger", [b"HEART_BEAT"], None)
    board.proxy.undelivered([beat], [beat], 0.0)
    assert (board.to_clients(), board.to_workers()) == ([], [])


def test_only_queries_that_could_not_be_sent_go_to_others() -> None:
    """[RPC-4.7] Not those of which an acknowledgement or a CANCEL was lost."""
    board = Board()
    board.register(b"w", F)
    job = board.ask(b"c", b"1")
    board.register(b"x", F)
    board.clear()
    board.proxy.undelivered([], [(b"w", [b"CANCEL", job.wid], job)], 0.0)
    assert board.to_workers() == []
    assert board.proxy.registry.workers[b"w"].stuck
    assert job.worker is board.proxy.registry.workers[b"w"]


def test_what_a_worker_has_already_waits_for_it_when_it_cannot_be_asked_again() -> None:
    """[RPC-4.1.1] Nobody else gets it while that worker lives."""
    board = Board(age=0.0, missing=[b"w"])
    board.register(b"x", F)
    job, other = board.ask(b"c", b"1"), board.ask(b"c", b"2")
    holds = json.dumps({"holds": [job.wid.hex(), other.wid.hex()]}).encode()
    board.worker(b"w", b"WORKER_DESCRIBE", holds)
    board.register(b"w", F)
    board.clear()
    board.proxy.undelivered([], [query(b"w", job), query(b"w", other)], 0.0)
    assert board.to_workers() == []
    worker = board.proxy.registry.workers[b"w"]
    assert (job.worker, worker.stuck) == (worker, True)
    del worker.jobs[other.wid]
    board.worker(b"w", b"HEART_BEAT")
    assert board.to_workers() == [(b"w", [b"QUERY", job.wid, b"a", b"f"])]


def test_a_cancelled_query_that_could_not_be_sent_is_not_given_to_another() -> None:
    """[RPC-3.4.2]"""
    board = Board()
    board.register(b"w", F)
    job = board.ask(b"c", b"1")
    board.register(b"x", F)
    board.client(b"c", b"CANCEL", b"1")
    board.clear()
    board.proxy.undelivered([], [query(b"w", job)], 0.0)
    assert board.to_workers() == []
    assert board.to_clients() == [(b"c", [b"RESPONSE_EXCEPTION", b"1", texts.CANCELLED])]


def test_answers_that_could_not_be_sent_are_sent_again() -> None:
    """[RPC-3.1.9] Acknowledgements and answers to questions are not: clients ask again."""
    board = Board()
    board.register(b"w", F)
    job, other = board.ask(b"c", b"1"), board.ask(b"c", b"2")
    board.answer(b"w", b"c", b"1")
    assert job.state == DONE
    board.clear()
    answer = (b"c", [b"RESPONSE_RESULT", b"1", b"r"], job)
    received = (b"c", [b"QUERY_RECEIVED", b"2"], other)
    board.proxy.untold([answer, answer, received, (b"c", [b"CODER_IDENTITY_NOT_FOUND", b"3"], None)])
    board.proxy.tick(0.25)
    assert board.to_clients() == [(b"c", [b"RESPONSE_RESULT", b"1", b"r"])]


def test_refusals_that_could_not_be_sent_are_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """[RPC-3.1.8] Within a bound; not to who asked again and was heard, nor to who is forgotten."""
    monkeypatch.setattr(proxy, "_MOST_REFUSALS", 3)
    board = Board()
    board.register(b"w", F)
    board.ask(b"c", b"2")
    board.clear()
    told = ((b"c", b"1"), (b"c", b"2"), (b"nobody", b"1"), (b"c", b"one too many"))
    board.proxy.untold(
        [(identity, [b"RESPONSE_EXCEPTION", id_, texts.BUSY_WAIT], None) for identity, id_ in told]
    )
    board.proxy.tick(0.25)
    assert board.to_clients() == [(b"c", [b"RESPONSE_EXCEPTION", b"1", texts.BUSY_WAIT])]
    board.proxy.tick(0.5)
    assert board.to_clients() == []


def test_probing_goes_on_for_a_second() -> None:
    """[RPC-5.2.3] A link may be found dead a moment later."""
    board = Board()
    board.register(b"w", F)
    board.ask(b"c", b"1")
    board.register(b"idle", G)
    board.worker(b"idle", b"HEART_BEAT")
    board.clear()
    board.proxy.worker_disconnected(0.0)
    board.wait(2.0)
    assert set(map(str, board.to_workers())) == {str((b"w", [b"RESPONSE_RECEIVED", bytes(16)]))}
    board.wait(3.0)
    assert board.to_workers() == []


def test_what_nobody_needs_is_forgotten_in_time() -> None:
    """[RPC-9.1]"""
    board = Board()
    board.register(b"w", F)
    board.register(b"w")
    board.client(b"c", b"CANCEL", b"1")
    board.worker(b"x", b"")
    board.wait(200.0)
    proxy = board.proxy
    assert (proxy.registry.functions, proxy.asking.clients, proxy.registry.strangers) == ({}, {}, {})


def test_an_idle_worker_that_never_beat_is_probed_too() -> None:
    """[RPC-5.2.3] Nothing else would show that it is gone."""
    board = Board()
    board.register(b"w", F)
    board.proxy.worker_disconnected(0.0)
    assert board.to_workers() == [(b"w", [b"RESPONSE_RECEIVED", bytes(16)])]


@pytest.mark.parametrize("count", [1, 7])
def test_nothing_is_left_when_all_is_acknowledged_and_old(count: int) -> None:
    """[RPC-9.1]"""
    board = Board()
    board.register(b"w", F)
    for number in range(count):
        id_ = b"%d" % number
        board.ask(b"c", id_)
        board.worker(b"w", b"QUERY_RECEIVED", wid(b"c", id_))
        board.answer(b"w", b"c", id_)
        board.client(b"c", b"RESPONSE_RECEIVED", id_)
    board.clear()
    board.wait(130.0)
    keeping = board.proxy.keeping
    assert (keeping.by_wid, keeping.open_jobs, keeping.open_bytes, keeping.kept_bytes) == ({}, 0, 0, 0)
    assert (board.proxy.placing.waiting, board.proxy.asking.clients) == (0, {})
