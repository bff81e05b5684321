"""A fault's story told alone, and its rows as a reader sees them."""

from typing import Any, NamedTuple

from framehub.journal.columns import to_batch
from framehub.journal.faults.catalogue import Truth
from framehub.journal.faults.fault import Fault
from framehub.journal.traffic import World

Rows = list[dict[str, Any]]


class Alone(NamedTuple):
    """What was recorded, and what the story says about it."""

    rows: Rows
    fault: Fault

    def where(self, *kinds: str, **columns: object) -> list[int]:
        """The numbers of rows of these kinds (any, if none is named) that have this in their columns."""
        return [
            row["seq"]
            for row in self.rows
            if (not kinds or row["kind"] in kinds)
            and all(row[name] == value for name, value in columns.items())
        ]

    def at(self, seq: int) -> dict[str, Any]:
        """The row of this number."""
        return next(row for row in self.rows if row["seq"] == seq)

    def evidence(self) -> Rows:
        """The rows that show the fault."""
        return [self.at(seq) for seq in self.fault.evidence]


def alone(rule: str, seed: int) -> Alone:
    """Tell the story of the fault that breaks this rule, and nothing else."""
    world, truth = World(seed), Truth()
    truth.tell(world, rule)
    while not world.quiet:
        world.step()
    (fault,) = truth.faults
    rows = to_batch(world.tape).to_pylist()
    before, missing = (fault.evidence[0], truth.missing) if truth.missing else (len(rows), 0)
    for seq, row in enumerate(rows, 1):
        row["seq"] = seq if seq <= before else seq + missing
    return Alone(rows, fault)
