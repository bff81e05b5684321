"""Figures to plots, as plain values for plotly.js.

Colours are names; the page gives each theme its own. Plotly takes some HTML in labels: names are escaped.
"""

from html import escape
from typing import Any, Final

from framehub.report.facts import Facts

OUTCOMES: Final = ("ok", "open", "error", "timeout", "aborted", "unknown", "disconnected")
_BAR_PIXELS: Final = 30
_FRAME_PIXELS: Final = 110

Plot = dict[str, Any]


def plots(facts: Facts) -> dict[str, Plot]:
    """Every plot that the facts give something for, by the id of its place in the page."""
    made = {"traffic": _traffic(facts), "waits": _waits(facts), "outcomes": _outcomes(facts)}
    return {name: plot for name, plot in made.items() if plot is not None}


def _traffic(facts: Facts) -> Plot | None:
    traffic = facts["traffic"]
    if traffic is None:
        return None
    data = [
        {
            "type": "bar",
            "name": label,
            "x": traffic["time"],
            "y": traffic[f"frames_{way}"],
            "customdata": traffic[f"bytes_{way}"],
            "hovertemplate": "%{y:,} frames, %{customdata:.3s}B<extra>" + label + "</extra>",
            "marker": {"color": way},
            # Plotly puts a bar in the middle of its time; ours begin there.
            "offset": 0,
            "width": traffic["step_ms"],
        }
        for way, label in (("in", "in"), ("out", "out"))
    ]
    layout = {
        "barmode": "stack",
        "height": 320,
        "yaxis": {"title": {"text": "frames"}, "rangemode": "tozero"},
    }
    return {"data": data, "layout": layout}


def _waits(facts: Facts) -> Plot | None:
    rows = list(reversed(facts["waits"]))
    if not rows:
        return None
    box = {
        "type": "box",
        "orientation": "h",
        "y": [escape(row["endpoint"]) for row in rows],
        "lowerfence": [row["p5"] for row in rows],
        "q1": [row["p25"] for row in rows],
        "median": [row["p50"] for row in rows],
        "q3": [row["p75"] for row in rows],
        "upperfence": [row["p95"] for row in rows],
        "hoverinfo": "x+y",
        "marker": {"color": "in"},
        "showlegend": False,
    }
    layout = {
        "height": _FRAME_PIXELS + _BAR_PIXELS * len(rows),
        "xaxis": {"type": "log", "title": {"text": "wait, 5 to 95 of 100"}, **_time_ticks()},
        "yaxis": {"automargin": True, "type": "category"},
    }
    return {"data": [box], "layout": layout}


def _time_ticks() -> Plot:
    labels = ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"]
    return {"tickvals": [10**power for power in range(len(labels))], "ticktext": labels}


def _outcomes(facts: Facts) -> Plot | None:
    names = list(reversed(facts["outcomes"]))
    if not names:
        return None
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": outcome,
            "y": [escape(name) for name in names],
            "x": [facts["outcomes"][name].get(outcome, 0) for name in names],
            "hovertemplate": "%{x:,} " + outcome + "<extra>%{y}</extra>",
            "marker": {"color": outcome},
        }
        for outcome in OUTCOMES
        if any(facts["outcomes"][name].get(outcome) for name in names)
    ]
    layout = {
        "barmode": "stack",
        "height": _FRAME_PIXELS + _BAR_PIXELS * len(names),
        "xaxis": {"title": {"text": "exchanges"}, "rangemode": "tozero"},
        "yaxis": {"automargin": True, "type": "category"},
    }
    return {"data": data, "layout": layout}
