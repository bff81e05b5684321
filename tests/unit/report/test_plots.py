from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from framehub.report.facts import gather
from framehub.report.minutes import OUTCOMES
from framehub.report.plots import _round_up, plots

Tables = Callable[..., Path]
Make = Callable[..., Any]
At = Callable[[float], datetime]
NO_BREAK = "\N{NO-BREAK SPACE}"


def test_nothing_gives_no_plots(tables: Tables) -> None:
    assert plots(gather(tables())) == {}


def test_outcomes_are_shares_of_each_name(tables: Tables, metric: Make) -> None:
    counts = dict.fromkeys(OUTCOMES, 2)
    rows = [metric(14, **counts), metric(4, endpoint="b"), metric(0, endpoint="c")]
    data = plots(gather(tables(metrics=rows)))["plot-outcomes"]["data"]
    assert [trace["name"] for trace in data] == list(OUTCOMES)
    assert [sum(values) for values in zip(*(trace["x"] for trace in data), strict=True)] == pytest.approx(
        [0, 100, 100]
    )
    assert data[0]["customdata"] == ["0 of 0 ok", "4 of 4 ok", "2 of 14 ok"]


def test_strips_have_a_cell_for_each_bucket(tables: Tables, metric: Make) -> None:
    waits = [{"le_us": 10.0, "count": 1}, {"le_us": 1000.0, "count": 4}]
    made = plots(gather(tables(metrics=[metric(5, waits=waits, max_us=950)])))["plot-strips"]
    heat, p50, *_ = made["data"]
    assert len(heat["x"]) == len(heat["z"][0]) + 1 == 22
    assert (heat["x"][0], heat["x"][-1]) == (0.9, 3.0)
    assert [cell for cell in heat["z"][0] if cell] == [0.5, 1.0]
    assert heat["customdata"][0][-1] == "794_µs to 1_ms: 4 answers, 80_%".replace("_", NO_BREAK)
    assert p50["customdata"] == [f"p50 950{NO_BREAK}µs"]
    assert made["layout"]["xaxis"]["ticktext"] == [f"10{NO_BREAK}µs", f"100{NO_BREAK}µs", f"1{NO_BREAK}ms"]


def test_small_screens_have_fewer_labels(tables: Tables, metric: Make) -> None:
    waits = [{"le_us": 10.0, "count": 1}, {"le_us": 10**8, "count": 4}]
    axis = plots(gather(tables(metrics=[metric(5, waits=waits)])))["plot-strips"]["layout"]["xaxis"]
    assert axis["tickvals"] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert axis["narrow"]["tickvals"] == [1, 3, 5, 7]


def test_waits_over_time_are_counts_and_lines(tables: Tables, exchange: Make, at: At) -> None:
    frames = [{"time": at(t), "protocol": "mfp", "direction": "in", "bytes": 1} for t in (0, 100)]
    rows = [exchange(n, wait_us=10 ** (1 + n % 3)) for n in range(99)]
    made = plots(gather(tables(frames=frames, exchanges=rows)))["plot-waits"]
    heat, *lines = made["data"]
    assert len(heat["y"]) == len(heat["z"]) + 1
    assert len(heat["x"]) == len(heat["z"][0]) + 1 == 102
    assert [line["name"] for line in lines] == ["p50", "p95", "p99"]
    assert lines[0]["y"][:3] == [1.0, 2.0, 3.0]
    assert lines[0]["y"][-1] is None


def test_traffic_goes_up_and_down(tables: Tables, everything: dict[str, Any]) -> None:
    made = plots(gather(tables(**everything)))["plot-traffic"]
    sums: dict[tuple[str, str], int] = {}
    for trace in made["data"]:
        sums[trace["name"], trace["yaxis"]] = sums.get((trace["name"], trace["yaxis"]), 0) + sum(trace["y"])
    assert (sums["mfp", "y"], sums["rpc", "y"], sums["hub", "y"]) == (0, 5, -5)
    assert [trace["showlegend"] for trace in made["data"]].count(True) == 3
    assert "0" in made["layout"]["yaxis"]["ticktext"]


def test_one_moment_can_be_plotted_too(tables: Tables, exchange: Make, metric: Make, at: At) -> None:
    frames = [{"time": at(1), "protocol": "mfp", "direction": "in", "bytes": 0}]
    made = plots(gather(tables(frames=frames, exchanges=[exchange(1)], metrics=[metric(1)])))
    assert len(made) == 4
    assert len(made["plot-strips"]["layout"]["xaxis"]["tickvals"]) == 2


@pytest.mark.parametrize(
    ("value", "up"), [(0.3, 1), (1, 1), (1.1, 2), (3, 5), (7, 10), (11, 20), (999, 1000)]
)
def test_ticks_are_round(value: float, up: int) -> None:
    assert _round_up(value) == up


def test_names_are_text_to_plotly_and_two_may_look_alike(tables: Tables, metric: Make) -> None:
    rows = [
        metric(2, endpoint='<a href="x">'),
        metric(1, endpoint="x" * 90 + "a"),
        metric(1, endpoint="x" * 90),
    ]
    axis = plots(gather(tables(metrics=rows)))["plot-outcomes"]["layout"]["yaxis"]
    assert axis["ticktext"][-1] == "&lt;a href=&quot;x&quot;&gt;"
    assert axis["ticktext"][0] == axis["ticktext"][1] == "x" * 30 + "…"
    assert axis["tickvals"] == [0, 1, 2]
    assert axis["narrow"]["ticktext"][0] == "x" * 15 + "…"
