"""How recorded traffic and the same traffic sent again compare, endpoint by endpoint. Pure."""

from collections import Counter
from dataclasses import dataclass, field

from framehub.journal.answers import Answer


@dataclass
class Count:
    """What came of everything that went to one endpoint or function."""

    sent: int = 0
    same: int = 0
    different: int = 0
    uncompared: int = 0


@dataclass(frozen=True)
class Difference:
    """An exchange that ended otherwise than it is recorded."""

    exchange: str
    name: str
    was: Answer
    now: Answer


@dataclass
class Tally:
    """What was found so far; of the differences only the first are kept."""

    keep: int = 10
    counts: dict[str, Count] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def of(self, name: str) -> Count:
        """What is counted of one endpoint or function."""
        return self.counts.setdefault(name, Count())

    @property
    def total(self) -> Count:
        """All endpoints and functions together."""
        every = self.counts.values()
        return Count(
            sum(one.sent for one in every),
            sum(one.same for one in every),
            sum(one.different for one in every),
            sum(one.uncompared for one in every),
        )

    def compare(self, exchange: bytes, name: str, was: Answer | None, now: Answer | None) -> None:
        """Note what came of an exchange, then and now; None where that is not known."""
        count = self.of(name)
        if was is None or now is None:
            count.uncompared += 1
        elif was.is_as(now):
            count.same += 1
        else:
            count.different += 1
            if len(self.differences) < self.keep:
                self.differences.append(Difference(exchange.hex(), name, was, now))
