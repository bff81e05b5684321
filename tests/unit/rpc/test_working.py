"""What workers say; the dialogs of spec/vectors/rpc have the rest."""

import json

import pytest

from framehub.rpc import texts
from framehub.rpc.asking import SILENCED
from framehub.rpc.jobs import DONE, GIVEN
from framehub.rpc.working import MAX_GIVEN
from tests.unit.rpc.board import Board, F, G, wid

DESCRIBE = b"WORKER_DESCRIBE"
ONCE = json.dumps({"functions": {"f": {"redispatch": "unacknowledged"}}}).encode()
WELCOME = [DESCRIBE, b'{"version": 1, "functions": 1}']


def test_what_a_message_was_about_is_told() -> None:
    board = Board()
    assert board.register(b"w", F) is None
    job = board.ask(b"c", b"1")
    assert board.worker(b"w", b"HEART_BEAT") is None
    assert board.worker(b"w", b"QUERY_RECEIVED", job.wid) is job
    assert board.worker(b"w", b"QUERY_RECEIVED", b"other") is None
    assert board.answer(b"w", b"c", b"1") is job
    assert board.answer(b"w", b"c", b"1") is job
    assert board.worker(b"w", b"QUERY_RETURNED", job.wid, b"died") is job
    assert board.worker(b"x", b"QUERY_RECEIVED", job.wid) == "not registered"
    assert board.register(b"x", (b"f", b"Long", b"Int")) == "function 'f' is offered with other coders"
    assert "parts" in str(board.worker(b"w", b"HEART_BEAT", b""))


def test_what_is_ignored_or_refused_is_counted() -> None:
    """[RPC-8.1]"""
    board = Board()
    board.register(b"w", F)
    job = board.ask(b"c", b"1")
    board.answer(b"w", b"c", b"2")
    board.worker(b"w", b"QUERY_RETURNED", job.wid, b"died")
    board.worker(b"w", b"QUERY_RETURNED", b"other", b"died")
    board.register(b"x", (b"f", b"", b""))
    board.worker(b"x", b"QUERY_RECEIVED", job.wid)
    for parts in ((), (b"RESPONSE_RESULT", b"", b""), (b"QUERY_RECEIVED", b"x" * 65), (DESCRIBE, b"[]")):
        board.worker(b"w", *parts)
        board.worker(b"x", *parts)
    assert {name: count for name, count in board.proxy.counts.items() if count} == {
        "answers to nothing": 2,
        "deaths of processes": 1,
        "registrations refused": 1,
        "from the unregistered": 1,
        "malformed": 8,
    }


def test_the_name_of_an_unknown_function_is_passed_on_as_it_is() -> None:
    """[RPC-3.1.2] A name may have characters that a text may not."""
    board = Board()
    board.register(b"w", (b"\x01", b"", b""))
    job = board.ask(b"c", b"1", function=b"\x01")
    board.worker(b"w", b"RESPONSE_UNKNOWN_FUNCTION", job.wid, b"\x01")
    assert job.answer == [b"RESPONSE_UNKNOWN_FUNCTION", b"1", b"\x01"]


def test_workers_that_come_or_go_change_the_roster() -> None:
    board = Board()
    working = board.proxy.working
    board.register(b"w", F)
    assert (working.roster_changed, board.proxy.roster) == (True, [])
    for parts in ((DESCRIBE, b"{}"), (b"WORKER_REGISTER", b"\0\0\0\1", *G), (b"WORKER_REGISTER", bytes(4))):
        working.roster_changed = False
        board.worker(b"w", *parts)
        assert working.roster_changed
    assert board.proxy.roster == []
    working.roster_changed = False
    board.worker(b"w", b"HEART_BEAT")
    assert not working.roster_changed


def test_who_is_not_back_from_a_restart_stays_in_the_roster() -> None:
    """[RPC-4.1.2] Else a second restart would not wait for it, and others would run what it runs."""
    board = Board(age=0, missing=[b"w"])
    board.worker(b"x", b"WORKER_DESCRIBE", b"{}")
    board.register(b"x", F)
    assert board.proxy.roster == [b"x", b"w"]
    board.register(b"w", F)
    assert board.proxy.roster == [b"x"], "it came back, and did not say what it holds"


def test_only_described_workers_stand_in_the_roster() -> None:
    """[RPC-4.1.2] Others would not say what they hold."""
    board = Board()
    board.register(b"w", F)
    board.worker(b"x", DESCRIBE, b"{}")
    board.register(b"x", F)
    assert board.proxy.roster == [b"x"]


