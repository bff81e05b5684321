"""The rules of the hub (spec/audit.md, section 4), one function each."""

from collections.abc import Callable, Iterator

from tests.spark.oracle.audit_mfp import user_changed
from tests.spark.oracle.breach import Breach, Rule
from tests.spark.oracle.hub_bytes import CLOSE, PING, PONG
from tests.spark.oracle.reading import SECOND, Group, Journal, Row, first, is_taken, last
from tests.spark.oracle.streams import (
    at_client,
    at_service,
    given_of,
    is_command,
    is_data,
    is_end,
    is_error,
    is_in,
    is_out,
    opening_of,
)

Found = Iterator[Group]


def _client(rows: Group) -> bytes:
    """The client's link: an exchange begins with it."""
    name = rows[0]["exchange"]
    assert isinstance(name, bytes)
    return name[:8]


def _timeout(rows: Group) -> int | None:
    opening = opening_of(rows)
    return None if opening is None else opening["code"]


def _select(rows: Group, *wanted: Callable[[Row], bool]) -> Group:
    return [row for row in rows if all(wish(row) for wish in wanted)]


def unanswered(rows: Group, journal: Journal) -> Found:
    asked = last(_select(rows, is_data, is_in, at_client))
    told = last(_select(rows, is_out, at_client))
    timeout = _timeout(rows)
    if first(rows, is_end) or asked is None or timeout is None:
        return
    waits = told is None or asked["seq"] > told["seq"]
    over = journal.time_is_over(rows[-1], seconds=timeout + 10)
    if waits and over and journal.is_up(_client(rows), asked):
        yield [asked]


def client_gone_untold(rows: Group, journal: Journal) -> Found:
    opening, given, end = opening_of(rows), given_of(rows), first(rows, is_end)
    if opening is None or given is None:
        return
    closed = journal.closing_after(_client(rows), given)
    if closed is None or (end is not None and end["seq"] < closed["seq"]):
        return
    told = _select(rows, at_service, lambda row: is_error(row, 2))
    if not told and journal.time_is_over(closed) and journal.is_up(given["link"], closed):
        yield [opening, closed]


def service_gone_untold(rows: Group, journal: Journal) -> Found:
    opening, given, end = opening_of(rows), given_of(rows), first(rows, is_end)
    if opening is None or given is None:
        return
    closed = journal.closing_after(given["link"], given)
    if closed is None or (end is not None and end["seq"] < closed["seq"]):
        return
    told = _select(rows, at_client, lambda row: is_error(row, 3))
    if not told and journal.time_is_over(closed) and journal.is_up(_client(rows), closed):
        yield [opening, closed]


def killed_untold(rows: Group, journal: Journal) -> Found:
    kills = [row for row in rows if is_error(row, 1, 9, 11, 12)]
    given = given_of(rows)
    to_client, to_service = _select(kills, at_client), _select(kills, at_service)
    twice = len(to_client) > 1 or len(to_service) > 1
    if twice or len({row["code"] for row in kills}) > 1:
        yield kills
    elif len(kills) == 1 and given:
        other = given["link"] if to_client else _client(rows)
        if journal.time_is_over(kills[0]) and journal.is_up(other, kills[0]):
            yield kills


def timeout_early(rows: Group, journal: Journal) -> Found:
    """Of the errors of one timeout, which both sides get, only the first is measured."""
    error, opening, timeout = first(rows, lambda row: is_error(row, 1)), opening_of(rows), _timeout(rows)
    if error is None or timeout is None:
        return
    said = [row for row in _select(rows, is_out, at_client) if row["kind"] != "stream_error"]
    before = [row for row in said if row["seq"] < error["seq"]]
    since = before[-1] if before else opening
    if since and error["mono_ns"] - since["mono_ns"] < (timeout - 1) * SECOND:
        yield [since, error]


