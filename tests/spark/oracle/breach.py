"""What a rule of the audit finds."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tests.spark.oracle.reading import Group, Journal


class Breach(NamedTuple):
    """One breach of a rule, and the rows that show it."""

    rule: str
    evidence: Group
    detail: str | None = None


Rule = Callable[[Group, Journal], Iterable[Group]]
"""Of the rows of an exchange, every evidence for a breach."""
