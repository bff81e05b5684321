"""What clients say; the dialogs of spec/vectors/rpc have the rest."""

import pytest

from framehub.ids import NO_ID
from framehub.rpc import jobs, texts
from framehub.rpc.asking import SILENCED
from framehub.rpc.jobs import MAX_REPEATED
from framehub.rpc.proxy import Job
from tests.unit.rpc.board import Board, F, wid


def test_a_query_knows_what_caused_it() -> None:
    board = Board()
    parent = bytes(range(16))
    job = board.proxy.client_says(b"c", [b"QUERY", b"1", b"a", b"f"], 0.0, parent=parent)
    assert isinstance(job, Job)
    assert job.parent == parent
    assert board.ask(b"c", b"2").parent == NO_ID


def test_what_a_message_was_about_is_told() -> None:
    board = Board()
    board.register(b"w", F)
    job = board.ask(b"c", b"1")
    assert board.client(b"c", b"QUERY", b"1", b"a", b"f") is job
    assert board.client(b"c", b"QUERY", b"1", b"b", b"f") == texts.ID_REUSED.decode()
    assert board.client(b"c", b"RESPONSE_RECEIVED", b"1") is job
    assert board.client(b"c", b"CANCEL", b"1") is job
    assert board.client(b"c", b"CANCEL", b"9") is None
    assert board.client(b"c", b"CODER_IDENTITY_QUERY", b"2", b"f") is None
    assert "parts" in str(board.client(b"c", b"CANCEL"))


def test_what_is_ignored_or_refused_is_counted() -> None:
    """[RPC-8.1]"""
    board = Board(max_questions=1, max_bytes=1)
    board.register(b"w", F)
    board.ask(b"c", b"1")
    for parts in (
        (b"QUERY", b"1", b"a", b"f"),
        (b"QUERY", b"1", b"b", b"f"),
        (b"QUERY", b"2", b"bb", b"f"),
        (b"RESPONSE_RECEIVED", b"9"),
        (b"CANCEL", b"9"),
        (b"FUNCTIONS_QUERY", b"3"),
        (b"FUNCTIONS_QUERY", b"3"),
        (b"FUNCTIONS_QUERY", b"3", b""),
        (b"RESPONSE_RECEIVED", b""),
        (),
    ):
        board.client(b"c", *parts)
    assert {name: count for name, count in board.proxy.counts.items() if count} == {
        "queries sent again": 1,
        "ids reused": 1,
        "busy": 1,
        "acknowledgements of nothing": 1,
        "cancels of nothing": 1,
        "questions too many": 1,
        "malformed": 3,
    }


def test_a_query_bigger_than_the_bound_is_taken_when_it_is_alone() -> None:
    board = Board(max_bytes=4)
    board.register(b"w", F)
    board.ask(b"c", b"1", b"12345")
    assert board.client(b"c", b"QUERY", b"2", b"x", b"f") == texts.BUSY_BYTES.decode()
    board.answer(b"w", b"c", b"1")
    board.ask(b"c", b"2", b"1234")
    board.ask(b"c", b"3", b"")
    assert board.client(b"c", b"QUERY", b"4", b"x", b"f") == texts.BUSY_BYTES.decode()


def test_a_stopping_proxy_takes_nothing_new_and_ends_what_it_has() -> None:
    """[RPC-3.1.8]"""
    board = Board()
    board.register(b"w", F)
    board.ask(b"c", b"1")
    board.proxy.drain()
    assert board.client(b"c", b"QUERY", b"2", b"a", b"f") == texts.BUSY_STOPPING.decode()
    board.clear()
    board.ask(b"c", b"1")
    board.answer(b"w", b"c", b"1")
    assert board.to_clients() == [(b"c", [b"QUERY_RECEIVED", b"1"]), (b"c", [b"RESPONSE_RESULT", b"1", b"r"])]
    assert board.proxy.pending == 0


def test_the_name_of_a_new_function_must_be_text() -> None:
    """[RPC-2.3]"""
    board = Board()
    assert "not UTF-8" in str(board.client(b"c", b"QUERY", b"1", b"a", b"\xff"))
    assert board.proxy.pending == 0


def test_questions_that_wait_are_bounded() -> None:
    """[RPC-9.1] Beyond the limit they are answered at once."""
    board = Board(age=0.0, max_queue=2)
    for id_ in (b"1", b"2", b"3"):
        board.client(b"c", b"CODER_IDENTITY_QUERY", id_, b"f")
    assert board.to_clients() == [(b"c", [b"CODER_IDENTITY_NOT_FOUND", b"3"])]
    board.register(b"w", F)
    found = [(b"c", [b"CODER_IDENTITY_FOUND", id_, b"Int", b"Int"]) for id_ in (b"1", b"2")]
    assert board.to_clients() == found


def test_a_silenced_client_is_not_heard() -> None:
    """[RPC-8.3] And what it says is counted."""
    board = Board(max_strikes=1)
    for _ in range(2):
        board.client(b"c", b"")
    assert board.client(b"c", b"QUERY", b"1", b"a", b"f") == SILENCED
    assert board.proxy.counts["from the silenced"] == 1
    board.now = 60.0
    board.ask(b"c", b"1")


