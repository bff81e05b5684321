"""Figures to plots, as plain values for plotly.js.

Colours are names; the page gives each theme its own. Plotly takes some HTML in labels: names are escaped.
Waits stand on axes of their logarithm, time on an axis of its steps, so that cells are of one size.
"""

from collections.abc import Sequence
from html import escape
from math import ceil, log10, sqrt
from typing import Any, Final

from framehub.report.exchanges import HEAT_PER_DECADE
from framehub.report.facts import Facts
from framehub.report.minutes import OUTCOMES, STRIP_PER_DECADE
from framehub.report.tables import short
from framehub.report.time_axis import axis, pauses
from framehub.report.units import amount, duration, moment, number, share

PERCENTILES: Final = ("p50", "p95", "p99")
_BAR_PIXELS: Final = 30
_FRAME_PIXELS: Final = 96
_LABEL: Final = 30
_NARROW_LABEL: Final = 15
_NARROW_WAITS: Final = 4
_TICKS: Final = 3
_MARKED: Final = 40
"""With fewer steps each has a dot: one that stands alone is no line."""

Plot = dict[str, Any]


def plots(facts: Facts) -> dict[str, Plot]:
    """Every plot that the facts give something for, by the id of its place in the page."""
    made = {
        "plot-outcomes": _outcomes(facts["outcomes"]),
        "plot-strips": _strips(facts["waits"]["by_name"]),
        "plot-waits": _over_time(facts["waits"]["over_time"]),
        "plot-traffic": _traffic(facts["traffic"]),
    }
    return {name: plot for name, plot in made.items() if plot is not None}


def _outcomes(rows: Sequence[Facts]) -> Plot | None:
    """How each name's exchanges ended, as shares of a hundred."""
    if not rows:
        return None
    rows = list(reversed(rows))
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": outcome,
            "y": list(range(len(rows))),
            "x": [100 * row[outcome] / row["count"] if row["count"] else 0 for row in rows],
            "customdata": [f"{number(row[outcome])} of {number(row['count'])} {outcome}" for row in rows],
            "hovertemplate": "%{customdata}<extra></extra>",
            "marker": {"color": outcome},
        }
        for outcome in OUTCOMES
        if any(row[outcome] for row in rows)
    ]
    layout = {
        "barmode": "stack",
        "bargap": 0.35,
        "height": _FRAME_PIXELS + _BAR_PIXELS * len(rows),
        "xaxis": {"range": [0, 100], "ticksuffix": " %", "fixedrange": True},
        "yaxis": _names(rows),
    }
    return {"data": data, "layout": layout}


def _strips(rows: Sequence[Facts]) -> Plot | None:
    """Of each name, where its waits lie; the percentiles as strokes."""
    if not rows:
        return None
    rows = list(reversed(rows))
    cells = [{round(STRIP_PER_DECADE * log10(le)): n for le, n in row["buckets"]} for row in rows]
    low, high = min(map(min, cells)), max(map(max, cells))
    across = range(low, high + 1)
    heat = {
        "type": "heatmap",
        "x": [(edge - 1) / STRIP_PER_DECADE for edge in range(low, high + 2)],
        "y": list(range(len(rows))),
        "z": [
            [sqrt(n / max(cell.values())) if (n := cell.get(at)) else None for at in across] for cell in cells
        ],
        "customdata": [
            [_cell(cell.get(at, 0), row["count"], at, STRIP_PER_DECADE) for at in across]
            for cell, row in zip(cells, rows, strict=True)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
        "hoverongaps": False,
        "colorscale": "heat",
        "zmin": 0,
        "zmax": 1,
        "showscale": False,
        "ygap": 5,
    }
    strokes = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": percentile,
            "x": [_log(row[percentile]) for row in rows],
            "y": list(range(len(rows))),
            "customdata": [f"{percentile} {duration(row[percentile])}" for row in rows],
            "hovertemplate": "%{customdata}<extra></extra>",
            "marker": {"symbol": "line-ns", "size": 17, "line": {"width": 2.5, "color": percentile},
                       "color": percentile},
        }
        for percentile in PERCENTILES
    ]  # fmt: skip
    layout = {
        "height": _FRAME_PIXELS + _BAR_PIXELS * len(rows),
        "xaxis": {"fixedrange": True, **_fewer(_decades(low, high, STRIP_PER_DECADE))},
        "yaxis": _names(rows),
    }
    return {"data": [heat, *strokes], "layout": layout}