def ping_unanswered(rows: Group, journal: Journal) -> Found:
    ping = first(rows, lambda row: is_command(row, PING) and is_in(row))
    if ping is None or first(rows, lambda row: is_command(row, PONG) and is_out(row)):
        return
    if journal.time_is_over(ping) and journal.is_up(ping["link"], ping):
        yield [ping]


def pong_differs(rows: Group, journal: Journal) -> Found:
    ping = first(rows, lambda row: is_command(row, PING) and is_in(row))
    pongs = _select(rows, is_out, lambda row: is_command(row, PONG))
    for place, pong in enumerate(pongs):
        if ping and (place or pong["payload_bytes"] != ping["payload_bytes"]):
            yield [ping, pong]


def close_unpassed(rows: Group, journal: Journal) -> Found:
    end, given = first(rows, is_end), given_of(rows)
    if end is None or not is_command(end, CLOSE) or not at_client(end) or not journal.time_is_over(end):
        return
    passed = _select(rows, is_out, lambda row: is_command(row, CLOSE))
    unechoed = not _select(passed, at_client) and journal.is_up(_client(rows), end)
    untold = given and not _select(passed, at_service) and journal.is_up(given["link"], end)
    if unechoed or untold:
        yield [end]


def foreign_client(rows: Group, journal: Journal) -> Found:
    opening = opening_of(rows)
    for row in _select(rows, is_in, at_client):
        if opening and row["link"] != _client(rows):
            yield [opening, row]


def foreign_service(rows: Group, journal: Journal) -> Found:
    given = given_of(rows)
    for row in _select(rows, is_in, at_service):
        if given and row["link"] != given["link"]:
            yield [given, row]


def dead_stream(rows: Group, journal: Journal) -> Found:
    end = first(rows, is_end)
    late = last(_select(rows, is_data, is_out, lambda row: end is not None and row["seq"] > end["seq"]))
    if end and late:
        yield [end, late]


def reopened(rows: Group, journal: Journal) -> Found:
    openings = _select(rows, is_in, at_client, lambda row: row["kind"] == "first")
    if len(openings) > 1:
        yield openings[:2]


def lost(rows: Group, journal: Journal) -> Found:
    """What the hub answers by itself was never given to a service, and cannot be lost."""
    opening, end = opening_of(rows), first(rows, is_end)
    if opening is None or end is None or end["kind"] != "last" or given_of(rows) is None:
        return
    came = [row for row in _select(rows, is_data, is_in, at_service) if row["seq"] < end["seq"]]
    went = [row for row in _select(rows, is_data, is_out, at_client) if row["seq"] <= end["seq"]]
    if len(came) != len(went):
        yield [opening, end]


def after_last(rows: Group, journal: Journal) -> Found:
    sent = _select(rows, is_data, is_out, at_service)
    end = first(sent, lambda row: row["kind"] == "last")
    if end and sent[-1]["seq"] > end["seq"]:
        yield [end, sent[-1]]


RULES: dict[str, Rule] = {
    "hub-unanswered": unanswered,
    "hub-client-gone-untold": client_gone_untold,
    "hub-service-gone-untold": service_gone_untold,
    "hub-killed-untold": killed_untold,
    "hub-timeout-early": timeout_early,
    "hub-ping-unanswered": ping_unanswered,
    "hub-pong-differs": pong_differs,
    "hub-close-unpassed": close_unpassed,
    "hub-foreign-client": foreign_client,
    "hub-foreign-service": foreign_service,
    "hub-dead-stream": dead_stream,
    "hub-reopened": reopened,
    "hub-lost": lost,
    "hub-user-changed": user_changed,
    "hub-after-last": after_last,
}


def rows(journal: Journal) -> Iterator[Breach]:
    """The rule about rows: each side says only what it may."""
    for row in journal.rows:
        if row["protocol"] != "hub" or not is_taken(row) or not is_in(row):
            continue
        wrong = ("stream_error", "service_error") if at_client(row) else ("stream_error",)
        opens = row["kind"] == "first" and at_service(row) and row["id"] != 0
        if row["kind"] in wrong or opens:
            yield Breach("hub-wrong-state", [row])
