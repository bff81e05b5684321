import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import PipelineError
from framehub.report import page

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Elements(HTMLParser):
    """Every element with its attributes; fails where one is not closed in its place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


@pytest.fixture
def evil_page(tables: Callable[..., Path], everything: dict[str, Any], evil: str) -> str:
    return page.write_report(tables(**everything, damage=[evil])).read_text()


def test_text_from_strangers_stays_text(evil_page: str) -> None:
    elements = Elements(evil_page).seen
    assert [tag for tag, _ in elements if tag == "script"] == ["script"] * 3
    assert not [tag for tag, _ in elements if tag in ("img", "iframe", "link", "object", "base", "form")]
    assert not [name for _, attributes in elements for name in attributes if name.startswith("on")]
    data = evil_page.partition('id="plots">')[2].partition("</script>")[0]
    names = json.loads(data)["plot-outcomes"]["layout"]["yaxis"]["ticktext"]
    assert [name.startswith("&lt;/script&gt;") for name in names] == [True, True]


def test_what_is_written_into_attributes_is_ours(evil_page: str) -> None:
    told = {
        (name, value or "")
        for _, attributes in Elements(evil_page).seen
        for name, value in attributes.items()
    }
    assert {name for name, _ in told} <= {
        *("lang", "charset", "http-equiv", "content", "name", "id", "class", "href", "style", "type", "open"),
        *("data-name", "aria-label"),
    }
    styles = {value for name, value in told if name == "style"}
    assert all(re.fullmatch(r"--depth:\d|left:[\d.]+%(;width:[\d.]+%)?", style) for style in styles)


def test_the_page_asks_for_nothing_and_runs_only_its_own_scripts(evil_page: str) -> None:
    elements = Elements(evil_page).seen
    policy = next(attributes["content"] for _, attributes in elements if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "unsafe-inline" not in policy.partition("script-src")[2]
    scripts = re.findall(r"<script>(.*?)</script>", evil_page, re.DOTALL)
    assert [f"'sha256-{page._sum(script)}'" in policy for script in scripts] == [True, True]
    assert not [attributes for _, attributes in elements if "src" in attributes]
    links = {attributes["href"] for _, attributes in elements if "href" in attributes}
    assert links <= {f"#{attributes['id']}" for _, attributes in elements if "id" in attributes}


def test_every_plot_has_a_place(evil_page: str) -> None:
    data = json.loads(evil_page.partition('id="plots">')[2].partition("</script>")[0])
    places = {attributes.get("id") for _, attributes in Elements(evil_page).seen}
    assert set(data) <= places
    assert len(data) == 4


def test_nothing_at_all_is_a_page_too(tables: Callable[..., Path]) -> None:
    text = page.write_report(tables()).read_text()
    Elements(text)
    for words in (
        "Every rule held over 0 rows.",
        "Nothing has failed.",
        "No exchange has begun.",
        "No request, call or stream has been answered.",
        "No frames yet.",
        "No files.",
        "No messages.",
        "no frames yet",
    ):
        assert words in text
    assert "The journal is damaged" not in text


def test_the_page_does_not_grow_with_the_tables(
    tables: Callable[..., Path],
    everything: dict[str, Any],
    exchange: Callable[..., Any],
    metric: Callable[..., Any],
    violation: Callable[..., Any],
    file: Callable[..., Any],
    evil: str,
) -> None:
    long = evil * 50
    numbers = range(600)
    out = tables(
        frames=everything["frames"] * 50,
        exchanges=[
            exchange(n, endpoint=f"{n}{long}", outcome="error", code=f"{n}", parent=f"{n - n % 9:032x}")
            for n in numbers
        ],
        metrics=[metric(n, endpoint=f"{n}{long}") for n in numbers],
        violations=[
            violation(f"r{n % 50}", n, endpoint=long, detail=long * 9, evidence=[n] * 900) for n in numbers
        ],
        files=[file(long, n, type=f"{n}{long}", complete=False) for n in numbers],
        messages=[everything["messages"][0] | {"json": long * 9, "endpoint": long}] * 600,
        damage=[long] * 100,
    )
    page.write_report(out)
    ours = (out / "report.html").stat().st_size - len(page._plotly())
    assert ours < 1_500_000
    assert (out / "report.json").stat().st_size < 1_500_000


def test_the_report_is_the_facts_as_json_too(tables: Callable[..., Path], everything: dict[str, Any]) -> None:
    out = tables(**everything)
    page.write_report(out)
    told = json.loads((out / "report.json").read_text())
    assert told["failed"][0]["outcome"] == "error"
    assert sorted(path.name for path in out.iterdir()) == [
        "current",
        "report.html",
        "report.json",
        "snapshots",
    ]


def test_a_place_that_cannot_be_written_is_said(tables: Callable[..., Path]) -> None:
    out = tables()
    (out / "report.json").mkdir()
    with pytest.raises(PipelineError, match="cannot write the report"):
        page.write_report(out)
