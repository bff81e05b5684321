"""``framehub replay`` as it is installed: traffic of one gateway, sent to another that answers otherwise."""

import asyncio
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import framehub

from .conftest import ENV, FRAMEHUB, Cli, Serve, serving, serving_line

APP = """
import asyncio
import time

import framehub

MORE = {more}
endpoints = framehub.Endpoints()
worker = framehub.Worker()


@endpoints.on("add")
def add(call: framehub.Call) -> dict[str, float]:
    a, b = call.data
    return {{"sum": a + b + (MORE if a == 3 else 0), "time": time.time()}}


@endpoints.on("echo")
def echo(call: framehub.Call) -> framehub.Reply:
    return framehub.Reply(call.data, call.files)


@endpoints.on("slow")
async def slow(call: framehub.Call) -> None:
    await asyncio.sleep(60)


@endpoints.on_stream("upload")
async def upload(stream: framehub.InStream) -> None:
    async for chunk in stream:
        pass


@worker.function
def square(x: int) -> int:
    return x * x + MORE


if __name__ == "__main__":
    worker.run()
"""


async def traffic(url: str) -> None:
    async with framehub.connect(url) as one, framehub.connect(url) as other:
        for number in range(5):
            await one.request("add", [number, 1])
        picture = {0: framehub.File(b"png" * 1000, "me.png", "image/png")}
        await asyncio.gather(*(other.request("echo", number, files=picture) for number in range(20)))
        await one.request("nobody", raise_on_error=False)
        await one.announce("echo", "later", picture, ack=True)
        async with other.stream("upload") as out:
            for _ in range(50):
                await out.write(bytes(10_000))
        for number in range(3):
            assert (await one.request("square", number)).data == number * number


