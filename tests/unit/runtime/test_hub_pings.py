from framehub.codes import HubCommand, HubState
from framehub.hub.headers import HubFrame
from framehub.journal.hub_rows import IN, OUT, ping_exchange
from framehub.journal.record import NO_ID
from framehub.runtime.hub_pings import MOST, Pings

LINK = b"12345678"


def ping(body: bytes) -> HubFrame:
    return HubFrame(0, HubState.COMMAND, HubCommand.PING, body)


def pong(body: bytes) -> HubFrame:
    return HubFrame(0, HubState.COMMAND, HubCommand.PONG, body)


def test_a_pong_has_the_exchange_of_its_ping() -> None:
    pings = Pings(LINK)
    assert pings.exchange(OUT, ping(b"a")) == ping_exchange(LINK, 1)
    assert pings.exchange(IN, ping(b"a")) == ping_exchange(LINK, 2)
    assert pings.exchange(OUT, ping(b"b")) == ping_exchange(LINK, 3)
    assert pings.exchange(IN, pong(b"b")) == ping_exchange(LINK, 3)
    assert pings.exchange(OUT, pong(b"a")) == ping_exchange(LINK, 2)
    assert pings.exchange(IN, pong(b"a")) == ping_exchange(LINK, 1)
    assert pings.exchange(IN, pong(b"a")) == NO_ID


def test_others_have_none() -> None:
    pings = Pings(LINK)
    assert pings.exchange(IN, pong(b"")) == NO_ID
    assert pings.exchange(OUT, HubFrame(0, HubState.COMMAND, HubCommand.READY)) == NO_ID
    assert pings.exchange(IN, HubFrame(0, HubState.FIRST)) == NO_ID


def test_pings_that_nobody_answers_are_forgotten() -> None:
    pings = Pings(LINK)
    for number in range(MOST + 1):
        pings.exchange(OUT, ping(b"%d" % number))
    assert pings.exchange(IN, pong(b"0")) == NO_ID
    assert pings.exchange(IN, pong(b"1")) == ping_exchange(LINK, 2)
