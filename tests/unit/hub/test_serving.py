"""A service's end of the hub: every frame that it may get, and what it says to it."""

from typing import Any

import pytest

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import LimitExceeded, LocalProtocolError, StreamAborted
from framehub.hub.headers import HubFrame, Settings, Way, decode, encode
from framehub.hub.served import ServedStream, ServiceSettings
from framehub.hub.serving import ServiceSide

FIRST, MESSAGE, LAST = HubState.FIRST, HubState.MESSAGE, HubState.LAST
COMMAND, STREAM_ERROR, SERVICE_ERROR = HubState.COMMAND, HubState.STREAM_ERROR, HubState.SERVICE_ERROR
INTERFACE = b'{"name": "quotes"}'
VERSIONS = pytest.mark.parametrize("version", [1, 2])


class Told(ServiceSide):
    """One that is told things and asked what it said."""

    def hears(self, frame: HubFrame, now: float = 1.0) -> str | None:
        return self.heard(encode(frame, self.version, Way.HUB_TO_SERVICE), now)

    def says(self) -> list[HubFrame]:
        out, self.out = self.out, []
        return [decode(data, self.version, Way.SERVICE_TO_HUB) for data in out]

    def gets(self, id_: int = 9, function: int = 1, body: bytes = b"", user: int = 42) -> ServedStream:
        self.hears(HubFrame(id_, FIRST, function, body, user))
        return self.opened.pop()

    def changes(self) -> list[ServedStream]:
        touched, self.touched = self.touched, []
        return touched


def side(version: int = 2, *, is_ready: bool = True, **limits: Any) -> Told:
    made = Told(
        300,
        [1, 2],
        interface=INTERFACE,
        version=version,
        timeout=30,
        settings=ServiceSettings(**limits),
    )
    if is_ready:
        made.connected(0.0)
        made.hears(HubFrame(0, COMMAND, HubCommand.READY, Settings(version, 5_000, 300).encode()))
        made.says()
    return made


@VERSIONS
def test_first_it_says_who_it_is(version: int) -> None:
    made = side(version, is_ready=False)
    made.connected(0.0)
    configuration = HubFrame(0, FIRST, 0, INTERFACE, None, Settings(version, 30_000, 300))
    assert made.says() == [configuration]
    assert made.in_force is None
    made.hears(HubFrame(0, COMMAND, HubCommand.READY, Settings(version, 5_000, 300).encode()))
    assert made.in_force == Settings(version, 5_000, 300)


@pytest.mark.parametrize("body", [b"", b"12345678"])
def test_a_ready_that_says_nothing_is_a_yes(body: bytes) -> None:
    made = side(is_ready=False)
    made.connected(0.0)
    made.hears(HubFrame(0, COMMAND, HubCommand.READY, body))
    assert made.in_force == Settings(2, 30_000, 300)


def test_what_fits_no_record_is_refused_at_once() -> None:
    with pytest.raises(LocalProtocolError):
        ServiceSide(65_536, [1])


@VERSIONS
def test_a_stream_from_its_first_frame_to_its_last(version: int) -> None:
    made = side(version)
    stream = made.gets(body=b"hi")
    assert (stream.id, stream.function, stream.user, stream.first) == (9, 1, 42, b"hi")
    made.hears(HubFrame(9, MESSAGE, 1, b"one"))
    made.hears(HubFrame(9, LAST, 1, b"two"))
    assert set(made.changes()) == {stream}
    assert (made.waiting_bytes, stream.is_done) == (6, True)
    assert [made.take(stream), made.take(stream)] == [b"one", b"two"]
    made.send(stream, b"1", 7)
    made.end(stream, b"2", 255)
    assert made.says() == [HubFrame(9, MESSAGE, 7, b"1"), HubFrame(9, LAST, 255, b"2")]
    assert (made.streams, made.waiting_bytes, made.changes()) == ({}, 0, [stream])
    with pytest.raises(LocalProtocolError, match="has ended"):
        made.send(stream, b"3")


