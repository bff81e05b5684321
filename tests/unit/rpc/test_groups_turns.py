"""Groups take turns with clients, keep to their limits, and are never in the way of others."""

from typing import Any

import pytest

from framehub.rpc import texts
from framehub.rpc.groups import Groups
from framehub.rpc.jobs import Job
from tests.unit.rpc.board import G
from tests.unit.rpc.grouped import TWO, Grouped, gid, gwid


def test_groups_take_turns_with_clients() -> None:
    """[RPC-3.5.6] However many clients ask for it, a group is one of those who take turns."""
    board = Grouped(workers=(), age=0.0)
    for number in range(4):
        board.ask(b"c%d" % number, gid(number), b"g%d" % number)
    board.ask(b"d", b"1", b"d1")
    board.ask(b"e", b"1", b"e1")
    board.clear()
    board.hire(b"w")
    assert board.given() == [b"g0", b"d1", b"e1", b"g1", b"g2", b"g3"]


def test_a_worker_that_answers_soon_is_given_more_and_a_slow_one_less() -> None:
    """[RPC-3.5.6] But never less than two for each that it runs at a time, nor more than its window."""
    board = Grouped(slots=1, group_ahead=0.01, window=4)
    for number in range(12):
        board.ask(b"c", gid(number), b"%d" % number)
    assert board.given() == [b"0", b"1"]
    worker = board.proxy.registry.workers[b"w"]
    for number in range(3):
        board.answers(gid(number))
    assert (worker.share, worker.grouped, board.group().running) == (4, 4, 4)
    board.now += 0.02
    for number in range(3, 6):
        board.answers(gid(number))
    assert worker.share == 2
    for number in range(6, 9):
        board.now += 0.02
        board.answers(gid(number))
    assert (worker.share, worker.grouped) == (2, 2)
    board.ask(b"d", b"1", b"own")
    assert board.given()[-1] == b"own"


def test_coroutines_make_no_line_at_a_worker() -> None:
    """[RPC-3.5.6] However long they take; plain functions of the same worker still do."""
    board = Grouped(slots=1, group_ahead=0.01, window=8)
    told = b'{"version": 1, "slots": 1, "window": 8, "functions": {"f": {"coroutine": true}}}'
    board.worker(b"w", b"WORKER_DESCRIBE", told)
    board.given()
    for number in range(9):
        board.ask(b"c", gid(number), b"%d" % number)
    worker = board.proxy.registry.workers[b"w"]
    assert (len(board.given()), worker.grouped, board.group().running) == (8, 0, 8)
    board.now += 1.0
    board.proxy.tick(board.now)
    assert board.given() == []  # nobody has room
    board.answers(gid(0))
    assert (board.given(), worker.share, board.group().running) == ([b"8"], 2, 8)
    board.worker(b"w", b"WORKER_DESCRIBE", told.replace(b"true", b"false"))
    for number in range(1, 9):
        board.answers(gid(number))
    assert (worker.grouped, worker.share) == (0, 2)
    for number in range(10, 14):
        board.ask(b"c", gid(number), b"%d" % number)
    assert (board.given(), worker.grouped) == ([b"10", b"11"], 2)


def test_a_group_at_its_limit_is_passed_by_another_group() -> None:
    """[RPC-3.5.5]"""
    board = Grouped()
    for number in (1, 2):
        board.ask(b"c", gid(number, limit=1), b"one %d" % number)
    board.ask(b"c", gid(1, TWO), b"two")
    assert board.given() == [b"one 1", b"two"]
    board.answers(gid(1, limit=1))
    assert board.given() == [b"one 2"]


def test_what_a_limit_held_back_is_given_to_whoever_has_it_when_the_limit_allows() -> None:
    """[RPC-3.5.5] The room came from a worker that does not offer the function."""
    board = Grouped()
    board.register(b"v", G)
    board.ask(b"c", gid(1, limit=1), b"1", b"g")
    board.ask(b"c", gid(2, limit=1), b"2", b"f")
    board.answers(gid(1, limit=1), worker=b"v")
    assert board.given() == [b"1"]
    board.wait(0.25)
    assert board.given() == [b"2"]
    board.ask(b"c", gid(3, limit=1), b"3", b"f")
    board.wait(0.5)
    assert board.given() == []


