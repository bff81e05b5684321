"""A client's end of the hub: what it says, and what becomes of what it hears."""

from typing import Any

import pytest

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import (
    ConnectionClosed,
    HubStreamError,
    LimitExceeded,
    LocalProtocolError,
    ServiceFailed,
    StreamAborted,
)
from framehub.hub.called import ANSWER_COST, Answer, CalledStream, HubClientSettings
from framehub.hub.calling import ClientSide
from framehub.hub.headers import HubFrame, Settings, Way, decode, encode

FIRST, MESSAGE, LAST = HubState.FIRST, HubState.MESSAGE, HubState.LAST
COMMAND, STREAM_ERROR, SERVICE_ERROR = HubState.COMMAND, HubState.STREAM_ERROR, HubState.SERVICE_ERROR
VERSIONS = pytest.mark.parametrize("version", [1, 2])


class Told(ClientSide):
    """One that is told things and asked what it said."""

    def hears(self, frame: HubFrame, now: float = 1.0) -> str | None:
        return self.heard(encode(frame, self.version, Way.HUB_TO_CLIENT), now)

    def says(self) -> list[HubFrame]:
        out, self.out = self.out, []
        return [decode(data, self.version, Way.CLIENT_TO_HUB) for data in out]

    def opens(self, body: bytes = b"", timeout: float | None = None, now: float = 0.0) -> CalledStream:
        stream = self.open(7, 3, body, timeout=timeout, now=now)
        self.says()
        return stream

    def changes(self) -> list[CalledStream]:
        touched, self.touched = self.touched, []
        return touched


def side(version: int = 2, *, timeout: float | None = None, **limits: Any) -> Told:
    return Told(version=version, timeout=timeout, settings=HubClientSettings(**limits))


@VERSIONS
def test_its_timeout_is_told_when_it_has_one(version: int) -> None:
    assert side(version).says() == []
    made = side(version, timeout=2.5)
    assert made.says() == [HubFrame(0, FIRST, settings=Settings(version, 2_500))]
    made.hears(HubFrame(0, COMMAND, HubCommand.READY, Settings(version, 3_000).encode()))
    assert made.in_force == Settings(version, 3_000)
    made.hears(HubFrame(0, COMMAND, HubCommand.READY, b"?"))
    assert made.in_force == Settings(version, 3_000)


@VERSIONS
def test_a_stream_from_its_first_frame_to_its_last(version: int) -> None:
    made = side(version)
    stream = made.open(7, 3, b"hi", timeout=None, now=0.0)
    made.send(stream, b"one", 1.0)
    made.end(stream, b"two", 1.0)
    first, *rest = made.says()
    assert (first.stream, first.state, first.parameter, first.service, first.body) == (1, FIRST, 3, 7, b"hi")
    assert rest == [HubFrame(1, MESSAGE, 3, b"one"), HubFrame(1, LAST, 3, b"two")]
    with pytest.raises(LocalProtocolError, match="had its last frame"):
        made.send(stream, b"three", 1.0)
    made.hears(HubFrame(1, MESSAGE, 5, b"a"))
    made.hears(HubFrame(1, LAST, 6, b"b"))
    assert made.changes() == [stream] * 3
    assert (stream.is_over, stream.error, made.streams) == (True, None, {})
    assert made.waiting_bytes == 2 + 2 * ANSWER_COST
    assert made.take(stream, 2.0) == Answer(b"a", 5)
    assert made.take(stream, 2.0) == Answer(b"b", 6, is_last=True)
    assert made.waiting_bytes == stream.waiting_bytes == 0
    made.hears(HubFrame(1, MESSAGE, 0, b"late"))
    assert made.ignored == 1


def test_in_version_1_the_timeout_goes_with_the_stream() -> None:
    made = side(1, timeout=2.0)
    made.says()
    mine = made.open(7, 1, b"", timeout=5.0, now=0.0)
    usual = made.open(7, 1, b"", timeout=None, now=0.0)
    asked = [frame.settings.timeout_ms for frame in made.says() if frame.settings]
    assert asked == [5_000, 2_000]
    assert (mine.deadline, usual.deadline) == (None, None)


def test_numbers_count_and_run_out() -> None:
    made = side(1)
    assert [made.opens().id for _ in range(3)] == [1, 2, 3]
    made._last_id = 2**20 - 2
    assert made.opens().id == 2**20 - 1
    with pytest.raises(
        LimitExceeded, match="streams of one connection: 1048576 is over the limit of 1048575"
    ):
        made.opens()
    assert (made.says(), len(made.streams)) == ([], 4)


def test_streams_are_opened_no_faster_than_a_hub_bears() -> None:
    made = side(max_opens=10.0, opens_burst=3)
    assert [made.reserve(0.0) for _ in range(5)] == pytest.approx([0, 0, 0, 0.1, 0.2])
    assert made.reserve(0.2) == pytest.approx(0.1)
    assert [made.reserve(60.0) for _ in range(4)] == pytest.approx([0, 0, 0, 0.1])