def test_clients_that_have_nothing_here_are_forgotten() -> None:
    board = Board(max_strikes=1)
    board.client(b"quiet", b"CANCEL", b"1")
    board.ask(b"busy", b"1")
    for _ in range(2):
        board.client(b"bad", b"")
    clients = board.proxy.asking.clients
    board.now = 59.0
    board.proxy.asking.forget(board.now)
    assert set(clients) == {b"quiet", b"busy", b"bad"}
    board.now = 60.0
    board.proxy.asking.forget(board.now)
    assert set(clients) == {b"busy"}


def test_known_clients_are_bounded() -> None:
    """[RPC-9.1] Those that have nothing here make room, at the limit and one above it."""
    board = Board(max_clients=2)
    board.ask(b"busy", b"1")
    board.client(b"idle", b"CANCEL", b"1")
    assert set(board.proxy.asking.clients) == {b"busy", b"idle"}
    board.client(b"new", b"CANCEL", b"1")
    assert set(board.proxy.asking.clients) == {b"busy", b"new"}


@pytest.mark.parametrize("size", [1, 255])
def test_identities_of_any_length_are_told_apart(size: int) -> None:
    """[RPC-3.1.3]"""
    board = Board()
    board.register(b"w", F)
    jobs = [board.ask(identity, b"1") for identity in (b"x" * size, b"y" * size)]
    assert [job.wid for job in jobs] == [wid(b"x" * size, b"1"), wid(b"y" * size, b"1")]


def test_large_answers_are_not_repeated_without_end() -> None:
    """[RPC-9.1] A small question must not cost a large answer each time."""
    board = Board()
    board.register(b"w", F)
    board.ask(b"c", b"1")
    board.answer(b"w", b"c", b"1", bytes(MAX_REPEATED // 2 + 1))
    board.clear()
    board.ask(b"c", b"2")
    board.answer(b"w", b"c", b"2", bytes(MAX_REPEATED // 2 + 1))
    board.clear()
    for second in (0.0, 1.0):
        board.wait(second)
        for id_ in (b"1", b"2"):
            board.client(b"c", b"QUERY", id_, b"a", b"f")
        assert [parts[:2] for _, parts in board.to_clients()] == [
            [b"QUERY_RECEIVED", b"1"],
            [b"RESPONSE_RESULT", b"1"],
        ]


@pytest.mark.parametrize("result", [b"", b"r" * 1_000])
def test_one_query_sent_again_and_again_gives_few_bytes_for_each(result: bytes) -> None:
    """[RPC-3.1.4] A hundred thousand copies in ten seconds: run once, and little is said of them."""
    board = Board()
    board.register(b"w", F)
    board.to_workers()
    copy = (b"QUERY", b"1", b"a", b"f")
    came = went = given = 0

    def ask_again(count: int) -> None:
        nonlocal came, went, given
        for _ in range(count):
            board.client(b"c", *copy)
            came += sum(map(len, copy)) + 2 * len(copy)
        went += sum(len(part) + 2 for _, parts in board.to_clients() for part in parts)
        given += sum(parts[0] == b"QUERY" for _, parts in board.to_workers())

    ask_again(10_000)
    board.answer(b"w", b"c", b"1", result)
    for second in range(1, 10):
        board.wait(float(second))
        ask_again(10_000)
    assert given == 1
    assert went <= 2 * came


def test_a_kept_answer_is_sent_again_once_a_second() -> None:
    """[RPC-3.1.4] A copy in between is not answered at all: whoever waits for an answer asks again soon."""
    board = Board()
    board.register(b"w", F)
    for id_ in (b"1", b"2"):
        board.ask(b"c", id_)
        board.answer(b"w", b"c", id_)
    board.clear()
    for _ in range(3):
        board.client(b"c", b"QUERY", b"1", b"a", b"f")
    board.client(b"c", b"QUERY", b"2", b"a", b"f")
    again = [[[b"QUERY_RECEIVED", id_], [b"RESPONSE_RESULT", id_, b"r"]] for id_ in (b"1", b"2")]
    assert [parts for _, parts in board.to_clients()] == again[0] + again[1]
    board.wait(1.0)
    board.client(b"c", b"QUERY", b"1", b"a", b"f")
    assert [parts for _, parts in board.to_clients()] == again[0]


def test_long_lists_are_not_repeated_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """[RPC-3.3.3]"""
    board = Board()
    monkeypatch.setattr(jobs, "MAX_REPEATED", 2 * len(board.proxy.registry.listed))
    about = [board.client(b"c", b"FUNCTIONS_QUERY", b"%d" % number) for number in range(3)]
    assert about == [None, None, texts.BUSY_QUESTIONS.decode()]
    assert board.to_clients()[-1][1] == [b"RESPONSE_EXCEPTION", b"2", texts.BUSY_QUESTIONS]


def test_a_query_that_is_not_taken_counts_too() -> None:
    board = Board()
    board.proxy.keeping.ended = []
    board.proxy.drain()
    board.client(b"c", b"QUERY", b"2", b"a", b"f")
    refusal = [b"RESPONSE_EXCEPTION", b"2", texts.BUSY_STOPPING]
    assert board.proxy.keeping.ended == [(b"f", refusal, 0.0)]
