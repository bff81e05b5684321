"""Groups: one query whoever asks, and kept for whoever asks again."""

import pytest

from framehub.rpc import groups, texts
from framehub.rpc.asking import MAX_ASKERS
from framehub.rpc.groups import MOST
from framehub.rpc.jobs import DONE
from framehub.rpc.keeping import OVERHEAD
from tests.unit.rpc.grouped import ONE, TWO, Grouped, gid, gwid


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
