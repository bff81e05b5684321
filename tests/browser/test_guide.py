"""The guide of web pages, as printed, in Chromium."""

import hashlib
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Problems
from tests.docs.test_snippets import BLOCK, FRAMEHUB, HERE, ROOT, free_ports

GUIDE = ROOT / "docs" / "guides" / "browser.md"
LONGEST = 30
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


class Guide:
    """Its files in a folder, and the commands that it prints."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = free_ports(5)
        options = ("--listen", "--services", "--clients", "--workers", "--admin")
        addresses = zip(options, self.ports, strict=True)
        self.listen = [word for option, port in addresses for word in (option, f"{HERE}{port}")]
        self.url = f"http://{HERE}{self.ports[0]}/"
        commands = []
        for language, name, body in BLOCK.findall(GUIDE.read_text()):
            if name:
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_text(body)
            elif language == "sh":
                commands.append(body.strip())
        self.serve, self.work, *_ = commands
        self.environment = {**os.environ, "FRAMEHUB_WORKERS": f"tcp://{HERE}{self.ports[3]}"}

    def running(self, command: str, *more: str) -> AbstractContextManager[str]:
        """One of its commands, while it is wanted."""
        return running(self.folder, command, *more, environment=self.environment)


@pytest.fixture
def guide(tmp_path: Path) -> Guide:
    return Guide(tmp_path)


def test_the_page_of_the_guide_runs_as_printed(page: Page, problems: Problems, guide: Guide) -> None:
    assert len((guide.folder / "web" / "index.html").read_text().splitlines()) <= LONGEST
    chosen = guide.folder / "chosen.bin"
    chosen.write_bytes(bytes(range(256)) * 20_000)

    with ExitStack() as stack:
        assert stack.enter_context(guide.running(guide.serve, *guide.listen))
        page.goto(guide.url)
        expect(page.locator("#state")).to_have_text("open")
        page.click("#greet")
        expect(page.locator("#greeting")).to_contain_text("greet")  # and that nobody offers it
        assert "functions=greet" in stack.enter_context(guide.running(guide.work))
        page.fill("#name", "Grace")
        page.click("#greet")
        expect(page.locator("#greeting")).to_have_text("Hello, Grace!")
        page.set_input_files("#file", chosen)
        digest = hashlib.sha256(chosen.read_bytes()).hexdigest()
        expect(page.locator("#sum")).to_have_text(f"5120000 bytes, {digest}")
        expect(page.locator("#bar")).to_have_js_property("position", 1)
    expect(page.locator("#state")).to_have_text("connecting")
    page.close()
    assert all("ERR_CONNECTION_REFUSED" in problem for problem in problems), problems
    problems.clear()


def test_an_empty_file_and_none_at_all(page: Page, guide: Guide) -> None:
    """What goes wrong in the page, uncaught or in its console, fails the test."""
    empty, full = guide.folder / "empty.bin", guide.folder / "full.bin"
    empty.touch()
    full.write_bytes(b"full")
    with guide.running(guide.serve, *guide.listen):
        page.goto(guide.url)
        expect(page.locator("#state")).to_have_text("open")
        page.set_input_files("#file", empty)
        expect(page.locator("#sum")).to_have_text(f"0 bytes, {hashlib.sha256().hexdigest()}")
        page.set_input_files("#file", [])  # a dialog that is left without choosing
        page.set_input_files("#file", full)
        expect(page.locator("#sum")).to_have_text(f"4 bytes, {hashlib.sha256(b'full').hexdigest()}")


def test_a_gateway_that_dies_in_the_middle_of_an_upload(page: Page, problems: Problems, guide: Guide) -> None:
    chosen = guide.folder / "chosen.bin"
    chosen.write_bytes(bytes(8_000_000))
    words = [FRAMEHUB, *guide.serve.split()[1:], *guide.listen, "--no-journal"]
    gateway = subprocess.Popen(words, cwd=guide.folder, stdout=subprocess.PIPE, text=True)
    try:
        assert gateway.stdout is not None
        assert gateway.stdout.readline().startswith("ready")
        page.goto(guide.url)
        expect(page.locator("#state")).to_have_text("open")
        gateway.send_signal(signal.SIGSTOP)  # it has begun to take nothing
        page.set_input_files("#file", chosen)
        expect(page.locator("#sum")).to_have_text("")
    finally:
        gateway.kill()
        gateway.communicate(timeout=20)
    expect(page.locator("#sum")).to_contain_text("connection closed")
    page.close()
    assert all("ERR_CONNECTION" in problem for problem in problems), problems
    problems.clear()


def test_a_gateway_that_does_not_let_the_page_in(page: Page, problems: Problems, guide: Guide) -> None:
    add = [FRAMEHUB, "token", "add", "--tokens", "tokens", "--user", "7", "--name", "anna"]
    subprocess.run(add, cwd=guide.folder, stdout=subprocess.DEVNULL, check=True)
    with guide.running(guide.serve, *guide.listen, "--tokens", "tokens"):
        page.goto(guide.url)
        expect(page.locator("#state")).to_contain_text("cannot connect to ws://")
    assert len(problems) == 1, problems
    assert "Authentication" in problems.pop()
