"""The vectors of spec/ in Chromium: the tests beside the client's sources, minified as the client is."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.clients.conftest import packages
from tests.clients.npm import CLIENT, npm

__all__ = ["packages"]
pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("packages")]

SPEC = Path(__file__).parents[2] / "spec"
VECTORS = sorted((SPEC / "vectors" / "mfp").glob("*.json"))
TOLD = {
    "frame": ("read", "written"),
    "malformed": ("refused",),
    "unsendable": ("not sent",),
    "envelope": ("said",),
    "conversation": ("as written",),
}
"""By kind: what the tests of one case are called."""


def wanted() -> Counter[str]:
    """Tests that there must be: some for each case of each file."""
    found: Counter[str] = Counter()
    for file in VECTORS:
        told = json.loads(file.read_text())
        for case in told["cases"]:
            found.update(f"{how}: {case['name']}" for how in _tests_of(told["kind"], case))
    return found


def _tests_of(kind: str, case: dict[str, Any]) -> list[str]:
    more = ["found in its frame"] if kind == "envelope" and "hex" in case else []
    more += ["A alone", "B alone"] if kind == "conversation" and not case.get("hands") else []
    return [*TOLD[kind], *more]


def test_every_case_of_every_vector_passes_in_a_page(page: Page) -> None:
    npm("run", "--silent", "browser")
    files = {str(path.relative_to(SPEC)): path.read_text() for path in [*VECTORS, SPEC / "codes.json"]}
    page.evaluate("files => { globalThis.SPEC = files }", files)
    page.add_script_tag(path=CLIENT / "out" / "browser.js", type="module")
    page.wait_for_function("'run' in globalThis")
    results = page.evaluate("run()")
    assert {one["name"]: one["error"] for one in results if one["error"]} == {}
    ran = Counter(one["name"] for one in results)
    assert wanted() - ran == Counter()
    assert sum(wanted().values()) > 300
    assert ran["what differs is not equal"] == 1, "the page's own assert is tested too"
