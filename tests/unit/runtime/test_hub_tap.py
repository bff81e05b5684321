"""What the journal says of the hub (spec/journal.md, 3.7 and 3.8)."""

from pathlib import Path
from typing import Any

import pytest

from framehub.codes import HubCommand, HubError, HubState
from framehub.hub.headers import HubFrame
from framehub.hub.settings import HubSettings
from framehub.hub.switch import Switch
from framehub.journal.hub_rows import ping_exchange, service_link, stream_exchange
from framehub.journal.reader import read
from framehub.journal.writer import JournalWriter
from framehub.runtime.hub_tap import MOST_STRANGERS, HubTap
from framehub.runtime.tap import Tap

from .hub_parts import COMMAND, INTERFACE, LAST, Caller, RawService, Rows, hub_at_work, tapped, until

PARENT = b"p" * 16
CONFIGURATION = b"\0\0\0\0\x0f\0\x02\0\0\0\0\0\7"


def told(rows: Rows, *names: str, **where: Any) -> list[tuple[Any, ...]]:
    return [
        tuple(row[name] for name in names)
        for row in rows.told
        if all(row[name] == value for name, value in where.items())
    ]


@pytest.mark.parametrize("client_version", [1, 2])
@pytest.mark.parametrize("service_version", [1, 2])
async def test_a_stream_has_a_row_at_each_side_it_passes(client_version: int, service_version: int) -> None:
    tap, rows = tapped()
    async with hub_at_work(tap=tap) as (hub, listener):
        service = await RawService(hub, version=service_version, identity=b"s").registers(interface=INTERFACE)
        caller = await Caller.open(listener, version=client_version)
        caller.opens(5, b"one", function=3)
        (first,) = await service.hears()
        (client,) = hub.switch.clients
        service.answers(first, b"two", LAST)
        await caller.hears()
        await caller.end()
        await until(lambda: not hub.switch.clients)
        service.close()
        await until(lambda: not hub.switch.instances)
    exchange = stream_exchange(client.link, 5)
    names = ("link", "direction", "kind", "id", "ref", "version", "payload_bytes")
    here, there = (client.link, client_version), (service_link(b"s"), service_version)
    assert told(rows, *names, exchange=exchange) == [
        (here[0], "in", "first", 5, None, here[1], 3),
        (there[0], "out", "first", first.stream, 5, there[1], 3),
        (there[0], "in", "last", first.stream, 5, there[1], 3),
        (here[0], "out", "last", 5, None, here[1], 3),
    ]
    about = ("service", "function", "endpoint", "user")
    assert set(told(rows, *about, exchange=exchange)) == {(7, 3, "calc", 0)}
    assert told(rows, "code", exchange=exchange, kind="first", direction="in") == [(30,)]
    assert told(rows, "link", "code", "ref", kind="link_closed") == [
        (client.link, 1006, None),
        (there[0], None, 0),
    ]
    assert told(rows, "kind", "service", "endpoint", link=there[0], id=0) == [
        ("first", 7, "calc"),
        ("command", 7, "calc"),
        *told(rows, "kind", "service", "endpoint", link=there[0], id=0)[2:],
    ]


async def test_a_first_frame_names_its_parent_and_a_refused_one_what_it_wanted() -> None:
    tap, rows = tapped()
    async with hub_at_work(tap=tap) as (hub, listener):
        service = await RawService(hub).registers(timeout_ms=2_500)
        caller = await Caller.open(listener)
        await until(lambda: hub.switch.clients)
        (client,) = hub.switch.clients
        hub.says(client, b"\0\0\0\1\x0f\4\0\7", parent=PARENT)
        assert told(rows, "parent", "code", kind="first", link=client.link) == [(PARENT, 2)]
        caller.opens(2, service=9, function=8)
        caller.opens(1)
        caller.tells(3, b"?")
        caller.says_bytes(b"\0\0\0\1\x05\0")
        caller.says(HubFrame(0, HubState.LAST))
        errors = [await caller.hears_error() for _ in range(5)]
        assert [code for _, code in errors] == [
            HubError.ENDPOINT_NOT_FOUND,
            HubError.WS_STREAM_COLLISION,
            HubError.STREAM_NOT_FOUND,
            HubError.BAD_FRAME,
            HubError.BAD_FRAME,
        ]
        refused = [row for row in rows.told if row["refused"]]
        assert [(row["kind"], row["refused"].partition(":")[0], row["exchange"]) for row in refused] == [
            ("first", "endpoint_not_found", None),
            ("first", "ws_stream_collision", None),
            ("message", "stream_not_found", None),
            ("refused", "bad_frame", None),
            ("last", "bad_frame", None),
        ]
        assert [(row["service"], row["function"]) for row in refused] == [
            (9, 8),
            (7, 1),
            *[(None, None)] * 3,
        ]
        answers = told(rows, "exchange", kind="stream_error", link=client.link)
        live = stream_exchange(client.link, 1)
        assert answers == [(None,), (live,), (None,), (live,), (None,)]
        service.close()
        await caller.end()


