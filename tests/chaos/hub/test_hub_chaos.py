"""The hub under kill -9: every client learns what became of its streams, and nothing is left of the dead.

``make chaos-hub`` does the same ten times as often.
"""

import copy
import random
from pathlib import Path

import pytest

from tests.chaos.hub.checker import CLIENT, HUB, KINDS, SERVICE, Evidence, judge
from tests.chaos.hub.scenario import run
from tests.chaos.rpc.ledger import Record

KILLS = 10
BUSY = pytest.mark.timeout(300)
"""Dozens of processes are started, and others may be using the machine."""


@BUSY
@pytest.mark.parametrize("kind", KINDS)
def test_kill_9(kind: str, tmp_path: Path) -> None:
    """Each time with conversations open there."""
    verdict = run(tmp_path, [kind] * KILLS, seed=KINDS.index(kind))
    assert verdict.problems == []
    assert verdict.figures["whole"] > KILLS


@BUSY
def test_kill_9_of_anybody(tmp_path: Path) -> None:
    kinds = [kind for kind in KINDS for _ in range(2)]
    random.Random(4).shuffle(kinds)
    assert run(tmp_path, kinds, seed=4).problems == []


# --- is the judge worth something? -----------------------------------------------------------------------


def note(book: list[Record], time: int, what: str, op: str, **about: object) -> None:
    book.append({"what": what, "time": time, "op": op, **about})


@pytest.fixture
def sound() -> Evidence:
    """A service dies with c1-2 open, then the hub with c1-3, then the client c2 with c2-1."""
    found = Evidence(clients={"c1": [], "c2": []}, services={"s1": [], "s2": []}, deaths=[])
    one, two, first, second = *found.clients.values(), *found.services.values()
    for time, kind, name in ((30, SERVICE, "s1"), (50, HUB, ""), (70, CLIENT, "c2")):
        found.deaths.append({"what": "died", "time": time, "kind": kind, "name": name, "killed": time})
    note(one, 10, "sent", "c1-1")
    note(first, 11, "opened", "c1-1")
    note(first, 12, "ended", "c1-1", how="done")
    note(one, 13, "done", "c1-1")
    note(one, 20, "sent", "c1-2")
    note(first, 21, "opened", "c1-2")
    note(one, 31, "error", "c1-2", kind="HubStreamError", code="SERVICE_DISCONNECT", text="gone")
    note(one, 40, "sent", "c1-3")
    note(second, 41, "opened", "c1-3")
    note(one, 51, "error", "c1-3", kind="ConnectionClosed", code="", text="lost")
    note(second, 52, "ended", "c1-3", how="StreamAborted")
    note(two, 60, "sent", "c2-1")
    note(second, 61, "opened", "c2-1")
    note(second, 71, "ended", "c2-1", how="StreamAborted")
    note(one, 80, "end", "")
    return found


def test_a_sound_run_is_found_sound(sound: Evidence) -> None:
    verdict = judge(sound)
    assert verdict.problems == []
    assert (verdict.figures["conversations"], verdict.figures["whole"]) == (4, 1)


def test_one_record_less_is_found(sound: Evidence) -> None:
    for books in ("clients", "services"):
        for name, book in getattr(sound, books).items():
            for at, record in enumerate(book):
                if record["what"] == "sent" or (record["what"], name) in (("opened", "s1"), ("opened", "s2")):
                    continue  # what nobody waits for, nobody misses
                mutant = copy.deepcopy(sound)
                getattr(mutant, books)[name].pop(at)
                assert judge(mutant).problems, record
    for at in range(len(sound.deaths)):
        mutant = copy.deepcopy(sound)
        mutant.deaths.pop(at)
        assert judge(mutant).problems, sound.deaths[at]


def test_one_record_twice_is_found(sound: Evidence) -> None:
    for books in ("clients", "services"):
        for name, book in getattr(sound, books).items():
            for at, record in enumerate(book):
                if record["what"] in ("sent", "end"):
                    continue
                mutant = copy.deepcopy(sound)
                getattr(mutant, books)[name].insert(at, record)
                assert judge(mutant).problems, record


def test_a_wrong_answer_a_ghost_and_a_breach_are_found(sound: Evidence) -> None:
    note(sound.clients["c1"], 5, "wrong", "c1-1")
    sound.clients["c1"].insert(0, sound.clients["c1"].pop())
    sound.said = "stopping: 1 under way"
    sound.breaches = ["hub-unanswered [7]"]
    assert len(judge(sound).problems) == 3


def test_an_end_that_no_death_explains_is_found(sound: Evidence) -> None:
    sound.clients["c1"][-2]["code"] = "TIMEOUT"
    sound.clients["c1"][-2]["kind"] = "HubStreamError"
    assert any("nobody had died" in problem for problem in judge(sound).problems)
