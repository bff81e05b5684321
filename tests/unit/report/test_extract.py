"""Bytes of files out of a journal, whatever strangers called them."""

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from framehub.cli.pipeline_files import files as command
from framehub.codes import BinaryKind
from framehub.errors import JournalError, PipelineError
from framehub.journal.mfp_rows import IN, OUT, LinkRows
from framehub.journal.rpc_rows import RpcRows
from framehub.journal.writer import JournalWriter
from framehub.mfp import codec, envelope
from framehub.mfp.checksum import Checksums
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame
from framehub.report.extract import extract, listed
from framehub.report.outfiles import INDEX
from framehub.rpc.block import Attached, Block, EnvelopeCoder

HOSTILE = ("../../x", "/etc/passwd", "a\0b", "n" * 300, "\x1b[2J", "", ".", "con\n")
LINK = b"L" * 8
SCHEMA = pa.schema(
    [
        ("node", pa.string()),
        ("seq", pa.int64()),
        ("last_seq", pa.int64()),
        ("time", pa.timestamp("us", "UTC")),
    ]
    + [(name, pa.string()) for name in ("link", "protocol", "direction", "endpoint", "exchange", "how")]
    + [("user", pa.int32()), ("key", pa.int64()), ("name", pa.string()), ("type", pa.string())]
    + [("bytes", pa.int64()), ("frames", pa.int64()), ("complete", pa.bool_()), ("sha256", pa.string())]
)


class Recorded:
    """A journal, and beside it the table of its files as a run would leave it."""

    def __init__(self, place: Path, node: str = "one") -> None:
        self.journal = place / "journal"
        self.out = place / "out"
        self.files: list[dict[str, Any]] = []
        self.seq = 0
        self._node = node
        self._link = LinkRows(LINK, 7)
        self._writer = JournalWriter(self.journal, node=node)

    def say(self, frame: Frame, exchange: int, way: int = IN, checksums: Any = "crc32") -> int:
        raw = codec.encode(frame, Checksums(algorithm=checksums))
        name = LINK + exchange.to_bytes(8, "big")
        self._writer.append(self._link.frame((1, 1), way, frame, raw, name, endpoint="album"))
        self.seq += 1
        return self.seq

    def call(self, block: bytes) -> int:
        parts = [b"QUERY", b"1", block, b"resize"]
        made = RpcRows().row((1, 1), IN, b"peer", parts, link=LINK, exchange=b"q" * 16, coder="envelope")
        self._writer.append(made)
        self.seq += 1
        return self.seq

    def file(self, how: str, seq: int, key: int, data: bytes, exchange: bytes, **more: Any) -> None:
        self.files.append(
            {
                "node": self._node, "seq": seq, "last_seq": seq, "time": datetime(2026, 3, 1, tzinfo=UTC),
                "link": LINK.hex(), "protocol": "mfp", "direction": "in", "endpoint": "album",
                "exchange": exchange.hex(), "how": how, "user": 7, "key": key, "name": "n", "type": "t",
                "bytes": len(data), "frames": 1, "complete": True, "sha256": sha256(data).hexdigest(),
            }
            | more
        )  # fmt: skip

    def done(self) -> Path:
        self._writer.close()
        self.write_tables(self.files)
        return self.out

    def write_tables(self, rows: Sequence[dict[str, Any]]) -> None:
        snapshot = self.out / "snapshots" / "one"
        day = snapshot / "files" / f"date={date(2026, 3, 1)}"
        day.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(list(rows), SCHEMA), day / "part.parquet")
        (snapshot / "manifest.json").write_text(json.dumps({"journal": str(self.journal)}))
        (self.out / "current").symlink_to("snapshots/one")


def of(exchange: int) -> bytes:
    return LINK + exchange.to_bytes(8, "big")


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """Every way that a file can come, with names that nobody should use as a path."""
    made = Recorded(tmp_path)
    payload = envelope.encode("album", 1)
    for number, name in enumerate(HOSTILE, start=1):
        data = f"file {number}".encode()
        frame = RequestFrame(id=1, payload=payload, files=((9, b"before"), (number, data)), checksum=True)
        seq = made.say(frame, number, checksums="xor8" if number % 2 else "crc32")
        made.file("attached", seq, number, data, of(number), name=name, type=name)
    answer = ResponseFrame(id=1, ref=1, files=((5, b""),))
    made.file("attached", made.say(answer, 20, OUT), 5, b"", of(20), direction="out")
    block = EnvelopeCoder().encode(Block("resize", 1, (Attached(0, b"cat"), Attached(1, b"dogs"))))
    made.file("attached", made.call(block), 1, b"dogs", b"q" * 16, protocol="rpc", endpoint="resize")
    made.say(MessageFrame(id=1, payload=payload, expected=(3,), checksum=True), 21)
    expected = BinaryFrame(id=2, ref=1, kind=BinaryKind.EXPECTED, key=3, data=b"page", checksum=True)
    made.file("announced", made.say(expected, 21), 3, b"page", of(21))
    _stream(made, "crc32", 22)
    _stream(made, "xor8", 23)
    made.file("streamed", made.seq, 1, b"", of(24), complete=False, sha256=None)
    made.done()
    return made


