"""Which worker gets a query; the dialogs of spec/vectors/rpc have the rest."""

import json

import pytest

from framehub.rpc import placing, texts
from framehub.rpc.jobs import DONE, GIVEN, WAITING
from tests.unit.rpc.board import Board, F, G, wid

ONCE = json.dumps({"functions": {"f": {"redispatch": "unacknowledged"}}}).encode()


def holding(*wids: bytes) -> bytes:
    return json.dumps({"holds": [each.hex() for each in wids]}).encode()


def test_what_may_not_be_run_twice_is_noted_before_it_is_given() -> None:
    """[RPC-4.1.3]"""
    board = Board()
    board.worker(b"w", b"WORKER_DESCRIBE", ONCE)
    board.register(b"w", F, G)
    board.ask(b"c", b"1")
    board.ask(b"c", b"2", function=b"g")
    assert board.proxy.placing.to_note == [wid(b"c", b"1")]


def test_what_was_begun_is_remembered_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """[RPC-9.1] The oldest makes room."""
    monkeypatch.setattr(placing, "MAX_BEGUN", 2)
    board = Board(begun=[b"old"], max_remembered=1)
    board.worker(b"w", b"WORKER_DESCRIBE", ONCE)
    board.register(b"w", F)
    for id_ in (b"1", b"2"):
        board.ask(b"c", id_)
    assert list(board.proxy.placing._begun) == [wid(b"c", b"1"), wid(b"c", b"2")]


def test_a_query_of_which_too_many_died_is_set_aside_with_its_argument() -> None:
    """[RPC-4.6]"""
    board = Board(attempts=2)
    for worker in (b"w", b"x"):
        board.register(worker, F)
    job = board.ask(b"c", b"1", b"deadly")
    for _ in range(2):
        assert job.worker is not None
        board.worker(job.worker.identity, b"QUERY_RETURNED", job.wid, b"died")
    assert board.proxy.placing.poisonous == [(job, b"deadly")]
    assert (job.state, job.deaths, job.past) == (DONE, 2, (b"w", b"w"))


def test_the_queue_has_an_end() -> None:
    """[RPC-4.3] At the limit and one above it; what waits for holders counts too."""
    board = Board(max_queue=2, age=0.0, missing=[b"gone"])
    board.ask(b"c", b"1")
    board.ask(b"c", b"2")
    assert board.proxy.placing.recovering
    assert board.client(b"c", b"QUERY", b"3", b"a", b"f") == texts.BUSY_QUEUE.decode()
    board.wait(5.0)
    assert not board.proxy.placing.recovering
    assert board.proxy.placing.waiting == 0
    assert board.client(b"c", b"QUERY", b"3", b"a", b"f") is not None


def test_a_full_queue_does_not_keep_others_from_idle_workers() -> None:
    """[RPC-4.3] What need not wait is taken."""
    board = Board(max_queue=1, window=1)
    board.register(b"w", F)
    board.register(b"x", G)
    board.ask(b"c", b"1")
    board.ask(b"c", b"2")
    full = board.proxy.placing.is_full
    now = board.now
    assert [full(name, now) for name in (b"f", b"g", b"h")] == [True, False, False]
    board.ask(b"c", b"3", function=b"g")
    assert full(b"g", now)
    board.register(b"x")
    board.worker(b"x", b"RESPONSE_RESULT", wid(b"c", b"3"), b"")
    assert full(b"g", now)  # another may come


def test_recovery_ends_when_all_are_back() -> None:
    """[RPC-4.1.2]"""
    board = Board(age=0.0, missing=[b"w", b"x"])
    job = board.ask(b"c", b"1")
    board.register(b"w", F)
    assert job.state == WAITING
    board.register(b"x", G)
    assert (job.state, board.proxy.placing.recovering) == (GIVEN, False)
    assert job.worker is board.proxy.registry.workers[b"w"]


def test_a_worker_that_names_a_query_which_waits_gets_it() -> None:
    """[RPC-4.1.1] Though others wait before it, and whatever its window."""
    board = Board(window=1)
    board.register(b"w", F)
    first, second, third = (board.ask(b"c", id_) for id_ in (b"1", b"2", b"3"))
    board.worker(b"x", b"WORKER_DESCRIBE", holding(third.wid, second.wid))
    board.register(b"x", F)
    assert {job.wid for job in board.proxy.registry.workers[b"x"].jobs.values()} == {second.wid, third.wid}
    assert (first.acked, second.acked, third.acked) == (False, True, True)
    assert board.proxy.placing.waiting == 0


