"""Pages in a real Chromium, against gateways in processes of their own.

Playwright drives the system's browser and brings none. Nothing here is async: its loop is in the way of
others while a browser is open, so a browser lives as long as the tests of one file, and those are plain
functions.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.e2e.conftest import Serve, serving

__all__ = ["Browser", "Page", "Serve"]

Problems: TypeAlias = list[str]
FLAGS = (
    *("--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run", "--force-color-profile=srgb", "--font-render-hinting=none"),
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium without a window."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program, "no chromium on PATH: sudo apt-get install -y chromium"
    with sync_playwright() as playwright:
        # Root has no sandbox to run a browser in.
        is_root = os.geteuid() == 0
        chromium = playwright.chromium.launch(
            executable_path=program, args=[*FLAGS], chromium_sandbox=not is_root
        )
        yield chromium
        chromium.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A profile of its own."""
    made = browser.new_context(viewport={"width": 1280, "height": 800})
    made.set_default_timeout(30_000)
    yield made
    made.close()


@pytest.fixture
def problems() -> Problems:
    """What pages complained of: errors nobody caught, and what a policy refused. A test may expect some."""
    return []


@pytest.fixture
def page(context: BrowserContext, problems: Problems) -> Iterator[Page]:
    """One page; what goes wrong in it fails the test, unless the test takes it out of ``problems``."""
    made = context.new_page()
    made.on("pageerror", lambda error: problems.append(str(error)))
    made.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
    yield made
    assert problems == []


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start ``framehub serve ARGS``; its process and its URL."""
    with serving(tmp_path) as start:
        yield start
