"""Files: attached to frames and blocks; see test_pieces for those in frames of their own."""

import hashlib
import json
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from framehub.journal.columns import to_batch
from framehub.journal.generate import generate
from framehub.journal.mfp_rows import IN, LinkRows
from framehub.mfp import codec, envelope
from framehub.mfp.checksum import Checksums
from framehub.mfp.frames import MessageFrame, RequestFrame
from framehub.pipeline import read_journal
from framehub.pipeline.schemas import FILES, check, shape
from framehub.pipeline.stages.files import files
from framehub.report.extract import extract, listed
from framehub.rpc.block import Attached, Block, EnvelopeCoder

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
Envelope = Callable[..., dict[str, Any]]
Rpc = Callable[..., dict[str, Any]]
A = bytes([10] * 16)
NAMED = {"endpoint": "album", "filemap": [[7, "../../x", "image/png"], [0, "a\0b", ""]]}


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def made(journal: DataFrame) -> list[Row]:
    return check("files", files(journal)).orderBy("seq", "key").collect()


def recorded(frame: MessageFrame | RequestFrame, checksums: Checksums) -> dict[str, Any]:
    raw = codec.encode(frame, checksums)
    (row,) = to_batch([LinkRows(b"L" * 8, 5).frame((0, 0), IN, frame, raw, A, endpoint="album")]).to_pylist()
    return {name: value for name, value in row.items() if name not in ("time_ns", "mono_ns")}


def test_attached_files_have_names_sizes_and_sums(journal_of: JournalOf, envelope: Envelope) -> None:
    attached = {7: b"12345", 0: b""}
    journal = journal_of(
        [
            envelope("request", NAMED, attached=attached, exchange=A, user=3),
            envelope("response", NAMED, attached=attached, ref=1, direction="out"),
            envelope("message", b"no envelope", attached={9: b"abc"}),
            envelope("message", {"endpoint": "album"}),
            envelope("message", NAMED, announced=[7]),
        ]
    )
    assert shape(files(journal).schema) == shape(FILES)
    rows = [row for row in made(journal) if row["how"] == "attached"]
    assert [(row["seq"], row["key"], row["name"], row["type"]) for row in rows] == [
        (1, 0, "a\0b", ""), (1, 7, "../../x", "image/png"), (2, 0, "a\0b", ""),
        (2, 7, "../../x", "image/png"), (3, 9, None, None),
    ]  # fmt: skip
    assert [(row["bytes"], row["sha256"]) for row in rows[:2]] == [(0, sha(b"")), (5, sha(b"12345"))]
    first = rows[1]
    assert (first["last_seq"], first["frames"], first["complete"]) == (1, 1, True)
    assert (first["exchange"], first["user"], first["endpoint"]) == (A.hex(), 3, "album")
    assert (first["direction"], rows[2]["direction"], first["protocol"]) == ("in", "out", "mfp")
    assert (rows[2]["exchange"], rows[4]["endpoint"]) == (None, None)
    assert first["date"] == first["time"].date()


@pytest.mark.parametrize("algorithm", ["crc32", "xor8"])
def test_a_checksum_or_no_payload_changes_nothing(journal_of: JournalOf, algorithm: Any) -> None:
    checksums = Checksums(algorithm=algorithm)
    bare = RequestFrame(id=1, files=((3, b"one"), (4, b"two")), checksum=True)
    full = MessageFrame(id=2, payload=envelope.encode("album", 1), files=((5, b"three"),), checksum=True)
    journal = journal_of([recorded(bare, checksums), recorded(full, checksums)])
    found = [(row["key"], row["bytes"], row["sha256"]) for row in made(journal)]
    assert found == [(3, 3, sha(b"one")), (4, 3, sha(b"two")), (5, 5, sha(b"three"))]


def test_files_of_calls_are_those_that_clients_sent_and_got(journal_of: JournalOf, rpc: Rpc) -> None:
    block = EnvelopeCoder().encode(
        Block("resize", 1, (Attached(0, b"cat", "cat.png", "image/png"), Attached(1, b"dogs", "../dog", "")))
    )
    about: dict[str, Any] = {"exchange": A, "function": "resize", "coder": "envelope"}
    journal = journal_of(
        [
            rpc("in", "QUERY", "1", block, "resize", **about),
            rpc("out", "QUERY", A, block, "resize", peer="worker", **about),
            rpc("in", "RESPONSE_RESULT", A, block, peer="worker", **about),
            rpc("out", "RESPONSE_RESULT", "1", block, **about),
            rpc("in", "QUERY", "2", block, "resize", **about | {"coder": "bytes"}),
            rpc("in", "QUERY", "3", EnvelopeCoder().encode(Block("resize", 1)), "resize", **about),
        ]
    )
    rows = made(journal)
    assert [(row["seq"], row["key"], row["name"], row["bytes"]) for row in rows] == [
        (1, 0, "cat.png", 3), (1, 1, "../dog", 4), (4, 0, "cat.png", 3), (4, 1, "../dog", 4),
    ]  # fmt: skip
    assert {row["sha256"] for row in rows if row["key"] == 1} == {sha(b"dogs")}
    assert {(row["protocol"], row["endpoint"], row["how"]) for row in rows} == {("rpc", "resize", "attached")}


def test_what_does_not_add_up_carries_no_files(journal_of: JournalOf, envelope: Envelope, rpc: Rpc) -> None:
    whole = envelope("request", NAMED, attached={7: b"12345", 0: b""})
    block = EnvelopeCoder().encode(Block("f", 1, (Attached(0, b"abc", "n", "t"),)))
    (size,) = struct.unpack_from(">I", block)
    huge = bytearray(block)
    huge[8 + size + 4 : 8 + size + 8] = b"\xff" * 4
    wrong: list[bytes] = [block[:-1], block + b"x", bytes(huge), b"", b"\0" * 8, b"\xff" * 16, block[:12]]
    journal = journal_of(
        [
            whole | {"recorded": "head", "raw": whole["raw"][:20]},
            whole | {"recorded": "off", "raw": None},
            whole | {"raw": whole["raw"][:-1]},
            whole | {"raw": whole["raw"] + b"12345"},
            whole | {"files": 2**31 - 1},
            whole | {"files": None},
            *[rpc("in", "QUERY", "1", payload, "f", coder="envelope") for payload in wrong],
        ]
    )
    assert made(journal) == []


def test_every_file_of_a_journal_can_be_had_again(spark: SparkSession, tmp_path: Path) -> None:
    generate(tmp_path / "journal", frames=6000, seed=5, segment_bytes=1_500_000)
    table = check("files", files(read_journal(spark, tmp_path / "journal")))
    place = tmp_path / "out" / "current"
    table.write.partitionBy("date").parquet(f"file://{place}/files")
    (place / "manifest.json").write_text(json.dumps({"journal": str(tmp_path / "journal")}))
    found = listed(tmp_path / "out")
    written = list(extract(found, tmp_path / "target"))
    assert [file.error for file in written if file.error is not None] == []
    ways = Counter((file.row["how"], file.row["complete"], file.file is not None) for file in written)
    assert ways["attached", True, True] > 50
    assert ways["announced", True, True] > 5
    assert ways["streamed", True, True] > 5
    assert all(complete == was_written for _, complete, was_written in ways)
