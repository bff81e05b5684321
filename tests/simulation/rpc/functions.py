"""The functions of this world. An argument is asked once only: it says which query a run belongs to."""

from random import Random
from typing import Final, NamedTuple


class Known(NamedTuple):
    """One function."""

    once: bool
    """It may not be run twice."""
    seconds: tuple[float, ...]
    """How long a run takes: one of these, drawn."""
    weight: int
    """How often it is asked."""


FUNCTIONS: Final = {
    "quick": Known(False, (0.0, 0.0, 0.002), 40),
    "slow": Known(False, (0.2, 1.0, 6.0), 3),
    "once": Known(True, (0.0, 0.05, 0.5, 2.0), 12),
    "fragile": Known(False, (0.0, 0.1), 5),
    "brittle": Known(True, (0.0, 0.1), 3),
    "fails": Known(False, (0.0,), 4),
    "rare": Known(False, (0.0, 0.5), 5),
}
NAMES: Final = tuple(FUNCTIONS)
NOBODY: Final = "nobody"
"""A function that nobody offers."""
DEADLY: Final = b"die "
"""An argument that begins so kills the process that runs ``fragile`` or ``brittle``."""
_ALL: Final = (*NAMES, NOBODY)
_WEIGHTS: Final = (*(known.weight for known in FUNCTIONS.values()), 1)
CODER: Final = "json"


def pick(rng: Random) -> str:
    return rng.choices(_ALL, _WEIGHTS)[0]


def argument(name: str, number: int, rng: Random) -> bytes:
    deadly = name in ("fragile", "brittle") and rng.random() < 0.3
    return b"%s%d %s" % (DEADLY if deadly else b"", number, b"x" * int(rng.random() * 40))


def is_deadly(name: str, argument: bytes) -> bool:
    return name in ("fragile", "brittle") and argument.startswith(DEADLY)


def result(name: str, argument: bytes) -> bytes:
    """What a run gives, but for ``fails``."""
    return name.encode() + b"(" + argument + b")"


def failure(argument: bytes) -> str:
    """The text of the exception that ``fails`` raises."""
    return f"failed on {argument.decode()}"


def offer(*names: str, coder: str = CODER) -> list[tuple[str, str, str]]:
    """Functions as a worker registers them."""
    return [(name, coder, coder) for name in names]


def about(names: list[str], window: int, processes: int) -> dict[str, object]:
    """What a worker says of itself."""
    told = {
        name: {"redispatch": "unacknowledged" if FUNCTIONS[name].once else "always"}
        for name in names
        if name in FUNCTIONS
    }
    return {"version": 1, "processes": processes, "window": window, "functions": told}