def test_registering_without_a_function_loses_its_queries() -> None:
    """[RPC-5.1.4] Others get them; of what may not be run twice those that were not acknowledged."""
    board = Board()
    board.worker(b"w", DESCRIBE, ONCE)
    board.register(b"w", F, G)
    acked, fresh, other = board.ask(b"c", b"1"), board.ask(b"c", b"2"), board.ask(b"c", b"3", function=b"g")
    board.worker(b"w", b"QUERY_RECEIVED", acked.wid)
    board.worker(b"x", DESCRIBE, ONCE)
    board.register(b"x", F)
    board.clear()
    board.register(b"w", G)
    assert acked.answer == [b"RESPONSE_EXCEPTION", b"1", texts.UNKNOWN_OUTCOME]
    assert fresh.worker is board.proxy.registry.workers[b"x"]
    assert other.worker is board.proxy.registry.workers[b"w"]
    assert (b"w", [b"QUERY", other.wid, b"a", b"g"]) in board.to_workers()


def test_a_worker_that_never_described_itself_may_have_begun_anew() -> None:
    """[RPC-4.5] What it acknowledged and may not be run twice is not sent to it again."""
    board = Board()
    board.worker(b"x", DESCRIBE, ONCE)
    board.register(b"x", F)
    board.register(b"w", F)
    first, second, third = (board.ask(b"c", id_) for id_ in (b"1", b"2", b"3"))
    board.worker(b"w", b"QUERY_RECEIVED", second.wid)
    board.worker(b"x", b"QUERY_RECEIVED", first.wid)
    board.clear()
    board.register(b"w", F)
    assert second.answer == [b"RESPONSE_EXCEPTION", b"2", texts.UNKNOWN_OUTCOME]
    board.register(b"x", F)
    assert (first.state, third.state) == (GIVEN, GIVEN)
    assert [parts for _, parts in board.to_workers()] == [
        [DESCRIBE, b'{"version": 1, "functions": 1}'],
        [b"QUERY", first.wid, b"a", b"f"],
        [b"QUERY", third.wid, b"a", b"f"],
    ]


def test_an_acknowledgement_is_awaited_anew_after_registering_again() -> None:
    """[RPC-5.2.1]"""
    board = Board()
    board.register(b"w", F)
    board.ask(b"c", b"1")
    board.wait(4.0)
    board.register(b"w", F)
    board.wait(9.0)
    assert b"w" in board.proxy.registry.workers
    board.wait(9.25)
    assert b"w" not in board.proxy.registry.workers
    assert board.proxy.counts["dead workers"] == 1


def test_a_refused_name_is_cut() -> None:
    """[RPC-5.1.2]"""
    board = Board()
    board.worker(b"w", b"WORKER_REGISTER", b"\0\0\0\1", "é".encode() * 200, b"", b"")
    assert board.to_workers() == [(b"w", [b"INCOMPATIBLE_SPECS_FAILURE", "é".encode() * 127, b"", b""])]


def test_an_answer_of_a_workers_own_is_acknowledged_though_nobody_wants_it() -> None:
    """[RPC-5.4.4] It gave it before, or says that it holds it."""
    board = Board()
    board.register(b"w", F)
    board.register(b"x", F)
    job = board.ask(b"c", b"1")
    board.answer(b"w", b"c", b"1")
    board.clear()
    board.answer(b"w", b"c", b"1")
    assert board.to_workers() == [(b"w", [b"RESPONSE_RECEIVED", job.wid])]
    board.answer(b"x", b"c", b"1")
    assert board.to_workers() == []
    forgotten = wid(b"c", b"long ago")
    board.worker(b"x", DESCRIBE, json.dumps({"holds": [forgotten.hex()]}).encode())
    board.clear()
    board.answer(b"x", b"c", b"long ago")
    assert board.to_workers() == [(b"x", [b"RESPONSE_RECEIVED", forgotten])]
    assert board.to_clients() == []


def test_a_leaving_worker_is_forgotten_with_its_last_query() -> None:
    """[RPC-5.1.6] However that ended."""
    board = Board()
    board.register(b"w", F)
    first, second = board.ask(b"c", b"1"), board.ask(b"c", b"2")
    board.register(b"w")
    board.worker(b"w", b"RESPONSE_EXCEPTION", first.wid, b"no")
    assert b"w" in board.proxy.registry.workers
    board.worker(b"w", b"QUERY_RETURNED", second.wid, b"died")
    assert b"w" not in board.proxy.registry.workers
    assert board.proxy.placing.waiting == 1


