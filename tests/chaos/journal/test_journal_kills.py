"""A gateway under kill -9: what it acknowledged as durable is read back. ``make chaos-journal`` kills 100."""

from pathlib import Path

import pytest

from tests.chaos.journal.judge import Found, Note, judge
from tests.chaos.journal.kills import run

KILLS = 10


@pytest.mark.timeout(300)
def test_kill_9_of_a_gateway_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    verdict = run(tmp_path, KILLS, seed=3)
    assert verdict.problems == []
    assert verdict.figures["acknowledged"] > KILLS


# --- is the judge worth something? -----------------------------------------------------------------------

SENT = [Note(f"op-{number}", f"sum-{number}") for number in range(4)]
ROWS = [
    Found(1, None, ""),
    Found(2, "op-0", "sum-0"),
    Found(3, "op-1", "sum-1"),
    Found(4, "op-2", "sum-2"),
]
LEDGER = SENT[:3]


def test_a_sound_journal_has_no_problems() -> None:
    assert judge(LEDGER, SENT, ROWS) == []
    assert judge(LEDGER[:2], SENT, ROWS) == []  # recorded, and killed before it could be said


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (ROWS[:3], "op-2 was acknowledged and is not in the journal"),
        ([*ROWS[:2], *ROWS[3:]], "row 3 has the number 4"),
        ([*ROWS, Found(5, "op-2", "sum-2")], "op-2 is in the journal twice"),
        ([*ROWS[:3], Found(4, "op-2", "sum-9")], "its payload is another"),
        ([*ROWS, Found(5, "op-9", "sum-9")], "op-9 is in the journal and was never sent"),
        ([ROWS[0], ROWS[2], ROWS[1], ROWS[3]], "row 2 has the number 3"),
    ],
)
def test_the_judge_finds_what_is_wrong(rows: list[Found], words: str) -> None:
    assert words in "; ".join(judge(LEDGER, SENT, rows))
