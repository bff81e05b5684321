"""Remote functions under kill -9: every query of a client that lives is answered, rightly and once.

[RPC-3.1.2] [RPC-3.2.1] [RPC-4.1.1] [RPC-4.1.3] [RPC-4.5] [RPC-5.1.7] [RPC-5.4.2] [RPC-5.4.7]
``make chaos`` does the same ten times as often.
"""

import copy
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.rpc.checker import CHILD, CLIENT, KINDS, PROXY, WORKER, Evidence, JournalRow, judge
from tests.chaos.rpc.ledger import Ledger, Record, digest, read, result_of
from tests.chaos.rpc.scenario import run

KILLS = 10
BUSY = pytest.mark.timeout(300)
"""Dozens of processes are started, and others may be using the machine."""


@BUSY
@pytest.mark.parametrize("kind", KINDS)
def test_kill_9(kind: str, tmp_path: Path) -> None:
    """Each time with something in flight there: see ``in_flight``."""
    verdict = run(tmp_path, [kind] * KILLS, seed=KINDS.index(kind))
    assert verdict.problems == []
    assert verdict.figures[f"{kind} kills with something in flight"] == KILLS
    assert verdict.figures["results"] > KILLS


@BUSY
def test_kill_9_of_anybody(tmp_path: Path) -> None:
    kinds = [kind for kind in KINDS for _ in range(2)]
    random.Random(4).shuffle(kinds)
    verdict = run(tmp_path, kinds, seed=4)
    assert verdict.problems == []
    assert all(verdict.figures[f"{kind} kills with something in flight"] == 2 for kind in KINDS)


# --- is the judge worth something? -----------------------------------------------------------------------


