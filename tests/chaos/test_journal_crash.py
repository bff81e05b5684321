"""Writers that die, disks that say no: what was reported durable is there (spec/journal.md, section 7)."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from framehub.errors import JournalError
from framehub.journal import append, reader
from framehub.journal.generate import generate
from framehub.journal.record import FIXED, NO_ID, Row
from framehub.journal.writer import JournalWriter

WRITER = """
import sys
from framehub.journal.record import FIXED, NO_ID, Row
from framehub.journal.writer import JournalWriter, WriterSettings

settings = WriterSettings(segment_bytes=60_000, gather_bytes=4_000)
writer = JournalWriter(sys.argv[1], node="victim", settings=settings)
while True:
    for _ in range(20):
        seq = writer.appended + 1
        fixed = FIXED.pack(seq, seq, b"linklink", 0, 1, 0, 0, -1, -1, 2, 97, seq, *[-1] * 3, 9, -1, -1, 0,
                           NO_ID, NO_ID, 0)
        writer.append(Row(fixed, "chat", None, None, None, b"raw %d" % seq * 20))
    writer.flush()
    print(writer.durable, flush=True)
"""


def promised(output: str) -> int:
    """The last number in the ledger; a line without its end was never said."""
    whole = output[: output.rfind("\n") + 1].split()
    return int(whole[-1]) if whole else 0


def rows(path: Path) -> list[tuple[int, bytes]]:
    return [
        (row["seq"], row["raw"])
        for batch in reader.read(path, columns=["seq", "raw"])
        for row in batch.to_pylist()
    ]


def test_what_was_durable_survives_kill_9(tmp_path: Path) -> None:
    dice = random.Random(5)
    ledger = 0
    for _ in range(4):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "j")], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(dice.random() * 0.2)
        writer.send_signal(signal.SIGKILL)
        output = first + writer.stdout.read()
        writer.wait()
        writer.stdout.close()
        assert promised(output) > ledger, "numbers go on"
        ledger = promised(output)
        found = rows(tmp_path / "j")
        assert [seq for seq, _ in found] == list(range(1, len(found) + 1))
        assert len(found) >= ledger
        assert all(raw == b"raw %d" % seq * 20 for seq, raw in found)
        assert reader.check(tmp_path / "j").clean


def test_a_full_disk_stops_the_journal_and_keeps_what_was_durable(tmp_path: Path) -> None:
    """A limit on file size: a short write first, then an error."""
    limit = 30_000

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-c", WRITER, str(tmp_path)],
        capture_output=True,
        text=True,
        preexec_fn=confine,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "the journal stopped at row" in done.stderr
    (file,) = tmp_path.glob("*.fhj")
    assert file.stat().st_size == limit
    found = rows(tmp_path)
    assert [seq for seq, _ in found] == list(range(1, len(found) + 1))
    assert len(found) >= promised(done.stdout) > 0
    report = reader.check(tmp_path)
    assert (report.clean, len(report.torn)) == (True, 1)


def test_memory_does_not_grow_with_a_length_that_lies(tmp_path: Path) -> None:
    script = """
import resource, sys
from framehub.journal import append, reader
sys.stdout.write(str(sum(batch.num_rows for batch in reader.read(sys.argv[1]))))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
open(sys.argv[2], "r+b").write(b"FHJ1" + b"\\xff" * 4)
sys.stdout.write(" " + str(sum(batch.num_rows for batch in reader.read(sys.argv[1]))))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sys.stdout.write(" " + str(after - before))
"""
    generate(tmp_path, frames=6000)
    file = tmp_path / f"{1:020d}.fhj"
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), str(file)], capture_output=True, text=True, check=True
    )
    whole, rest, grown = map(int, done.stdout.split())
    assert (whole, rest) == (6000, 6000), "the opening is lost, and not one row"
    assert grown < 8 << 10, "KiB"


def test_no_space_left_stops_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """/dev/full takes nothing, ever."""
    monkeypatch.setattr(append, "open_file", lambda _path, _flags: os.open("/dev/full", os.O_WRONLY))
    writer = JournalWriter(tmp_path)
    writer.append(
        Row(FIXED.pack(1, 1, b"linklink", 0, 1, 0, 0, -1, -1, 2, *[-1] * 5, 9, -1, -1, 0, NO_ID, NO_ID, 2))
    )
    with pytest.raises(JournalError, match="No space left on device"):
        writer.flush(5)
    assert writer.durable == 0
    with pytest.raises(JournalError, match="No space left on device"):
        writer.close()