def test_a_worker_that_names_a_query_of_another_changes_nothing() -> None:
    """[RPC-4.8]"""
    board = Board()
    board.register(b"w", F)
    job = board.ask(b"c", b"1")
    board.register(b"x", F)
    board.worker(b"x", b"WORKER_DESCRIBE", holding(job.wid))
    assert job.worker is board.proxy.registry.workers[b"w"]


def test_what_a_worker_says_that_it_holds_replaces_what_it_said_before() -> None:
    """Nothing is left of a worker that is gone, however often it described itself."""
    board = Board()
    board.register(b"w", F)
    board.register(b"x", F)
    for name in (b"1", b"2", b"3"):
        board.worker(b"w", b"WORKER_DESCRIBE", holding(wid(b"c", name)))
        assert list(board.proxy.placing._held) == [wid(b"c", name)]
    board.worker(b"x", b"WORKER_DESCRIBE", holding(wid(b"c", b"3"), wid(b"c", b"4")))
    board.register(b"w")
    assert set(board.proxy.placing._held) == {wid(b"c", b"3"), wid(b"c", b"4")}
    board.register(b"x")
    assert board.proxy.placing._held == {}


def test_a_holder_without_the_function_does_not_make_a_query_run_twice() -> None:
    """[RPC-4.1.3]"""
    board = Board(age=0.0, missing=[b"w"], begun=[wid(b"c", b"1")])
    board.worker(b"w", b"WORKER_DESCRIBE", holding(wid(b"c", b"1")))
    board.register(b"w", G)
    board.register(b"x", F)
    job = board.ask(b"c", b"1")
    assert job.answer == [b"RESPONSE_EXCEPTION", b"1", texts.UNKNOWN_ANSWER]


def test_a_function_that_nobody_offers_may_come_for_a_while() -> None:
    """[RPC-4.4]"""
    board = Board(age=0.0)
    may_come = board.proxy.placing.may_come
    board.proxy.placing.tick(4.9)
    assert (may_come(None, 4.9), may_come(None, 5.0)) == (5.0, 0.0)
    board.register(b"w", F)
    board.now = 4.0
    board.register(b"w")
    function = board.proxy.registry.functions[b"f"]
    board.proxy.placing.tick(13.9)
    assert (may_come(function, 13.9), may_come(function, 14.0)) == (14.0, 0.0)


def test_each_that_waits_for_a_function_waits_its_time() -> None:
    """[RPC-4.4] A query that came back waits ten seconds from then."""
    board = Board(window=1)
    board.register(b"w", F)
    job = board.ask(b"c", b"1")
    board.wait(3.0)
    board.proxy.undelivered([(b"w", [b"QUERY", job.wid, b"a", b"f"], job)], [], board.now)
    board.clear()
    board.wait(12.75)
    assert board.to_clients() == []
    board.wait(13.0)
    assert board.to_clients() == [(b"c", [b"RESPONSE_EXCEPTION", b"1", texts.NO_WORKER])]


def test_time_that_was_slept_is_no_time_to_come_in() -> None:
    """[RPC-5.2.2] [RPC-4.4] A worker that came meanwhile is still to be heard."""
    board = Board(age=0.0)
    board.register(b"x", G)
    job = board.ask(b"c", b"1")
    board.wait(1.0)
    for until in (30.0, 59.0):
        board.now = until
        board.proxy.tick(board.now)
    board.wait(62.75)
    assert job.state == WAITING
    board.wait(63.0)
    assert job.answer == [b"RESPONSE_UNKNOWN_FUNCTION", b"1", b"f"]


def test_time_that_was_slept_long_after_the_start_begins_no_new_grace() -> None:
    """[RPC-4.4]"""
    board = Board(age=0.0)
    board.wait(5.0)
    board.proxy.tick(30.0)
    board.now = 30.0
    assert board.ask(b"c", b"1").answer == [b"RESPONSE_UNKNOWN_FUNCTION", b"1", b"f"]


def test_a_new_query_does_not_pass_those_that_wait() -> None:
    """[RPC-4.3] Not even where there is room."""
    board = Board()
    board.register(b"w", F)
    board.proxy.registry.workers[b"w"].stuck = True
    first = board.ask(b"c", b"1")
    board.proxy.registry.workers[b"w"].stuck = False
    second = board.ask(b"d", b"1")
    assert (first.state, second.state) == (WAITING, WAITING)
    board.worker(b"w", b"HEART_BEAT")
    assert second.state == WAITING
    board.register(b"w", F)
    assert (first.state, second.state) == (GIVEN, GIVEN)


