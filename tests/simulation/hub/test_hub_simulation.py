"""The hub in a thousand worlds in every test run; and the ledger is tried on broken switches."""

from collections import Counter

import pytest

from tests.simulation.hub import life
from tests.simulation.hub.mutants import MUTANTS, Mutant, put
from tests.simulation.hub.plan import TROUBLES
from tests.simulation.rpc.ledger import Broken

SEED = 10_000
WORLDS = 100
"""In a slice."""
STREAMS = 10_000
"""At least so many, in a slice."""
SLICES = 10
TRIES = 150
"""Seeds in which a fault must show."""
EVERYTHING = (
    *TROUBLES,
    *"""
clients of version 1, clients of version 2, services of version 1, services of version 2, V1 to V2, V2 to V1,
ended: its service's last frame, ended: close, ended: timeout, ended: client_disconnect, ended: internal,
ended: service_disconnect, ended: busy, ended: limit, refused: bad_frame, refused: busy, refused: limit,
refused: endpoint_not_found, refused: stream_not_found, refused: ws_stream_collision, closed with 1000,
closed with 1001, closed with 1002, closed with 1008, interfaces told, broken interfaces, configured again,
strangers, dead streams, others' streams, services found dead, sends to services unreachable,
sends to services blocked, links full, paused, resumed, hubs started again, late looks at the clock,
out of numbers
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
    assert total["streams"] >= STREAMS
    never = [what for what in EVERYTHING if not total[what]]
    assert never == [], "this slice is too small, or something does not happen any more"


def test_the_same_seed_tells_the_same_story() -> None:
    assert life.live(7) == life.live(7)
    stories = []
    for _ in range(2):
        with pytest.MonkeyPatch.context() as patch, pytest.raises(life.Failure) as caught:
            find(MUTANTS["a client is told twice"], patch)
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
