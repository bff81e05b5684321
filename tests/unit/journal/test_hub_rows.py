"""Which column holds what, at a client and at a service."""

from hashlib import blake2b
from typing import Any

import pytest

from framehub.codes import HubCommand, HubError, HubState
from framehub.hub.headers import HubFrame, Settings, Way, encode
from framehub.journal import record
from framehub.journal.columns import to_batch
from framehub.journal.hub_rows import IN, OUT, HubRows, ping_exchange, service_link, stream_exchange

AT = (5, 6)
LINK = b"linklink"
SERVICE = service_link(b"weather-1")
EXCHANGE = stream_exchange(LINK, 7)
CLIENT_ROWS = HubRows(LINK, version=2, user=42)
SERVICE_ROWS = HubRows(SERVICE, version=1, is_service=True)


def told(row: record.Row) -> dict[str, Any]:
    (found,) = to_batch([row]).to_pylist()
    return dict(found)


def columns(row: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


@pytest.mark.parametrize("state", [state for state in HubState if state is not HubState.FIRST])
def test_the_state_gives_kind_and_head(state: HubState) -> None:
    parameter = 1 if state in (HubState.COMMAND, HubState.STREAM_ERROR) else 77
    frame = HubFrame(7, state, parameter, b"body")
    raw = encode(frame, 2, Way.HUB_TO_CLIENT)
    labels: dict[str, Any] = {"service": 3, "function": 2, "endpoint": "weather"}
    row = told(CLIENT_ROWS.frame(AT, OUT, frame, raw, EXCHANGE, **labels))
    assert columns(row, "kind", "head", "id", "key") == (state.name.lower(), state, 7, parameter)
    assert columns(row, "protocol", "version", "direction", "user", "link") == ("hub", 2, "out", 42, LINK)
    assert columns(row, "service", "function", "endpoint", "ref") == (3, 2, "weather", None)
    assert columns(row, "bytes", "payload_at", "payload_bytes", "raw") == (10, 6, 4, raw)
    assert row["code"] == (1 if parameter == 1 else None)
    errors = {HubState.STREAM_ERROR: "timeout", HubState.SERVICE_ERROR: "service_error"}
    assert row["error"] == errors.get(state)
    assert columns(row, "exchange", "parent", "refused", "recorded") == (EXCHANGE, None, None, "full")
    assert columns(row, "files", "query", "coder", "time_ns", "mono_ns") == (None, None, None, 5, 6)


def test_the_opening_has_the_timeout_and_what_caused_it() -> None:
    frame = HubFrame(7, HubState.FIRST, 2, b"hi", 3)
    raw = encode(frame, 2, Way.CLIENT_TO_HUB)
    row = told(CLIENT_ROWS.frame(AT, IN, frame, raw, EXCHANGE, timeout_s=30, parent=b"p" * 16))
    assert columns(row, "kind", "code", "parent", "payload_at", "payload_bytes") == (
        "first",
        30,
        b"p" * 16,
        8,
        2,
    )


def test_rows_at_a_service_name_the_clients_stream_and_user() -> None:
    frame = HubFrame(9, HubState.FIRST, 2, b"", 42)
    raw = encode(frame, 1, Way.HUB_TO_SERVICE)
    row = told(SERVICE_ROWS.frame(AT, OUT, frame, raw, EXCHANGE, user=42, ref=7))
    assert columns(row, "link", "version", "user", "id", "ref", "code") == (SERVICE, 1, 42, 9, 7, None)
    assert columns(row, "payload_at", "payload_bytes") == (None, None)
    settings = HubFrame(0, HubState.FIRST, 0, b"{}", None, Settings(1, 0, 3))
    raw = encode(settings, 1, Way.SERVICE_TO_HUB)
    row = told(SERVICE_ROWS.frame(AT, IN, settings, raw, service=3))
    assert columns(row, "user", "ref", "service", "exchange", "payload_at") == (0, 0, 3, None, 11)


def test_a_frame_that_was_not_taken_keeps_its_kind() -> None:
    frame = HubFrame(7, HubState.MESSAGE, 1, b"late")
    row = told(
        CLIENT_ROWS.frame(AT, IN, frame, encode(frame, 2, Way.CLIENT_TO_HUB), refused="stream_not_found")
    )
    assert columns(row, "kind", "refused", "exchange") == ("message", "stream_not_found", None)
    row = told(CLIENT_ROWS.refused(AT, b"\0", "bad_frame: too short"))
    assert columns(row, "kind", "refused", "raw", "bytes") == ("refused", "bad_frame: too short", b"\0", 1)
    assert columns(row, "head", "id", "ref", "recorded") == (None, None, None, "full")


def test_links_come_and_go_on_both_sides() -> None:
    row = told(CLIENT_ROWS.opened(AT))
    assert columns(row, "kind", "ref", "user", "raw", "recorded") == ("link_opened", None, 42, None, "off")
    row = told(CLIENT_ROWS.closed(AT, 1001, "page closed"))
    assert columns(row, "kind", "code", "error", "ref") == ("link_closed", 1001, "page closed", None)
    row = told(SERVICE_ROWS.closed(AT))
    assert columns(row, "kind", "code", "error", "ref", "link") == ("link_closed", None, None, 0, SERVICE)


def test_names_of_links_and_exchanges() -> None:
    assert blake2b(b"weather-1", digest_size=8, person=b"service").digest() == SERVICE
    assert LINK + b"\0\0\0\0\0\0\0\7" == EXCHANGE
    assert ping_exchange(LINK, 2) == LINK + b"\x80\0\0\0\0\0\0\2"


def test_a_pings_row() -> None:
    frame = HubFrame(0, HubState.COMMAND, HubCommand.PING, b"?")
    row = told(CLIENT_ROWS.frame(AT, IN, frame, encode(frame, 2, Way.CLIENT_TO_HUB), ping_exchange(LINK, 1)))
    assert columns(row, "code", "id", "service", "function", "endpoint") == (1, 0, None, None, None)


def test_every_error_has_its_name() -> None:
    for code in HubError:
        frame = HubFrame(7, HubState.STREAM_ERROR, code)
        row = told(CLIENT_ROWS.frame(AT, OUT, frame, encode(frame, 2, Way.HUB_TO_CLIENT)))
        assert columns(row, "code", "error") == (code.value, code.name.lower())