def test_a_worker_is_fed_only_with_its_functions() -> None:
    """[RPC-4.2]"""
    board = Board(window=1)
    board.register(b"w", F)
    board.ask(b"c", b"1")
    board.ask(b"c", b"2")
    board.register(b"x", G)
    assert board.proxy.registry.workers[b"x"].jobs == {}
    assert board.proxy.placing.waiting == 1


def test_what_a_holder_gives_back_is_not_run_again_by_it() -> None:
    """[RPC-4.1.3] Its process died of it before the client asked the new proxy."""
    board = Board(age=0.0, missing=[b"w"], begun=[wid(b"c", b"1")])
    board.worker(b"w", b"WORKER_DESCRIBE", holding(wid(b"c", b"1")))
    board.register(b"w", F)
    board.worker(b"w", b"QUERY_RETURNED", wid(b"c", b"1"), b"died")
    assert board.proxy.placing._held == {}
    assert board.ask(b"c", b"1").answer == [b"RESPONSE_EXCEPTION", b"1", texts.UNKNOWN_ANSWER]


def test_a_leaving_holder_is_asked_while_the_proxy_is_young() -> None:
    """[RPC-4.1.1]"""
    board = Board(age=0.0, missing=[b"w"])
    board.worker(b"w", b"WORKER_DESCRIBE", holding(wid(b"c", b"1")))
    board.register(b"w", F)
    board.register(b"w")
    board.register(b"x", F)
    job = board.ask(b"c", b"1")
    assert job.worker is board.proxy.registry.workers[b"w"]
    board.answer(b"w", b"c", b"1")
    assert b"w" not in board.proxy.registry.workers


def test_a_worker_that_comes_late_with_what_it_may_not_begin_is_told() -> None:
    """[RPC-5.4.8] What may be run twice it has begun; that is left to it while the proxy is young."""
    board = Board(age=0.0, begun=[wid(b"c", b"1")])
    board.worker(b"w", b"WORKER_DESCRIBE", b"{}")
    board.register(b"w", F)
    board.clear()
    board.worker(b"w", b"QUERY_RECEIVED", wid(b"c", b"2"))
    assert board.to_workers() == []
    board.worker(b"w", b"QUERY_RECEIVED", wid(b"c", b"1"))
    assert board.to_workers() == [(b"w", [b"CANCEL", wid(b"c", b"1")])]


def test_a_registered_worker_may_say_that_it_leaves() -> None:
    """[RPC-5.1.6]"""
    board = Board()
    board.register(b"w", F)
    board.worker(b"w", b"WORKER_DESCRIBE", b'{"leaving": true}')
    assert board.proxy.registry.functions[b"f"].workers == []


def test_what_a_worker_holds_is_believed_for_less_time_than_it_remembers() -> None:
    """[RPC-4.1.1] Or else it might have forgotten it, and run it again."""
    for seconds, holder in ((placing.HELD - 1, b"w"), (placing.HELD, b"x")):
        board = Board()
        board.register(b"x", F)
        board.worker(b"w", b"WORKER_DESCRIBE", holding(wid(b"c", b"1")))
        board.register(b"w", F)
        board.wait(seconds)
        board.worker(b"w", b"HEART_BEAT")
        job = board.ask(b"c", b"1")
        assert job.worker is board.proxy.registry.workers[holder]


def test_a_worker_that_was_taken_for_dead_and_comes_back_did_not_die() -> None:
    """[RPC-4.6]"""
    board = Board()
    board.worker(b"w", b"WORKER_DESCRIBE", holding())
    board.register(b"w", F)
    job = board.ask(b"c", b"1")
    for _ in range(5):
        board.proxy.working.bury([board.proxy.registry.workers[b"w"]], board.now)
        assert (job.state, job.deaths) == (WAITING, 1)
        board.worker(b"w", b"WORKER_DESCRIBE", holding(job.wid))
        board.register(b"w", F)
        assert (job.state, job.deaths, job.past) == (GIVEN, 0, ())


def test_a_query_is_not_given_to_a_worker_with_other_coders() -> None:
    """[RPC-2.5] Its argument would be read as something else."""
    board = Board()
    board.register(b"w", F)
    job = board.ask(b"c", b"1")
    board.proxy.working.bury([board.proxy.registry.workers[b"w"]], board.now)
    board.register(b"x", (b"f", b"Double", b"Int"))
    assert job.answer == [b"RESPONSE_EXCEPTION", b"1", texts.CODERS_CHANGED]
    assert board.proxy.placing.waiting == 0
