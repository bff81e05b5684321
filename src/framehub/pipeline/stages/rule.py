"""A rule of the audit as data, and what turns broken ones into rows (spec/audit.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from framehub.pipeline.schemas import VIOLATIONS
from framehub.pipeline.stages.columns import as_table
from framehub.pipeline.stages.links import LINK_KINDS

Scope = Literal["exchange", "row", "life", "journal"]

SECOND_NS: Final = 1_000_000_000
_GRACE_NS: Final = 10 * SECOND_NS
"""What *in time* gives (1.3), and what a closed link excuses (1.4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A sentence that recorded traffic can break; all conditions are SQL over the facts of its scope."""

    name: str
    protocol: str | None
    """None if it is about rows of several."""
    scope: Scope
    """What its facts are gathered of: an exchange, a row, an id's uses on a link, or the journal itself."""
    sentence: str
    suspect: str = "true"
    """What an exchange must look like at least; cheap, it spares most of them a closer look."""
    when: str = "true"
    """When it is broken; it is not if the evidence is null, either."""
    evidence: str = "array(seq)"
    """The numbers of the rows that show it, in any order."""


def first(condition: str, of: str = "tape") -> str:
    """The first ``r`` of the rows for which this holds; null if there is none."""
    return f"get(filter({of}, r -> {condition}), 0)"


def last(condition: str, of: str = "tape") -> str:
    """The last one."""
    return f"try_element_at(filter({of}, r -> {condition}), -1)"


def let(found: str, then: str) -> str:
    """An expression about ``found``, which is computed once."""
    return f"get(transform(array({found}), found -> {then}), 0)"


def least(condition: str) -> Column:
    """The number of an exchange's first row for which this holds."""
    return F.min(F.expr(f"CASE WHEN {condition} THEN seq END"))


def most(condition: str) -> Column:
    """The number of its last one."""
    return F.max(F.expr(f"CASE WHEN {condition} THEN seq END"))


def count(condition: str) -> Column:
    """How many there are."""
    # Not `count_if`: Spark takes it apart and renames every fact beside it; a long condition on facts is then
    # rewritten once for each set of names, without end.
    return F.count(F.expr(f"CASE WHEN {condition} THEN 1 END"))


def overdue(row: str) -> str:
    """Whether what this row asks for is not in time any more."""
    return f"{row}.time_ns + {_GRACE_NS} <= horizon_ns"


def up(row: str, gone: str = "gone_ns") -> str:
    """Whether the link that was first closed at ``gone`` is up at this row."""
    return f"coalesce({gone} > {row}.time_ns + {_GRACE_NS}, true)"


def taken(protocol: str) -> Column:
    """Rows of this protocol that were taken (1.2)."""
    kind = F.col("kind")
    was_taken = ~kind.isin("refused", *LINK_KINDS) & F.col("refused").isNull()
    return (F.col("protocol") == protocol) & was_taken


def suspects(facts: DataFrame, rules: Sequence[Rule]) -> DataFrame:
    """Those that may break one of the rules."""
    looks = " or ".join(f"({rule.suspect})" for rule in rules)
    return facts.where(F.expr(f"coalesce({looks}, false)"))


def broken(facts: DataFrame, rules: Sequence[Rule], *shared: str) -> DataFrame:
    """One row per broken rule: the shared columns, ``rule``, ``sentence``, ``evidence`` in order."""
    kind = "array<struct<rule:string,sentence:string,evidence:array<bigint>>>"
    found = F.array(*[_breach(rule) for rule in rules]).cast(kind)
    shown = F.filter(found, lambda breach: ~F.coalesce(F.array_contains(breach["evidence"], -1), F.lit(True)))
    # Not `inline`: Spark would look for empty arrays first, and so compute each of them twice.
    return facts.select(*shared, F.inline_outer(shown)).where(F.col("rule").isNotNull())


def _breach(rule: Rule) -> Column:
    """-1 stands for a row that there is not: then nothing is broken."""
    evidence = f"array_sort(array_distinct(transform({rule.evidence}, n -> coalesce(n, -1))))"
    when = f"CASE WHEN ({rule.suspect}) AND ({rule.when}) THEN {evidence} END"
    return F.struct(
        F.lit(rule.name).alias("rule"), F.lit(rule.sentence).alias("sentence"), F.expr(when).alias("evidence")
    )


def exchange_breaches(facts: DataFrame, rules: Sequence[Rule]) -> DataFrame:
    """Broken rules about exchanges as rows of ``schemas.VIOLATIONS``.

    The facts have ``shown``: number, time and link of every row that can be the last of some evidence.
    """
    found = broken(facts, rules, "node", "exchange", "endpoint", "shown")
    last_row = F.expr("get(filter(shown, r -> r.seq = try_element_at(evidence, -1)), 0)")
    placed = found.withColumn("last", last_row).withColumns(
        {"time_ns": F.col("last.time_ns"), "link": F.col("last.link")}
    )
    return as_table(placed, VIOLATIONS, protocol=F.lit(rules[0].protocol), detail=None)
