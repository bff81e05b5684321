import json
import re
from pathlib import Path

import pytest

from framehub.errors import JournalError
from framehub.journal.faults.catalogue import FAULTS, TRUTH_FILE, Truth, chosen
from framehub.journal.faults.fault import Fault, Violation
from framehub.journal.traffic import World

SPEC = Path(__file__).parents[4] / "spec" / "audit.md"


def test_every_rule_of_the_audit_has_its_fault() -> None:
    rules = re.findall(r"^\| `([a-z-]+)` \|", SPEC.read_text(), re.MULTILINE)
    assert len(rules) == len(set(rules)) > 50
    assert set(rules) == set(FAULTS)


def test_rules_are_named_one_by_one_or_all_at_once() -> None:
    assert chosen("all") == tuple(FAULTS)
    assert chosen("raw-differs, mfp-not-acked,") == ("mfp-not-acked", "raw-differs")
    assert chosen(["journal-gap"]) == ("journal-gap",)
    assert chosen(()) == chosen("") == ()


def test_a_rule_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(
        JournalError, match=r"no such rule: mfp-nothing; there are: all, mfp-answered-twice, "
    ):
        chosen("mfp-not-acked,mfp-nothing")


def test_a_story_that_ends_is_in_the_truth() -> None:
    world, truth = World(1), Truth()
    truth.tell(world, "mfp-acked-unasked")
    truth.tell(world, "journal-gap")
    while not world.quiet:
        world.step()
    assert {fault.rule for fault in truth.faults} == {"mfp-acked-unasked", "journal-gap"}
    ((before, after),) = truth.gaps
    assert truth.missing == after - before - 1 == world.seq - len(world.tape)


def test_the_truth_is_written_in_the_order_of_the_rows(tmp_path: Path) -> None:
    truth = Truth()
    companion = Violation("raw-unlawful", (9,))
    truth.faults = [Fault("mfp-zero-id", (9,), (companion,)), Fault("mfp-not-acked", (4,))]
    truth.write(tmp_path, frames=10, seed=3)
    assert json.loads((tmp_path / TRUTH_FILE).read_text()) == {
        "frames": 10,
        "seed": 3,
        "faults": [
            {"rule": "mfp-not-acked", "evidence": [4], "companions": []},
            {
                "rule": "mfp-zero-id",
                "evidence": [9],
                "companions": [{"rule": "raw-unlawful", "evidence": [9]}],
            },
        ],
    }
