"""What a peer may do now and then, but not in crowds."""

from typing import Any

import pytest

from framehub.codes import BinaryKind, CloseCode, Service
from framehub.errors import PeerMisbehaved
from framehub.mfp import codec
from framehub.mfp.conduct import CANCEL_SECONDS, PING_SECONDS, STRAY_SECONDS, STRIKE_SECONDS, Conduct, Window
from framehub.mfp.connection import Connection
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.settings import Settings


def test_a_window_takes_so_many_and_not_one_more() -> None:
    window = Window("things", 3, 10.0)
    for now in (0.0, 1.0, 2.0):
        window.count(now)
    with pytest.raises(PeerMisbehaved, match="more than 3 things in 10 s; the last: this one"):
        window.count(9.9, "this one")


def test_a_window_slides() -> None:
    """[MFP-8.8.1] What is older than its span no longer counts, one by one."""
    window = Window("things", 2, 10.0)
    for now in (0.0, 5.0, 10.0, 15.0, 20.0, 25.0):
        window.count(now)
    with pytest.raises(PeerMisbehaved):
        window.count(29.9)


def test_what_would_be_one_too_many_does_not_count() -> None:
    window = Window("things", 2, 10.0)
    assert [window.fits(now) for now in (0.0, 1.0, 2.0, 9.9)] == [True, True, False, False]
    assert [window.fits(now) for now in (10.0, 10.5, 11.0, 11.0)] == [True, False, True, False]


def test_a_window_remembers_no_more_than_it_allows() -> None:
    window = Window("things", 3, 1.0)
    for now in range(100):
        window.count(now)
    assert len(window._times) == 3


def test_strikes_are_counted_and_their_reason_is_told() -> None:
    """[MFP-8.8.1]"""
    conduct = Conduct(Settings(max_strikes=1))
    conduct.strike(0.0, "one")
    with pytest.raises(PeerMisbehaved, match="more than 1 strikes in 10 s; the last: two") as caught:
        conduct.strike(9.9, "two")
    assert caught.value.close_code == CloseCode.POLICY
    assert conduct.strikes == 2


# --- what counts as what ---------------------------------------------------------------------------------


def about(code: Service, ref: int, *, own: bool = False, id_: int = 77) -> ServiceFrame:
    return ServiceFrame(id=id_, code=code, ref=ref, own=own)


def expected(ref: int, key: int, *, final: bool = False) -> BinaryFrame:
    return BinaryFrame(id=99, ref=ref, kind=BinaryKind.EXPECTED, key=key, final=final)


STRIKES: dict[str, list[Frame]] = {
    "a response to what we never asked": [ResponseFrame(id=1, ref=9_000)],
    "a binary frame of what never was": [BinaryFrame(id=1, ref=9_000)],
    "a file that was not announced": [MessageFrame(id=1, expected=(1,)), expected(1, 2)],
    "a file that came already": [MessageFrame(id=1, expected=(1, 2)), expected(1, 1), expected(1, 1)],
    "an early end": [MessageFrame(id=1, expected=(1, 2)), expected(1, 1, final=True)],
    "an announced file in a stream": [MessageFrame(id=1, streaming=True), expected(1, 1)],
    "a request too many": [RequestFrame(id=1), RequestFrame(id=2), RequestFrame(id=3)],
    "a stream too many": [MessageFrame(id=id_, streaming=True) for id_ in (1, 2, 3)],
    "an announced message too many": [MessageFrame(id=id_, expected=(1,)) for id_ in (1, 2, 3)],
}
STRAYS: dict[str, list[Frame]] = {
    "an ack of nothing": [about(Service.ACK, 9_000)],
    "an abort of nothing": [about(Service.ABORT, 9_000)],
    "an abort of nothing of its own": [about(Service.ABORT, 9, own=True)],
    "an unknown with the own bit": [about(Service.UNKNOWN, 9, own=True)],
    "an ack with the own bit": [about(Service.ACK, 9, own=True)],
    "a chunk after the end": [MessageFrame(id=1, streaming=True), *[BinaryFrame(id=2, ref=1)] * 2],
}
CANCELS: dict[str, list[Frame]] = {
    "a request": [RequestFrame(id=1), about(Service.ABORT, 1, own=True)],
    "a request out of time": [RequestFrame(id=1), about(Service.TIMEOUT, 1, own=True)],
    "a stream": [MessageFrame(id=1, streaming=True), about(Service.ABORT, 1, own=True)],
    "an announced message": [MessageFrame(id=1, expected=(1,)), about(Service.ABORT, 1, own=True)],
}
PINGS: dict[str, list[Frame]] = {"a ping": [about(Service.PING, 77, own=True)]}
HARMLESS: dict[str, list[Frame]] = {
    "chunks in flight after our abort": [
        *[MessageFrame(id=id_, streaming=True) for id_ in (1, 2)],
        *[BinaryFrame(id=3, ref=1, kind=BinaryKind.DATA, final=False)] * 9,
    ],
    "acknowledgements asked for": [MessageFrame(id=id_, need_ack=True) for id_ in range(1, 300)],
    "an end that was said to follow": [
        MessageFrame(id=1, expected=(1,)),
        expected(1, 1),
        BinaryFrame(id=2, ref=1),
    ],
    "a cancel that crosses the answer": [about(Service.ABORT, 50, own=True)] * 300,
}
WINDOWS = [
    ("max_strikes", STRIKE_SECONDS, STRIKES),
    ("max_strays", STRAY_SECONDS, STRAYS),
    ("max_cancels", CANCEL_SECONDS, CANCELS),
    ("max_pings", PING_SECONDS, PINGS),
]
CASES = [
    pytest.param(setting, seconds, frames, id=f"{setting}: {name}")
    for setting, seconds, cases in WINDOWS
    for name, frames in cases.items()
]


