"""``framehub stream`` and ``framehub ping`` against a gateway in a process of its own."""

import hashlib
import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import ENV, FRAMEHUB, Cli, Serve, serving, wait_for_read

APP = """
import asyncio

from framehub import Endpoints, InStream

endpoints = Endpoints()


@endpoints.on_stream("count")
async def count(stream: InStream) -> None:
    sizes: dict[int, int] = {}
    async for chunk in stream:
        sizes[chunk.key] = sizes.get(chunk.key, 0) + len(chunk.data)
    await stream.peer.send("counted", {"sizes": sizes, "said": stream.data})


@endpoints.on_stream("enough")
async def enough(stream: InStream) -> None:
    await anext(stream)


@endpoints.on_stream("leave")
async def leave(stream: InStream) -> None:
    async for _ in stream:
        pass
    await stream.peer.close()
"""
SUMMARY = re.compile(r"sent [\d.]+ (bytes|[KMGT]iB) in [\d.]+ s, [\d.]+ (bytes|[KMGT]iB)/s\n")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("app")
    (folder / "app.py").write_text(APP)
    with serving(folder) as start:
        yield start("--app", "app:endpoints", "--no-journal")[1]


def test_a_file_and_stdin_arrive_whole(serve: Serve, cli: Cli, tmp_path: Path) -> None:
    _, url = serve("--app", "framehub.gateway.sample:endpoints", "--no-journal")
    text = "0123456789abcdef" * 200_000
    (tmp_path / "big.txt").write_text(text)
    want = {"bytes": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}
    for args, stdin in ((["--file", "big.txt"], None), ([], text), (["--file", "-"], text)):
        done = cli("stream", "files.upload", *args, "--wait", "upload.done", "--url", url, stdin=stdin)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == want
        assert SUMMARY.fullmatch(done.stderr)


def test_files_go_one_after_the_other_each_under_its_number(url: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(200_000))
    (tmp_path / "empty").touch()
    done = cli(
        "stream", "count", '{"n": 3}', "--file", "a", "--file", "empty", "--file", "-",
        "--wait", "counted", "--url", url, "--checksum", "xor8", stdin="abc",
    )  # fmt: skip
    assert json.loads(done.stdout) == {"sizes": {"0": 200_000, "2": 3}, "said": {"n": 3}}
    quiet = cli("stream", "count", "--url", url, stdin="abc")
    assert (quiet.returncode, quiet.stdout) == (0, "")


@pytest.mark.parametrize(
    ("args", "code", "why"),
    [
        (["nobody"], 1, "nobody: the other side does not take it"),
        (["enough", "--file", "big"], 1, "enough: the other side does not take it, or no more of it"),
        (["count", "--file", "big", "--file", "gone"], 1, "gone: No such file or directory"),
        (["count", "--file", "."], 1, ".: Is a directory"),
        (["count", "--file", "-", "--file", "-"], 2, "stdin can be used only once"),
        (["count", "-"], 2, "stdin can be used only once"),
        (["count", "{", "--file", "big"], 2, "JSON: Expecting property name"),
        (["count", "--wait", "framehub.x"], 1, "the library's own"),
        (["count", "--wait", "other", "--timeout", "0.3"], 1, "no message came to other in 0.3 s"),
        (["leave", "--wait", "other"], 1, "connection closed"),
    ],
)
def test_what_goes_wrong_is_one_line(
    url: str, cli: Cli, tmp_path: Path, args: list[str], code: int, why: str
) -> None:
    (tmp_path / "big").write_bytes(bytes(5_000_000))
    done = cli("stream", *args, "--url", url, stdin="abc")
    assert (done.returncode, done.stdout) == (code, "")
    assert why in done.stderr
    assert re.fullmatch(f"({SUMMARY.pattern})?Error: .*\n", done.stderr)


def test_a_gateway_that_goes_away_is_noticed_while_stdin_is_silent(serve: Serve) -> None:
    gateway, url = serve("--app", "framehub.gateway.sample:endpoints", "--no-journal")
    with subprocess.Popen(
        [FRAMEHUB, "stream", "files.upload", "--url", url],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENV,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"begun")
        process.stdin.flush()
        wait_for_read(process.pid)
        gateway.kill()
        assert process.stderr is not None
        assert process.stderr.read().startswith(b"Error: connection closed (1006")
        assert process.wait(10) == 1


def test_on_a_terminal_there_is_a_bar(url: str, tmp_path: Path) -> None:
    (tmp_path / "big.bin").write_bytes(bytes(30_000_000))
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [FRAMEHUB, "stream", "count", "--file", "big.bin", "--url", url],
        stderr=theirs,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env={**ENV, "TERM": "xterm"},
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:
        pass  # how a terminal says that nobody writes to it any more
    os.close(ours)
    assert process.communicate()[0] == b""
    assert process.returncode == 0
    text = shown.decode()
    assert "big.bin" in text
    assert "/28.6 MiB" in text
    assert "sent 28.6 MiB in" in text


def test_pings_are_counted_and_measured(url: str, cli: Cli) -> None:
    done = cli("ping", "--count", "3", "--interval", "0", "--url", url)
    assert (done.returncode, done.stderr) == (0, "")
    *lines, summary = done.stdout.splitlines()
    assert [line.split(": ")[1].split(" in ")[0] for line in lines] == ["1", "2", "3"]
    times = sorted(float(line.split()[-2]) for line in lines)
    assert summary == f"3 sent, 3 answered; min/median/max {'/'.join(f'{time:.3f}' for time in times)} ms"
    told = json.loads(cli("ping", "--count", "2", "--interval", "0.01", "--json", "--url", url).stdout)
    assert (told["url"], told["sent"], told["answered"]) == (url, 2, 2)
    assert 0 < told["min_ms"] <= told["median_ms"] <= told["max_ms"]


def test_ctrl_c_ends_pinging_with_the_summary(url: str) -> None:
    with subprocess.Popen(
        [FRAMEHUB, "ping", "--interval", "30", "--url", url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**ENV, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        assert ": 1 in " in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=20)
        assert rest.startswith("1 sent, 1 answered; min/median/max ")
        assert (process.returncode, said) == (0, "")


def test_a_gateway_that_goes_away_ends_pinging(serve: Serve) -> None:
    gateway, url = serve("--app", "framehub.gateway.sample:endpoints", "--no-journal")
    with subprocess.Popen(
        [FRAMEHUB, "ping", "--interval", "30", "--url", url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**ENV, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        gateway.send_signal(signal.SIGTERM)
        rest, said = process.communicate(timeout=20)
        assert rest.startswith("1 sent, 1 answered")
        assert process.returncode == 1
        assert said.startswith("Error: connection closed (1001")


def test_a_gateway_that_does_not_answer_is_a_lost_ping(serve: Serve, cli: Cli) -> None:
    gateway, url = serve("--app", "framehub.gateway.sample:endpoints", "--no-journal")
    with subprocess.Popen(
        [FRAMEHUB, "ping", "--interval", "0.2", "--count", "2", "--timeout", "1", "--url", url],
        stdout=subprocess.PIPE,
        text=True,
        env={**ENV, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        gateway.send_signal(signal.SIGSTOP)
        rest = process.communicate(timeout=20)[0]
        gateway.send_signal(signal.SIGCONT)
        assert ": 2 no pong in 1 s\n2 sent, 1 answered" in rest
        assert process.returncode == 0
