"""The table ``frames``: every row that is no link's coming or going."""

from typing import Any

from tests.spark.oracle import rpc_bytes
from tests.spark.oracle.reading import Journal, Row, day, digits, is_link_row, moment

AS_THEY_ARE = (
    "node",
    "seq",
    "protocol",
    "direction",
    "user",
    "endpoint",
    "service",
    "function",
    "kind",
    "head",
    "id",
    "ref",
    "key",
    "code",
    "coder",
    "bytes",
    "payload_bytes",
    "files",
    "error",
    "refused",
    "recorded",
)
IN_DIGITS = ("link", "query", "exchange", "parent")


def frames(journal: Journal) -> list[dict[str, Any]]:
    return [
        {name: row[name] for name in AS_THEY_ARE}
        | {name: digits(row[name]) for name in IN_DIGITS}
        | {"time": moment(row), "date": day(row), "side": side(row)}
        for row in journal.rows
        if not is_link_row(row)
    ]


def side(row: Row) -> str | None:
    """Who is at the other end."""
    if row["protocol"] == "mfp":
        return "client"
    if row["protocol"] == "hub":
        return "client" if row["ref"] is None else "service"
    return rpc_bytes.SIDES.get((row["kind"], row["direction"]))
