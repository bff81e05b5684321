"""The rules of links and of the journal itself (spec/audit.md, sections 5 and 6)."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from framehub.journal.record import WHOLE
from tests.spark.oracle import hub_bytes, mfp_bytes, rpc_bytes
from tests.spark.oracle.breach import Breach
from tests.spark.oracle.reading import Journal, Row, is_link_row, is_taken

COMPARED = {
    "mfp": ("kind", "head", "id", "ref", "key", "code", "payload_at", "payload_bytes", "files"),
    "rpc": ("kind", "query", "payload_at", "payload_bytes", "endpoint"),
    "hub": ("kind", "head", "id", "key", "code", "payload_at", "payload_bytes"),
}


def links(journal: Journal) -> Iterator[Breach]:
    """Rows on a link that was closed, and not opened again."""
    for node in journal.nodes.values():
        closed: dict[bytes, Row] = {}
        for row in node:
            if row["kind"] == "link_closed":
                closed[row["link"]] = row
            elif row["kind"] == "link_opened":
                closed.pop(row["link"], None)
            elif row["protocol"] in ("mfp", "hub") and is_taken(row) and row["link"] in closed:
                yield Breach("link-used-after-close", [closed[row["link"]], row])


def gaps(journal: Journal) -> Iterator[Breach]:
    for node in journal.nodes.values():
        for row, following in pairwise(node):
            if following["seq"] - row["seq"] > 1:
                yield Breach("journal-gap", [row, following])


def rows(journal: Journal) -> Iterator[Breach]:
    """Rows whose bytes are no frame, or say something else than their columns."""
    for row in journal.rows:
        if is_link_row(row) or not is_taken(row) or row["recorded"] not in WHOLE or row["raw"] is None:
            continue
        try:
            said = decode(row)
        except mfp_bytes.Unlawful as exc:
            yield Breach("raw-unlawful", [row], str(exc))
            continue
        except mfp_bytes.WrongSum as exc:
            yield Breach("raw-checksum", [row], str(exc))
            continue
        differing = [name for name in said if row[name] != said[name]]
        if differing:
            yield Breach("raw-differs", [row], ", ".join(differing))


def decode(row: Row) -> dict[str, Any]:
    """The columns that are read from the bytes, as the bytes say them.

    Raises:
        Unlawful: the bytes are no frame.
        WrongSum: only the checksum is wrong.
    """
    raw, protocol = row["raw"], row["protocol"]
    if protocol == "mfp":
        said = mfp_bytes.decode(raw)
    elif protocol == "rpc":
        said = rpc_bytes.decode(raw, row["direction"])
    else:
        said = hub_bytes.decode(
            raw, version=row["version"], direction=row["direction"], at_client=row["ref"] is None
        )
    compared = {name: said[name] for name in COMPARED[protocol] if name in said}
    if compared.get("code", 0) is None:
        del compared["code"]  # on other frames the column is something else, or nothing
    return compared | {"bytes": len(raw)}
