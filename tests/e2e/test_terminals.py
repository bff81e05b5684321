"""Terminals, pipes and shells as they are: other encodings, closed streams, readers that leave."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import ENV, FRAMEHUB, serving

APP = """
from framehub import Endpoints

endpoints = Endpoints()
endpoints.on("echo")(lambda call: call.data)
"""
LATIN = {"PYTHONIOENCODING": "latin-1"}
C_LOCALE = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("app")
    (folder / "app.py").write_text(APP)
    with serving(folder) as start:
        yield start("--app", "app:endpoints", "--no-journal")[1]


def run(script: str | bytes, url: str = "", **env: str) -> "subprocess.CompletedProcess[bytes]":
    """A line of bash; $framehub is the command."""
    variables = {**ENV, **env, "framehub": FRAMEHUB, "FRAMEHUB_URL": url}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script], capture_output=True, env=variables, timeout=60, check=False
    )


def test_letters_that_a_terminal_lacks_are_escaped_and_it_stays_json(url: str) -> None:
    done = run(r"""$framehub request echo '"\u65e5 \ud83d\ude00 \u00fc \u007f"'""", url, **LATIN)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    assert b"\x7f" not in done.stdout
    assert json.loads(done.stdout) == "日 😀 ü \x7f"


def test_letters_that_it_has_are_shown(url: str) -> None:
    assert run(r"""$framehub request echo '"\u00fc"'""", url, **LATIN).stdout == '"ü"\n'.encode("latin-1")


def test_an_error_with_other_letters_is_one_line(tmp_path: Path) -> None:
    done = run(f"$framehub request echo @{tmp_path}/日".encode(), **LATIN)
    assert done.returncode == 1
    assert done.stderr.endswith(b"No such file or directory\n")
    assert done.stderr.count(b"\n") == 1


def test_an_argument_in_utf8_is_understood_in_the_locale_c(url: str) -> None:
    done = run("""$framehub request echo '"日"'""".encode(), url, **C_LOCALE)
    assert json.loads(done.stdout) == "日", done.stderr


def test_an_argument_that_is_no_utf8_is_one_line_and_exit_2() -> None:
    done = run(b"""$framehub request echo '"\xff"'""")
    assert done.returncode == 2
    assert done.stderr.startswith(b"Error: JSON: not JSON: 'utf-8' codec")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("script", "code", "why"),
    [
        ("$framehub request echo 1 >&-", 0, b""),
        ("$framehub request echo 1 2>&-", 0, b""),
        ("$framehub ping --count 1 <&- >&- 2>&-", 0, b""),
        ("$framehub decode mfp 210000000900000007 >&-", 0, b""),
        ("$framehub request echo - <&-", 2, b"Error: stdin: Expecting value: line 1 column 1 (char 0)\n"),
        ("$framehub request nobody 2>&-", 1, b""),
    ],
)
def test_streams_that_are_closed_are_empty(url: str, script: str, code: int, why: bytes) -> None:
    done = run(script, url)
    assert (done.returncode, done.stderr) == (code, why)


def test_a_reader_that_has_seen_enough_is_no_failure(url: str) -> None:
    done = run("$framehub ping --interval 0.01 | head -n 1", url)
    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (0, b"", 1)
