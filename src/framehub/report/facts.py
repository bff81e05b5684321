"""Tables to the figures of a report; also what ``report.json`` holds (docs/reference/report.md).

Only pyarrow: a report needs no Spark. Memory does not grow with the tables.
"""

import json
import os
import shlex
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from framehub.errors import PipelineError
from framehub.report import received
from framehub.report.breaches import breaches
from framehub.report.exchanges import look
from framehub.report.families import Id, Relatives
from framehub.report.minutes import FAILED, OUTCOMES, outcomes, waits
from framehub.report.traffic import SERIES, find_steps, iso, traffic

SHOWN: Final = 8
"""Exchanges shown with their timelines: of the slowest, and of those that failed."""

Facts = dict[str, Any]


def gather(out: Path) -> Facts:
    """Everything the report tells about the tables in ``out``.

    Raises:
        PipelineError: there are no tables, or they cannot be read.
    """
    # The snapshot is resolved once: a run may replace `current` while we read.
    snapshot = (out / "current").resolve()
    try:
        manifest = json.loads((snapshot / "manifest.json").read_bytes())
    except (OSError, ValueError) as exc:
        hint = f"make them with `framehub pipeline run JOURNAL {out}`"
        raise PipelineError(f"no tables in {out}: {hint}") from exc
    try:
        told = {name: manifest[name] for name in ("journal", "snapshot", "nodes", "rows", "damage")}
        return _facts(snapshot, {"made": _now(), "tables": str(out), **told}, manifest)
    except (OSError, pa.ArrowException, KeyError) as exc:
        raise PipelineError(f"the tables in {snapshot} cannot be read: {exc}") from exc


def _facts(snapshot: Path, basis: Facts, manifest: Mapping[str, Any]) -> Facts:
    steps = find_steps(snapshot / "frames")
    moved = traffic(snapshot / "frames", steps) if steps else None
    ended = outcomes(snapshot / "metrics")
    looked = look(snapshot / "exchanges", steps)
    broken = breaches(snapshot / "violations")
    commands = Commands(basis["journal"], basis["tables"])
    for rule in broken:
        for example in rule["examples"]:
            example.update(commands.of_example(example))
    chosen = {name: looked[name] for name in ("failed", "slowest")}
    relatives = Relatives(snapshot / "exchanges", [id_ for ids in chosen.values() for id_ in ids])
    return {
        **basis,
        "span": [iso(steps.first), iso(steps.last)] if steps else None,
        "totals": _totals(ended, moved),
        "audit": {
            "rules": manifest.get("rules"),
            "rows": sum(basis["nodes"].values()),
            "violations": sum(rule["count"] for rule in broken),
            "broken": broken,
        },
        "outcomes": ended,
        "codes": looked["codes"],
        "code_kinds": looked["code_kinds"],
        "failed": sorted(  # those with several hops have most to show
            [commands.with_story(row) for row in _apart(relatives, chosen["failed"])],
            key=lambda row: len(row["family"]) == 1,
        ),
        "waits": waits(snapshot / "metrics") | {"over_time": looked["over_time"]},
        "slowest": sorted(
            [commands.with_story(row) for row in _apart(relatives, chosen["slowest"])],
            key=lambda row: -row["wait_us"],
        ),
        "traffic": moved,
        "files": received.files(snapshot / "files"),
        "messages": received.messages(snapshot / "messages"),
    }


def _apart(relatives: Relatives, ids: Iterable[Id]) -> list[Facts]:
    """These exchanges but those that an earlier one's timeline shows already; no more than ``SHOWN``."""
    told: list[Facts] = []
    seen: set[Id] = set()
    for id_ in ids:
        if id_ not in seen and len(told) < SHOWN and (row := relatives.told(id_)):
            told.append(row)
            seen.update((lane["node"], lane["exchange"]) for lane in row["family"])
    return told


class Commands:
    """What to type to see more."""

    def __init__(self, journal: str, tables: str) -> None:
        self._program = os.environ.get("FRAMEHUB_COMMAND", "framehub")
        self._journal, self._tables = shlex.quote(journal), shlex.quote(tables)

    def with_story(self, row: Facts) -> Facts:
        """The exchange, and how to see its frames."""
        return row | {"story": self._story(row["exchange"])}

    def of_example(self, example: Facts) -> Facts:
        """How to see the rows that show a violation, and the exchange that it is about."""
        seqs = ",".join(map(str, example["evidence"]))
        node = shlex.quote(example["node"])
        rows = f"{self._program} journal cat {self._journal} --node {node} --seq {seqs}"
        return {"cat": rows, "story": self._story(example["exchange"]) if example["exchange"] else None}

    def _story(self, exchange: str) -> str:
        return f"{self._program} story {exchange} --journal {self._journal} --tables {self._tables}"


def _totals(ended: list[Facts], moved: Facts | None) -> Facts:
    """Sums over everything: exchanges by outcome, frames and bytes each way."""
    counts = {outcome: sum(row[outcome] for row in ended) for outcome in OUTCOMES}
    series = moved["protocols"].values() if moved else ()
    return {
        "exchanges": sum(counts.values()),
        "failed": sum(counts[outcome] for outcome in FAILED),
        **counts,
        **{name: sum(sum(of_protocol[name]) for of_protocol in series) for name in SERIES},
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
