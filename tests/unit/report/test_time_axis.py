from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from framehub.report.time_axis import axis, pauses

START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


def _times(step_s: float, count: int, start: datetime = START) -> list[str | None]:
    return [(start + timedelta(seconds=step_s * n)).isoformat() for n in range(count)]


@pytest.mark.parametrize(
    ("step_s", "count", "labels"),
    [
        (1, 100, ["08:00:00<br>Jan 5, 2026", "08:00:15", "08:00:30", "08:00:45", "08:01:00", "08:01:15",
                  "08:01:30"]),
        (0.01, 30, ["08:00:00.00<br>Jan 5, 2026", "08:00:00.05", "08:00:00.10", "08:00:00.15", "08:00:00.20",
                    "08:00:00.25"]),
        (1800, 60, ["08:00<br>Jan 5, 2026", "12:00", "18:00", "00:00<br>Jan 6", "06:00", "12:00"]),
        (86_400, 4, ["Jan 5<br>2026", "Jan 6", "Jan 7", "Jan 8"]),
        (1, 1, ["08:00:00.00<br>Jan 5, 2026"]),
    ],
)  # fmt: skip
def test_labels_stand_at_round_times(step_s: float, count: int, labels: list[str]) -> None:
    made = axis(_times(step_s, count), int(step_s * 1000))
    assert made["ticktext"] == labels
    assert made["range"] == [0, count]
    assert len(made["tickvals"]) == len(labels)
    assert len(made["narrow"]["ticktext"]) <= len(labels)


def test_a_pause_has_a_mark_and_a_label_behind_it() -> None:
    times = [*_times(60, 10), None, *_times(60, 10, START + timedelta(hours=3))]
    made = pauses(times, 60_000)
    assert [shape["x0"] for shape in made["shapes"]] == [10.5]
    (words,) = made["annotations"]
    assert words["text"].split() == ["2.83", "h", "pause"]
    assert "11:00" in axis(times, 60_000)["ticktext"]


def test_without_pauses_there_are_no_marks() -> None:
    assert pauses(_times(1, 5), 1000) == {"shapes": [], "annotations": []}


def test_labels_keep_apart() -> None:
    times = [*_times(1, 3), None, *_times(1, 100, START + timedelta(hours=3))]
    places = axis(times, 1000)["tickvals"]
    assert all(later - earlier > 5 for earlier, later in pairwise(places))
