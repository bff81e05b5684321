"""What is kept of a row, by endpoint."""

from typing import Any

import pytest

from framehub.codes import BinaryKind, HubState, Service
from framehub.hub.headers import HubFrame
from framehub.journal import columns, reduced
from framehub.journal.hub_rows import HubRows
from framehub.journal.mfp_rows import IN, OUT, LinkRows
from framehub.journal.record import Row
from framehub.journal.reduced import Reducer
from framehub.journal.rpc_rows import RpcRows, split
from framehub.mfp import codec
from framehub.mfp.checksum import Checksums
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame

ROWS = LinkRows(b"linklink", 9)
AT = (5, 6)
EXCHANGE = b"e" * 16
SECRET = b"secret"


def row(frame: Frame, endpoint: str | None = None, exchange: bytes = EXCHANGE, rows: LinkRows = ROWS) -> Row:
    return rows.frame(AT, IN, frame, codec.encode(frame), exchange, endpoint=endpoint)


def told(reducer: Reducer, made: Row) -> dict[str, Any]:
    (found,) = columns.to_batch([reducer.reduce(made)]).to_pylist()
    assert isinstance(found, dict)
    return found


REQUEST = RequestFrame(id=7, payload=SECRET, files=((1, SECRET),))
ANSWER = ResponseFrame(id=8, ref=7, payload=SECRET)
OPENING = MessageFrame(id=9, payload=b"x", streaming=True)
CHUNK = BinaryFrame(id=10, ref=9, kind=BinaryKind.STREAMING, key=3, data=SECRET)
DATA = BinaryFrame(id=10, ref=9, kind=BinaryKind.DATA, data=SECRET)


@pytest.mark.parametrize("frame", [REQUEST, ANSWER])
def test_a_name_says_what_is_kept(frame: Frame) -> None:
    reducer = Reducer({"chat": "head", "quiet": "off", "chat.open": "full"})
    made = row(frame, "chat")
    found = told(reducer, made)
    assert found["recorded"] == "head"
    assert made.raw is not None
    assert found["raw"] == made.raw[: found["payload_at"]]
    assert (found["bytes"], found["payload_bytes"]) == (len(made.raw), len(SECRET))
    found = told(reducer, row(frame, "quiet"))
    assert (found["recorded"], found["raw"], found["endpoint"]) == ("off", None, "quiet")
    assert told(reducer, row(frame, "chat.room"))["recorded"] == "head"
    assert told(reducer, row(frame, "chat.open.wide"))["recorded"] == "full"
    for other in ("chatter", "x"):
        assert reducer.reduce(row(frame, other)) is not None
        assert told(reducer, row(frame, other))["recorded"] == "full"


def test_a_star_stands_for_all_others() -> None:
    reducer = Reducer({"*": "off", "chat": "full"})
    assert told(reducer, row(REQUEST, "x"))["raw"] is None
    assert told(reducer, row(REQUEST, "chat"))["raw"] is not None
    assert told(reducer, row(REQUEST))["recorded"] == "off"
    assert told(reducer, row(CHUNK))["recorded"] == "off"
    assert told(reducer, row(ServiceFrame(id=1, code=Service.ACK, ref=2)))["recorded"] == "full"
    assert told(reducer, ROWS.refused(AT, SECRET, "why"))["raw"] is None
    assert told(Reducer({"*": "head"}), ROWS.refused(AT, SECRET, "why"))["recorded"] == "off"


def test_frames_without_a_payload_keep_their_heads() -> None:
    reducer = Reducer({"*": "head"})
    files = ((1, SECRET),)
    assert len(told(reducer, row(RequestFrame(id=7, payload=b"", files=files)))["raw"]) == 5
    assert len(told(reducer, row(ResponseFrame(id=7, ref=1, payload=b"", files=files)))["raw"]) == 9
    assert len(told(reducer, row(DATA))["raw"]) == 9
    assert len(told(reducer, row(CHUNK))["raw"]) == 13


@pytest.mark.parametrize(
    "opening", [OPENING, MessageFrame(id=9, payload=b"x", expected=(3,))], ids=["stream", "announced"]
)
def test_binary_frames_are_reduced_like_their_message(opening: MessageFrame) -> None:
    reducer = Reducer({"up": "off"})
    assert told(reducer, row(CHUNK))["recorded"] == "full"
    told(reducer, row(opening, "up"))
    assert told(reducer, row(CHUNK))["raw"] is None
    assert told(reducer, row(CHUNK, exchange=b"o" * 16))["recorded"] == "full"
    reducer.reduce(ROWS.closed(AT, 1000, ""))
    assert told(reducer, row(CHUNK))["recorded"] == "full"


