"""A slice of ``make chaos-remote``: whoever dies, each row is right, and no row is run twice without need."""

from pathlib import Path

import pytest

from tests.chaos.remote.stage import play

ROWS = 4_000


@pytest.mark.spark
def test_every_row_is_right_and_run_once_but_for_deaths(tmp_path: Path) -> None:
    told = play(tmp_path, ROWS)
    assert (told.right, told.wrong) == (ROWS, 0), told
    assert told.unexplained == [], told
    assert told.deaths == {"task": 2, "executor": 1, "proxy": 1, "worker": 1}, told
    assert told.copied, told
    assert told.executions >= ROWS
