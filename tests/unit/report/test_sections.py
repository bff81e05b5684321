import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from framehub.report import sections
from framehub.report.facts import gather

Tables = Callable[..., Path]
Make = Callable[..., Any]


def _text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", html))


def test_the_basis_says_what_was_read(tables: Tables, everything: dict[str, Any]) -> None:
    text = _text(sections.basis(gather(tables(**everything))))
    assert "2026-03-01 12:00:00 to 2026-03-01 12:00:19 UTC" in text
    assert "north up to row 20" in text


def test_damage_is_said_and_cut(tables: Tables) -> None:
    text = _text(sections.damage(gather(tables(damage=[f"<{n}>" for n in range(30)]))))
    assert "The journal is damaged" in text
    assert "&lt;19&gt;" in text
    assert "and 10 more" in text


@pytest.mark.parametrize(
    ("rules", "text"),
    [(52, "All 52 rules held over 0 rows."), ({"a": "A."}, "All 1 rules held"), (None, "Every rule held")],
)
def test_rules_that_held_are_said_to(tables: Tables, rules: object, text: str) -> None:
    assert text in _text(sections.violations(gather(tables(rules=rules))))


def test_broken_rules_have_counts_evidence_and_commands(tables: Tables, violation: Make) -> None:
    rows = [violation("often", n, detail="so <it> is") for n in range(5)] + [
        violation("once", 9, evidence=[4])
    ]
    html = sections.violations(gather(tables(violations=rows, rules=52)))
    text = _text(html)
    assert "6 violations of 2 rules in 0 rows. The other 50 held." in text
    assert "5 About often. often" in text
    assert "rows 3, 9" in text
    assert "row 4" in text
    assert "so &lt;it&gt; is" in text
    assert "and 2 more, the last at 2026-03-01 12:00:04 UTC" in text
    assert "--node north --seq 3,9" in text
    assert f"story {7:032x}" in text
    assert html.count("<details open>") == 1


def test_tiles_tell_what_went_wrong_first(tables: Tables, everything: dict[str, Any]) -> None:
    html = sections.tiles(gather(tables(**everything)))
    bad = [_text(tile).strip() for tile in re.findall(r"<a [^>]*class=bad>.*?</a>", html)]
    assert bad == ["2 violations of 2 rules", "2 exchanges failed, 28.6 %", "1 files incomplete, of 2"]
    assert html.index("class=bad") < html.index("frames")


def test_outcomes_and_codes_are_counted(tables: Tables, exchange: Make, metric: Make) -> None:
    rows = [exchange(n, outcome="error", code="busy") for n in range(3)]
    facts = gather(tables(exchanges=rows, metrics=[metric(8, ok=5, error=3)]))
    assert "chat mfp 8 5 3 37.5 %" in _text(sections.outcomes(facts))
    text = _text(sections.failures(facts))
    assert "chat mfp error busy 3 2026-03-01 12:00:02" in text
    assert "rarer" not in text


def test_rare_failures_are_counted_together(tables: Tables, exchange: Make) -> None:
    rows = [exchange(n, outcome="error", code=f"c{n}") for n in range(40)]
    assert "and 28 rarer kinds" in _text(sections.failures(gather(tables(exchanges=rows))))


def test_latency_has_percentiles_of_each_and_of_all(tables: Tables, metric: Make) -> None:
    rows = [metric(8), metric(4, endpoint="b", waits=[{"le_us": 1000.0, "count": 4}], max_us=990)]
    text = _text(sections.latency(gather(tables(metrics=rows))))
    assert "chat mfp 8 95 µs 95 µs 95 µs 95 µs" in text
    assert "all 12 100 µs 990 µs 990 µs 990 µs" in text


def test_files_and_what_lacks_of_them(tables: Tables, file: Make) -> None:
    rows = [file("a.txt", 1500), file("b.txt", 0, how="announced", complete=False, frames=0)]
    rows += [file("x", 1, name=None, key=5, frames=2), file("y", 1, name=None, key=None)]
    text = _text(sections.files(gather(tables(files=rows))))
    assert "4 files, 1.5 kB: 3 attached, 1 announced." in text
    assert "b.txt text/plain nothing announced in up" in text
    assert "a.txt text/plain 1.5 kB in 1 frame attached in up" in text
    assert "(key 5) text/plain 1 B in 2 frames" in text


def test_a_payload_that_cannot_be_shown_says_why(tables: Tables, at: Callable[[float], datetime]) -> None:
    row = {"time": at(0), "user": 1, "kind": "message", "direction": "in", "protocol": "mfp"}
    rows = [row | {"readable": False}, row | {"readable": False, "coder": "<arrow>"}, row]
    many = [{"key": n, "name": None, "type": None, "bytes": 1} for n in range(7)]
    rows += [row | {"readable": True, "json": "[1]", "files": many}, row | {"readable": True, "error": "no"}]
    text = _text(sections.messages(gather(tables(messages=rows))))
    for words in ("(not an envelope)", "(not read: &lt;arrow&gt;)", "(not recorded)", "error: no"):
        assert words in text
    assert "[1] 0, 1, 2, 3, 4 and 2 more" in text


def test_a_bar_of_traffic_is_said_to_be_how_long(tables: Tables, everything: dict[str, Any]) -> None:
    assert "one bar is 200 ms" in _text(sections.traffic(gather(tables(**everything))))


def test_the_slowest_have_their_timelines(tables: Tables, everything: dict[str, Any]) -> None:
    html = sections.slowest(gather(tables(**everything)))
    assert html.count("<article>") == 1
    assert "waited 30 ms" in _text(html)