def _stream(made: Recorded, algorithm: str, exchange: int) -> None:
    opened = made.say(MessageFrame(id=1, streaming=True, checksum=True), exchange, checksums=algorithm)
    last = {1: 0, 2: 0}
    for number in range(30):
        for way, data in ((IN, b"%d," % number), (OUT, b"another way")):
            chunk = BinaryFrame(
                id=2, ref=1, kind=BinaryKind.STREAMING, key=1 + number % 2, data=data, final=False,
                checksum=number % 3 > 0,
            )  # fmt: skip
            seq = made.say(chunk, exchange, way, checksums=algorithm)
            last[1 + number % 2] = seq if way == IN else last[1 + number % 2]
    made.say(BinaryFrame(id=2, ref=1, kind=BinaryKind.NONE), exchange, checksums=algorithm)
    late = BinaryFrame(id=2, ref=1, kind=BinaryKind.STREAMING, key=1, data=b"too late")
    made.say(late, exchange, checksums=algorithm)
    for key in (1, 2):
        whole = b"".join(b"%d," % number for number in range(30) if 1 + number % 2 == key)
        made.file("streamed", opened, key, whole, of(exchange), last_seq=last[key], frames=15)


def test_every_file_is_written_and_nothing_outside(recorded: Recorded, tmp_path: Path) -> None:
    before = {path for path in tmp_path.rglob("*") if "target" not in path.parts}
    target = tmp_path / "target"
    told: list[int] = []
    found = listed(recorded.out)
    made = list(extract(found, target, progress=told.append))
    assert [written.error for written in made] == [None] * len(recorded.files)
    wanted = {written.file: written.row for written in made if written.file is not None}
    assert len(wanted) == len(recorded.files) - 1
    assert sum(told) == found.bytes == sum(row["bytes"] for row in wanted.values())
    assert {path.name for path in target.iterdir()} == {*wanted, INDEX}
    for name, row in wanted.items():
        assert sha256((target / name).read_bytes()).hexdigest() == row["sha256"]
        assert name == f"{row['exchange']}-{row['seq']}-{row['key']}"
    assert {path for path in tmp_path.rglob("*") if "target" not in path.parts} == before
    lines = [json.loads(line) for line in (target / INDEX).read_text().splitlines()]
    assert {line["file"]: line["sha256"] for line in lines} == {
        name: row["sha256"] for name, row in wanted.items()
    }
    assert set(HOSTILE) < {line["name"] for line in lines}


def test_files_are_chosen_by_endpoint_exchange_and_number(recorded: Recorded) -> None:
    assert len(listed(recorded.out).table) == len(recorded.files)
    assert [row["key"] for row in listed(recorded.out, endpoint="resize").rows()] == [1]
    assert [row["how"] for row in listed(recorded.out, exchange=of(22).hex()[:32].upper()).rows()] == [
        "streamed"
    ] * 2
    assert [row["seq"] for row in listed(recorded.out, limit=3).rows()] == [1, 2, 3]
    with pytest.raises(PipelineError, match="is no exchange"):
        listed(recorded.out, exchange="../x")


def test_files_far_apart_are_read_without_what_lies_between(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("framehub.report.extract._NEAR", 0)
    monkeypatch.setattr("framehub.report.extract._AT_ONCE", 3)
    made = list(extract(listed(recorded.out), tmp_path / "target"))
    assert sum(written.file is not None for written in made) == len(recorded.files) - 1


def test_another_journal_gives_errors_and_no_files(recorded: Recorded, tmp_path: Path) -> None:
    other = Recorded(tmp_path / "other")
    other.say(RequestFrame(id=1, files=((1, b"other"),)), 1)
    other.say(RequestFrame(id=1), 2)
    other.done()
    made = list(extract(listed(recorded.out), tmp_path / "target", journal=other.journal))
    assert not any(written.file for written in made)
    errors = [written.error or "" for written in made if written.row["complete"]]
    assert "other bytes" in errors[0]
    assert all("not in the journal" in error for error in errors[1:])
    assert [path.name for path in (tmp_path / "target").iterdir()] == [INDEX]


def test_a_wrong_path_is_told_before_anything_is_made(recorded: Recorded, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="no table of files"):
        listed(tmp_path)
    with pytest.raises(JournalError):
        list(extract(listed(recorded.out), tmp_path / "target", journal=tmp_path / "nowhere"))
    assert not (tmp_path / "target").exists()


def test_the_command_lists_and_writes(recorded: Recorded, tmp_path: Path) -> None:
    run = CliRunner().invoke
    shown = run(command, [str(recorded.out), "--json"])
    assert [json.loads(line)["key"] for line in shown.stdout.splitlines()][:2] == [1, 2]
    people = run(command, [str(recorded.out), "--limit", "5"], env={"COLUMNS": "400"})
    assert people.exit_code == 0
    assert "../../x" in people.stdout
    assert "\x1b" not in people.stdout
    assert run(command, [str(recorded.out), "--endpoint", "nobody"]).stdout == "no files\n"
    target = str(tmp_path / "target")
    wrote = run(command, [str(recorded.out), "--write", target, "--json"])
    assert (wrote.exit_code, "1 are not complete" in wrote.stderr) == (0, True)
    assert sum(json.loads(line)["file"] is None for line in wrote.stdout.splitlines()) == 1
    again = run(command, [str(recorded.out), "--write", target])
    assert isinstance(again.exception, PipelineError)


def test_the_command_fails_if_a_file_does(recorded: Recorded, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    row = recorded.files[0]
    (tmp_path / "target" / f"{row['exchange']}-{row['seq']}-{row['key']}").write_bytes(b"mine")
    wrote = CliRunner().invoke(command, [str(recorded.out), "--write", str(tmp_path / "target"), "--json"])
    assert wrote.exit_code == 1
    assert "there is such a file already" in wrote.stderr
    assert json.loads(wrote.stdout.splitlines()[0])["file"] is None