def test_an_empty_last_frame_is_no_message() -> None:
    made = side()
    stream = made.gets()
    made.hears(HubFrame(9, MESSAGE, 1))
    made.hears(HubFrame(9, LAST, 1))
    assert list(stream.bodies) == [b""]
    made.hears(HubFrame(9, MESSAGE, 1, b"late"))
    made.hears(HubFrame(9, LAST, 1, b"late"))
    assert (list(stream.bodies), made.ignored) == ([b""], 2)


def test_an_error_ends_a_stream_and_drops_what_waits() -> None:
    made = side()
    stream = made.gets()
    made.hears(HubFrame(9, MESSAGE, 1, b"unread"))
    made.fail(stream, b"no")
    assert made.says() == [HubFrame(9, SERVICE_ERROR, 0, b"no")]
    assert (made.waiting_bytes, list(stream.bodies)) == (0, [])
    made.hears(HubFrame(9, MESSAGE, 1, b"late"))
    assert (made.ignored, made.says()) == (1, [])


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (HubError.TIMEOUT, "it timed out: 30 s"),
        (HubError.CLIENT_DISCONNECT, "the client has gone: 30 s"),
        (HubError.SERVICE_DISCONNECT, "the hub took us for gone: 30 s"),
        (HubError.STREAM_NOT_FOUND, "the hub does not know it: 30 s"),
        (HubError.ZMQ_STREAM_COLLISION, "the hub says that it is another service's: 30 s"),
        (HubError.LIMIT, "it was over a limit: 30 s"),
        (HubError.BUSY, "somebody on the way does not keep up: 30 s"),
        (HubError.INTERNAL, "the hub failed: 30 s"),
    ],
)
def test_errors_that_cut_a_stream_off(code: HubError, why: str) -> None:
    made = side()
    stream = made.gets()
    made.hears(HubFrame(9, MESSAGE, 1, b"before"))
    assert made.hears(HubFrame(9, STREAM_ERROR, code, b"30 s")) is None
    assert (stream.over, made.streams, list(stream.bodies)) == (why, {}, [b"before"])
    with pytest.raises(StreamAborted, match=why.partition(":")[0]):
        made.send(stream, b"x")
    made.discard(stream)
    assert (made.waiting_bytes, made.says()) == (0, [])


def test_an_error_without_a_text_is_told_in_our_words() -> None:
    made = side()
    stream = made.gets()
    made.hears(HubFrame(9, STREAM_ERROR, HubError.CLIENT_DISCONNECT))
    assert stream.over == "the client has gone"


def test_a_bad_frame_is_worth_a_word_and_no_more() -> None:
    made = side()
    stream = made.gets()
    said = made.hears(HubFrame(9, STREAM_ERROR, HubError.BAD_FRAME, b"what?"))
    assert said == "the hub refused a frame of stream 9: BAD_FRAME what?"
    assert (stream.over, made.ignored) == (None, 1)


def test_a_client_may_close_its_stream() -> None:
    made = side()
    stream = made.gets()
    made.hears(HubFrame(9, COMMAND, HubCommand.CLOSE))
    assert (stream.over, made.says()) == ("the client closed it", [])


@pytest.mark.parametrize("frame", [HubFrame(9, COMMAND, HubCommand.PING), HubFrame(9, SERVICE_ERROR)])
def test_what_has_no_meaning_on_a_stream_is_counted(frame: HubFrame) -> None:
    made = side()
    stream = made.gets()
    assert made.hears(frame) is None
    assert (made.ignored, stream.over, made.says()) == (1, None, [])


def test_the_interface_is_told_to_whoever_asks_for_function_0() -> None:
    made = side()
    made.hears(HubFrame(9, FIRST, 0, b"", 42))
    assert made.says() == [HubFrame(9, LAST, 0, INTERFACE)]
    assert (made.opened, made.streams) == ([], {})


def test_a_function_that_is_not_there() -> None:
    made = side()
    made.hears(HubFrame(9, FIRST, 3, b"", 42))
    assert made.says() == [HubFrame(9, SERVICE_ERROR, 0, b"no function 3")]
    assert made.opened == []


