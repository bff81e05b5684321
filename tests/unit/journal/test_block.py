import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from framehub.errors import JournalError
from framehub.journal import block
from framehub.journal.columns import to_batch
from framehub.journal.record import SCHEMA, Row

OPENING = block.Opening("n1", 1, 123, 0xABCD, block.BLOCK_LIMIT)


def test_the_header_is_as_the_spec_says() -> None:
    data = block.pack(b"body", first_seq=7, rows=2, salt=0)
    assert data[:4] == b"FHJ1"
    assert struct.unpack(">IQI", data[4:20]) == (4, 7, 2)
    assert struct.unpack(">I", data[20:24])[0] == zlib.crc32(data[:20] + b"body")
    assert data[24:] == b"body"


def test_the_sum_depends_on_the_salt() -> None:
    data = block.pack(b"body", first_seq=7, rows=2, salt=1)
    assert block.is_sound(data[:24], data[24:], salt=1)
    assert not block.is_sound(data[:24], data[24:], salt=2)


def test_rows_come_back(row: Callable[..., Row]) -> None:
    batch = to_batch([row(1), row(2)])
    data = block.encode_rows(batch, first_seq=9, salt=5)
    header = block.read_header(data)
    assert header is not None
    assert (header.first_seq, header.rows, header.last_seq) == (9, 2, 10)
    assert block.decode_rows(data[24:], rows=2).equals(batch)


def test_an_opening_comes_back() -> None:
    data = block.encode_opening(OPENING, first_seq=1)
    assert block.is_sound(data[:24], data[24:], salt=99), "an opening is read before the salt is known"
    assert block.decode_opening(data[24:]) == OPENING


@pytest.mark.parametrize(("length", "known"), [(16, True), (17, False)])
def test_a_length_over_the_limit_begins_no_block(length: int, known: bool) -> None:
    data = block.HEADER.pack(b"FHJ1", length, 1, 1, 0)
    assert (block.read_header(data, limit=16) is not None) is known


@pytest.mark.parametrize("data", [b"", b"FHJ1", b"FHJ2" + bytes(20), b"FHJ1" + b"\0" * 4 + b"\xff" * 16])
def test_what_begins_no_block(data: bytes) -> None:
    assert block.read_header(data) is None


def test_a_body_of_another_kind_is_a_journal_error(row: Callable[..., Row]) -> None:
    body = to_batch([row(1)]).serialize().to_pybytes()
    with pytest.raises(JournalError, match="announces 2 rows"):
        block.decode_rows(body, rows=2)
    with pytest.raises(JournalError, match="no record batch"):
        block.decode_rows(b"nonsense", rows=1)


def test_an_opening_of_another_kind_is_a_journal_error() -> None:
    with pytest.raises(JournalError, match="version 2"):
        block.decode_opening(block.encode_opening(OPENING._replace(version=2), first_seq=1)[24:])
    with pytest.raises(JournalError, match="cannot be read"):
        block.decode_opening(SCHEMA.serialize().to_pybytes())
    with pytest.raises(JournalError, match="cannot be read"):
        block.decode_opening(b"nonsense")
    told = {"node": "n", "version": "1", "created_ns": "1", "salt": "0", "block_limit": "9"}
    other = SCHEMA.remove(0).with_metadata(told).serialize().to_pybytes()
    with pytest.raises(JournalError, match="other columns"):
        block.decode_opening(other)


def test_the_example_in_the_spec_is_true() -> None:
    spec = (Path(__file__).parents[3] / "spec" / "journal.md").read_text()
    example = spec.partition("```text\n")[2].partition("\n")[0]
    assert bytes.fromhex(example) == block.pack(b"body", first_seq=7, rows=2, salt=0x5EED5A17)


def test_the_spec_names_every_column() -> None:
    spec = (Path(__file__).parents[3] / "spec" / "journal.md").read_text()
    assert [name for name in SCHEMA.names if f"`{name}`" not in spec] == []
