"""Remote functions in a thousand worlds in every test run; and the ledger is tried on broken machines."""

from collections import Counter

import pytest

from tests.simulation.rpc import life
from tests.simulation.rpc.ledger import Broken
from tests.simulation.rpc.mutants import MUTANTS, Mutant, put
from tests.simulation.rpc.plan import TROUBLES

SEED = 10_000
WORLDS = 100
"""In a slice."""
QUERIES = 10_000
"""At least so many, in a slice."""
SLICES = 10
TRIES = 150
"""Seeds in which a fault must show."""
EVERYTHING = (
    *TROUBLES,
    *"""
ended: result, ended: exception, ended: unknown function, ended: busy, ended: timeout, ended: poison,
ended: outcome unknown, cancelled, coders told, ids reused, children died, workers drained, workers refused,
asked again in a group,
runs again, proxies started again, clients' sockets made anew, workers' sockets made anew,
sends to workers unreachable, sends to workers blocked, sends to clients blocked
""".replace("\n", " ")
    .strip()
    .split(", "),
)


@pytest.mark.parametrize("part", range(SLICES))
def test_whatever_happens_the_rules_hold(part: int) -> None:
    total: Counter[str] = Counter()
    first = SEED + part * WORLDS
    for seed in range(first, first + WORLDS):
        total += life.live(seed)
    assert total["queries"] >= QUERIES
    never = [what for what in EVERYTHING if not total[what]]
    assert never == [], "this slice is too small, or something does not happen any more"


def test_the_same_seed_tells_the_same_story() -> None:
    assert life.live(7) == life.live(7)
    stories = []
    for _ in range(2):
        with pytest.MonkeyPatch.context() as patch, pytest.raises(life.Failure) as caught:
            find(MUTANTS["a worker mixes up its answers"], patch)
        stories.append(str(caught.value))
    assert stories[0] == stories[1]
    assert "seed" in stories[0].splitlines()[0]


@pytest.mark.parametrize("name", MUTANTS)
def test_every_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    with pytest.raises(life.Failure) as caught:
        find(mutant, monkeypatch)
    cause = caught.value.cause
    assert isinstance(cause, Broken), caught.value
    assert cause.rule in mutant.rules.split(), caught.value


def find(mutant: Mutant, patch: pytest.MonkeyPatch) -> None:
    """Live until the fault shows."""
    put(mutant, patch)
    for seed in range(TRIES):
        life.live(seed, troubles=mutant.troubles)