def test_those_of_too_many_messages_are_reduced_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduced, "MOST_OPEN", 2)
    reducer = Reducer({"up": "off"})
    for number in range(3):
        reducer.reduce(row(OPENING, "up", exchange=bytes([number + 1]) * 16))
    assert told(reducer, row(CHUNK, exchange=b"\1" * 16))["raw"] is None
    assert told(reducer, row(CHUNK, exchange=b"\3" * 16))["raw"] is None
    other = LinkRows(b"other!!!", 9)
    assert told(reducer, row(CHUNK, rows=other))["recorded"] == "full"
    reducer.reduce(ROWS.closed(AT, 1000, ""))
    assert told(reducer, row(CHUNK, exchange=b"\1" * 16))["recorded"] == "full"


def test_names_are_not_remembered_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduced, "MOST_NAMES", 2)
    reducer = Reducer({"a": "off"})
    for name in ("a", "b", "c", "a"):
        assert told(reducer, row(REQUEST, name))["recorded"] == ("off" if name == "a" else "full")
    assert len(reducer._known) <= 2


def test_functions_and_services_are_reduced_by_their_names() -> None:
    reducer = Reducer({"square": "head", "quotes": "head"})
    rows = RpcRows()
    parts = [b"QUERY", b"id", SECRET, b"square"]
    made = rows.row(AT, OUT, b"me", parts, link=b"linklink", function="square")
    assert made.raw is not None
    assert split(made.raw) == [b"me", *parts]
    found = told(reducer, made)
    assert found["recorded"] == "head"
    assert SECRET not in found["raw"]
    frame = _hub_frame()
    made = HubRows(b"linklink", version=2).frame(AT, IN, frame, b"h" * 8 + SECRET, endpoint="quotes")
    assert told(reducer, made)["raw"] == b"h" * 8


def _hub_frame() -> Any:
    return HubFrame(stream=1, state=HubState.MESSAGE, parameter=0, body=SECRET)


def test_links_that_come_and_go_stay_as_they_are() -> None:
    reducer = Reducer({"*": "off"})
    made = ROWS.opened(AT)
    assert reducer.reduce(made) is made


# --- fields ------------------------------------------------------------------------------------------------

LOGIN = b'{"endpoint":"login","data":{"user":"anna","password":"secret"}}'
REDACT = {"login": ["password"], "login.open": [], "square": ["x"], "quotes": ["key"]}


@pytest.mark.parametrize("algorithm", ["crc32", "xor8", None])
def test_fields_are_replaced_and_the_frame_stays_lawful(algorithm: Any) -> None:
    checksums = Checksums("flag" if algorithm else "off", algorithm or "crc32")
    frame = RequestFrame(id=7, payload=LOGIN, files=((1, b"a file"),), checksum=algorithm is not None)
    raw = codec.encode(frame, checksums)
    made = ROWS.frame(AT, IN, frame, raw, EXCHANGE, endpoint="login")
    found = told(Reducer({}, REDACT), made)
    assert found["recorded"] == "redacted"
    assert (found["bytes"], len(found["raw"])) == (len(raw), len(raw))
    after = codec.decode(found["raw"], checksums)
    assert isinstance(after, RequestFrame)
    assert after.payload == LOGIN.replace(b'"secret"', b'"***"   ')
    assert after.files == frame.files
    before = told(Reducer({}), made)
    changed = {name for name, value in found.items() if value != before[name]}
    assert changed == {"raw", "recorded"}


def test_what_has_no_such_field_is_recorded_as_it_is() -> None:
    reducer = Reducer({}, REDACT)
    plain = RequestFrame(id=7, payload=b'{"endpoint":"login","data":{"user":"anna"}}')
    assert told(reducer, row(plain, "login"))["recorded"] == "full"
    secret = RequestFrame(id=7, payload=LOGIN)
    for other in ("chat", "login.open.wide"):
        assert told(reducer, row(secret, other))["recorded"] == "full"
    assert told(reducer, row(secret, "login.too"))["recorded"] == "redacted"
    assert told(Reducer({}, {"*": ["password"]}), row(secret, "chat"))["recorded"] == "redacted"
    assert told(reducer, row(RequestFrame(id=7), "login"))["recorded"] == "full"
    assert told(reducer, row(CHUNK))["recorded"] == "full"
    assert told(reducer, row(ServiceFrame(id=1, code=Service.ACK, ref=2)))["recorded"] == "full"


def test_who_keeps_less_keeps_no_fields_either() -> None:
    assert told(Reducer({"login": "head"}, REDACT), row(REQUEST, "login"))["recorded"] == "head"