class Story:
    """A sound run, made up: somebody of each kind is killed once, and all goes well."""

    def __init__(self) -> None:
        self.now = 0
        self.found = Evidence(drivers={"d0": [], "d1": []}, logs=[[], []], deaths=[], journal=[])
        self._parents = {10: 1, 20: 2}

    def note(self, book: list[Record], what: str, **about: object) -> Record:
        self.now += 10
        book.append({"what": what, "time": self.now, **about})
        return book[-1]

    def send(self, op: str, function: str) -> None:
        argument = digest(op.encode())
        self.note(self.found.drivers[op[:2]], "sent", op=op, function=function, argument=argument)
        self.row("in", "query", op, argument)

    def begin(self, op: str, function: str, pid: int) -> None:
        self._execution("began", op, function, pid)

    def end(self, op: str, function: str, pid: int) -> None:
        self._execution("ended", op, function, pid)

    def _execution(self, what: str, op: str, function: str, pid: int) -> None:
        about = {"op": op, "function": function, "argument": digest(op.encode())}
        self.note(self.found.logs[pid // 20], what, **about, pid=pid, parent=self._parents[pid])

    def answer(self, op: str, function: str) -> None:
        result = digest(result_of(function, op, digest(op.encode())).encode())
        self.row("out", "result", op, result)
        self.note(self.found.drivers[op[:2]], "result", op=op, result=result)

    def fail(self, op: str, text: str) -> None:
        self.row("out", "exception", op, "")
        self.note(
            self.found.drivers[op[:2]], "error", op=op, kind="RemoteFunctionError", text=f"once: {text}"
        )

    def row(self, direction: str, kind: str, op: str, told: str) -> None:
        self.now += 10
        rows = self.found.journal
        name = op if kind == "query" else ""
        rows.append(JournalRow(len(rows) + 1, self.now, direction, kind, op.encode(), name, told))

    def die(self, kind: str, pid: int, name: str = "", *, hit: int = 1) -> None:
        self.note(self.found.deaths, "died", kind=kind, pid=pid, name=name, killed=self.now + 5, hit=hit)


@pytest.fixture
def sound() -> Evidence:
    story = Story()
    for op, function in (("d0-1", "plain"), ("d0-2", "once"), ("d1-1", "gentle"), ("d1-2", "plain")):
        story.send(op, function)
    story.begin("d0-1", "plain", 10)
    story.begin("d0-2", "once", 10)
    story.die(WORKER, 1, hit=2)
    story.fail("d0-2", "outcome unknown: its worker died")
    story.begin("d0-1", "plain", 20)
    story.begin("d1-1", "gentle", 20)
    story.end("d1-1", "gentle", 20)
    story.die(PROXY, 3)
    story.found.starts.append(story.now + 5)
    story.row("in", "query", "d0-1", digest(b"d0-1"))
    story.end("d0-1", "plain", 20)
    story.answer("d1-1", "gentle")
    story.answer("d0-1", "plain")
    story.begin("d1-2", "plain", 20)
    story.die(CLIENT, 4, "d1")
    story.end("d1-2", "plain", 20)
    story.note(story.found.drivers["d0"], "end")
    return story.found


def books(evidence: Evidence) -> Iterator[tuple[str, list[Record]]]:
    """Everything that was written down, but for the journal."""
    for name, book in evidence.drivers.items():
        yield f"ledger of {name}", book
    for number, book in enumerate(evidence.logs):
        yield f"log {number}", book
    yield "deaths", evidence.deaths


def test_a_sound_run_is_found_sound(sound: Evidence) -> None:
    verdict = judge(sound)
    assert verdict.problems == []
    assert (verdict.figures["queries"], verdict.figures["results"]) == (4, 2)
    assert verdict.figures["queries run more than once"] == 1
    assert verdict.figures["unanswered, the client was killed"] == 1


def test_one_record_less_is_found(sound: Evidence) -> None:
    for number, (name, book) in enumerate(books(sound)):
        for at in range(len(book)):
            mutant = copy.deepcopy(sound)
            gone = list(books(mutant))[number][1].pop(at)
            if name == "ledger of d1" and gone["what"] == "result":
                continue  # it was killed: nobody knows whether it had that
            assert judge(mutant).problems, gone


def test_one_record_twice_is_found(sound: Evidence) -> None:
    for number, (name, book) in enumerate(books(sound)):
        for at in range(len(book)):
            mutant = copy.deepcopy(sound)
            twice = list(books(mutant))[number][1]
            twice.insert(at, dict(twice[at]))
            assert judge(mutant).problems, (name, twice[at])
            if twice[at]["what"] in ("result", "error", "sent", "began", "ended"):
                twice[at + 1]["time"] += 1
                assert judge(mutant).problems, (name, twice[at], "a moment later")


def test_two_records_that_changed_places_are_found(sound: Evidence) -> None:
    for number, (name, book) in enumerate(books(sound)):
        for at in range(len(book) - 1):
            mutant = copy.deepcopy(sound)
            swapped = list(books(mutant))[number][1]
            swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
            assert judge(mutant).problems, (name, at)


def test_two_results_that_changed_places_are_found(sound: Evidence) -> None:
    """Each caller got the other's."""
    first, second = (
        next(record for record in sound.drivers[name] if record["what"] == "result") for name in ("d0", "d1")
    )
    first["result"], second["result"] = second["result"], first["result"]
    assert sum("wrong result" in problem for problem in judge(sound).problems) == 2


def test_a_row_less_twice_or_in_another_place_is_found(sound: Evidence) -> None:
    rows = sound.journal
    for at in range(len(rows)):
        mutants = [rows[:at] + rows[at + 1 :], [*rows[: at + 1], *rows[at:]]]
        if at:
            mutants.append([*rows[: at - 1], rows[at], rows[at - 1], *rows[at + 1 :]])
        for mutant in mutants:
            if mutant == rows[:-1]:
                continue  # a journal without its end has no gap; whose rows these were is seen below
            assert judge(replace(sound, journal=mutant)).problems, at
    lost = [row for row in rows if row.kind != "result" or row.exchange != b"d0-1"]
    renumbered = [replace(row, seq=number) for number, row in enumerate(lost, 1)]
    found = judge(replace(sound, journal=renumbered)).problems
    assert found == ["the journal: plain d0-1 was answered, and its rows are not there"]


@pytest.mark.parametrize("kind", [CHILD, WORKER])
def test_a_second_run_needs_the_death_of_who_ran_it_first(sound: Evidence, kind: str) -> None:
    sound.deaths[0].update(kind=kind, pid=99, hit=0)
    assert any("was run again, though process 10" in problem for problem in judge(sound).problems)


def test_what_may_run_once_is_never_run_twice_whoever_died(sound: Evidence) -> None:
    run_again = next(record for record in sound.logs[0] if record["function"] == "once")
    later = {**run_again, "pid": 20, "parent": 2, "time": sound.logs[1][0]["time"] - 1}
    sound.logs[1].insert(0, later)
    sound.logs[1].insert(1, {**later, "what": "ended"})
    assert any("may be run once" in problem for problem in judge(sound).problems)


def test_a_line_without_its_end_was_never_written(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    ledger.note("one")
    ledger.note("two")
    ledger.close()
    whole = (tmp_path / "l").read_bytes()
    (tmp_path / "l").write_bytes(whole[:-1])
    assert [record["what"] for record in read(tmp_path / "l")] == ["one"]
