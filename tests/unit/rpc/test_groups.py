"""Groups: one query whoever asks, kept for whoever asks again, and never in the way of others."""

from typing import Any

import pytest

from framehub.rpc import groups, texts
from framehub.rpc.asking import MAX_ASKERS
from framehub.rpc.groups import MOST, Group, Groups
from framehub.rpc.jobs import DONE, Job, wids
from framehub.rpc.keeping import OVERHEAD
from tests.unit.rpc.board import KEY, Board, F, G

ONE, TWO = b"\x11" * 32, b"\x22" * 32
CODERS = (b"Int", b"Int")


def gid(number: int, key: bytes = ONE, limit: int = 0) -> bytes:
    return groups.head(key, limit) + number.to_bytes(groups.OWN_BYTES, "big")


def gwid(id_: bytes) -> bytes:
    return wids(KEY, id_[:40])(id_)


class Grouped(Board):
    """A board with a worker of f that is in no hurry."""

    def __init__(
        self, *, workers: tuple[bytes, ...] = (b"w",), slots: int = 32, age: float = 60.0, **settings: Any
    ) -> None:
        super().__init__(age=age, **settings)
        self.slots = slots
        for worker in workers:
            self.hire(worker)
        self.clear()

    def hire(self, worker: bytes) -> None:
        self.worker(worker, b"WORKER_DESCRIBE", b'{"version": 1, "slots": %d}' % self.slots)
        self.register(worker, F)

    def group(self, key: bytes = ONE) -> Group:
        found = self.proxy.asking.groups.find(gid(0, key))
        assert found is not None
        return found

    def given(self) -> list[bytes]:
        """Arguments that workers got since the last look."""
        return [parts[2] for _, parts in self.to_workers() if parts[0] == b"QUERY"]

    def answers(self, id_: bytes, result: bytes = b"r", worker: bytes = b"w") -> None:
        self.worker(worker, b"RESPONSE_RESULT", gwid(id_), result)

    def results(self) -> list[tuple[bytes, bytes]]:
        return [(who, parts[2]) for who, parts in self.to_clients() if parts[0].startswith(b"RESPONSE")]


def test_an_id_says_its_group() -> None:
    """[RPC-3.5.1]"""
    id_ = gid(7, limit=9)
    assert (len(id_), id_[:8], id_[8:40], id_[40:44]) == (64, b"group-v1", ONE, b"\0\0\0\x09")
    assert groups.is_grouped(id_)
    assert groups.is_head(id_[:44])
    for other in (id_[:-1], id_[:44], b"x" * 64, b""):
        assert not groups.is_grouped(other)
    for other in (id_, id_[:43], b"x" * 44):
        assert not groups.is_head(other)
    with pytest.raises(ValueError, match="32 bytes, not 5"):
        groups.head(b"short")


@pytest.mark.parametrize(("told", "limit"), [(0, 1024), (1, 1), (1024, 1024), (1025, 1024), (MOST, 1024)])
def test_a_limit_is_what_was_told_last_and_no_more_than_the_proxys(told: int, limit: int) -> None:
    """[RPC-3.5.5]"""
    board = Grouped()
    board.ask(b"c", gid(1, limit=5))
    board.ask(b"c", gid(2, limit=told))
    assert board.group().limit == limit


def test_whoever_asks_is_answered_and_it_is_run_once() -> None:
    """[RPC-3.5.2]"""
    board = Grouped()
    assert board.ask(b"c", gid(1)) is board.ask(b"d", gid(1))
    board.answers(gid(1))
    assert board.given() == [b"a"]
    assert board.results() == [(b"c", b"r"), (b"d", b"r")]
    assert board.client(b"c", b"RESPONSE_RECEIVED", gid(1)).askers == {b"d": None}  # type: ignore[union-attr]


def test_who_waits_too_long_in_a_crowd_has_to_ask_again() -> None:
    board = Grouped()
    for number in range(MAX_ASKERS + 1):
        board.ask(b"c%d" % number, gid(1))
    board.clear()
    board.answers(gid(1))
    assert [who for who, _ in board.results()] == [b"c%d" % number for number in range(1, MAX_ASKERS + 1)]


def test_an_answer_that_was_not_acknowledged_is_repeated_within_bounds() -> None:
    """[RPC-3.1.4] [RPC-3.5.3] The first answer to a client is not a repeated one."""
    board = Grouped()
    big = b"x" * (10 << 20)
    board.ask(b"c", gid(1))
    board.answers(gid(1), big)
    for client in (b"c", b"c", b"d", b"d", b"d"):
        board.ask(client, gid(1))
    assert [who for who, _ in board.results()] == [b"c", b"c", b"d", b"d"]


def test_acknowledged_answers_make_room_first() -> None:
    """[RPC-9.1]"""
    board = Grouped(group_bytes=4 * (OVERHEAD + 1))
    for number in range(4):
        board.ask(b"c", gid(number))
        board.answers(gid(number))
    for number in (2, 3):
        board.client(b"c", b"RESPONSE_RECEIVED", gid(number))
    board.ask(b"c", gid(4))
    assert set(board.group().jobs) == {gid(number) for number in range(5)}
    board.answers(gid(4))
    assert set(board.group().jobs) == {gid(0), gid(1), gid(4)}
    for number in (5, 6, 7):  # nobody acknowledges: the oldest go all the same
        board.ask(b"c", gid(number))
        board.answers(gid(number))
    assert gid(0) not in board.group().jobs
    assert board.group().kept_bytes <= 4 * (OVERHEAD + 1)


