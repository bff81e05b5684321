import json
import re
from collections.abc import Callable
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import PipelineError
from framehub.report import page

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&<!--"


class Elements(HTMLParser):
    """Every element with its attributes, and what the script elements hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


@pytest.fixture
def evil_page(
    tables: Callable[..., Path], exchange: Callable[..., Any], at: Callable[[float], datetime]
) -> str:
    file = {"key": 1, "name": EVIL, "type": EVIL, "bytes": 1}
    message = {"time": at(0), "user": 1, "kind": "message", "direction": "in", "endpoint": EVIL}
    message |= {"json": EVIL, "files": [file], "readable": True}
    out = tables(
        frames=[{"time": at(0), "direction": "in", "bytes": 3}],
        messages=[message, message | {"error": EVIL}],
        exchanges=[exchange(1, endpoint=EVIL), exchange(2, endpoint=EVIL, outcome="error", code=EVIL)],
        damage=[EVIL],
    )
    return page.write_report(out).read_text()


def test_text_from_strangers_stays_text(evil_page: str) -> None:
    elements = Elements(evil_page).seen
    assert [tag for tag, _ in elements if tag == "script"] == ["script"] * 3
    assert not [tag for tag, _ in elements if tag in ("img", "iframe", "link", "object", "base")]
    assert not [name for _, attributes in elements for name in attributes if name.startswith("on")]
    data = evil_page.partition('id="plots">')[2].partition("</script>")[0]
    assert json.loads(data)["outcomes"]["data"][0]["y"][0].startswith("&lt;/script&gt;")


def test_the_page_asks_for_nothing_and_runs_only_its_own_scripts(evil_page: str) -> None:
    policy = next(
        attributes["content"] for tag, attributes in Elements(evil_page).seen if "http-equiv" in attributes
    )
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "unsafe-inline" not in policy.partition("script-src")[2]
    scripts = re.findall(r"<script>(.*?)</script>", evil_page, re.DOTALL)
    assert [f"'sha256-{page._sum(script)}'" in policy for script in scripts] == [True, True]
    assert not [a for _, attributes in Elements(evil_page).seen for a in attributes if a in ("src", "href")]


def test_the_story_of_an_exchange_can_be_pasted(
    tables: Callable[..., Path], exchange: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FRAMEHUB_COMMAND", raising=False)
    out = tables(exchanges=[exchange(1, outcome="timeout", wait_us=None)])
    text = page.write_report(out).read_text()
    assert f"framehub story {1:032x} --journal /data/journal --tables {out}" in text
    told = json.loads((out / "report.json").read_text())
    assert told["failed"][0]["outcome"] == "timeout"
    assert sorted(path.name for path in out.iterdir()) == [
        "current",
        "report.html",
        "report.json",
        "snapshots",
    ]


def test_a_payload_that_cannot_be_shown_says_why(
    tables: Callable[..., Path], at: Callable[[float], datetime]
) -> None:
    row = {"time": at(0), "user": 1, "kind": "message", "direction": "in"}
    rows = [row | {"readable": False}, row | {"readable": False, "coder": "<arrow>"}, row]
    text = page.write_report(tables(messages=rows)).read_text()
    assert "(not an envelope)" in text
    assert "(not read: &lt;arrow&gt;)" in text
    assert "(not recorded)" in text


def test_a_place_that_cannot_be_written_is_said(tables: Callable[..., Path]) -> None:
    out = tables()
    (out / "report.json").mkdir()
    with pytest.raises(PipelineError, match="cannot write the report"):
        page.write_report(out)


@pytest.mark.parametrize(
    ("microseconds", "text"), [(None, ""), (0, "0 µs"), (31.623, "31.6 µs"), (1500, "1.5 ms"), (2e6, "2 s")]
)
def test_durations_read_well(microseconds: float | None, text: str) -> None:
    assert page._duration(microseconds) == text
