"""The rows of ``exchanges`` that are queries of remote functions."""

from typing import Any

from tests.spark.oracle.outline import whole
from tests.spark.oracle.reading import Group, Row, digits, first, last, moment
from tests.spark.oracle.rpc_bytes import CLIENT, SIDES

ANSWERS = ("result", "exception", "unknown_function")


def is_asked(row: Row) -> bool:
    return bool(row["kind"] == "query" and row["direction"] == "in")


def is_given(row: Row) -> bool:
    return bool(row["kind"] == "query" and row["direction"] == "out")


def is_answer_out(row: Row) -> bool:
    return row["kind"] in ANSWERS and row["direction"] == "out"


def is_answer_in(row: Row) -> bool:
    return row["kind"] in ANSWERS and row["direction"] == "in"


def is_busy(row: Row) -> bool:
    return is_answer_out(row) and row["error"] == "busy"


def decided(rows: Group) -> Row | None:
    """The first answer or cancellation at the client; not a "busy" after which the client asked again."""
    for row in rows:
        if row["kind"] == "cancel" and row["direction"] == "in":
            return row
        if is_answer_out(row):
            asked_again = any(is_asked(later) and later["seq"] > row["seq"] for later in rows)
            if not (is_busy(row) and asked_again):
                return row
    return None


def outcome_of(row: Row | None) -> tuple[str, str | None]:
    """Outcome and code."""
    if row is None:
        return "open", None
    if row["kind"] == "cancel":
        return "aborted", None
    if row["kind"] == "result":
        return "ok", None
    usual = {"exception": "function_failed", "unknown_function": "unknown_function"}
    code = row["error"] or usual[row["kind"]]
    if code == "cancelled":
        return "aborted", None
    if code == "timeout":
        return "timeout", None
    return "error", code


def query(rows: Group) -> dict[str, Any]:
    """One query."""
    opening, given = first(rows, is_asked), last(rows, is_given)
    verdict = decided(rows)
    answer = verdict if verdict is not None and is_answer_out(verdict) else None
    outcome, code = outcome_of(verdict)
    at_client = first(rows, lambda row: SIDES.get((row["kind"], row["direction"])) == CLIENT)
    # Without the asking row any row will do; of several names the greatest.
    names = [row["endpoint"] for row in rows if row["endpoint"] is not None]
    return {
        **whole(rows, opening, answer),
        "protocol": "rpc",
        "link": None if at_client is None else digits((opening or at_client)["link"]),
        "user": (opening or rows[0])["user"],
        "kind": "query",
        "id": None,
        "endpoint": opening["endpoint"] if opening else max(names, default=None),
        "closed": moment(verdict),
        "given": moment(given),
        "given_to": None if given is None else digits(given["link"]),
        "worker_answered": moment(
            first(rows, lambda row: row["kind"] in ANSWERS and row["direction"] == "in")
        ),
        "dispatches": sum(map(is_given, rows)),
        "outcome": outcome,
        "code": code,
        "ended_by": None if verdict is None else verdict["direction"],
        "acked": any(row["kind"] == "query_received" and row["direction"] == "out" for row in rows),
    }
