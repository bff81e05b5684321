"""Does the time that it takes to refuse a token tell how much of it was right?

Guesses with nothing right, and with some, half or all but the last letter right of the first and of the last
token in a file, are checked in random order. Welch's t compares each group with the guesses that have nothing
right: what is below 4.5 is chance.
"""

import secrets
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean, median, variance
from time import perf_counter_ns
from typing import Final

from framehub.runtime import tokens

SAMPLES: Final = 100_000
ENTRIES: Final = 50
KEPT: Final = 0.8
"""The slowest fifth of each group is left out: those were interrupted."""
WANTED_T: Final = 4.5
NOTHING: Final = "nothing right"


@dataclass(frozen=True)
class Group:
    """One kind of guesses."""

    median_ns: float
    t: float
    """Against guesses with nothing right."""


def measure(folder: Path) -> dict[str, Group]:
    """All groups, by name."""
    file = folder / "tokens"
    made = [tokens.add(file, user=n + 1, name=f"n{n}")[0] for n in range(ENTRIES)]
    entries = tokens.read(file)
    right = {NOTHING: (0, made[0])}
    for where, token in (("the first", made[0]), ("the last", made[-1])):
        for letters in (4, 23, len(token) - 1):
            right[f"{letters} of {len(token)} letters of {where}"] = (letters, token)
    # All are made before any is timed: how one was put together must not show.
    guesses = [(name, _guess(*right[name])) for name in right for _ in range(SAMPLES // len(right))]
    Random(31).shuffle(guesses)
    guesses = [(name, guess.encode().decode()) for name, guess in guesses]
    times: dict[str, list[int]] = {name: [] for name in right}
    find = tokens.find
    for name, guess in guesses:
        began = perf_counter_ns()
        found = find(entries, guess)
        took = perf_counter_ns() - began
        times[name].append(took)
        if found is not None:
            raise RuntimeError("a guess was right")
    kept = {name: sorted(group)[: int(len(group) * KEPT)] for name, group in times.items()}
    return {name: Group(median(group), welch(group, kept[NOTHING])) for name, group in kept.items()}


def _guess(letters: int, token: str) -> str:
    """As long as the token, with so many letters right; the last one never is."""
    return token[:letters] + secrets.token_urlsafe(48)[: len(token) - letters - 1] + "~"


def welch(one: list[int], other: list[int]) -> float:
    """Welch's t: how far apart two means are, in units of what chance makes of them."""
    spread = variance(one) / len(one) + variance(other) / len(other)
    return (fmean(one) - fmean(other)) / sqrt(spread)
