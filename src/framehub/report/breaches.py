"""The table ``violations`` to counts by rule, with examples."""

from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc

from framehub.report.tables import NAME_LIMIT, Greatest, batches, plain, short, top

EXAMPLES: Final = 3
"""Of each rule."""
EVIDENCE: Final = 20
"""Rows of evidence told of one example."""
_COLUMNS: Final = (
    *("rule", "protocol", "time", "node", "link", "exchange", "endpoint", "evidence", "detail", "sentence"),
)


def breaches(violations: Path) -> list[dict[str, Any]]:
    """Each broken rule: how often, when first and last, and its first examples; the most broken first."""
    rules: dict[str, dict[str, Any]] = {}
    for table in batches(violations, _COLUMNS):
        for rule in table["rule"].unique().to_pylist():
            of_it = table.filter(pc.equal(table["rule"], rule))
            first, last = (value.as_py() for value in pc.min_max(of_it["time"]).values())
            known = rules.setdefault(
                rule,
                {"count": 0, "first": first, "last": last, "kept": Greatest(EXAMPLES)}
                | {"sentence": of_it["sentence"][0].as_py()},
            )
            known["count"] += of_it.num_rows
            known |= {"first": min(known["first"], first), "last": max(known["last"], last)}
            for row in top(of_it, "time", EXAMPLES, "ascending"):
                known["kept"].offer(-row["time"].timestamp(), row)
    ranked = sorted(rules.items(), key=lambda item: (-item[1]["count"], item[0]))
    return [
        {
            "rule": rule,
            "sentence": known["sentence"],
            "count": known["count"],
            "first": known["first"].isoformat(),
            "last": known["last"].isoformat(),
            "examples": [_example(row) for row in known["kept"].rows()],
        }
        for rule, known in ranked
    ]


def _example(row: dict[str, Any]) -> dict[str, Any]:
    told = {name: value for name, value in plain(row).items() if name not in ("rule", "sentence")}
    evidence = told["evidence"]
    return told | {
        "endpoint": short(told["endpoint"], NAME_LIMIT),
        "detail": short(told["detail"]),
        "evidence": evidence[:EVIDENCE],
        "evidence_rows": len(evidence),
    }
