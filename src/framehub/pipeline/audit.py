"""All rules over a whole journal at once: what ``framehub pipeline audit`` shows."""

import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from framehub.errors import PipelineError
from framehub.journal.reader import snapshot
from framehub.pipeline.census import count_rows
from framehub.pipeline.failures import FAILURES, reason
from framehub.pipeline.journal import read_parts
from framehub.pipeline.session import SQL, end, running, session
from framehub.pipeline.source import read_unsound
from framehub.pipeline.stages.violations import recorded_violations

MOST: Final = 100_000
"""Violations that are brought back, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What an audit found."""

    rows: int
    violations: list[dict[str, Any]]
    """As in the table ``violations``, in the order of rule, node and evidence; the first ``most``."""
    counts: dict[str, int]
    """How often each rule was broken, in all."""
    damage: list[str]


def audit(
    journal: str | Path,
    *,
    spark: SparkSession | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    rules: Collection[str] = (),
    progress: Callable[[str, int, int], None] | None = None,
    most: int = MOST,
) -> Audited:
    """Check the rules, all or those named, over every row that the journal has now.

    Of more than ``most`` violations only the first are told, and how many there are of each rule.

    Raises:
        JournalError: there is no journal, or it cannot be read.
        PipelineError: Java or Spark is missing, or the job failed.
    """
    path = Path(journal).absolute()
    tell = progress or (lambda _what, _done, _total: None)
    parts = snapshot(path)
    own = None
    try:
        if spark is None and (spark := running(master)) is None:
            tell("starting Spark", 0, 0)
            log = Path(tempfile.mkstemp(prefix="framehub-audit-", suffix=".log")[1])
            spark = own = session(master, log=log, conf=conf)
        using = spark.newSession()
        for name, value in SQL.items():
            using.conf.set(name, value)
        tell("reading the journal", 0, 0)
        counted, damages, damaged = count_rows(parts)
        tell("checking the rules", 0, 0)
        rows = read_parts(using, path, parts, damaged=damaged)
        found = recorded_violations(rows).unionByName(read_unsound(using, path, parts))
        if rules:
            found = found.where(F.col("rule").isin(list(rules)))
        order = found.orderBy("rule", "node", "evidence").limit(most + 1)
        violations = [row.asDict() for row in order.collect()]
        if len(violations) <= most:
            counts = dict(Counter(row["rule"] for row in violations))
        else:  # ask once more, for the numbers alone
            counts = {row["rule"]: row["count"] for row in found.groupBy("rule").count().collect()}
        return Audited(
            rows=counted,
            violations=violations[:most],
            counts=counts,
            damage=list(dict.fromkeys(map(str, damages))),
        )
    except FAILURES as exc:
        raise PipelineError(f"the audit of {path} failed: {reason(exc)}") from exc
    finally:
        if own is not None:
            end(own)
