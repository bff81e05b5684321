"""The three rules about recorded bytes: what breaks them, and nothing else does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from framehub.codes import BinaryKind
from framehub.hub.headers import Way
from framehub.hub.headers import decode as decode_hub
from framehub.journal.columns import to_batch
from framehub.journal.generate import generate
from framehub.journal.hub_rows import HubRows
from framehub.journal.mfp_rows import IN, LinkRows
from framehub.journal.reader import read
from framehub.journal.rpc_rows import RpcRows
from framehub.mfp import codec
from framehub.mfp.frames import BinaryFrame, RequestFrame
from framehub.pipeline.findings import COLUMNS, FINDINGS, findings, is_sound

LINK = b"\0\0\0\0\0\0\0\1"
Row = dict[str, Any]
BatchOf = Callable[[list[Row]], pa.RecordBatch]


def as_written(row: Any) -> Row:
    (told,) = to_batch([row]).to_pylist()
    return {name: value for name, value in told.items() if name not in ("time_ns", "mono_ns")}


def request() -> Row:
    frame = RequestFrame(id=7, payload=b"question", files=((3, b"abc"), (4, b"")))
    return as_written(
        LinkRows(LINK, 0).frame((0, 0), IN, frame, codec.encode(frame), LINK * 2, endpoint="chat")
    )


def chunk() -> Row:
    frame = BinaryFrame(id=8, ref=7, kind=BinaryKind.STREAMING, key=3, data=b"abc", checksum=True)
    return as_written(LinkRows(LINK, 0).frame((0, 0), IN, frame, codec.encode(frame), LINK * 2))


def query() -> Row:
    parts = [b"QUERY", b"17", b"[]", b"add"]
    return as_written(RpcRows().row((0, 0), IN, b"peer", parts, link=LINK))


def opening() -> Row:
    raw = bytes.fromhex("00000007 0f 02 0009") + b"body"
    frame = decode_hub(raw, 2, Way.CLIENT_TO_HUB)
    return as_written(HubRows(LINK, version=2).frame((0, 0), IN, frame, raw, timeout_s=30))


def command() -> Row:
    raw = bytes.fromhex("00000000 0e 01") + b"ping"
    return as_written(HubRows(LINK, version=2).frame((0, 0), IN, decode_hub(raw, 2, Way.CLIENT_TO_HUB), raw))


MAKERS: tuple[Callable[[], Row], ...] = (request, chunk, query, opening, command)


def test_what_was_written_breaks_no_rule(batch_of: BatchOf) -> None:
    found = findings(batch_of([make() for make in MAKERS]))
    assert found.schema == FINDINGS
    assert found.num_rows == 0
    assert is_sound(batch_of([make() for make in MAKERS]))


@pytest.mark.parametrize(
    ("make", "column", "wrong", "detail"),
    [
        (request, "kind", "response", "kind: response recorded, request in the bytes"),
        (request, "head", 0x60, "head: 96 recorded, 103 in the bytes"),
        (request, "id", 9, "id: 9 recorded, 7 in the bytes"),
        (request, "ref", 5, "ref: 5 recorded, none in the bytes"),
        (request, "bytes", 4, "bytes: 4 recorded, 40 in the bytes"),
        (request, "payload_at", None, "payload_at: none recorded, 13 in the bytes"),
        (request, "payload_bytes", 7, "payload_bytes: 7 recorded, 8 in the bytes"),
        (request, "files", 1, "files: 1 recorded, 2 in the bytes"),
        (chunk, "ref", 8, "ref: 8 recorded, 7 in the bytes"),
        (chunk, "key", None, "key: none recorded, 3 in the bytes"),
        (query, "kind", "result", "kind: result recorded, query in the bytes"),
        (query, "query", b"18", "query: 3138 recorded, 3137 in the bytes"),
        (query, "query", None, "query: none recorded, 3137 in the bytes"),
        (query, "endpoint", "sub", "endpoint: sub recorded, add in the bytes"),
        (query, "payload_bytes", 3, "payload_bytes: 3 recorded, 2 in the bytes"),
        (opening, "head", 0, "head: 0 recorded, 15 in the bytes"),
        (opening, "key", 3, "key: 3 recorded, 2 in the bytes"),
        (command, "code", 2, "code: 2 recorded, 1 in the bytes"),
        (command, "id", 2**31, "id: 2147483648 recorded, 0 in the bytes"),
    ],
)
def test_a_column_that_says_something_else_is_found(
    batch_of: BatchOf, make: Callable[[], Row], column: str, wrong: Any, detail: str
) -> None:
    rows = [other() for other in MAKERS] + [make() | {column: wrong, "exchange": LINK * 2}]
    (found,) = findings(batch_of(rows)).to_pylist()
    assert not is_sound(batch_of(rows))
    assert (found["seq"], found["rule"], found["detail"]) == (len(rows), "raw-differs", detail)
    assert (found["node"], found["time_ns"]) == ("one", 5)
    assert (found["protocol"], found["link"], found["exchange"]) == (rows[-1]["protocol"], LINK, LINK * 2)
    assert found["endpoint"] == rows[-1]["endpoint"]


@pytest.mark.parametrize(
    ("make", "column", "value"),
    [(opening, "code", 99), (request, "code", 3), (request, "endpoint", "other"), (chunk, "error", "x")],
)
def test_columns_that_are_not_of_the_bytes_may_say_anything(
    batch_of: BatchOf, make: Callable[[], Row], column: str, value: Any
) -> None:
    assert findings(batch_of([make() | {column: value}])).num_rows == 0


def test_several_columns_are_one_finding(batch_of: BatchOf) -> None:
    (found,) = findings(batch_of([request() | {"id": 1, "files": 0}])).to_pylist()
    assert found["detail"] == "id: 1 recorded, 7 in the bytes; files: 0 recorded, 2 in the bytes"


@pytest.mark.parametrize(
    ("make", "detail"),
    [
        (request, "1 trailing bytes at byte 40"),
        (query, "the length of a part is cut short at byte 36"),
    ],
)
def test_a_byte_too_many_is_unlawful_whatever_else(
    batch_of: BatchOf, make: Callable[[], Row], detail: str
) -> None:
    row = make()
    (found,) = findings(batch_of([row | {"raw": row["raw"] + b"\0", "id": 99}])).to_pylist()
    assert (found["rule"], found["detail"]) == ("raw-unlawful", detail)


def test_a_command_nobody_knows_is_unlawful(batch_of: BatchOf) -> None:
    row = command()
    raw = row["raw"][:5] + b"\x09" + row["raw"][6:]
    (found,) = findings(batch_of([row | {"raw": raw}])).to_pylist()
    assert not is_sound(batch_of([row | {"raw": raw}]))
    assert found["rule"] == "raw-unlawful"
    assert found["detail"].startswith("command 9 is not in use")


def test_a_flipped_bit_is_a_wrong_checksum(batch_of: BatchOf) -> None:
    row = chunk()
    raw = bytearray(row["raw"])
    raw[14] ^= 4
    (found,) = findings(batch_of([request(), row | {"raw": bytes(raw), "id": 3}])).to_pylist()
    assert (found["seq"], found["rule"]) == (2, "raw-checksum")
    assert found["detail"].startswith(f"ends with {raw[-4:].hex()}: its CRC-32 is ")


def test_a_generated_journal_is_sound(tmp_path: Path) -> None:
    generate(tmp_path / "journal", frames=20_000, seed=7, segment_bytes=2_000_000)
    rows = 0
    for batch in read(tmp_path / "journal", columns=COLUMNS):
        assert findings(batch).to_pylist() == []
        rows += batch.num_rows
    assert rows == 20_000