def test_one_stream_too_many() -> None:
    made = side(max_streams=2)
    made.gets(9)
    made.gets(10)
    made.hears(HubFrame(11, FIRST, 1, b"", 42))
    assert made.says() == [HubFrame(11, SERVICE_ERROR, 0, b"busy: 2 streams are open")]
    assert list(made.streams) == [9, 10]


def test_a_number_that_is_given_again_is_another_stream() -> None:
    made = side()
    old = made.gets()
    new = made.gets()
    assert (old.over, new.over) == ("the hub gave its number to another", None)
    assert made.streams == {9: new}


@pytest.mark.parametrize(
    ("limits", "sizes"),
    [
        ({"max_waiting": 3}, [0, 0, 0]),
        ({"max_waiting_bytes": 10}, [4, 6]),
        ({"max_waiting_bytes_in_all": 14}, [4, 6]),
    ],
)
def test_a_stream_that_nobody_reads_ends_at_its_limit(limits: dict[str, Any], sizes: list[int]) -> None:
    made = side(**limits)
    other = made.gets(8)
    made.hears(HubFrame(8, MESSAGE, 1, b"1234"))
    stream = made.gets()
    for size in sizes:
        made.hears(HubFrame(9, MESSAGE, 1, bytes(size)))
    assert (stream.over, made.says()) == (None, [])
    made.hears(HubFrame(9, MESSAGE, 1, b"1"))
    assert made.says() == [HubFrame(9, SERVICE_ERROR, 0, b"does not keep up")]
    assert stream.over == "this service does not keep up with it"
    assert (list(stream.bodies), made.waiting_bytes, other.over) == ([], 4, None)


def test_what_is_too_large_for_a_frame_is_not_sent() -> None:
    made = side(max_frame_bytes=16)
    assert made.max_body_bytes == 10
    stream = made.gets()
    for speak in (made.send, made.end, made.fail):
        with pytest.raises(LimitExceeded, match="bytes of a message: 11 is over the limit of 10"):
            speak(stream, bytes(11))
    with pytest.raises(LocalProtocolError, match="parameter 256"):
        made.end(stream, b"", 256)
    made.end(stream, bytes(10))
    assert made.says() == [HubFrame(9, LAST, 0, bytes(10))]


# --- the link ----------------------------------------------------------------------------------------------


@VERSIONS
def test_pings_are_answered(version: int) -> None:
    made = side(version)
    made.hears(HubFrame(0, COMMAND, HubCommand.PING, b"12345678"))
    assert made.says() == [HubFrame(0, COMMAND, HubCommand.PONG, b"12345678")]


def test_a_ping_that_comes_before_we_know_of_a_new_connection_is_not_answered() -> None:
    """The hub would take us for one that was there all the time, with all its streams."""
    made = side()
    made.disconnected()
    made.hears(HubFrame(0, COMMAND, HubCommand.PING, b"12345678"))
    assert made.says() == []


def ticks(made: ServiceSide, *times: float) -> None:
    """Look at the clock twice a second, up to each of these times."""
    for until in times:
        while made._ticked + 0.5 < until:
            made.tick(made._ticked + 0.5)
        made.tick(until)


def test_a_silent_hub_is_asked_and_then_given_up() -> None:
    made = side()
    stream = made.gets()
    ticks(made, 1.9)
    assert made.says() == []
    ticks(made, 2.0, 2.5)
    assert made.says() == [HubFrame(0, COMMAND, HubCommand.PING, bytes(7) + b"\1")]
    ticks(made, 3.0)
    assert made.says() == [HubFrame(0, COMMAND, HubCommand.PING, bytes(7) + b"\2")]
    assert (made.renew, stream.over) == (False, None)
    ticks(made, 6.0)
    assert (made.renew, stream.over, made.in_force) == (True, "no word from the hub", None)
    made.renew = False
    ticks(made, 60.0)  # not before there is a connection
    assert (made.renew, made.says()) == (False, [])


def test_silence_proves_nothing_while_nobody_listened() -> None:
    made = side()
    ticks(made, 1.0)
    made.tick(60.0)
    assert not made.renew
    ticks(made, 64.9)
    assert not made.renew
    ticks(made, 65.0)
    assert made.renew


