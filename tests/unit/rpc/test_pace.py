"""How fast workers get on, and what that means for those who ask."""

import json
from typing import Any

import pytest

from framehub.rpc import texts
from framehub.rpc.jobs import DONE
from framehub.rpc.pace import LEAST, RECOVERS, Pace, Patience
from tests.unit.rpc.board import Board, F


def describing(**told: object) -> bytes:
    return json.dumps(told).encode()


def at_work(*, parallel: int = 1, **settings: Any) -> Board:
    """A worker that runs so many at once, and gives an answer a second while it has three more to begin."""
    board = Board(ack_timeout=60.0, **settings)
    board.worker(b"w", b"WORKER_DESCRIBE", describing(slots=parallel))
    board.register(b"w", F)
    for number in range(parallel + 4):
        board.ask(b"c", b"old %d" % number)
    for _ in range(4):
        board.wait(board.now + 1.0)
        answer(board)
    return board


def answer(board: Board) -> None:
    worker = board.proxy.registry.workers[b"w"]
    board.worker(b"w", b"RESPONSE_RESULT", next(iter(worker.jobs)), b"r")


def refusal(board: Board, id_: bytes) -> object:
    """What a query is about: itself, or why it was refused."""
    return board.client(b"c", b"QUERY", id_, b"a", b"f")


def test_a_pace_is_that_of_a_worker_that_always_has_something_to_do() -> None:
    pace = Pace()
    pace.answered(b"f", 5.0, runs=1)
    assert pace.of(b"f") == 0.0
    pace.full(10.0)
    pace.full(11.0)  # it was before
    pace.answered(b"f", 12.0, runs=2)
    assert pace.of(b"f") == pytest.approx(1.0), "the other is about to come"
    pace.answered(b"f", 12.05, runs=2)
    assert pace.of(b"f") == pytest.approx(1.0), "too short to say"
    pace.answered(b"f", 16.0, runs=2)
    assert pace.of(b"f") == pytest.approx(0.7 * 1.0 + 0.3 * 2.0)
    pace.answered(b"f", 16.5, runs=3)
    pace.answered(b"f", 16.6, runs=3)
    assert pace.of(b"f") == pytest.approx(1.3), "too few to say"
    pace.idle(16.7)
    pace.idle(20.0)  # it was before
    pace.answered(b"f", 16.8, runs=2)
    pace.full(16.9)
    assert pace.of(b"f") == pytest.approx(1.3)
    pace.answered(b"f", 50.0, runs=2)
    assert pace.of(b"f") == pytest.approx(1.3), "a look begins with an answer"
    pace.idle(51.0)
    pace.full(53.0)
    assert pace.of(b"f") == 0.0, "that was another time"
    pace.answered(b"f", 53.05, runs=2)
    assert pace.of(b"f") == 0.0, "it was begun before"


def test_a_slow_function_says_nothing_of_a_quick_one() -> None:
    pace = Pace()
    pace.full(0.0)
    pace.answered(b"slow", 1.0, runs=1)
    assert (pace.of(b"slow"), pace.of(b"quick")) == (1.0, 0.0)
    for _ in range(9):
        pace.answered(b"slow", 1.0, runs=1)
    pace.answered(b"quick", 2.1, runs=1)
    assert pace.of(b"slow") == pytest.approx(0.7 * 1.0 + 0.3 * 0.11)
    assert pace.of(b"quick") == 0.0, "a tenth of the answers"
    pace.answered(b"slow", 2.11, runs=1)
    pace.answered(b"quick", 2.3, runs=1)
    assert pace.of(b"quick") == pytest.approx(0.1), "half of them"


def test_many_at_once_are_not_slow_because_the_first_answer_takes_as_long_as_any() -> None:
    """[RPC-4.3] 64 coroutines of 0.2 s: whether a thousand in line take long is known from their answers."""
    board = Board(ack_timeout=60.0, max_wait=10.0)
    told = {"f": {"coroutine": True}}
    board.worker(b"w", b"WORKER_DESCRIBE", describing(slots=1, window=64, functions=told))
    board.register(b"w", F)
    for number in range(1_000):
        board.ask(b"c", b"%d" % number)
    for _ in range(5):
        board.wait(board.now + 0.2)
        for at in range(64):
            answer(board)
            board.now += 0.0001
            board.ask(b"d", b"%.4f %d" % (board.now, at))
    pace = board.proxy.registry.workers[b"w"].pace.of(b"f")
    assert pace == pytest.approx(0.2 / 64, rel=0.1)


def test_patience_falls_to_half_of_what_callers_waited_and_comes_back() -> None:
    patience = Patience()
    assert patience.limit(10.0, 0.0) == 10.0
    patience.gave_up(30.0, 10.0, 0.0)
    assert patience.limit(10.0, 0.0) == 10.0, "that was long enough"
    patience.gave_up(2.0, 10.0, 0.0)
    assert patience.limit(10.0, 0.0) == pytest.approx(9.0), "one alone says little"
    for _ in range(50):
        patience.gave_up(2.0, 10.0, 0.0)
    assert patience.limit(10.0, 0.0) == pytest.approx(1.0)
    assert patience.limit(10.0, RECOVERS) == pytest.approx(2.0)
    assert patience.limit(10.0, 1e9) == 10.0
    for _ in range(50):
        patience.gave_up(0.0, 10.0, 0.0)
    assert patience.limit(10.0, 0.0) == LEAST


