"""The judge of arenas that are busy all the time: what must not pass does not pass."""

from collections.abc import Callable

import pytest

from .arena import LINES, MIB
from .busy import NOISE, BusySiege

FAULTS: dict[str, Callable[[BusySiege], object]] = {
    "memory": lambda siege: setattr(siege, "grown", MIB + NOISE + 1),
    "a failure": lambda siege: siege.failures.append("a wrong answer"),
    "one caller without a round": lambda siege: siege.rounds.__setitem__(7, 0),
    "a caller missing": lambda siege: siege.rounds.pop(),
    "nobody there": lambda siege: siege.rounds.clear(),
    "a traceback": lambda siege: setattr(siege, "log", "Traceback (most recent call last):\n"),
    "a flood of lines": lambda siege: setattr(siege, "log", "a line\n" * (LINES + 1)),
}


def test_what_is_well_passes() -> None:
    BusySiege(rounds=[1] * 20).check(MIB)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_found(fault: str) -> None:
    siege = BusySiege(rounds=[1] * 20)
    FAULTS[fault](siege)
    with pytest.raises(AssertionError):
        siege.check(MIB)
