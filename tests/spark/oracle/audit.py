"""The table ``violations``: every rule of ``spec/audit.md``, whose own words are the sentences."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.spark.oracle import audit_hub, audit_mfp, audit_raw, audit_rpc
from tests.spark.oracle.breach import Breach, Rule
from tests.spark.oracle.reading import Group, Journal, Row, day, digits, moment

SPEC = Path(__file__).parents[3] / "spec" / "audit.md"
SENTENCES = dict(re.findall(r"^\| `([a-z]+(?:-[a-z]+)+)` \| ([^|]+?) \|", SPEC.read_text(), re.MULTILINE))
"""Each rule's name and its sentence."""


def by_exchange(protocol: str, rules: dict[str, Rule], journal: Journal) -> Iterator[tuple[Breach, Group]]:
    """The earliest breach of each rule in each exchange."""
    for rows in journal.of(protocol):
        for name, rule in rules.items():
            found = [in_order(evidence) for evidence in rule(rows, journal)]
            if found:
                yield Breach(name, min(found, key=lambda rows: (rows[-1]["seq"], seqs(rows)))), rows


def in_order(evidence: Group) -> Group:
    return sorted(evidence, key=lambda row: row["seq"])


def seqs(rows: Group) -> list[int]:
    return [row["seq"] for row in rows]


def violation(breach: Breach, *, exchange: str | None, endpoint: str | None) -> dict[str, Any]:
    shown: Row = breach.evidence[-1]
    return {
        "rule": breach.rule,
        "protocol": shown["protocol"],
        "time": moment(shown),
        "date": day(shown),
        "node": shown["node"],
        "link": digits(shown["link"]),
        "exchange": exchange,
        "endpoint": endpoint,
        "evidence": seqs(breach.evidence),
        "detail": breach.detail,
        "sentence": SENTENCES[breach.rule],
    }


def violations(journal: Journal, exchanges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    endpoints = {(row["node"], row["exchange"]): row["endpoint"] for row in exchanges}
    made = []
    for protocol, rules in (
        ("mfp", audit_mfp.RULES),
        ("rpc", audit_rpc.RULES),
        ("hub", audit_hub.RULES),
    ):
        for breach, rows in by_exchange(protocol, rules, journal):
            exchange = digits(rows[0]["exchange"])
            made.append(
                violation(breach, exchange=exchange, endpoint=endpoints[rows[0]["node"], exchange or ""])
            )
    for about_rows in (audit_mfp.rows, audit_rpc.rows, audit_hub.rows, audit_raw.links, audit_raw.rows):
        for breach in about_rows(journal):
            row = breach.evidence[-1]
            made.append(violation(breach, exchange=digits(row["exchange"]), endpoint=row["endpoint"]))
    made += [violation(breach, exchange=None, endpoint=None) for breach in audit_raw.gaps(journal)]
    return made
