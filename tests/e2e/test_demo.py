"""``framehub demo``: the whole path, as a newcomer sees it."""

import json
from pathlib import Path

import pytest

from .conftest import Cli


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_the_demo_shows_every_outcome_and_its_commands_work(cli: Cli, tmp_path: Path) -> None:
    done = cli("demo", "--out", "d")
    assert done.returncode == 0, done.stderr
    for word in ("timeout", "aborted", "disconnected", "error", "ok", "chat", "report.build"):
        assert word in done.stdout
    assert "Traceback" not in done.stderr
    assert (tmp_path / "d" / "tables" / "report.html").stat().st_size > 100_000

    offered = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("  framehub ")]
    assert len(offered) == 5
    for command in offered[:4]:
        again = cli(*command)
        assert again.returncode == 0, again.stderr
        assert again.stdout

    story = json.loads(cli(*offered[0], "--json").stdout)
    assert story["exchanges"]["outcome"] == "timeout"
    assert story["exchanges"]["exchange"] == story["exchange"]
    assert [message["kind"] for message in story["messages"]] == ["request"]
    assert [frame["kind"] for frame in story["frames"]] == ["request", "service"]

    refused = cli("demo", "--out", ".")
    assert refused.returncode == 1
    assert "not empty" in refused.stderr