def test_who_would_wait_too_long_is_told_so_at_once() -> None:
    """[RPC-4.3] At the limit and one above it."""
    board = at_work(max_wait=3.0)
    for number in range(3):  # one runs; these are one, two and three seconds away
        board.ask(b"c", b"%d" % number)
    assert refusal(board, b"3") is not None
    assert refusal(board, b"4") == texts.BUSY_WAIT.decode()
    answer(board)
    board.ask(b"c", b"4")


def test_who_waits_at_the_proxy_counts_too() -> None:
    """[RPC-4.3] A worker that does not say how many it runs is full when its window is."""
    board = Board(max_wait=2.0, window=1)
    board.register(b"w", F)
    for number in range(4):
        board.ask(b"c", b"old %d" % number)
    for _ in range(3):
        board.wait(board.now + 1.0)
        answer(board)
    for number in range(3):
        board.ask(b"c", b"%d" % number)
    assert refusal(board, b"3") == texts.BUSY_WAIT.decode()


def test_a_worker_with_time_to_spare_takes_whatever_comes() -> None:
    board = at_work(max_wait=0.5)
    board.worker(b"x", b"WORKER_DESCRIBE", describing(slots=2))
    board.register(b"x", F)
    board.ask(b"c", b"1")
    board.ask(b"c", b"2")


def test_a_worker_of_which_nothing_is_known_counts_as_the_others_do() -> None:
    """Two workers at a second each: five wait for two and a half seconds."""
    board = at_work(max_wait=2.0)
    board.worker(b"x", b"WORKER_DESCRIBE", describing(slots=1))
    board.register(b"x", F)
    for number in range(6):
        board.ask(b"c", b"%d" % number)
    assert refusal(board, b"6") == texts.BUSY_WAIT.decode()


def test_callers_that_give_up_shorten_the_line() -> None:
    board = at_work(max_wait=10.0)
    jobs = [board.ask(b"c", b"%d" % number) for number in range(9)]
    board.wait(board.now + 1.0)
    for job in jobs[2:]:
        board.client(b"c", b"CANCEL", job.id)
    limit = board.proxy.registry.functions[b"f"].patience.limit(10.0, board.now)
    assert limit == pytest.approx(10.0 * 0.9**7)


def test_who_came_in_time_is_not_kept_by_those_that_nobody_waits_for_any_more() -> None:
    """[RPC-4.3] A worker that has room for one; callers wait two seconds."""
    board = Board(max_wait=10.0, ack_timeout=60.0)
    board.worker(b"w", b"WORKER_DESCRIBE", describing(slots=1, window=1))
    board.register(b"w", F)
    for number in range(5):
        board.ask(b"c", b"old %d" % number)
    for _ in range(4):
        board.wait(board.now + 1.0)
        answer(board)
    jobs = [board.ask(b"c", b"%d" % number) for number in range(7)]
    board.wait(board.now + 2.0)
    patience = board.proxy.registry.functions[b"f"].patience
    while patience.limit(10.0, board.now) > 1.0:
        patience.gave_up(2.0, 10.0, board.now)
    late = board.ask(b"c", b"late")  # seven are before it, which do not count
    answer(board)
    (running,) = board.proxy.registry.workers[b"w"].jobs.values()
    assert running is late, "and they let it go first"
    answer(board)
    (running,) = board.proxy.registry.workers[b"w"].jobs.values()
    assert running is jobs[0]
    board.ask(b"c", b"later")
    board.wait(board.now + 2.5)  # the clock looks at it, too, though nobody asks
    answer(board)
    (running,) = board.proxy.registry.workers[b"w"].jobs.values()
    assert running is jobs[1]


def test_a_query_that_is_given_up_while_it_runs_says_nothing_of_the_line() -> None:
    board = at_work(max_wait=10.0)
    answer(board)
    job = board.ask(b"c", b"1")
    board.wait(board.now + 0.5)
    board.client(b"c", b"CANCEL", job.id)
    assert board.proxy.registry.functions[b"f"].patience.limit(10.0, board.now) == 10.0


def test_a_query_that_waits_for_a_worker_from_before_can_be_given_up() -> None:
    board = Board(age=0.0, missing=[b"gone"])
    job = board.ask(b"c", b"1")
    board.client(b"c", b"CANCEL", b"1")
    assert job.state == DONE


def test_coroutines_run_as_many_at_once_as_the_window_holds() -> None:
    board = Board()
    told = {"f": {"coroutine": True}}
    board.worker(b"w", b"WORKER_DESCRIBE", describing(slots=2, window=50, functions=told))
    board.register(b"w", F)
    assert board.proxy.registry.workers[b"w"].runs == 50


def test_a_quick_function_is_not_refused_for_what_a_slow_one_took() -> None:
    board = at_work(max_wait=3.0)
    board.register(b"w", F, (b"g", b"Int", b"Int"))
    for number in range(3):
        board.ask(b"c", b"%d" % number)
    assert refusal(board, b"3") is not None
    assert refusal(board, b"4") == texts.BUSY_WAIT.decode()
    assert board.client(b"c", b"QUERY", b"5", b"a", b"g") != texts.BUSY_WAIT.decode()
