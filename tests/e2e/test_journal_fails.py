"""A disk that takes no more, for real: the kernel refuses to let the journal's file grow."""

import asyncio
import resource
import subprocess
from pathlib import Path

import pytest

import framehub

from .conftest import ENV, FRAMEHUB, FREE, PORTS
from .test_admin import fetch

APP = ("--app", "framehub.gateway.sample:endpoints")
MOST_BYTES = 200_000


def start(folder: Path, on_failure: str) -> tuple["subprocess.Popen[str]", dict[str, str]]:
    process = subprocess.Popen(
        [FRAMEHUB, "serve", *PORTS, *APP, "--admin", FREE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**ENV, "FRAMEHUB_JOURNAL__ON_FAILURE": on_failure},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("ready "), process.communicate()
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
    return process, dict(word.split("=", 1) for word in line.split()[1:])


async def fill(url: str, times: int = 60) -> None:
    """Say more than the journal's file can hold."""
    async with framehub.connect(url) as peer:
        for _ in range(times):
            await peer.request("chat", {"text": "x" * 20_000})


async def test_by_default_the_gateway_stops_and_says_why(tmp_path: Path) -> None:
    process, told = start(tmp_path, "stop")
    try:
        with pytest.raises(framehub.FramehubError):
            await fill(told["mfp"], 10_000)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 1
    assert "the journal stopped at row" in errors.splitlines()[-1]
    assert "File too large" in errors.splitlines()[-1]
    assert "Traceback" not in errors


async def test_it_goes_on_unrecorded_where_that_was_said(tmp_path: Path) -> None:
    process, told = start(tmp_path, "continue")
    try:
        await fill(told["mfp"])
        async with framehub.connect(told["mfp"]) as peer:
            assert (await peer.request("stock.price", "apple")).data["cents"] == 120
        for _ in range(100):  # what came last may gather for a moment
            status, why = fetch(f"{told['admin']}/readyz")
            if status == 503:
                break
            await asyncio.sleep(0.05)
        assert status == 503
        assert "File too large" in why
        assert fetch(f"{told['admin']}/healthz")[0] == 200
        process.terminate()
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert "NOTHING is recorded from here on" in errors
    assert "Traceback" not in errors
    assert process.returncode == 1
