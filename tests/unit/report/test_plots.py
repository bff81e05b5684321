from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from framehub.report.facts import gather
from framehub.report.plots import OUTCOMES, plots


def test_nothing_gives_no_plots(tables: Callable[..., Path]) -> None:
    assert plots(gather(tables())) == {}


def test_each_plot_has_what_the_facts_say(
    tables: Callable[..., Path], exchange: Callable[..., Any], at: Callable[[float], datetime]
) -> None:
    frames = [{"time": at(0), "direction": "in", "bytes": 3}]
    rows = [exchange(n, outcome=outcome, wait_us=n + 1) for n, outcome in enumerate(OUTCOMES)]
    made = plots(gather(tables(frames=frames, exchanges=rows)))
    assert set(made) == {"traffic", "waits", "outcomes"}
    assert [trace["name"] for trace in made["outcomes"]["data"]] == list(OUTCOMES)
    assert [sum(trace["y"]) for trace in made["traffic"]["data"]] == [1, 0]
    assert made["waits"]["data"][0]["y"] == ["chat"]


def test_names_are_text_to_plotly(tables: Callable[..., Path], exchange: Callable[..., Any]) -> None:
    made = plots(gather(tables(exchanges=[exchange(1, endpoint='<a href="x">')])))
    assert made["waits"]["data"][0]["y"] == ["&lt;a href=&quot;x&quot;&gt;"]
