"""The example of live figures: tables of a gateway's traffic, through that gateway, on a page."""

import asyncio
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import framehub
from framehub.journal import reader
from tests.browser.conftest import Problems
from tests.browser.test_guide import running
from tests.docs.test_snippets import HERE, OPTIONS, ROOT, free_ports

EXAMPLE = ROOT / "examples" / "figures"


@pytest.mark.spark
def test_a_page_shows_figures_of_the_tables(page: Page, problems: Problems, tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    ports = free_ports(5)
    listen = [word for option, port in zip(OPTIONS, ports, strict=True) for word in (option, f"{HERE}{port}")]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONWARNINGS": "ignore",
        "FRAMEHUB_WORKERS": f"tcp://{HERE}{ports[3]}",
        "FIGURES_TABLES": "tables",
        "FIGURES_SQL": "1",
    }
    url = f"ws://{HERE}{ports[0]}/mfp"
    with ExitStack() as stack:
        stack.enter_context(running(folder, "framehub serve --static web", *listen, environment=environment))
        told = stack.enter_context(running(folder, "framehub worker figures:worker", environment=environment))
        assert "functions=figures,sql" in told
        page.goto(f"http://{HERE}{ports[0]}/")
        expect(page.locator("#state")).to_contain_text("no tables in tables", timeout=60_000)
        make_tables(folder)
        expect(page.locator("#state")).to_contain_text("as of", timeout=120_000)
        expect(page.locator("#calls th").first).to_have_text("endpoint")
        expect(page.locator("#calls")).to_contain_text("figures")
        expect(page.locator("#troubles")).to_contain_text("error")
        with ThreadPoolExecutor(1) as aside:  # the browser's loop is in the way here
            asked = aside.submit(asyncio.run, ask(url)).result()
        assert asked["columns"] == ["n"]
        assert asked["rows"][0][0] > 0
        page.close()
    problems.clear()


def make_tables(folder: Path) -> None:
    """What the gateway has recorded so far, as ``framehub pipeline run`` does it."""
    assert sum(batch.num_rows for batch in reader.read(folder / "journal"))
    command = [sys.executable, "-m", "framehub", "pipeline", "run", "journal", "tables"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=400)


async def ask(url: str) -> dict[str, Any]:
    async with framehub.connect(url) as peer:
        with pytest.raises(framehub.EndpointError, match="no question"):
            await peer.request("figures", "nonsense", timeout=60)
        reply = await peer.request("sql", ["SELECT count(*) AS n FROM frames"], timeout=60)
        data: dict[str, Any] = reply.data
        return data
