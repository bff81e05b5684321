"""How a rule of the audit (spec/audit.md) is put to DuckDB.

Facts of all exchanges are gathered by aggregation. Those of them that may break a rule get their rows as a
list, the ``tape``, for a closer look.
"""

from collections.abc import Sequence
from typing import NamedTuple

GRACE_NS = 10_000_000_000
NEVER = 2**63 - 1


class Rule(NamedTuple):
    """A rule about exchanges; all of it is SQL."""

    name: str
    sentence: str
    suspect: str
    """Over facts: what an exchange must look like at least."""
    evidence: str
    """Over facts and tape: the numbers of the rows that show it; nothing is broken if one is null."""
    when: str = "true"
    """Over facts and tape."""


def first(condition: str, of: str = "tape") -> str:
    """The first ``r`` of the rows for which this holds; null if there is none."""
    return f"list_filter({of}, lambda r: {condition})[1]"


def last(condition: str, of: str = "tape") -> str:
    """The last one."""
    return f"list_filter({of}, lambda r: {condition})[-1]"


def exists(condition: str, name: str) -> str:
    """Whether there is a row for which this holds, called by that name."""
    return f"len(list_filter(tape, lambda {name}: {condition})) > 0"


def let(found: str, then: str) -> str:
    """An expression about ``found``."""
    return f"list_transform([{found}], lambda found: {then})[1]"


def least(condition: str) -> str:
    """The number of an exchange's first row for which this holds."""
    return f"min(seq) FILTER ({condition})"


def most(condition: str) -> str:
    """The number of its last one."""
    return f"max(seq) FILTER ({condition})"


def count(condition: str) -> str:
    """How many there are."""
    return f"count(*) FILTER ({condition})"


def overdue(row: str) -> str:
    """Whether what this row asks for is not in time any more."""
    return f"({row}).time_ns + {GRACE_NS} <= horizon_ns"


def up(row: str, gone: str = "gone_ns") -> str:
    """Whether the link that was first closed at ``gone`` is up at this row."""
    return f"coalesce({gone} > ({row}).time_ns + {GRACE_NS}, true)"


def taken(protocol: str) -> str:
    """Rows of exchanges of this protocol that were taken."""
    kinds = "kind NOT IN ('refused', 'link_opened', 'link_closed', 'register')"
    return f"protocol = '{protocol}' AND exchange IS NOT NULL AND refused IS NULL AND {kinds}"


def suspects(rules: Sequence[Rule]) -> str:
    """Whether facts are such that one of the rules may be broken."""
    return " OR ".join(f"({rule.suspect})" for rule in rules)


def breaches(protocol: str, rules: Sequence[Rule]) -> str:
    """A query for all that is broken, over the table ``PROTOCOL_known``."""
    return " UNION ALL ".join(
        f"SELECT '{rule.name}' AS rule, '{rule.sentence.replace(chr(39), chr(39) * 2)}' AS sentence,"
        f" '{protocol}' AS protocol, node, exchange, endpoint, {rule.evidence} AS evidence"
        f" FROM {protocol}_known WHERE ({rule.suspect}) AND ({rule.when})"
        for rule in rules
    )


def about(named: dict[str, str]) -> str:
    """Columns of a query, by their names."""
    return ", ".join(f"{how} AS {name}" for name, how in named.items())
