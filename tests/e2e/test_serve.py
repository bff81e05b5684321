"""The gateway as a process: it says when it is ready, serves, records, and goes away in order."""

import asyncio
import json
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

import framehub
from framehub.cli.main import COMMANDS

from .conftest import FRAMEHUB, Cli, Serve

APP = ("--app", "framehub.gateway.sample:endpoints")


async def test_a_request_can_be_followed_from_the_clients_frame_to_the_journal(
    serve: Serve, cli: Cli, tmp_path: Path
) -> None:
    process, url = serve(*APP, "--node", "here")
    async with framehub.connect(url, checksum="crc32") as peer:
        await peer.ping()
        reply = await peer.request("chat", {"text": "follow me"})
        link = peer.link
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert reply.data["length"] == 9

    told = cli("story", f"{link}:2", "--json")
    assert told.returncode == 0, told.stderr
    story = json.loads(told.stdout)
    assert [(frame["direction"], frame["kind"]) for frame in story["frames"]] == [
        ("in", "request"),
        ("out", "response"),
    ]
    first = json.loads(cli("decode", "mfp", story["frames"][0]["raw"], "--json").stdout)
    assert json.loads(bytes.fromhex(first["payload"])) == {"endpoint": "chat", "data": {"text": "follow me"}}

    text = cli("story", story["exchange"][:-1] + story["exchange"][-1:].upper())
    assert "the client's request to chat" in text.stdout
    assert "follow me" in text.stdout


async def test_a_client_killed_in_the_middle_harms_nobody(serve: Serve) -> None:
    _, url = serve(*APP)
    async with framehub.connect(url) as first:
        asking = asyncio.create_task(first.request("report.build", {"seconds": 30}))
        await asyncio.sleep(0.1)
        first._link._transport.underlying_transport.abort()  # type: ignore[attr-defined]
        with pytest.raises(framehub.ConnectionClosed):
            await asking
    async with framehub.connect(url) as second:
        assert (await second.request("stock.price", "apple")).data["cents"] == 120


async def test_sigterm_lets_what_runs_finish(serve: Serve) -> None:
    process, url = serve(*APP)
    async with framehub.connect(url) as peer:
        asking = asyncio.create_task(peer.request("report.build", {"seconds": 0.5}))
        await asyncio.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert (await asking).data == {"pages": 12}
        assert (await peer.closed).code == 1001
    assert await asyncio.to_thread(process.wait, 10) == 0


async def test_a_killed_gateway_loses_nothing_that_was_durable_and_starts_again(
    serve: Serve, cli: Cli
) -> None:
    process, url = serve(*APP, "--journal", "j")
    async with framehub.connect(url) as peer:
        for _ in range(50):
            await peer.request("stock.price", "pear")
        await asyncio.sleep(0.2)  # a group commit takes 2 ms; this is a hundred of them
        process.kill()
        assert (await peer.closed).code == 1006
    process.wait()
    before = json.loads(cli("journal", "check", "j", "--json").stdout)
    assert before["clean"]
    assert before["rows"] >= 102
    again, _ = serve(*APP, "--journal", "j")
    again.send_signal(signal.SIGTERM)
    assert again.wait(10) == 0
    after = json.loads(cli("journal", "check", "j", "--json").stdout)
    assert after["rows"] == before["rows"] + 1
    last, end = map(json.loads, cli("journal", "cat", "j", "--json").stdout.splitlines()[-2:])
    assert (end["kind"], end["code"], end["link"]) == ("link_closed", 1006, last["link"])
    assert end["time_ns"] == last["time_ns"]


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["--app", "nowhere:app"], "no module 'nowhere'"),
        (["--app", "framehub.gateway.sample:nothing"], "it has endpoints"),
        (["--listen", "0.0.0.0:0"], "--allow-anonymous"),
        (["--listen", "here"], "want HOST:PORT"),
        (["--clients", "off"], "go together"),
        (["--services", "0.0.0.0:0"], "--curve-key"),
        (["--services", "0.0.0.0:0", "--allow-anonymous"], "--allow-plain-zeromq"),
        (["--services", "here"], "want HOST:PORT"),
        (["--clients", "0.0.0.0:0"], "--curve-key"),
        (["--workers", "here"], "want HOST:PORT"),
        (["--journal", "/proc/nowhere"], "/proc/nowhere"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_1(cli: Cli, args: list[str], text: str) -> None:
    done = cli("serve", *args)
    assert (done.returncode, done.stdout) == (1, "")
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_second_writer_exits_with_3(serve: Serve, cli: Cli) -> None:
    serve(*APP, "--journal", "j")
    done = cli("serve", "--listen", "127.0.0.1:0", "--journal", "j")
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


def test_wrong_usage_is_exit_2_and_names_the_right_command(cli: Cli) -> None:
    done = cli("serv")
    assert done.returncode == 2
    assert "Did you mean 'serve'?" in done.stderr
    assert cli("serve", "--port", "7").returncode == 2


def test_output_that_goes_nowhere_is_no_traceback(cli: Cli, tmp_path: Path) -> None:
    assert cli("journal", "generate", "j", "--frames", "2000", "--seed", "1").returncode == 0
    for args, code in ((["journal", "cat", "j"], 0), (["--help"], 0)):
        gone = subprocess.run(
            f"{shlex.join([FRAMEHUB, *args])} | true; exit ${{PIPESTATUS[0]}}",
            shell=True,
            executable="/bin/bash",
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        assert (gone.returncode in (code, 1), gone.stderr) == (True, "")
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [FRAMEHUB, *args], stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False
            )
        assert done.returncode == 1
        assert done.stderr == "Error: output: No space left on device\n"


def test_every_command_has_help(cli: Cli) -> None:
    done = cli("--help")
    assert done.returncode == 0
    for command in COMMANDS:
        assert command in done.stdout
        assert cli(command, "--help").returncode == 0
