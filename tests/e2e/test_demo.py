"""``framehub demo``: the whole path, as a newcomer sees it."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from .conftest import ENV, FRAMEHUB, Cli


@pytest.mark.spark
def test_the_demo_shows_every_outcome_and_its_commands_work(cli: Cli, tmp_path: Path) -> None:
    done = cli("demo", "--out", "d")
    assert done.returncode == 0, done.stderr
    for word in (
        "timeout",
        "aborted",
        "disconnected",
        "error",
        "ok",
        "chat",
        "report.build",
        "math.divide",
        "quotes",
    ):
        assert word in done.stdout
    assert "the audit: 52 faults injected, 52 found, 0 false; 0 in the gateway's own journal" in done.stdout
    assert "Traceback" not in done.stderr
    assert (tmp_path / "d" / "tables" / "report.html").stat().st_size > 100_000

    offered = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("  framehub ")]
    after = [command for command in offered if command[0] in ("story", "journal")]
    assert len(after) == 6
    for command in after:
        again = cli(*command)
        assert again.returncode == 0, again.stderr
        assert again.stdout
    assert ["ls"] in offered
    assert ["call", "math.factor", "360"] in offered

    story = json.loads(cli(*after[0], "--json").stdout)
    assert story["exchanges"]["outcome"] == "timeout"
    assert story["exchanges"]["exchange"] == story["exchange"]
    assert [message["kind"] for message in story["messages"]] == ["request"]
    assert [frame["kind"] for frame in story["frames"]] == ["request", "service"]

    call = json.loads(cli(*after[1], "--json").stdout)
    assert [frame["kind"] for frame in call["frames"]] == ["request", "response"]
    assert len(call["children"]) == 1
    kinds = [row["kind"] for row in call["everything"]]
    assert (kinds[0], kinds[-1]) == ("request", "response")
    assert (kinds.count("query"), kinds.count("result")) == (2, 2)  # at the caller's side, at the worker's

    asked = json.loads(cli(*after[2], "--json").stdout)
    assert len(asked["children"]) == 1
    stream = [(row["protocol"], row["kind"]) for row in asked["everything"]]
    assert (stream[0], stream[-1]) == (("mfp", "request"), ("mfp", "response"))
    assert (
        stream.count(("hub", "first")) == 2
    )  # at the hub's client, which the gateway is here, and the service

    refused = cli("demo", "--out", ".")
    assert refused.returncode == 1
    assert "not empty" in refused.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_is_asked_to_end_leaves_nothing_running(tmp_path: Path, number: signal.Signals) -> None:
    plainly = ("env", "--default-signal=HUP")  # the tests may run under nohup
    demo = subprocess.Popen(
        [*plainly, FRAMEHUB, "demo", "--out", "d"], cwd=tmp_path, env=ENV, stderr=subprocess.PIPE, text=True
    )
    try:
        assert demo.stderr is not None
        assert any(line.startswith("3 ") for line in demo.stderr)  # the chat is over
        assert len(processes_in(tmp_path)) >= 4  # itself, a gateway, a worker, a service
        demo.send_signal(number)
        demo.send_signal(number)  # a shell and the kernel both tell of a terminal's end
        told = demo.stderr.read()
        assert demo.wait(60) == 128 + number
    finally:
        demo.kill()
        demo.communicate()
    assert "Traceback" not in told
    assert processes_in(tmp_path) == []


def processes_in(folder: Path) -> list[str]:
    """Processes that work in this folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if place.readlink() == folder:
                found.append(place.parent.name)
        except OSError:
            continue  # it ended meanwhile, or is somebody else's
    return found
