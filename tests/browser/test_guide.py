"""The guide of web pages, as printed, in Chromium."""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import Problems
from tests.docs.test_snippets import BLOCK, FRAMEHUB, HERE, ROOT, free_ports

GUIDE = ROOT / "docs" / "guides" / "browser.md"
LONGEST = 35
"""Lines of the page: short enough to be read at once."""


@contextmanager
def running(folder: Path, command: str, *more: str, environment: dict[str, str]) -> Iterator[str]:
    """A command of the guide, until it is no longer wanted; the line that it says first."""
    words = [FRAMEHUB, *command.split()[1:], *more]
    process = subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline()
    finally:
        process.terminate()
        said = process.communicate(timeout=40)
        assert process.returncode == 0, said


def test_the_page_of_the_guide_runs_as_printed(page: Page, problems: Problems, tmp_path: Path) -> None:
    ports = free_ports(5)
    options = ("--listen", "--services", "--clients", "--workers", "--admin")
    listen = [word for option, port in zip(options, ports, strict=True) for word in (option, f"{HERE}{port}")]
    commands = []
    for language, name, body in BLOCK.findall(GUIDE.read_text()):
        if name:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(body)
        elif language == "sh":
            commands.append(body.strip())
    assert len((tmp_path / "web" / "index.html").read_text().splitlines()) <= LONGEST
    serve, work, *_ = commands
    environment = {**os.environ, "FRAMEHUB_WORKERS": f"tcp://{HERE}{ports[3]}"}
    chosen = tmp_path / "chosen.bin"
    chosen.write_bytes(bytes(range(256)) * 20_000)

    with ExitStack() as stack:
        assert stack.enter_context(running(tmp_path, serve, *listen, environment=environment))
        page.goto(f"http://{HERE}{ports[0]}/")
        expect(page.locator("#state")).to_have_text("open")
        page.click("#greet")
        expect(page.locator("#greeting")).to_contain_text("greet")  # and that nobody offers it
        assert "functions=greet" in stack.enter_context(running(tmp_path, work, environment=environment))
        page.fill("#name", "Grace")
        page.click("#greet")
        expect(page.locator("#greeting")).to_have_text("Hello, Grace!")
        page.set_input_files("#file", chosen)
        digest = hashlib.sha256(chosen.read_bytes()).hexdigest()
        expect(page.locator("#sum")).to_have_text(f"5120000 bytes, {digest}")
        expect(page.locator("#bar")).to_have_js_property("value", 1)
    expect(page.locator("#state")).to_have_text("connecting")
    page.close()
    assert all("ERR_CONNECTION_REFUSED" in problem for problem in problems), problems
    problems.clear()
