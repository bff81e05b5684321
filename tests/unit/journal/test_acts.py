"""Rows of a link as what its peer did."""

from typing import Any

import pytest
from msgspec import UNSET

from framehub.codes import BinaryKind, Service
from framehub.journal import answers
from framehub.journal.acts import (
    ABORTED,
    COLUMNS,
    INCOMPLETE,
    TIMEOUT,
    Act,
    Answered,
    Ask,
    Chunk,
    GiveUp,
    Lately,
    Left,
    MfpActs,
    Open,
    Query,
    RpcActs,
    Skipped,
    Tell,
)
from framehub.journal.answers import Attached
from framehub.journal.mfp_rows import IN, OUT
from framehub.mfp import envelope
from framehub.mfp.frames import BinaryFrame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.rpc import words
from tests.unit.console.rows import ASKED, CALLED, CLIENT, WORKER, Script, at

OTHER = CLIENT + bytes(7) + b"\2"


class Everything:
    """All is wanted, or so many."""

    def __init__(self, most: int = 1000) -> None:
        self.left = most

    def __call__(self, _name: str, _exchange: bytes) -> bool:
        return True

    def begin(self) -> bool:
        self.left -= 1
        return self.left >= 0


class Only(Everything):
    def __call__(self, name: str, exchange: bytes) -> bool:
        return (name, exchange) == ("rest", OTHER)


def acts(script: Script, **changed: Any) -> list[Act]:
    machine = MfpActs(Everything())
    return _taken(machine, script, changed)


def calls(script: Script, **changed: Any) -> list[Act]:
    return _taken(RpcActs(Everything()), script, changed)


def _taken(machine: MfpActs | RpcActs, script: Script, changed: dict[str, Any]) -> list[Act]:
    rows = [{key: row[key] for key in COLUMNS} | changed for row in script.read]
    found = [machine.take(row) for row in rows]
    assert machine.open == 0
    return [act for act in found if act is not None]


def test_a_request_and_its_answer() -> None:
    script = Script()
    names = {4: ("me.png", "image/png")}
    payload = envelope.encode("photo", {"a": 1}, names=names)
    script.say(0, IN, RequestFrame(id=1, payload=payload, files=((4, b"png"),)), endpoint="photo")
    script.say(1, OUT, ServiceFrame(id=2, code=Service.ACK, ref=1))
    script.say(2, OUT, ResponseFrame(id=3, ref=1, payload=envelope.encode("photo", "well")), endpoint="photo")
    files = {4: Attached(b"png", "me.png", "image/png")}
    well = answers.of_reply({"data": "well"}, {})
    assert acts(script) == [Ask(ASKED, "photo", {"a": 1}, files), Answered(ASKED, well)]


def test_an_answer_that_is_an_error_and_one_without_data() -> None:
    script = Script()
    script.request(0, "nap")
    script.say(1, OUT, ResponseFrame(id=3, ref=1, payload=envelope.encode("nap", error="no bed")))
    script.request(2, "nap", id_=4, exchange=OTHER)
    script.say(3, OUT, ResponseFrame(id=5, ref=4, payload=envelope.encode("nap")), OTHER)
    found = [act.answer for act in acts(script) if isinstance(act, Answered)]
    assert found == [answers.of_reply({"error": "no bed"}, {}), answers.of_reply({"data": None}, {})]


@pytest.mark.parametrize(
    ("code", "came", "ending"),
    [
        (Service.TIMEOUT, OUT, Answered(ASKED, TIMEOUT)),
        (Service.ABORT, OUT, Answered(ASKED, ABORTED)),
        (Service.UNKNOWN, OUT, Answered(ASKED, ABORTED)),
        (Service.ABORT, IN, GiveUp(ASKED)),
        (Service.TIMEOUT, IN, GiveUp(ASKED)),
    ],
)
def test_a_request_that_was_not_answered(code: Service, came: int, ending: Act) -> None:
    script = Script()
    script.request(0)
    script.say(1, came, ServiceFrame(id=2, code=code, ref=1, own=came == IN))
    script.respond(2)  # too late
    assert acts(script)[1:] == [ending]