def machine(**limits: Any) -> Connection:
    return Connection(Settings(max_requests=2, max_streams=2, max_announced=2, **limits))


def play(connection: Connection, frames: list[Frame], now: float = 0.0) -> None:
    for frame in frames:
        connection.receive(codec.encode(frame), now)


def over_again(connection: Connection) -> None:
    """Let go of what is open, so that the same frames can come again."""
    for id_ in (1, 2, 3):
        connection.refuse(id_)
        connection.abort_stream(id_)
        connection._announced.given_up(id_)


@pytest.mark.parametrize(("setting", "seconds", "frames"), CASES)
def test_as_many_as_allowed_and_one_more(setting: str, seconds: float, frames: list[Frame]) -> None:
    """[MFP-8.8.1] [MFP-8.8.2] And none is counted in a window of another kind."""
    allowed: dict[str, Any] = {name: 1 for name, _, _ in WINDOWS} | {setting: 3}
    connection = machine(**allowed)
    for _ in range(3):
        play(connection, frames)
        over_again(connection)
    with pytest.raises(PeerMisbehaved, match=f"more than 3 .* in {seconds:g} s") as caught:
        play(connection, frames, seconds - 0.01)
    assert caught.value.close_code == CloseCode.POLICY


@pytest.mark.parametrize(("setting", "seconds", "frames"), CASES)
def test_after_its_span_everything_may_come_again(setting: str, seconds: float, frames: list[Frame]) -> None:
    """[MFP-8.8.1]"""
    allowed: dict[str, Any] = {setting: 1}
    connection = machine(**allowed)
    for time in range(5):
        play(connection, frames, time * seconds)
        over_again(connection)


@pytest.mark.parametrize("name", HARMLESS)
def test_lawful_races_are_not_counted(name: str) -> None:
    """[MFP-8.8.2]"""
    connection = machine(max_strikes=1, max_cancels=1, max_pings=1, max_strays=1)
    play(connection, [RequestFrame(id=50)])
    connection.respond(50, b"")
    frames = HARMLESS[name]
    play(connection, frames[:1])
    connection.abort_stream(1)
    play(connection, frames[1:])
    assert (connection.strikes, connection.ignored) == (0, 0)


def test_late_answers_to_what_we_gave_up_are_unknown_and_no_fault() -> None:
    """[MFP-8.8.2] However many; a second answer to the same is a stray."""
    connection = machine(max_strikes=1, max_strays=1)
    for _ in range(50):
        given_up = connection.request(b"", now=0.0)
        connection.cancel(given_up)
        connection.drain()
        play(connection, [ResponseFrame(id=9, ref=given_up)])
        assert [out.frame for out in connection.drain()] == [about(Service.UNKNOWN, 9, id_=_id(connection))]
    play(connection, [ResponseFrame(id=9, ref=given_up)])
    with pytest.raises(PeerMisbehaved, match="frames about nothing known"):
        play(connection, [ResponseFrame(id=9, ref=given_up)])
    assert connection.strikes == 0


def _id(connection: Connection) -> int:
    """The id that was taken last."""
    return connection.outbox._ids._next - 1


def test_what_we_sent_long_ago_may_still_be_spoken_of() -> None:
    """[MFP-8.8.2] Although we no longer remember it."""
    connection = machine(max_strays=1, remembered=1)
    for _ in range(10):
        connection.message(b"")
    play(connection, [about(Service.ACK, 1), about(Service.ABORT, 2), about(Service.UNKNOWN, 3)])
    assert connection.ignored == 3


def test_a_fault_that_only_the_owner_sees_counts_as_well() -> None:
    """[MFP-8.8.1]"""
    connection = machine(max_strikes=2)
    connection.strike(0.0, "no envelope")
    play(connection, [BinaryFrame(id=1, ref=9)])
    with pytest.raises(PeerMisbehaved, match="no envelope"):
        connection.strike(9.9, "no envelope")
    assert connection.strikes == 3