def test_answers_of_groups_make_room_before_those_of_clients() -> None:
    """[RPC-9.1]"""
    board = Grouped(kept_bytes_in_all=4 * (OVERHEAD + 1))
    board.ask(b"c", b"own")
    board.answer(b"w", b"c", b"own")
    for number in range(3):
        board.ask(b"c", gid(number))
        board.answers(gid(number))
    board.client(b"c", b"RESPONSE_RECEIVED", gid(1))
    board.ask(b"c", gid(3))
    board.answers(gid(3))
    assert set(board.group().jobs) == {gid(0), gid(2), gid(3)}
    assert (
        b"own" not in board.proxy.asking.clients[b"c"].jobs
    )  # nothing acknowledged was left, and it was older
    board.ask(b"c", gid(4))
    board.answers(gid(4))
    assert gid(4) in board.group().jobs
    assert board.proxy.keeping.kept_bytes <= 4 * (OVERHEAD + 1)


def test_what_could_not_be_told_is_told_to_those_who_wait() -> None:
    """[RPC-3.1.9]"""
    board = Grouped()
    job = board.ask(b"c", gid(1))
    board.ask(b"d", gid(1))
    board.answers(gid(1))
    board.client(b"d", b"RESPONSE_RECEIVED", gid(1))
    board.clear()
    board.proxy.untold([(b"c", [b"RESPONSE_RESULT", gid(1), b"r"], job)])
    board.wait(0.25)
    assert board.results() == [(b"c", b"r")]


@pytest.mark.parametrize("text", [b"no such row", b"cancelled", texts.NO_WORKER, texts.CODERS_CHANGED])
def test_an_answer_is_kept_whatever_it_says(text: bytes) -> None:
    """[RPC-3.5.3] Or else the same id would be run after it was answered."""
    board = Grouped()
    board.ask(b"c", gid(1))
    board.worker(b"w", b"RESPONSE_EXCEPTION", gwid(gid(1)), text)
    board.client(b"c", b"RESPONSE_RECEIVED", gid(1))
    board.clear()
    board.ask(b"d", gid(1))
    assert board.results() == [(b"d", text)]
    assert board.given() == []


def test_that_a_function_was_not_known_is_kept() -> None:
    """[RPC-3.5.3] Also when somebody offers it meanwhile."""
    board = Grouped()
    board.ask(b"c", gid(1), b"a", b"nobody")
    board.client(b"c", b"RESPONSE_RECEIVED", gid(1))
    board.worker(b"x", b"WORKER_REGISTER", b"\0\0\0\1", b"nobody", b"Int", b"Int")
    board.clear()
    board.ask(b"d", gid(1), b"a", b"nobody")
    assert board.given() == []
    board.ask(b"d", gid(2), b"a", b"nobody")
    assert board.given() == [b"a"]


def test_what_a_worker_answers_after_its_group_was_ended_leaves_nothing() -> None:
    """[RPC-3.5.8]"""
    board = Grouped()
    board.ask(b"c", gid(1))
    board.client(b"c", b"CANCEL", gid(1)[:44])
    board.answers(gid(1))
    assert board.group().jobs == {}
    assert board.proxy.keeping.kept_bytes == board.group().open == 0


def test_a_cancelled_query_is_answered_so() -> None:
    """[RPC-3.5.4] Its last asker was forgotten by the time that the worker answers."""
    board = Grouped()
    job = board.ask(b"c", gid(1))
    assert board.client(b"c", b"CANCEL", gid(1)) is job
    assert board.client(b"d", b"CANCEL", gid(2)) is None
    job.askers.clear()
    board.worker(b"w", b"RESPONSE_EXCEPTION", gwid(gid(1)), b"cancelled")
    board.clear()
    board.ask(b"d", gid(1))
    assert board.results() == [(b"d", b"cancelled")]


def test_only_who_asked_can_cancel() -> None:
    board = Grouped()
    job = board.ask(b"c", gid(1))
    board.client(b"d", b"CANCEL", gid(1))
    assert not job.cancelled
    assert board.proxy.counts["cancels of nothing"] == 1


def test_a_result_that_came_though_it_was_cancelled_is_kept() -> None:
    board = Grouped()
    board.ask(b"c", gid(1))
    board.client(b"c", b"CANCEL", gid(1))
    board.answers(gid(1))
    board.client(b"c", b"RESPONSE_RECEIVED", gid(1))
    assert board.group().jobs[gid(1)].state == DONE


def test_the_end_of_a_group_is_the_end_of_all_of_it() -> None:
    """[RPC-3.5.8] Also of what waits."""
    board = Grouped(slots=1)
    for number in range(4):
        board.ask(b"c", gid(number))
    board.answers(gid(0))
    board.client(b"c", b"CANCEL", gid(3))
    board.clear()
    assert board.client(b"d", b"CANCEL", gid(0)[:44]) is None
    states = {job.state for job in board.group().jobs.values()}
    assert states <= {2}  # given: cancelled at the worker
    assert [parts[0] for _, parts in board.to_workers()] == [b"CANCEL"] * 2  # the third was before
    board.client(b"d", b"CANCEL", gid(0, TWO)[:44])
    assert board.proxy.counts["cancels of nothing"] == 1


def test_what_is_asked_of_an_ended_group_is_refused_for_a_while() -> None:
    """[RPC-3.5.8]"""
    board = Grouped()
    board.ask(b"c", gid(1))
    board.answers(gid(1))
    board.client(b"c", b"CANCEL", gid(1)[:44])
    assert board.client(b"c", b"QUERY", gid(1), b"a", b"f") == texts.GROUP_ENDED.decode()
    board.wait(599.0)
    assert board.client(b"d", b"QUERY", gid(2), b"a", b"f") == texts.GROUP_ENDED.decode()
    board.wait(620.0)
    board.hire(b"w")
    board.ask(b"c", gid(1))


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
