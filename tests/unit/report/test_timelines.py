import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from framehub.report import timelines
from framehub.report.families import Relatives

Snapshot = Callable[..., Path]
Make = Callable[..., Any]
At = Callable[[float], datetime]


def _told(snapshot: Snapshot, rows: list[Any]) -> Any:
    chosen = (rows[0]["node"], rows[0]["exchange"])
    told = Relatives(snapshot(exchanges=rows) / "exchanges", [chosen]).told(chosen)
    assert told is not None
    return told | {"story": "framehub story x"}


def _bars(html: str) -> list[tuple[str, float, float]]:
    found = re.findall(r'<i class="(\w+)" style="left:([\d.]+)%;width:([\d.]+)%">', html)
    return [(phase, float(left), float(width)) for phase, left, width in found]


def test_a_query_is_cut_where_it_went_from_hand_to_hand(snapshot: Snapshot, exchange: Make, at: At) -> None:
    row = exchange(1, kind="query", protocol="rpc", opened=at(1), given=at(2), worker_answered=at(9),
                   first_answer=at(10), closed=at(11), given_to="abcdef0123456789", dispatches=3)  # fmt: skip
    html = timelines.card(_told(snapshot, [row]))
    assert _bars(html) == [("here", 0, 10), ("there", 10, 70), ("back", 80, 10), ("rest", 90, 10)]
    assert '<b class="ok" style="left:100.0%">' in html
    words = re.sub(r"\s", " ", re.sub("<[^>]*>", "", html))
    assert "given to abcdef01, 3 times +1 s" in words
    assert "answered by it +8 s" in words
    assert "framehub story x" in words


def test_lanes_of_a_family_share_one_time(snapshot: Snapshot, exchange: Make, at: At) -> None:
    caused = exchange(2, opened=at(4), first_answer=at(6), closed=at(6), parent=f"{1:032x}", endpoint="inner")
    row = exchange(1, opened=at(0), first_answer=at(10), closed=at(10))
    html = timelines.timeline(_told(snapshot, [row, caused]))
    assert _bars(html) == [("here", 0, 100), ("rest", 99.75, 0.25), ("here", 40, 20), ("rest", 60, 0.25)]
    assert html.count('class="who"') == 2
    assert html.count('class="lane shown"') == 1
    assert re.search(r"first answer, closed <em>\+6\ss</em>", html)


def test_what_is_open_reaches_to_its_last_row(snapshot: Snapshot, exchange: Make, at: At) -> None:
    row = exchange(1, outcome="open", wait_us=None, opened=at(0), last=at(8))
    html = timelines.timeline(_told(snapshot, [row]))
    assert _bars(html) == [("here", 0, 100)]
    assert "never closed" in html
    assert "<b " not in html


def test_times_out_of_order_stay_inside(snapshot: Snapshot, exchange: Make, at: At) -> None:
    row = exchange(1, opened=at(5), given=at(9), worker_answered=at(7), first_answer=at(8), closed=at(8))
    for _, left, width in _bars(timelines.timeline(_told(snapshot, [row]))):
        assert left >= 0
        assert left + width <= 100.01


def test_an_exchange_without_times_or_beginning_is_shown_too(snapshot: Snapshot, exchange: Make) -> None:
    row = exchange(1, opened=None, kind=None, direction=None, endpoint=None, wait_us=None, outcome="error")
    html = timelines.card(_told(snapshot, [row]))
    assert "opening lost" in html
    assert "Its rows have no times." in html


def test_strangers_write_no_html(snapshot: Snapshot, exchange: Make, evil: str) -> None:
    rows = [exchange(1, endpoint=evil, code=evil, node=evil, given_to=evil, outcome="error")]
    rows += [exchange(2, parent=rows[0]["exchange"], endpoint=evil, node=evil)]
    html = timelines.card(_told(snapshot, rows))
    assert "<script" not in html
    assert "<img" not in html


def test_the_legend_names_every_phase() -> None:
    assert timelines.legend().count("<i class=") == len(timelines.PHASES)


def test_most_of_many_are_folded_away(snapshot: Snapshot, exchange: Make) -> None:
    row = _told(snapshot, [exchange(1)])
    assert "<details" not in timelines.cards([row] * 4)
    many = timelines.cards([row] * 7)
    assert many.index("3 more") > many.index("</article>")
    assert many.count("<article>") == 7