def test_what_cannot_be_looked_into_is_left_out() -> None:
    """J9: what is meant to be secret is never written for want of knowing better."""
    reducer = Reducer({}, REDACT)
    for made in (
        row(RequestFrame(id=7, payload=b'{"endpoint":"login","data":"secret'), "login"),
        row(RequestFrame(id=7, payload=b"secret")),  # no envelope, so of nobody knows which endpoint
        ROWS.refused(AT, SECRET, "why"),
        function_row([b"QUERY", b"id", b"\xa6secret", b"square"], coder="msgpack"),
        function_row([b"QUERY", b"id", b'["secret"]', b"square"]),
        function_row([b"RESPONSE_EXCEPTION", b"id", b"ValueError: secret"]),
        function_row([b"RESPONSE_RESULT", b"id", b'"secret"'], function=None),
        HubRows(b"linklink", version=2).frame(AT, IN, _hub_frame(), b"h" * 8 + SECRET, endpoint="quotes"),
    ):
        found = told(reducer, made)
        assert found["recorded"] != "full"
        assert SECRET not in (found["raw"] or b"")


def test_who_asks_for_a_name_that_is_nobodys_may_have_meant_another() -> None:
    """J9: what is meant to be secret is never written for want of knowing better."""
    reducer = Reducer({}, REDACT, is_known=("chat", "sqare.root").__contains__)
    secret = RequestFrame(id=7, payload=LOGIN, files=((1, SECRET),))
    query = [b"QUERY", b"id", b'{"x": "secret"}', b"sqare"]
    for mistyped in (
        row(secret, "logni"),
        row(MessageFrame(id=7, payload=LOGIN), "logni"),
        row(secret, "chat.login"),
        function_row(query, function="sqare"),
    ):
        found = told(reducer, mistyped)
        assert found["recorded"] == "head"
        assert SECRET not in found["raw"]
        assert told(Reducer({}, REDACT), mistyped)["recorded"] == "full"
    for other in (
        row(secret, "chat"),
        row(ResponseFrame(id=8, ref=7, payload=LOGIN), "logni"),
        ROWS.frame(AT, OUT, secret, codec.encode(secret), EXCHANGE, endpoint="pushed"),
        function_row(query, function="sqare.root"),
        HubRows(b"linklink", version=2).frame(AT, IN, _hub_frame(), b"h" * 8 + SECRET, endpoint="prices"),
    ):
        assert told(reducer, other)["recorded"] == "full"
    assert told(Reducer({}, {}, is_known=lambda _: False), row(secret, "logni"))["recorded"] == "full"
    left_out = Reducer({"login": "off"}, {}, is_known=lambda _: False)
    assert told(left_out, row(secret, "logni"))["recorded"] == "head"


@pytest.mark.parametrize("frame", [
    MessageFrame(id=7, payload=LOGIN, streaming=True), MessageFrame(id=7, payload=LOGIN, expected=(1,)),
])  # fmt: skip
def test_what_follows_a_message_to_nobody_is_kept_no_better(frame: MessageFrame) -> None:
    reducer = Reducer({}, REDACT, is_known=lambda _: False)
    chunk = BinaryFrame(id=8, ref=7, kind=BinaryKind.STREAMING, key=1, data=SECRET)
    for name, recorded in (("logni", "head"), (None, "head")):
        found = told(reducer, row(frame if name else chunk, name))
        assert (found["recorded"], SECRET in found["raw"]) == (recorded, False)


def test_all_is_kept_of_a_name_where_nothing_is_left_out() -> None:
    reducer = Reducer({"quiet": "off", "*": "full"}, REDACT)
    kept = {name: reducer.keeps(name) for name in ("quiet", "quiet.too", "login", "login.open", "chat")}
    assert kept == {"quiet": False, "quiet.too": False, "login": False, "login.open": True, "chat": True}
    assert Reducer({"chat": "head"}).keeps("other")
    assert not Reducer({}, {"*": ["token"]}).keeps("other")


def test_arguments_and_results_in_json_are_looked_into() -> None:
    reducer = Reducer({}, REDACT)
    found = told(reducer, function_row([b"QUERY", b"id", b'{"x": "secret", "y": 2}', b"square"]))
    assert found["recorded"] == "redacted"
    assert split(found["raw"])[3] == b'{"x": "***"   , "y": 2}'
    result = function_row([b"RESPONSE_RESULT", b"id", b"144"])
    assert told(reducer, result)["recorded"] == "full"
    body = b'{"key":1234}'
    rows = HubRows(b"linklink", version=2)
    frame = HubFrame(5, HubState.FIRST, 1, body, 7)
    made = rows.frame(AT, IN, frame, b"h" * 8 + body, endpoint="quotes.ticks")
    assert told(reducer, made)["raw"] == b'hhhhhhhh{"key":0   }'


def test_names_with_fields_are_not_remembered_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduced, "MOST_NAMES", 2)
    reducer = Reducer({}, REDACT)
    for name in ("login", "b", "c", "login"):
        found = told(reducer, row(RequestFrame(id=7, payload=LOGIN), name))
        assert found["recorded"] == ("redacted" if name == "login" else "full")
    assert len(reducer._fields) <= 2


def function_row(parts: list[bytes], *, function: str | None = "square", coder: str = "json") -> Row:
    return RpcRows().row(AT, IN, b"me", parts, link=b"linklink", function=function, coder=coder)