def test_a_silenced_worker_is_dead_and_not_heard() -> None:
    """[RPC-8.3] Not even when it registers."""
    board = Board(max_strikes=1)
    board.register(b"w", F)
    board.worker(b"w", b"")
    assert b"w" in board.proxy.registry.workers
    board.worker(b"w", b"")
    assert b"w" not in board.proxy.registry.workers
    assert board.register(b"w", F) == SILENCED
    board.now = 60.0
    assert board.register(b"w", F) is None


def test_peers_that_break_rules_are_remembered_for_a_while_and_within_a_bound() -> None:
    """[RPC-9.1]"""
    board = Board(max_clients=2, max_strikes=1)
    strangers = board.proxy.registry.strangers
    for name in (b"1", b"2", b"2", b"3"):
        board.worker(name, b"")
    assert set(strangers) == {b"2", b"3"}
    board.proxy.working.forget(9.9)
    assert set(strangers) == {b"2", b"3"}
    board.proxy.working.forget(10.0)
    assert set(strangers) == {b"2"}
    board.proxy.working.forget(60.0)
    assert set(strangers) == set()


def test_workers_that_die_at_once_do_not_get_each_others_queries() -> None:
    """[RPC-4.6] A query is not given to one that is known to be dead, so it is no death of it."""
    board = Board(attempts=2)
    for name in (b"w", b"x", b"y"):
        board.register(name, F)
        board.worker(name, b"HEART_BEAT")
    job = board.ask(b"c", b"1")
    board.clear()
    board.wait(5.25)
    assert (job.deaths, board.to_workers(), board.to_clients()) == (1, [], [])
    assert board.proxy.counts["dead workers"] == 3


def test_time_that_was_not_listened_to_is_forgiven_and_not_given() -> None:
    """[RPC-5.2.2] Who was heard since is not heard in the future."""
    board = Board()
    for name in (b"old", b"new"):
        board.register(name, F)
        board.worker(name, b"HEART_BEAT")
    job = board.ask(b"c", b"1")
    board.now = 30.0
    board.worker(b"new", b"HEART_BEAT")
    board.proxy.tick(30.0)
    workers = board.proxy.registry.workers
    assert (workers[b"old"].heard, workers[b"new"].heard, job.given_at) == (30.0, 30.0, 30.0)


@pytest.mark.parametrize(("gap", "forgiven"), [(1.0, False), (1.25, True)])
def test_short_gaps_count(gap: float, forgiven: bool) -> None:
    board = Board()
    board.register(b"w", F)
    board.proxy.tick(gap)
    assert (board.proxy.registry.workers[b"w"].heard == gap) is forgiven


def test_a_worker_that_takes_messages_again_is_fed() -> None:
    """[RPC-4.7]"""
    board = Board()
    board.register(b"w", F)
    job = board.ask(b"c", b"1")
    board.proxy.undelivered([], [(b"w", [b"QUERY", job.wid, b"a", b"f"], job)], 0.0)
    assert board.proxy.placing.waiting == 1
    board.worker(b"w", b"")
    assert (job.state, board.proxy.placing.waiting) == (GIVEN, 0)
    board.answer(b"w", b"c", b"1")
    assert job.state == DONE


@pytest.mark.parametrize("most", [1, 2])
def test_a_worker_too_many_is_refused(most: int) -> None:
    """[RPC-5.1.2]"""
    board = Board(max_workers=most)
    board.register(b"one", F)
    about = board.register(b"two", F)
    assert (about is None) is (most == 2)
    board.register(b"one", F)
    assert len(board.proxy.registry.workers) == most
    if most == 1:
        assert (b"two", [b"INCOMPATIBLE_SPECS_FAILURE", b"f", b"", b""]) in board.to_workers()


def test_a_query_that_goes_round_for_ever_is_given_up() -> None:
    board = Board()
    board.register(b"w", F)
    job = board.ask(b"c", b"1")
    for _ in range(MAX_GIVEN):
        board.worker(b"w", b"QUERY_RETURNED", job.wid, b"unstarted")
    assert (job.state, job.deaths) == (GIVEN, 0)
    for _ in range(3):
        board.worker(b"w", b"QUERY_RETURNED", job.wid, b"unstarted")
    assert job.answer is not None
    assert job.answer[2].startswith(b"poison")