async def test_pings_have_exchanges_of_their_own() -> None:
    tap, rows = tapped()
    async with hub_at_work(tap=tap, settings=HubSettings(heartbeat=0.1)) as (hub, listener):
        service = await RawService(hub, identity=b"s").registers()
        caller = await Caller.open(listener)
        caller.says(HubFrame(0, COMMAND, HubCommand.PING, b"?"))
        await caller.hears()
        (client,) = hub.switch.clients
        names = ("direction", "code", "exchange")
        assert told(rows, *names, link=client.link, kind="command") == [
            ("in", 1, ping_exchange(client.link, 1)),
            ("out", 2, ping_exchange(client.link, 1)),
        ]
        ((opened,),) = told(rows, "time_ns", link=service_link(b"s"), kind="link_opened")
        first = ping_exchange(service_link(b"s"), opened + 1)
        await until(lambda: len(told(rows, "code", exchange=first)) == 2)
        assert told(rows, "direction", "code", "ref", exchange=first) == [("out", 1, 0), ("in", 2, 0)]
        service.close()
        await caller.end()


def test_a_service_that_comes_back_has_new_exchanges() -> None:
    """Its link is the same: it is made of the identity."""
    tap, rows = tapped()
    switch = Switch(HubSettings(), now=0.0)
    for _ in range(3):
        switch.service_says(b"s", [b"\0\0\0\0\x0f\0\2\0\0\0\0\0\7"], 0.0)
        instance = switch.instances[b"s"]
        tap.changed(instance, has_come=True)
        tap.service_said(b"s", [b"\0\0\0\0\x0e\1same"], None, instance)
        switch.service_gone(instance, 0.0)
        tap.changed(instance, has_come=False)
    assert len(set(told(rows, "exchange", kind="command"))) == 3


async def test_a_message_of_several_parts_is_no_frame() -> None:
    tap, rows = tapped()
    async with hub_at_work(tap=tap) as (hub, _):
        service = await RawService(hub).registers()
        service.socket.send([b"\0\0\0\0\x0e\1", b""])
        await service.hears()
        assert told(rows, "refused", kind="refused") == [("bad_frame: a message of 2 parts",)]
        service.close()


def test_strangers_have_an_open_link_and_are_forgotten_in_turn() -> None:
    tap, rows = tapped()
    switch = Switch(HubSettings(), now=0.0)

    def said(identity: bytes, data: bytes) -> None:
        about = switch.service_says(identity, [data], 0.0)
        for has_come, instance in switch.changes:
            tap.changed(instance, has_come=has_come)
        switch.changes.clear()
        tap.service_said(identity, [data], about, switch.instances.get(identity))

    for number in range(MOST_STRANGERS):
        said(b"%d" % number, b"?")
    said(b"0", b"\0\0\x0f\0\1\0\0\0\0\0\7")  # it shows itself, in version 1
    assert told(rows, "kind", "version", link=service_link(b"0")) == [
        ("link_opened", 2),
        ("refused", 2),
        ("first", 1),
    ]
    said(b"one more", b"?")
    assert told(rows, "link", kind="link_closed") == []
    said(b"and another", b"\0\0\0\0\x0e\1")
    assert told(rows, "link", "error", kind="link_closed") == [(service_link(b"1"), "not registered")]
    assert told(rows, "kind", "refused", "service", link=service_link(b"and another"))[1] == (
        "command",
        "bad_frame: a service sends its configuration first",
        None,
    )
    (instance,) = switch.instances.values()
    tap.changed(instance, has_come=False)
    said(b"0", CONFIGURATION)  # it came back, in version 2
    assert [kind for (kind,) in told(rows, "kind", link=service_link(b"0"))] == [
        *("link_opened", "refused", "first", "link_closed", "link_opened", "first"),
    ]
    tap.close()
    assert len(told(rows, "link", kind="link_closed")) == len(told(rows, "link", kind="link_opened"))
    tap.changed(instance, has_come=False)


async def test_brief_rows_of_messages_tell_what_whole_ones_do(tmp_path: Path) -> None:
    whole, rows = tapped()
    with JournalWriter(tmp_path) as writer:
        brief = HubTap(Tap(writer))
        twice = Twice(brief, whole)
        async with hub_at_work(tap=twice) as (hub, listener):
            service = await RawService(hub, identity=b"s").registers(interface=INTERFACE)
            caller = await Caller.open(listener)
            caller.opens(5, b"one", function=3)
            (first,) = await service.hears()
            for body in (b"two", b"", b"x" * 3_000):
                service.answers(first, body)
                await caller.hears()
            service.answers(first, b"last", LAST)
            await caller.hears()
            await caller.end()
            await until(lambda: not hub.switch.clients)
            service.close()
            await until(lambda: not hub.switch.instances)
    found = [row for batch in read(tmp_path) for row in batch.to_pylist()]
    assert [row["kind"] for row in found].count("message") == 6
    for one, other in zip(found, rows.told, strict=True):
        assert abs(one.pop("time_ns") - other.pop("time_ns")) < 60e9
        assert abs(one.pop("mono_ns") - other.pop("mono_ns")) < 60e9
        del one["node"], one["seq"]
        if one["kind"] == "command":  # PINGs are counted from the nanosecond at which the link was noted
            one["exchange"] = other["exchange"] = None
        assert one == other


class Twice:
    """Two taps at one hub."""

    def __init__(self, *taps: HubTap) -> None:
        self._taps = taps

    def __getattr__(self, name: str) -> Any:
        def both(*args: Any, **named: Any) -> None:
            for tap in self._taps:
                getattr(tap, name)(*args, **named)

        return both