def test_a_death_leaves_no_trace_in_the_counts() -> None:
    board = Grouped(workers=(b"w", b"v"))
    board.ask(b"c", gid(1))
    (worker,) = {who for who, parts in board.to_workers() if parts[0] == b"QUERY"}
    other = b"v" if worker == b"w" else b"w"
    board.worker(worker, b"QUERY_RETURNED", gwid(gid(1)), b"died")
    assert (board.group().running, board.group().open) == (1, 1)
    board.proxy.working.bury([board.proxy.registry.workers[worker]], board.now)
    board.answers(gid(1), worker=other)
    all_groups = board.proxy.asking.groups
    assert (all_groups.running, all_groups.open, board.group().waiting) == (0, 0, 0)


@pytest.mark.parametrize(("settings", "waiting"), [({"group_queue": 3}, 3), ({"max_queue": 4}, 2)])
def test_groups_leave_room_for_clients(settings: dict[str, Any], waiting: int) -> None:
    """[RPC-3.5.7]"""
    board = Grouped(slots=1, window=2, **settings)
    for number in range(2 + waiting):
        board.ask(b"c", gid(number))
    refused = board.client(b"c", b"QUERY", gid(99), b"a", b"f")
    assert refused == texts.BUSY_QUEUE.decode()
    board.ask(b"d", b"1")


def test_a_full_queue_has_room_for_what_need_not_wait() -> None:
    """[RPC-4.3]"""
    board = Grouped(slots=1, window=2, max_queue=2)
    board.register(b"v", G)
    for number in range(4):
        board.ask(b"c", b"%d" % number)
    assert board.client(b"c", b"QUERY", b"4", b"a", b"f") == texts.BUSY_QUEUE.decode()
    assert board.client(b"c", b"QUERY", gid(4), b"a", b"f") == texts.BUSY_QUEUE.decode()
    board.ask(b"c", gid(5), b"a", b"g")


def test_groups_leave_memory_for_clients() -> None:
    """[RPC-3.5.7]"""
    board = Grouped(max_bytes=10)
    board.ask(b"c", gid(1), b"12345")
    assert board.client(b"c", b"QUERY", gid(2), b"1", b"f") == texts.BUSY_BYTES.decode()
    board.ask(b"c", b"1", b"12345")


def test_groups_have_a_bound_and_those_with_nothing_make_room() -> None:
    """[RPC-3.5.7] [RPC-9.1]"""
    board = Grouped(max_groups=1)
    board.ask(b"c", gid(1))
    assert board.client(b"c", b"QUERY", gid(1, TWO), b"a", b"f") == texts.BUSY_GROUPS.decode()
    board.answers(gid(1))
    board.client(b"c", b"CANCEL", gid(1)[:44])  # that it ended is forgotten for another's sake
    assert isinstance(board.client(b"c", b"QUERY", gid(1, TWO), b"a", b"f"), Job)


def test_a_proxy_that_stops_takes_nothing_of_groups_either() -> None:
    board = Grouped()
    board.proxy.drain()
    assert board.client(b"c", b"QUERY", gid(1), b"a", b"f") == texts.BUSY_STOPPING.decode()


def test_groups_without_queries_are_forgotten() -> None:
    board = Grouped()
    board.ask(b"c", gid(1))
    board.answers(gid(1))
    board.client(b"c", b"RESPONSE_RECEIVED", gid(1))
    board.wait(300.0)
    assert len(board.proxy.asking.groups.by_identity) == 1
    board.wait(620.0)
    assert board.proxy.asking.groups.by_identity == {}
    assert board.proxy.asking.clients == {}


def test_unknown_groups_have_no_queries() -> None:
    known = Groups(1, 1, wids=lambda _identity: lambda id_: id_)
    assert known.find(gid(1)) is None
    assert known.waiting == 0
