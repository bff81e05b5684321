"""Calls of functions and streams of services are counted as they end, by name."""

import pytest

from framehub.rpc import texts, words
from framehub.runtime.endings import CallEndings, StreamEndings, call_outcome
from framehub.runtime.tally import UNKNOWN, Tally
from tests.unit.hub.desk import CLOSE, COMMAND, FIRST_ID, LAST, SERVICE_ERROR, Desk
from tests.unit.rpc.board import Board, F


def outcomes(tally: Tally) -> dict[str, dict[str, int]]:
    return {name: ended.outcomes for name, ended in tally.told()}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ([words.RESPONSE_RESULT, b"1", b"BUSY"], "ok"),
        ([words.RESPONSE_UNKNOWN_FUNCTION, b"1", b"f"], "error"),
        ([words.RESPONSE_EXCEPTION, b"1", b"ValueError: no"], "error"),
        ([words.RESPONSE_EXCEPTION, b"1", texts.BUSY_WAIT], "busy"),
        ([words.RESPONSE_EXCEPTION, b"1", texts.CANCELLED], "aborted"),
        ([words.RESPONSE_EXCEPTION, b"1", b"timeout: it ran for 5 s"], "timeout"),
    ],
)
def test_an_answer_is_an_outcome(answer: list[bytes], outcome: str) -> None:
    assert call_outcome(answer) == outcome


def test_calls_count_by_function_and_made_up_names_are_one() -> None:
    board = Board()
    board.register(b"w", F)
    endings = CallEndings(board.proxy)
    for number in (b"1", b"2"):
        board.ask(b"c", number)
        board.wait(board.now + 0.25)
        board.answer(b"w", b"c", number)
    for name in (b"made.up", b"\xd0\xb0"):
        board.ask(b"c", name, function=name)
    board.wait(board.now + 30)
    assert not endings.tally.told(), "it was not taken in yet"
    endings.take()
    endings.take()
    assert outcomes(endings.tally) == {"f": {"ok": 2}, UNKNOWN: {"error": 2}}
    assert dict(endings.tally.told())["f"].seconds == 0.5


def test_streams_count_by_service_and_function() -> None:
    desk = Desk(max_service_streams=3, timeout=2.0)
    desk.service(interface=b'{"name": "w", "functions": [{"number": 1, "name": "f"}]}')
    client, endings = desk.client(), StreamEndings(desk.switch)
    for stream in range(1, 4):
        desk.opens(client, stream)
    desk.first(client, 4)
    desk.answers("s", FIRST_ID, LAST)
    desk.answers("s", FIRST_ID + 1, SERVICE_ERROR)
    desk.says(client, 3, COMMAND, CLOSE)
    desk.opens(client, 5)
    desk.wait(3.0)
    endings.take()
    assert outcomes(endings.tally) == {
        "w.f": {"busy": 1, "ok": 1, "error": 1, "aborted": 1, "timeout": 1},
    }