@pytest.mark.parametrize(("service", "function"), [(65_536, 1), (7, 256), (-1, 1)])
@VERSIONS
def test_what_fits_no_frame_opens_nothing(version: int, service: int, function: int) -> None:
    made = side(version)
    with pytest.raises(LocalProtocolError):
        made.open(service, function, b"", timeout=None, now=0.0)
    assert (made.says(), made.streams) == ([], {})
    assert made.opens().id == 1


@pytest.mark.parametrize(("version", "most"), [(1, 5), (2, 8)])
def test_what_is_too_large_for_a_frame_is_not_sent(version: int, most: int) -> None:
    made = side(version, max_frame_bytes=16)
    with pytest.raises(LimitExceeded, match=f"bytes of a message: {most + 1} is over the limit of {most}"):
        made.opens(bytes(most + 1))
    stream = made.opens(bytes(most))
    with pytest.raises(LimitExceeded):
        made.send(stream, bytes(13), 0.0)
    with pytest.raises(LimitExceeded):
        made.end(stream, bytes(13), 0.0)
    made.end(stream, bytes(10), 0.0)


@pytest.mark.parametrize("code", [code for code in HubError if code is not HubError.BAD_FRAME])
def test_every_error_of_the_hub_ends_the_stream(code: HubError) -> None:
    made = side()
    stream = made.opens()
    made.hears(HubFrame(1, MESSAGE, 0, b"before"))
    made.hears(HubFrame(1, STREAM_ERROR, code, b"why"))
    assert isinstance(stream.error, HubStreamError)
    assert (stream.error.code, stream.error.text, stream.is_over) == (code, "why", True)
    assert (made.streams, made.says(), list(stream.answers)) == ({}, [], [Answer(b"before")])
    with pytest.raises(HubStreamError, match=f"{code.name}: why"):
        made.send(stream, b"x", 0.0)


def test_a_frame_that_the_hub_does_not_like_ends_its_stream_there_too() -> None:
    made = side()
    stream = made.opens()
    made.hears(HubFrame(1, STREAM_ERROR, HubError.BAD_FRAME, b"?"))
    assert made.says() == [HubFrame(1, COMMAND, HubCommand.CLOSE)]
    assert isinstance(stream.error, HubStreamError)


def test_a_service_may_fail_or_close() -> None:
    made = side()
    failed, closed = made.opens(), made.opens()
    made.hears(HubFrame(1, SERVICE_ERROR, 0, b"no"))
    made.hears(HubFrame(2, COMMAND, HubCommand.CLOSE))
    assert isinstance(failed.error, ServiceFailed)
    assert failed.error.body == b"no"
    assert isinstance(closed.error, StreamAborted)


@pytest.mark.parametrize("frame", [HubFrame(1, FIRST), HubFrame(1, COMMAND, HubCommand.PING)])
def test_what_has_no_meaning_on_a_stream_is_counted(frame: HubFrame) -> None:
    made = side()
    stream = made.opens()
    assert made.hears(frame) is None
    assert (made.ignored, stream.is_over, made.says()) == (1, False, [])


def test_we_may_close_once() -> None:
    made = side()
    stream = made.opens()
    made.close(stream)
    made.close(stream)
    assert made.says() == [HubFrame(1, COMMAND, HubCommand.CLOSE)]
    made.hears(HubFrame(1, COMMAND, HubCommand.CLOSE))  # the echo
    assert (stream.is_over, stream.error, made.ignored) == (True, None, 1)
    with pytest.raises(LocalProtocolError, match="is over"):
        made.send(stream, b"x", 0.0)


def test_a_lost_connection_takes_its_streams_along() -> None:
    made = side()
    stream = made.opens()
    made.hears(HubFrame(1, MESSAGE, 0, b"before"))
    error = ConnectionClosed(1006, "gone")
    made.lost(error)
    assert (stream.error, made.streams, list(stream.answers)) == (error, {}, [Answer(b"before")])


# --- the link ----------------------------------------------------------------------------------------------


@VERSIONS
def test_pings_both_ways(version: int) -> None:
    made = side(version)
    made.hears(HubFrame(0, COMMAND, HubCommand.PING, b"12"))
    assert made.says() == [HubFrame(0, COMMAND, HubCommand.PONG, b"12")]
    assert made.ping() == 1
    (ping,) = made.says()
    made.hears(HubFrame(0, COMMAND, HubCommand.PONG, b"not ours"[:3]))
    assert made.ponged == 0
    made.hears(HubFrame(0, COMMAND, HubCommand.PONG, ping.body))
    assert made.ponged == 1


