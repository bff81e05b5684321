"""The table ``exchanges``: what became of each MFP message, request, stream and ping; the others join in."""

from typing import Any

from tests.spark.oracle import mfp_bytes
from tests.spark.oracle.outline import whole
from tests.spark.oracle.queries import query
from tests.spark.oracle.reading import Group, Journal, Row, digits, first, moment
from tests.spark.oracle.streams import stream

ACK, TIMEOUT, ABORT, UNKNOWN, PING = 1, 2, 3, 4, 7
OUTCOMES = {TIMEOUT: "timeout", ABORT: "aborted", UNKNOWN: "unknown"}


def exchanges(journal: Journal) -> list[dict[str, Any]]:
    made = [conversation(rows, journal) for rows in journal.of("mfp")]
    made += [query(rows) for rows in journal.of("rpc")]
    made += [stream(rows) for rows in journal.of("hub")]
    return made


def is_service(row: Row, *codes: int) -> bool:
    return row["kind"] == "service" and row["code"] in codes


def opening_of(rows: Group) -> Row | None:
    return first(rows, lambda row: row["kind"] in ("message", "request") or is_service(row, PING))


def kind_of(opening: Row) -> str:
    if opening["kind"] == "service":
        return "ping"
    if opening["kind"] == "message" and opening["head"] & mfp_bytes.TABLE == mfp_bytes.STREAM:
        return "stream"
    return str(opening["kind"])


def ack_of(opening: Row, rows: Group) -> Row | None:
    """The other side's ack of the opening."""
    return first(
        rows,
        lambda row: (
            is_service(row, ACK) and row["ref"] == opening["id"] and row["direction"] != opening["direction"]
        ),
    )


def completion(opening: Row, rows: Group) -> Row | None:
    """The row with which a message is done: it, its ack if it asked for one, its last file or chunk."""
    needed: list[Row | None] = [opening]
    if opening["head"] & mfp_bytes.ACK_WANTED:
        needed.append(ack_of(opening, rows))
    if opening["head"] & mfp_bytes.TABLE in (mfp_bytes.ANNOUNCED, mfp_bytes.STREAM):
        needed.append(first(rows, is_last_binary))
    have = [row for row in needed if row is not None]
    return max(have, key=lambda row: row["seq"]) if len(have) == len(needed) else None


def is_last_binary(row: Row) -> bool:
    return row["kind"] == "binary" and not row["head"] & mfp_bytes.MORE


def is_end(row: Row) -> bool:
    return row["kind"] == "response" or is_service(row, TIMEOUT, ABORT, UNKNOWN)


def conversation(rows: Group, journal: Journal) -> dict[str, Any]:
    """One MFP exchange."""
    opening = opening_of(rows)
    start = opening or rows[0]
    ack = None if opening is None else ack_of(opening, rows)
    decided = _decided(opening, rows)
    outcome, code, closed = "open", None, decided
    if decided is None:
        closed = journal.closing_after(start["link"], start)
        if closed is not None:
            outcome, code = "disconnected", None if closed["code"] is None else str(closed["code"])
    elif decided["kind"] == "response":
        outcome, code = ("ok", None) if decided["error"] is None else ("error", decided["error"])
    else:
        outcome = OUTCOMES.get(decided["code"], "ok") if decided["kind"] == "service" else "ok"
    if opening is None or opening["kind"] == "request":
        answer = decided if decided is not None and decided["kind"] == "response" else None
    else:
        answer = ack if ack is not None and (decided is None or ack["seq"] <= decided["seq"]) else None
    return {
        **whole(rows, opening, answer),
        "protocol": "mfp",
        "link": digits(start["link"]),
        "user": start["user"],
        "kind": None if opening is None else kind_of(opening),
        "id": None if opening is None else opening["id"],
        "closed": moment(closed),
        "outcome": outcome,
        "code": code,
        "ended_by": None if decided is None else decided["direction"],
        "acked": ack is not None,
    }


def _decided(opening: Row | None, rows: Group) -> Row | None:
    """The row that decided the outcome."""
    end = first(rows, is_end)
    if opening is None or opening["kind"] == "request":
        return end
    if opening["kind"] == "service":
        pong = ack_of(opening, rows)
        found = [row for row in (end, pong) if row is not None]
        return min(found, key=lambda row: row["seq"]) if found else None
    done = completion(opening, rows)
    if end is not None and (done is None or end["seq"] < done["seq"]):
        return end
    # All of it has come, and still it can be refused.
    return first(rows, lambda row: is_service(row, ABORT)) or done