def _over_time(waits: Facts | None) -> Plot | None:
    """How many answers took how long, step by step; the percentiles as lines."""
    if waits is None:
        return None
    answered = sum(count > 0 for count in waits["count"])
    edges = [round(HEAT_PER_DECADE * log10(le)) for le in waits["le_us"]]
    low, high = edges[0], edges[-1]
    times = [moment(time) for time in waits["time"]]
    heat = {
        "type": "heatmap",
        "x": list(range(len(times) + 1)),
        "y": [(edge - 1) / HEAT_PER_DECADE for edge in range(low, high + 2)],
        "z": [[sqrt(n) if n else None for n in row] for row in waits["buckets"]],
        "customdata": [
            [
                f"{time}: {_cell(n, whole, edge, HEAT_PER_DECADE)}" if n else ""
                for time, n, whole in zip(times, row, waits["count"], strict=True)
            ]
            for edge, row in zip(edges, waits["buckets"], strict=True)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
        "hoverongaps": False,
        "colorscale": "heat",
        "zmin": 0,
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
    }
    lines = [
        {
            "type": "scatter",
            "mode": "lines+markers" if answered < _MARKED else "lines",
            "name": percentile,
            "x": [at + 0.5 for at in range(len(times))],
            "y": [_log(value) for value in waits[percentile]],
            "customdata": [
                f"{time}: {percentile} {duration(value)}"
                for time, value in zip(times, waits[percentile], strict=True)
            ],
            "hovertemplate": "%{customdata}<extra></extra>",
            "line": {"color": percentile, "width": 2},
            "marker": {"color": percentile, "size": 4},
            "connectgaps": False,
        }
        for percentile in PERCENTILES
    ]
    layout = {
        "height": 340,
        "xaxis": axis(waits["time"], waits["step_ms"]),
        "yaxis": {"fixedrange": True, **_decades(low, high, HEAT_PER_DECADE)},
        **pauses(waits["time"], waits["step_ms"]),
    }
    return {"data": [heat, *lines], "layout": layout}


def _traffic(traffic: Facts | None) -> Plot | None:
    """Frames above, bytes below; what came in goes up from the line, what went out goes down."""
    if traffic is None:
        return None
    data = []
    times = [moment(time) for time in traffic["time"]]
    for what, on, write in (("frames", "y", number), ("bytes", "y2", amount)):
        for protocol, series in traffic["protocols"].items():
            for way, sign in (("in", 1), ("out", -1)):
                values = series[f"{what}_{way}"]
                unit = " frames" if what == "frames" else ""
                data.append(
                    {
                        "type": "bar",
                        "name": protocol,
                        "legendgroup": protocol,
                        "showlegend": (what, way) == ("frames", "in"),
                        "x": [at + 0.5 for at in range(len(times))],
                        "y": [sign * value for value in values],
                        "yaxis": on,
                        "customdata": [
                            f"{time}: {write(value)}{unit} {way}, {protocol}"
                            for time, value in zip(times, values, strict=True)
                        ],
                        "hovertemplate": "%{customdata}<extra></extra>",
                        "marker": {"color": protocol, "opacity": 1 if way == "in" else 0.55},
                    }
                )
    layout = {
        "barmode": "relative",
        "bargap": 0,
        "height": 420,
        "xaxis": {"anchor": "y2", **axis(traffic["time"], traffic["step_ms"])},
        "yaxis": {"domain": [0.54, 1], "fixedrange": True, **_both_ways(traffic, "frames")},
        "yaxis2": {"domain": [0, 0.46], "fixedrange": True, **_both_ways(traffic, "bytes")},
        **pauses(traffic["time"], traffic["step_ms"]),
    }
    return {"data": data, "layout": layout}


def _both_ways(traffic: Facts, what: str) -> Plot:
    """An axis that counts up and down from zero."""
    most = {}
    for way in ("in", "out"):
        columns = zip(*(series[f"{what}_{way}"] for series in traffic["protocols"].values()), strict=True)
        most[way] = max((sum(column) for column in columns), default=0)
    greatest = max(most.values())
    step = _round_up(max(1, greatest) / _TICKS)
    values = [
        sign * at * step
        for sign, way in ((-1, "out"), (1, "in"))
        for at in range(1, _TICKS + 1)
        if at * step <= most[way] * 1.05
    ]
    write = number if what == "frames" else amount
    texts = [write(abs(int(value))) for value in values]
    return {"tickvals": [*values, 0], "ticktext": [*texts, "0"], "title": {"text": what}}


def _round_up(value: float) -> int:
    """The next of 1, 2, 5, 10, 20, 50 ..."""
    power = 10 ** max(0, int(log10(value)))
    return int(next((power * nice for nice in (1, 2, 5, 10) if power * nice >= value), power * 10))


def _names(rows: Sequence[Facts]) -> Plot:
    """An axis of names; they are numbers to plotly, for two may look alike once they are cut."""
    labels = [row["name"] for row in rows]
    texts = {
        limit: [escape(short(label, limit) or "") for label in labels] for limit in (_LABEL, _NARROW_LABEL)
    }
    return {
        "automargin": True,
        "fixedrange": True,
        "showgrid": False,
        "range": [-0.6, len(rows) - 0.4],
        "tickvals": list(range(len(rows))),
        "ticktext": texts[_LABEL],
        "narrow": {"ticktext": texts[_NARROW_LABEL]},
    }


def _decades(low: int, high: int, per_decade: int) -> Plot:
    """An axis of waits, from the lower edge of bucket ``low`` to the upper of ``high``."""
    first, last = (low - 1) / per_decade, high / per_decade
    if last - first < 1:  # a single decade at least, so that there are two labels
        first, last = min(first, ceil(first + 0.01) - 1), max(last, ceil(last))
    powers = [power for power in range(-2, 12) if first - 0.05 <= power <= last + 0.05]
    return {"range": [first, last], "tickangle": 0, **_waits(powers)}


def _fewer(axis_of: Plot) -> Plot:
    """The axis with fewer labels where there is little room."""
    powers = axis_of["tickvals"]
    return {**axis_of, "narrow": _waits(powers[:: -(-len(powers) // _NARROW_WAITS)])}


def _waits(powers: Sequence[int]) -> Plot:
    return {"tickvals": list(powers), "ticktext": [duration(10**power) for power in powers]}


def _cell(count: int, whole: int, edge: int, per_decade: int) -> str:
    if not count:
        return ""
    reach = f"{duration(10 ** ((edge - 1) / per_decade))} to {duration(10 ** (edge / per_decade))}"
    return f"{reach}: {number(count)} answers, {share(count, whole)}"


def _log(microseconds: float | None) -> float | None:
    return None if microseconds is None else round(log10(max(microseconds, 0.5)), 4)
