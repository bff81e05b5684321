from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from framehub.report.traffic import MOST_STEPS, find_steps, iso, traffic

Snapshot = Callable[..., Path]
At = Callable[[float], datetime]


def test_it_adds_up_whatever_the_span(snapshot: Snapshot, at: At) -> None:
    protocols, ways = ("mfp", "rpc", "hub", "?"), ("in", "out", "in")
    rows = [
        {"time": at(n * 700), "protocol": protocols[n % 4], "direction": ways[n % 3], "bytes": 10}
        for n in range(480)
    ]
    frames = snapshot(frames=rows, rows_per_file=100) / "frames"
    steps = find_steps(frames)
    assert steps is not None
    told = traffic(frames, steps)
    assert list(told["protocols"]) == ["mfp", "rpc", "hub"]
    for protocol, series in told["protocols"].items():
        of_it = [row for row in rows if row["protocol"] == protocol]
        outs = sum(row["direction"] == "out" for row in of_it)
        assert sum(series["frames_out"]) == outs
        assert sum(series["bytes_in"]) == 10 * (len(of_it) - outs)
        assert {len(values) for values in series.values()} == {len(told["time"])}
    assert len(told["time"]) <= MOST_STEPS + 1
    assert (iso(steps.first), iso(steps.last)) == (at(0).isoformat(), at(479 * 700).isoformat())


@pytest.mark.parametrize("seconds", [0, 0.001, 0.99, 61, 3601, 86_400 * 400, 86_400 * 9000])
def test_the_last_frame_is_counted_too(snapshot: Snapshot, at: At, seconds: float) -> None:
    rows = [{"time": at(t), "protocol": "mfp", "direction": "in", "bytes": 1} for t in (0, seconds)]
    frames = snapshot(frames=rows) / "frames"
    steps = find_steps(frames)
    assert steps is not None
    assert steps.count <= MOST_STEPS + 2
    told = traffic(frames, steps)["protocols"]["mfp"]["frames_in"]
    assert (told[0] + (told[-1] if len(told) > 1 else 0), sum(told)) == (2, 2)
    assert len(told) == steps.count == len(steps.times())


def test_steps_begin_at_round_times(snapshot: Snapshot, at: At) -> None:
    rows = [{"time": at(t), "protocol": "mfp", "direction": "in", "bytes": 1} for t in (7.3, 95)]
    steps = find_steps(snapshot(frames=rows) / "frames")
    assert steps is not None
    assert (steps.width, steps.times()[0]) == (1_000_000, at(7).isoformat())


def test_no_frames_have_no_steps(snapshot: Snapshot) -> None:
    assert find_steps(snapshot() / "frames") is None


def test_long_pauses_are_left_out(snapshot: Snapshot, at: At) -> None:
    moments = [0, 1, 30, 7300, 7301]
    rows = [{"time": at(t), "protocol": "mfp", "direction": "in", "bytes": 1} for t in moments]
    frames = snapshot(frames=rows, rows_per_file=2) / "frames"
    steps = find_steps(frames)
    assert steps is not None
    told = traffic(frames, steps)
    assert steps.width == 1_000_000
    assert told["time"].count(None) == 1
    pause = told["time"].index(None)
    assert told["time"][pause - 1 :: 2][:2] == [at(59).isoformat(), at(7260).isoformat()]
    counted = told["protocols"]["mfp"]["frames_in"]
    assert (counted[pause], sum(counted[:pause]), sum(counted[pause:])) == (0, 3, 2)
    assert [told["time"][place] for place, n in enumerate(counted) if n] == [
        at(t).isoformat() for t in moments
    ]


def test_short_and_few_pauses_stay(snapshot: Snapshot, at: At) -> None:
    rows = [{"time": at(t), "protocol": "mfp", "direction": "in", "bytes": 1} for t in range(0, 36_000, 3600)]
    steps = find_steps(snapshot(frames=rows) / "frames")
    assert steps is not None
    assert None not in steps.times()