def test_a_message_with_files_and_one_whose_files_follow() -> None:
    script = Script()
    names = {0: ("a", "x"), 1: ("b", "y")}
    payload = envelope.encode("album", names=names)
    whole = MessageFrame(id=1, payload=payload, files=((0, b"A"), (1, b"B")), need_ack=True)
    script.say(0, IN, whole, endpoint="album")
    script.say(1, IN, MessageFrame(id=2, payload=payload, expected=(0, 1)), OTHER, endpoint="album")
    for key, data in ((1, b"B"), (0, b"A")):
        frame = BinaryFrame(id=3 + key, ref=2, kind=BinaryKind.EXPECTED, key=key, data=data, final=key == 0)
        script.say(2, IN, frame, OTHER)
    files = {0: Attached(b"A", "a", "x"), 1: Attached(b"B", "b", "y")}
    assert acts(script) == [
        Tell(ASKED, "album", UNSET, files, ack=True),
        Tell(OTHER, "album", UNSET, files, announced=True),
    ]


def test_files_that_never_came_and_a_file_twice() -> None:
    script = Script()
    payload = envelope.encode("album", names={0: ("", ""), 1: ("", "")})
    script.say(0, IN, MessageFrame(id=2, payload=payload, expected=(0, 1)), endpoint="album")
    for _ in range(2):
        script.say(1, IN, BinaryFrame(id=3, ref=2, kind=BinaryKind.EXPECTED, key=0, data=b"A", final=False))
    machine = MfpActs(Everything())
    for row in script.read:
        assert machine.take(row) is None
    assert (machine.open, machine.incomplete) == (1, 1)
    script.say(2, IN, ServiceFrame(id=4, code=Service.ABORT, ref=2, own=True))
    assert acts(script) == [Skipped("album", INCOMPLETE)]


def test_a_stream() -> None:
    script = Script()
    opening = MessageFrame(id=1, payload=envelope.encode("upload", "f"), streaming=True)
    script.say(0, IN, opening, endpoint="upload")
    chunk = BinaryFrame(
        id=2, ref=1, kind=BinaryKind.STREAMING, key=8, data=b"abc", final=False, checksum=True
    )
    script.say(1, IN, chunk)
    script.say(2, IN, BinaryFrame(id=3, ref=1, kind=BinaryKind.NONE, final=True))
    script.say(3, IN, BinaryFrame(id=4, ref=1, kind=BinaryKind.NONE, final=True))  # it was over
    assert acts(script) == [
        Open(ASKED, "upload", "f"),
        Chunk(ASKED, b"abc", 8, final=False),
        Chunk(ASKED, b"", None, final=True),
    ]


@pytest.mark.parametrize(("came", "ending"), [(IN, GiveUp(ASKED)), (OUT, Answered(ASKED, ABORTED))])
def test_a_stream_that_somebody_gave_up(came: int, ending: Act) -> None:
    script = Script()
    opening = MessageFrame(id=1, payload=envelope.encode("upload"), streaming=True)
    script.say(0, IN, opening, endpoint="upload")
    script.say(1, came, ServiceFrame(id=2, code=Service.ABORT, ref=1, own=came == IN))
    script.say(2, IN, BinaryFrame(id=3, ref=1, kind=BinaryKind.DATA, data=b"more", final=False))
    assert acts(script)[1:] == [ending]


def test_what_the_node_asks_is_not_done_again() -> None:
    script = Script()
    script.say(0, OUT, RequestFrame(id=1, payload=envelope.encode("who")), endpoint="who")
    script.say(1, IN, ResponseFrame(id=2, ref=1, payload=envelope.encode("who", "me")))
    script.say(2, OUT, MessageFrame(id=3, payload=envelope.encode("news")), endpoint="news")
    script.rows.append(script.mfp.refused(at(3), b"\xff", "no frame"))
    script.rows.append(script.mfp.closed(at(4), 1000, ""))
    assert acts(script) == [Left()]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"recorded": "head"}, "recorded: head"),
        ({"recorded": "off", "raw": None}, "recorded: off"),
        ({"recorded": "redacted"}, "parts of it were redacted"),
        ({"raw": b"\x61\0"}, "its frame cannot be read"),
        ({"raw": bytes.fromhex("6000000001")}, "it has no envelope"),
        ({"raw": bytes.fromhex("210000000100000001")}, "its frame is of another kind than its row"),
    ],
)
def test_what_was_not_recorded_in_full_is_left_out(changed: dict[str, Any], why: str) -> None:
    script = Script()
    script.request(0)
    [skipped] = acts(script, **changed)
    assert isinstance(skipped, Skipped)
    assert (skipped.name, skipped.why[: len(why)]) == ("nap", why)


