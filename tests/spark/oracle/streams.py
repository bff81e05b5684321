"""The rows of ``exchanges`` that are streams and pings of the hub."""

from typing import Any

from tests.spark.oracle.hub_bytes import CLOSE, ERRORS, PING, PONG
from tests.spark.oracle.outline import whole
from tests.spark.oracle.reading import Group, Row, digits, first, moment

DATA = ("first", "message", "last", "service_error")
KILLING = (1, 2, 3, 9, 11, 12)


def is_in(row: Row) -> bool:
    return bool(row["direction"] == "in")


def is_out(row: Row) -> bool:
    return not is_in(row)


def at_client(row: Row) -> bool:
    return row["ref"] is None


def at_service(row: Row) -> bool:
    return not at_client(row)


def is_data(row: Row) -> bool:
    return row["kind"] in DATA


def is_command(row: Row, code: int) -> bool:
    return bool(row["kind"] == "command" and row["code"] == code)


def is_error(row: Row, *codes: int) -> bool:
    """A ``stream_error`` out of one of these codes."""
    return row["kind"] == "stream_error" and is_out(row) and row["code"] in codes


def is_end(row: Row) -> bool:
    if is_out(row) and at_client(row) and row["kind"] in ("last", "service_error"):
        return True
    return is_error(row, *KILLING) or (is_command(row, CLOSE) and is_in(row))


def opening_of(rows: Group) -> Row | None:
    return first(rows, lambda row: row["kind"] == "first" and is_in(row) and at_client(row))


def given_of(rows: Group) -> Row | None:
    """The first ``first`` that went to a service."""
    return first(rows, lambda row: row["kind"] == "first" and is_out(row) and at_service(row))


def outcome_of(end: Row | None) -> tuple[str, str | None]:
    """Outcome and code."""
    if end is None:
        return "open", None
    if end["kind"] == "last":
        return "ok", None
    if end["kind"] == "service_error":
        return "error", "service_error"
    if end["kind"] == "command":
        return "aborted", None
    if end["code"] == 1:
        return "timeout", None
    return "disconnected" if end["code"] == 2 else "error", ERRORS[end["code"]]


def stream(rows: Group) -> dict[str, Any]:
    """One stream, or one ping."""
    ping = first(rows, lambda row: is_command(row, PING))
    if ping is not None:
        return _ping(rows, ping)
    opening, given, end = opening_of(rows), given_of(rows), first(rows, is_end)
    answer = first(
        rows, lambda row: at_client(row) and is_out(row) and (is_data(row) or is_error(row, *KILLING))
    )
    outcome, code = outcome_of(end)
    start = opening or rows[0]
    return {
        **whole(rows, opening, answer),
        "protocol": "hub",
        "link": digits(start["link"]),
        "user": start["user"],
        "kind": None if opening is None else "stream",
        "id": None if opening is None else opening["id"],
        "closed": moment(end),
        "given": moment(given),
        "given_to": None if given is None else digits(given["link"]),
        "worker_answered": moment(first(rows, lambda row: at_service(row) and is_in(row) and is_data(row))),
        "timeout_s": None if opening is None else opening["code"],
        "outcome": outcome,
        "code": code,
        "ended_by": None if end is None else end["direction"],
        "acked": False,
    }


def _ping(rows: Group, ping: Row) -> dict[str, Any]:
    pong = first(rows, lambda row: is_command(row, PONG) and row["direction"] != ping["direction"])
    return {
        **whole(rows, ping, pong),
        "protocol": "hub",
        "link": digits(ping["link"]),
        "user": ping["user"],
        "kind": "ping",
        "id": None,
        "closed": moment(pong),
        "outcome": "open" if pong is None else "ok",
        "code": None,
        "ended_by": None if pong is None else pong["direction"],
        "acked": False,
    }
