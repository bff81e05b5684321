"""A brief row tells what a whole one does: every lawful frame of the vectors, recorded both ways."""

import asyncio
import json
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import JournalError
from framehub.journal import _notes, reader
from framehub.journal import writer as writing
from framehub.journal.brief import MFP_BRIEF
from framehub.journal.gathering import Gathering
from framehub.journal.notes import Notes
from framehub.journal.writer import JournalWriter, WriterSettings
from framehub.mfp.checksum import Checksums
from framehub.mfp.codec import decode
from framehub.mfp.envelope import Envelope
from framehub.mfp.layout import HEAD_SIZE, REQUEST
from framehub.runtime.payloads import labels
from framehub.runtime.tap import IN, OUT, Tap

VECTORS = Path(__file__).parents[3] / "spec" / "vectors" / "mfp"
CASES = [
    (bytes.fromhex(case["hex"]), Checksums(**case.get("checksum", {})))
    for case in json.loads((VECTORS / "frames.json").read_text())["cases"]
    if "verify_always" not in case
]
LINK = b"linklink"


@pytest.fixture(params=[Notes, _notes.Notes], ids=["plain", "compiled"], autouse=True)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to note a row."""
    monkeypatch.setattr(writing, "Gathering", partial(Gathering, kind=request.param))


class WholeTap(Tap):
    takes_brief = False


def rows(path: Path) -> list[dict[str, Any]]:
    return [row for batch in reader.read(path) for row in batch.to_pylist()]


def record(writer: JournalWriter, tap: Tap) -> None:
    link = tap.link(LINK, user=7)
    link.opened()
    for number, (raw, checksums) in enumerate(CASES):
        frame = decode(raw, checksums)
        endpoint, error = (None, None) if number % 3 else ("chat.say" + "x" * (number % 2), "busy")
        link.frame(IN, frame, memoryview(raw), number % 5, endpoint, error)
        link.frame(OUT, frame, raw, number, endpoint)
        for _ in range(2):  # the second time it is known
            opened = Envelope("chat.say") if number % 4 else Envelope("chat.say", error={"code": "busy"})
            took = link.took(raw, number % 5, opened if number % 7 else None, time.monotonic())
            assert took == (tap.takes_brief and MFP_BRIEF[raw[0]] == 2 and number % 7 > 0 and number % 4 > 0)
            if not took:
                link.frame(IN, frame, raw, number % 5, *labels(opened if number % 7 else None))
            if not link.gave(raw, number % 5, "chat.said"):
                link.frame(OUT, frame, raw, number % 5, "chat.said")
    link.refused(b"\xff", "no frame")
    link.frame(OUT, frame, raw, 1, "child", None, b"parent".ljust(16))
    link.closed(1000, "bye")
    writer.flush(10)


def test_brief_rows_tell_what_whole_ones_do(tmp_path: Path) -> None:
    for name, kind in (("brief", Tap), ("whole", WholeTap)):
        with JournalWriter(tmp_path / name, node="n") as writer:
            record(writer, kind(writer))
    brief, whole = rows(tmp_path / "brief"), rows(tmp_path / "whole")
    assert {MFP_BRIEF[raw[0]] for raw, _ in CASES} == {0, 1, 2}
    assert len(brief) == 6 * len(CASES) + 4
    times = [row["mono_ns"] for row in brief]
    assert times == sorted(times)
    for one, other in zip(brief, whole, strict=True):
        assert abs(one["time_ns"] - other["time_ns"]) < 60e9
        assert {**one, "time_ns": 0, "mono_ns": 0} == {**other, "time_ns": 0, "mono_ns": 0}


def test_the_walls_time_is_near_the_clock_s(tmp_path: Path) -> None:
    with JournalWriter(tmp_path) as writer:
        record(writer, Tap(writer))
    differences = [row["time_ns"] - row["mono_ns"] for row in rows(tmp_path)]
    assert max(differences) - min(differences) < 1e9


def ask(number: int, size: int) -> bytes:
    return HEAD_SIZE.pack(REQUEST, number, size) + b"x" * size


def test_pages_change_under_the_hand_that_writes_and_nothing_is_lost(tmp_path: Path) -> None:
    settings = WriterSettings(gather_seconds=0, gather_bytes=20_000)
    with JournalWriter(tmp_path, settings=settings) as writer:
        link = Tap(writer).link(LINK)
        turning = threading.Event()

        def turn() -> None:
            while not turning.wait(0.0001):
                writer.gathering.turn()
                writer.add_waiter(writer.appended, lambda _: None)

        thread = threading.Thread(target=turn)
        thread.start()
        for number in range(1, 5001):
            raw = ask(number, 1 + number % 200)
            assert link.took(raw, number, Envelope(f"to.{number % 7}"), time.monotonic())
        turning.set()
        thread.join()
    found = rows(tmp_path)
    assert [row["seq"] for row in found] == list(range(1, 5001))
    assert [row["id"] for row in found] == list(range(1, 5001))
    assert all(row["raw"] == ask(row["id"], 1 + row["id"] % 200) for row in found)
    assert all(row["endpoint"] == f"to.{row['id'] % 7}" for row in found)


async def test_a_failed_journal_takes_nothing_more_and_a_closed_one_says_so(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    link = Tap(writer).link(LINK)
    raw = ask(1, 10)
    link.frame(IN, decode(raw), raw, 1, "a")
    await asyncio.wait_for(writer.synced(writer.appended), 10)
    writer.close(seal=False)
    with pytest.raises(JournalError, match="closed"):
        link.frame(IN, decode(raw), raw, 1, "a")
    failing = JournalWriter(tmp_path)
    link = Tap(failing).link(LINK)
    failing._fail(OSError(5, "Input/output error"))
    for _ in range(3):
        link.frame(IN, decode(raw), raw, 1, "a")
    assert failing.gathering.is_empty
    with pytest.raises(JournalError, match="stopped"):
        failing.close()