def test_parts_that_were_not_recorded() -> None:
    script = Script()
    script.request(0)
    script.respond(1)
    opening = MessageFrame(id=1, payload=envelope.encode("upload"), streaming=True)
    script.say(0, IN, opening, OTHER, endpoint="upload")
    script.say(1, IN, BinaryFrame(id=2, ref=1, kind=BinaryKind.DATA, data=b"x", final=False), OTHER)
    third = CLIENT + bytes(7) + b"\3"
    message = MessageFrame(id=3, payload=envelope.encode("album", names={0: ("", "")}), expected=(0,))
    script.say(2, IN, message, third, endpoint="album")
    script.say(3, IN, BinaryFrame(id=4, ref=3, kind=BinaryKind.EXPECTED, key=0, data=b"A"), third)
    machine = MfpActs(Everything())
    rows = script.read
    for place in (1, 3, 5):
        rows[place]["recorded"] = "off"
    found = [act for row in rows if (act := machine.take(row)) is not None]
    assert found[1:] == [
        Answered(ASKED, None),
        Open(OTHER, "upload", UNSET),
        GiveUp(OTHER),
        Skipped("album", "recorded: off"),
    ]


def test_only_what_is_wanted() -> None:
    script = Script()
    script.request(0, "nap")
    script.request(1, "rest", id_=2, exchange=OTHER)
    script.respond(2)
    script.respond(3, exchange=OTHER)
    machine = MfpActs(Only())
    found = [machine.take(row) for row in script.read]
    assert [type(act) for act in found] == [type(None), Ask, type(None), Answered]


def test_no_more_than_so_many_and_only_what_can_be_sent_counts() -> None:
    script = Script()
    for number in (1, 2, 3):
        script.request(0, id_=number, exchange=CLIENT + number.to_bytes(8, "big"))
    rows = script.read
    rows[0]["recorded"] = "off"
    machine = MfpActs(Everything(1))
    assert [type(machine.take(row)) for row in rows] == [Skipped, Ask, type(None)]
    script = Script()
    script.query(0, IN)
    assert RpcActs(Everything(0)).take(script.read[0]) is None


def test_a_call_of_a_function() -> None:
    script = Script()
    script.query(0, IN)
    script.query(1, IN)  # said again
    script.query(2, OUT)
    script.rpc_says(3, IN, WORKER, words.QUERY_RECEIVED, b"id")
    script.rpc_says(4, IN, WORKER, words.RESPONSE_RESULT, b"id", b"9")
    script.rpc_says(5, OUT, CLIENT, words.RESPONSE_RESULT, b"id", b"9")
    script.query(6, IN)  # and again, after its answer
    script.rpc_says(7, OUT, CLIENT, words.RESPONSE_RESULT, b"id", b"9")
    script.rpc_says(8, IN, CLIENT, words.RESPONSE_RECEIVED, b"id")
    assert calls(script) == [Query(CALLED, "nap", b"3"), Answered(CALLED, answers.of_result(b"9", None))]


@pytest.mark.parametrize(
    ("parts", "answer"),
    [
        ((words.RESPONSE_EXCEPTION, b"id", b"broken"), answers.of_exception("broken")),
        ((words.RESPONSE_UNKNOWN_FUNCTION, b"id"), answers.of_failure("unknown function")),
    ],
)
def test_a_call_that_fails(parts: tuple[bytes, ...], answer: answers.Answer) -> None:
    script = Script()
    script.query(0, IN)
    script.rpc_says(1, OUT, CLIENT, *parts)
    assert calls(script)[1:] == [Answered(CALLED, answer)]


def test_a_call_that_was_given_up_and_ones_not_recorded() -> None:
    script = Script()
    script.query(0, IN)
    script.rpc_says(1, IN, CLIENT, words.CANCEL, b"id")
    assert calls(script)[1:] == [GiveUp(CALLED)]
    assert calls(script, recorded="off", raw=None) == [Skipped("nap", "recorded: off")]
    assert calls(script, exchange=None) == []
    script = Script()
    script.query(0, IN)
    script.rpc_says(1, OUT, CLIENT, words.RESPONSE_RESULT, b"id", b"9")
    machine, (asked, answered) = RpcActs(Everything()), script.read
    machine.take(asked)
    assert machine.take(answered | {"recorded": "off"}) == Answered(CALLED, None, answered["coder"])
    assert RpcActs(Only()).take(asked) is None


def test_only_the_last_of_those_that_ended_are_known() -> None:
    ended = Lately(2)
    for exchange in (b"a", b"b", b"c"):
        ended.add(exchange)
    assert [exchange in ended for exchange in (b"a", b"b", b"c")] == [False, True, True]
    assert RpcActs(Everything()).incomplete == 0
