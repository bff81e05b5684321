"""A slice of the simulation in every test run; and the ledger is tried on machines that are broken."""

from collections import Counter

import pytest

from framehub import ids
from tests.simulation import life
from tests.simulation.book import Broken
from tests.simulation.mutants import MUTANTS, Mutant

CONNECTIONS = 1_500
SEED = 20_260
TRIES = 150
"""Seeds in which a fault must show."""


def test_whatever_happens_the_rules_hold() -> None:
    """[MFP-8.1.1] [MFP-8.1.4] [MFP-8.1.5] [MFP-8.2.1] [MFP-8.4.1] [MFP-8.6.1] [MFP-8.6.2]"""
    total: Counter[str] = Counter()
    for counts in life.lives(SEED, CONNECTIONS):
        total += counts
    assert total["acks sent"] == total["ackable accepted"]
    never = [what for what in EVERYTHING if not total[what]]
    assert never == [], "this slice is too small, or something does not happen any more"


EVERYTHING = (
    """
request answered, request cancelled, request lost, request timeout here, request timeout by the peer,
request abort by the peer, answers made too late, answers come late, message delivered, message refused,
message given up, announced lost, stream read to its end, stream read to its loss, stream given up,
stream read to an abort of its reader, stream read to the end of the connection, stream refused,
ids wrapped, live ids passed over, clock jumps, waits for room, forged frames, refused frames, calls refused,
pings, calm, cut, silence, knocks, found going_away, found ok, misbehaved,
message delivered in part, knocks of the deaf, too many strikes, too many strays, too many cancels,
too many pings
""".replace("\n", " ")
    .strip()
    .split(", ")
)


def test_the_same_seed_tells_the_same_story() -> None:
    assert life.live(7) == life.live(7)
    stories = []
    for _ in range(2):
        with pytest.raises(life.Failure) as caught:
            find(MUTANTS["drops one frame"])
        stories.append(str(caught.value))
    assert stories[0] == stories[1]
    assert "seed" in stories[0].splitlines()[0]


@pytest.mark.parametrize("name", MUTANTS)
def test_every_fault_is_found(name: str) -> None:
    mutant = MUTANTS[name]
    with pytest.raises(life.Failure) as caught:
        find(mutant)
    cause = caught.value.cause
    assert isinstance(cause, Broken), caught.value
    assert cause.rule in mutant.rules.split(), caught.value


def find(mutant: Mutant) -> None:
    """Live until the fault shows."""
    for seed in range(TRIES):
        life.live(seed, machine=mutant.machine, wire=mutant.wire)


def test_an_id_that_is_taken_while_it_lives_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """[MFP-8.1.1] Ids that count on, whatever is alive."""

    def take(self: ids.Ids, is_live: object) -> int:
        self._next, taken = self._next % ids.LAST + 1, self._next
        return taken

    monkeypatch.setattr(ids.Ids, "take", take)
    with pytest.raises(life.Failure, match="M5"):
        find(Mutant("M5"))