def calls_and_workers(process: "subprocess.Popen[str]") -> tuple[str, str]:
    words = dict(word.split("=", 1) for word in serving_line(process).split()[1:])
    return words["clients"], words["workers"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal of all that."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "app.py").write_text(APP.format(more=0))
    with serving(folder) as start:
        process, url = start("--app", "app:endpoints", "--journal", "journal")
        with worker_of(folder, process):
            asyncio.run(traffic(url))
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    return folder / "journal"


@contextmanager
def worker_of(folder: Path, gateway: "subprocess.Popen[str]") -> Iterator[None]:
    """The functions of the app behind a gateway, until the end."""
    clients, workers = calls_and_workers(gateway)
    command = [FRAMEHUB, "worker", "app:worker", "--connect", workers]
    process = subprocess.Popen(command, cwd=folder, env=ENV)
    try:
        with framehub.Functions.blocking(clients) as functions:
            functions.call("square", 1)  # waits for it
        yield
    finally:
        process.kill()
        process.wait()


def test_the_same_program_gives_the_same_answers(
    recorded: Path, cli: Cli, serve: Serve, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP.format(more=0))
    process, url = serve("--app", "app:endpoints", "--no-journal")
    with worker_of(tmp_path, process):
        done = cli("replay", str(recorded), "--to", url, "--ignore", "data.time", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["sent"], told["same"], told["different"], told["uncompared"]) == (31, 31, 0, 0)
    assert {name: count["sent"] for name, count in told["endpoints"].items()} == {
        "add": 5,
        "echo": 21,
        "nobody": 1,
        "square": 3,
        "upload": 1,
    }
    assert (told["skipped"], told["differences"], told["whole"]) == ({}, [], True)


def test_another_program_gives_others(recorded: Path, cli: Cli, serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP.format(more=7))
    process, url = serve("--app", "app:endpoints", "--no-journal")
    with worker_of(tmp_path, process):
        clients, _ = calls_and_workers(process)
        args = ("--endpoint", "add", "--ignore", "data.time")
        added = cli("replay", str(recorded), "--to", url, *args)
        calls = cli("replay", str(recorded), "--to", clients, "--functions", "--show", "1")
        first = cli("replay", str(recorded), "--to", url, *args, "--limit", "3", "--speed", "10")
    assert (added.returncode, calls.returncode, first.returncode) == (1, 1, 0)
    assert 'was answer {"data":{"sum":4}}' in added.stdout
    assert 'is  answer {"data":{"sum":11}}' in added.stdout
    assert [cell.strip() for cell in added.stdout.splitlines()[3].split("│")[1:-1]] == [
        "add",
        "5",
        "4",
        "1",
        "0",
    ]
    assert 'was answer {"data":' in calls.stdout  # they are of two links: any may be first
    assert "3 more are different" in calls.stdout
    assert [cell.strip() for cell in first.stdout.splitlines()[3].split("│")[1:-1]] == [
        "add",
        "3",
        "3",
        "0",
        "0",
    ]


def test_what_cannot_be_done_is_one_line(recorded: Path, cli: Cli, serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP.format(more=0))
    _, url = serve("--app", "app:endpoints", "--no-journal", "--clients", "off", "--workers", "off")
    nowhere = "ws://127.0.0.1:9/mfp"
    for args, code, word in (
        ([str(recorded)], 2, "--to"),
        ([str(recorded), "--to", "http://there"], 1, "http://there"),
        ([str(recorded), "--to", nowhere], 1, "cannot connect"),
        ([str(recorded), "--to", "127.0.0.1:9", "--functions"], 1, "no proxy is there"),
        (["nowhere", "--to", url], 1, "nowhere: no such journal"),
        ([str(recorded), "--to", url, "--ignore", "time"], 2, "begin with data, error or files"),
        ([str(recorded), "--to", url, "--exchange", "xyz"], 2, "not hexadecimal"),
        ([str(recorded), "--to", url, "--endpoint", "unheard"], 1, "nothing there that could be sent"),
        ([str(recorded), "--to", url, "--curve-key", __file__], 2, "it goes with --functions"),
        ([str(recorded), "--to", url, "--functions", "--token", "x"], 2, "a proxy takes none"),
        ([str(recorded), "--to", url, "--timeout", "nan"], 2, "no number"),
    ):
        done = cli("replay", *args)
        assert (done.returncode, word in done.stderr) == (code, True), (args, done.stderr)
        assert "Traceback" not in done.stderr


def test_what_was_not_recorded_is_counted(cli: Cli, serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP.format(more=0))
    (tmp_path / "framehub.toml").write_text('[journal.record]\necho = "head"\n')
    process, url = serve("--app", "app:endpoints", "--config", "framehub.toml", "--journal", "journal")

    async def both() -> None:
        async with framehub.connect(url) as peer:
            await peer.request("echo", 1)
            await peer.request("add", [1, 1])

    asyncio.run(both())
    process.send_signal(signal.SIGTERM)
    process.wait(30)
    _, url = serve("--app", "app:endpoints", "--no-journal")
    done = cli("replay", "journal", "--to", url, "--ignore", "data.time")
    assert done.returncode == 0, done.stderr
    assert "not sent: 1 (recorded: head)" in done.stderr


def test_ctrl_c_ends_it_with_what_was_found(serve: Serve, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP.format(more=0))
    process, url = serve("--app", "app:endpoints", "--journal", "journal")

    async def some() -> None:
        async with framehub.connect(url) as peer:
            await peer.request("echo", 1)
            with pytest.raises(framehub.RequestTimeout):
                await peer.request("slow", timeout=0.1)
            await peer.request("echo", 1)

    asyncio.run(some())
    process.send_signal(signal.SIGTERM)
    process.wait(30)
    _, url = serve("--app", "app:endpoints", "--journal", "again")
    command = [FRAMEHUB, "replay", "journal", "--to", url, "--speed", "0.0001"]
    running = subprocess.Popen(
        command, cwd=tmp_path, env=ENV, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 30
    while '"request"' not in cli("journal", "cat", "again", "--json").stdout:
        assert time.monotonic() < until
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 1
    assert "interrupted: what follows is what was found so far" in err
    assert "echo" in out
    assert "Traceback" not in err


def test_a_gateway_that_dies_meanwhile_leaves_what_was_found(serve: Serve, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP.format(more=0))
    process, url = serve("--app", "app:endpoints", "--journal", "journal")

    async def some() -> None:
        for _ in range(50):
            async with framehub.connect(url) as peer:
                await peer.request("echo", 1)
                await asyncio.sleep(0.02)

    asyncio.run(some())
    process.send_signal(signal.SIGTERM)
    process.wait(30)
    there, url = serve("--app", "app:endpoints", "--journal", "again")
    command = [FRAMEHUB, "replay", "journal", "--to", url, "--speed", "0.1", "--json"]
    running = subprocess.Popen(
        command, cwd=tmp_path, env=ENV, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 30
    while '"response"' not in cli("journal", "cat", "again", "--json").stdout:
        assert time.monotonic() < until
        time.sleep(0.1)
    there.kill()
    out, err = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "cannot connect" in err
    assert "Traceback" not in err
    told = json.loads(out)
    assert (told["whole"], told["same"] > 0) == (False, True)
