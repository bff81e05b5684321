"""A journal that cannot be written, for real.

The kernel refuses to let its file grow, as a disk does that takes no more; or somebody removes its directory.
"""

import asyncio
import resource
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import framehub
from framehub.journal import reader

from .conftest import ENV, FRAMEHUB, FREE, PORTS
from .test_admin import fetch

APP = ("--app", "framehub.gateway.sample:endpoints")
MOST_BYTES = 200_000


def start(folder: Path, on_failure: str, **more: str) -> tuple["subprocess.Popen[str]", dict[str, str]]:
    process = subprocess.Popen(
        [FRAMEHUB, "serve", *PORTS, *APP, "--admin", FREE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**ENV, "FRAMEHUB_JOURNAL__ON_FAILURE": on_failure, **more},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("ready "), process.communicate()
    return process, dict(word.split("=", 1) for word in line.split()[1:])


async def fill(url: str, times: int = 60) -> None:
    """Say more than the journal's file can hold."""
    async with framehub.connect(url) as peer:
        for _ in range(times):
            await peer.request("chat", {"text": "x" * 20_000})


async def test_by_default_the_gateway_stops_and_says_why(tmp_path: Path) -> None:
    process, told = start(tmp_path, "stop")
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
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
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
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


def remove(directory: Path) -> None:
    """All of it, though the gateway may make a file in it meanwhile."""
    while directory.exists():
        shutil.rmtree(directory, ignore_errors=True)


@pytest.mark.parametrize("is_at_rest", [False, True])
async def test_a_gateway_whose_journal_is_removed_stops_and_says_what_is_gone(
    tmp_path: Path, is_at_rest: bool
) -> None:
    process, told = start(tmp_path, "stop")
    try:
        async with framehub.connect(told["mfp"]) as peer:
            await peer.send("chat", {"text": "hello"}, ack=True)
            if is_at_rest:  # all rows are on the disk, and no more come
                await asyncio.to_thread(wait_for_rows, tmp_path / "journal", 3)
            remove(tmp_path / "journal")
            if not is_at_rest:
                with pytest.raises(framehub.FramehubError):
                    await fill(told["mfp"], 10_000)
            _, errors = await asyncio.to_thread(process.communicate, timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 1
    last = errors.splitlines()[-1]
    assert last.startswith(f"Error: {tmp_path / 'journal'}: the journal stopped at row ")
    assert last.endswith("was removed, or its directory was")
    assert "Traceback" not in errors
    assert not (tmp_path / "journal").exists()


async def test_nothing_is_acknowledged_as_durable_once_the_journal_is_removed(tmp_path: Path) -> None:
    process, told = start(tmp_path, "continue", FRAMEHUB_JOURNAL__ACK_AFTER_DURABLE="true")
    try:
        async with framehub.connect(told["mfp"]) as peer:
            await peer.send("chat", {"text": "kept"}, ack=True)
            remove(tmp_path / "journal")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(peer.send("chat", {"text": "lost"}, ack=True), 2)
            assert (await peer.request("stock.price", "apple")).data["cents"] == 120
        status, why = fetch(f"{told['admin']}/readyz")
        assert (status, "was removed, or its directory was" in why) == (503, True)
        process.terminate()
        _, errors = await asyncio.to_thread(process.communicate, timeout=30)
    finally:
        process.kill()
        process.wait()
    assert "was removed, or its directory was; going on, and NOTHING is recorded from here on" in errors
    assert "Traceback" not in errors
    assert process.returncode == 1


def wait_for_rows(journal: Path, count: int) -> None:
    """Until so many rows can be read."""
    until = time.monotonic() + 30
    while sum(batch.num_rows for batch in reader.read(journal)) < count:
        assert time.monotonic() < until
        time.sleep(0.02)