def test_a_hub_that_is_heard_is_not_given_up() -> None:
    made = side()
    for second in range(2, 20):
        made.tick(float(second))
        made.hears(HubFrame(0, COMMAND, HubCommand.PONG, b"x"), float(second))
    assert (made.renew, made.ponged) == (False, 0)


def test_a_hub_that_says_nothing_to_a_configuration_is_tried_anew() -> None:
    made = side(is_ready=False)
    ticks(made, 10.0)
    made.connected(10.0)
    made.says()
    ticks(made, 14.9)
    assert (made.says(), made.renew) == ([], False)
    ticks(made, 15.0)
    assert made.renew


def test_a_lost_connection_takes_its_streams_along() -> None:
    made = side()
    stream = made.gets()
    made.send(stream, b"never sent")
    made.disconnected()
    assert (stream.over, made.streams, made.says()) == ("the connection to the hub was lost", {}, [])
    assert made.changes() == [stream]
    made.connected(9.0)
    assert [frame.state for frame in made.says()] == [FIRST]
    made.hears(HubFrame(9, FIRST, 1, b"", 42), 9.1)  # of the connection before
    assert (made.opened, made.ignored) == ([], 1)


def test_who_was_forgotten_registers_again() -> None:
    made = side()
    stream = made.gets()
    error = HubFrame(0, STREAM_ERROR, HubError.BAD_FRAME, b"who are you?")
    assert made.hears(error, 0.9) == "the hub says BAD_FRAME who are you?"
    assert (made.says(), stream.over) == ([], None)
    assert made.hears(error, 5.0) == "the hub says BAD_FRAME who are you?: registering again"
    assert [frame.state for frame in made.says()] == [FIRST]
    assert (stream.over, made.streams) == ("the hub took us for gone", {})
    assert (made.refusal, made.in_force) == ("BAD_FRAME who are you?", None)
    made.hears(HubFrame(0, COMMAND, HubCommand.READY), 5.1)
    assert made.refusal == ""
    made.drain()
    made.says()
    made.hears(error, 9.0)
    assert made.says() == []


def test_who_is_refused_does_not_insist() -> None:
    made = side(is_ready=False)
    made.connected(0.0)
    made.says()
    assert made.hears(HubFrame(0, STREAM_ERROR, HubError.LIMIT), 2.0) == "the hub says LIMIT"
    assert (made.says(), made.refusal) == ([], "LIMIT")


@pytest.mark.parametrize("frame", [HubFrame(0, MESSAGE), HubFrame(0, COMMAND, HubCommand.CLOSE)])
def test_what_has_no_meaning_for_the_link_is_counted(frame: HubFrame) -> None:
    made = side()
    assert made.hears(frame) is None
    assert (made.ignored, made.says()) == (1, [])


def test_what_is_no_frame_is_worth_a_word() -> None:
    made = side()
    assert (
        made.heard(b"abc", 1.0)
        == "the hub sent what is no frame: a frame has at least 6 bytes, this one 3 at byte 3"
    )
    assert made.ignored == 1


def test_goodbye_is_said_and_what_was_on_its_way_still_served() -> None:
    made = side()
    made.gets(9)
    assert made.is_settled
    made.drain()
    close, ping = made.says()
    assert close == HubFrame(0, COMMAND, HubCommand.CLOSE)
    assert (ping.parameter, made.is_settled) == (HubCommand.PING, False)
    made.gets(10)
    made.hears(HubFrame(0, COMMAND, HubCommand.PONG, ping.body))
    assert made.is_settled
    assert list(made.streams) == [9, 10]


def test_goodbye_to_nobody_is_over_at_once() -> None:
    made = side(is_ready=False)
    made.drain()
    assert (made.is_settled, made.says()) == (True, [])
    made.connected(1.0)
    assert made.says() == []


def test_a_lost_connection_settles_a_goodbye() -> None:
    made = side()
    made.drain()
    made.disconnected()
    assert made.is_settled
