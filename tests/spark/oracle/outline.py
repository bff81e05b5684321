"""What the table ``exchanges`` says of every exchange in the same way."""

from typing import Any

from tests.spark.oracle.reading import Group, Row, day, digits, moment

OF_OPENING = ("direction", "endpoint", "service", "function")


def whole(rows: Group, opening: Row | None, answer: Row | None) -> dict[str, Any]:
    """What is said of every exchange in the same way, and null for what only some have."""
    came = [row for row in rows if row["direction"] == "in"]
    went = [row for row in rows if row["direction"] == "out"]
    waited = None
    if opening is not None and answer is not None:
        waited = (answer["mono_ns"] - opening["mono_ns"]) // 1000
    return {
        "exchange": digits(rows[0]["exchange"]),
        "node": rows[0]["node"],
        "parent": None if opening is None else digits(opening["parent"]),
        **{name: None if opening is None else opening[name] for name in OF_OPENING},
        "opened": moment(opening),
        "first_answer": moment(answer),
        "wait_us": waited,
        "given": None,
        "worker_answered": None,
        "given_to": None,
        "dispatches": None,
        "timeout_s": None,
        "frames_in": len(came),
        "frames_out": len(went),
        "bytes_in": sum(row["bytes"] for row in came),
        "bytes_out": sum(row["bytes"] for row in went),
        "last": moment(rows[-1]),
        "first_seq": rows[0]["seq"],
        "last_seq": rows[-1]["seq"],
        "date": day(opening or rows[0]),
    }
