"""What a fault is: a story that breaks a rule on purpose, and the rows that show it. Pure.

A fault's story is told like any other (``framehub.journal.traffic``), on links, workers and services of its
own, so that it disturbs no other story. It returns what an audit must find.
"""

from collections.abc import Callable, Generator
from typing import Final, NamedTuple, TypeAlias

from framehub.journal.record import FIXED, RECORDED, SCHEMA, Row
from framehub.journal.traffic import World

_NAMES: Final = tuple(name for name in SCHEMA.names if name not in Row._fields)
"""The columns in ``Row.fixed``, in their order."""


class Violation(NamedTuple):
    """A breach of a rule: its name, and the numbers of the rows that show it, ascending."""

    rule: str
    evidence: tuple[int, ...]


class Fault(NamedTuple):
    """A breach made on purpose; ``companions`` are breaches of other rules that it cannot do without."""

    rule: str
    evidence: tuple[int, ...]
    companions: tuple[Violation, ...] = ()


FaultStory: TypeAlias = Generator[int, None, Fault]
Told: TypeAlias = Callable[[World], FaultStory]


def changed(row: Row, **columns: int) -> Row:
    """The row with other numbers in its columns; the frame's bytes stay."""
    values = dict(zip(_NAMES, FIXED.unpack(row.fixed), strict=True))
    if unknown := columns.keys() - values.keys():
        raise KeyError(*sorted(unknown))
    return row._replace(fixed=FIXED.pack(*(values | columns).values()))


def unrecorded(row: Row, **columns: int) -> Row:
    """The same without the frame's bytes: for a row whose bytes could not be a lawful frame."""
    return changed(row, recorded=RECORDED.index("off"), **columns)._replace(raw=None)