@pytest.mark.parametrize("frame", [HubFrame(0, MESSAGE), HubFrame(0, COMMAND, HubCommand.CLOSE)])
def test_what_has_no_meaning_for_the_link_is_counted(frame: HubFrame) -> None:
    made = side()
    assert made.hears(frame) is None
    assert (made.ignored, made.says()) == (1, [])


def test_complaints_are_worth_a_word() -> None:
    made = side()
    assert made.hears(HubFrame(0, STREAM_ERROR, HubError.BAD_FRAME, b"?")) == "the hub says BAD_FRAME ?"
    assert str(made.heard(b"abc", 0.0)).startswith("the hub sent what is no frame: ")
    assert made.ignored == 1


# --- the clock ---------------------------------------------------------------------------------------------


def test_a_stream_that_is_not_answered_in_time_is_closed() -> None:
    made = side()
    stream, patient = made.opens(timeout=5.0), made.opens()
    assert made.next_deadline == 5.0
    made.hears(HubFrame(1, MESSAGE), 4.0)
    made.tick(5.0)
    assert (stream.error, made.next_deadline) == (None, 9.0)
    made.send(stream, b"x", 6.0)
    made.send(stream, b"y", 8.0)
    assert made.next_deadline == 11.0
    made.says()
    made.tick(11.0)
    assert isinstance(stream.error, HubStreamError)
    assert (stream.error.code, stream.error.text) == (HubError.TIMEOUT, "no answer for 5 s")
    assert made.says() == [HubFrame(1, COMMAND, HubCommand.CLOSE)]
    assert patient.error is None


def test_a_stream_on_which_nothing_is_said_is_closed() -> None:
    made = side()
    stream = made.opens(timeout=5.0)
    made.hears(HubFrame(1, MESSAGE), 4.0)
    made.tick(9.0)
    assert str(stream.error) == "TIMEOUT: nothing said for 5 s"


def test_silence_proves_nothing_while_we_do_not_listen() -> None:
    made = side(keepalive=3.0)
    asked, answered = made.opens(timeout=5.0), made.opens(timeout=5.0)
    made.hears(HubFrame(2, MESSAGE), 1.0)
    made.tick(60.0, is_deaf=True)
    assert (asked.deadline, answered.deadline, made.is_dead) == (65.0, 65.0, False)
    assert made.next_deadline == 63.0
    made.tick(62.0)
    assert made.says() == []


def test_a_silent_hub_is_pinged_and_then_given_up() -> None:
    made = side(keepalive=20.0)
    made.tick(19.0)
    assert (made.says(), made.next_deadline) == ([], 20.0)
    made.tick(20.0)
    made.tick(25.0)
    assert [frame.parameter for frame in made.says()] == [HubCommand.PING]
    assert (made.is_dead, made.next_deadline) == (False, 40.0)
    made.tick(40.0)
    assert made.is_dead


def test_a_hub_that_was_not_asked_is_not_given_up() -> None:
    made = side(keepalive=20.0)
    made.tick(90.0)  # nobody looked for long
    assert (made.is_dead, made.next_deadline) == (False, 110.0)
    made.hears(HubFrame(0, COMMAND, HubCommand.PONG), 91.0)
    made.tick(111.0)
    made.tick(130.9)
    assert not made.is_dead
    made.tick(131.0)
    assert made.is_dead


def test_the_connection_is_full_when_too_much_waits() -> None:
    made = side(max_waiting_bytes=2 * ANSWER_COST + 10)
    stream = made.opens()
    made.hears(HubFrame(1, MESSAGE, 0, bytes(5)))
    made.hears(HubFrame(1, MESSAGE, 0, bytes(5)))
    assert not made.is_full
    made.hears(HubFrame(1, MESSAGE))
    assert made.is_full
    made.take(stream, 1.0)
    assert not made.is_full
    made.discard(stream)
    assert made.waiting_bytes == 0


def test_whoever_does_not_read_loses_the_stream_and_nobody_else() -> None:
    made = side(patience=15.0)
    unread, done, read = made.opens(), made.opens(), made.opens()
    for number in (1, 2, 3):
        made.hears(HubFrame(number, MESSAGE, 0, b"x"), 1.0)
    made.hears(HubFrame(2, LAST), 1.0)
    made.hears(HubFrame(3, MESSAGE, 0, b"y"), 2.0)
    made.take(read, 10.0)
    made.changes()
    made.give_up_unread(16.0)
    assert str(unread.error) == str(done.error) == "nobody read this stream for 15 s"
    assert (list(unread.answers), list(done.answers), read.error) == ([], [], None)
    assert made.says() == [HubFrame(1, COMMAND, HubCommand.CLOSE)]
    assert set(made.changes()) == {unread, done}
    assert made.waiting_bytes == 1 + ANSWER_COST
