"""The judge itself: what must not pass does not pass."""

from collections.abc import Callable

import pytest

from .arena import LINES, MIB, NOISE, Arena, Siege


def good() -> Siege:
    done = dict.fromkeys(("requests", "messages", "streams", "questions", "pings", "clients"), 20)
    return Siege(done=done, stand={"peers": 0, "pending": 0, "leaving": 0})


FAULTS: dict[str, Callable[[Siege], object]] = {
    "memory": lambda siege: setattr(siege, "grown", MIB + NOISE + 1),
    "a failure": lambda siege: siege.failures.append("a wrong answer"),
    "nothing done": lambda siege: siege.done.update(streams=0),
    "one client without a stream": lambda siege: siege.done.update(streams=19),
    "nobody there": lambda siege: siege.done.update(dict.fromkeys(siege.done, 0)),
    "somebody still there": lambda siege: siege.stand.update(peers=1),
    "something pending": lambda siege: siege.stand.update(pending=1),
    "a handler of somebody gone": lambda siege: siege.stand.update(leaving=1),
    "a file descriptor": lambda siege: setattr(siege, "files", 1),
    "a traceback": lambda siege: setattr(siege, "log", "Traceback (most recent call last):\n"),
    "a flood of lines": lambda siege: setattr(siege, "log", "a line\n" * (LINES + 1)),
}


def test_what_is_well_passes() -> None:
    good().check(MIB)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_found(fault: str) -> None:
    siege = good()
    FAULTS[fault](siege)
    with pytest.raises(AssertionError):
        siege.check(MIB)


async def test_without_an_attack_nothing_grows(arena: Arena) -> None:
    async with arena.besieged() as siege:
        pass
    siege.check(0)
    assert len(siege.waits) == siege.done["requests"]
