from collections.abc import Callable

import pyarrow as pa

from framehub.codes import Kind
from framehub.journal.columns import to_batch
from framehub.journal.record import FIXED, KINDS, NO_ID, ROW_SCHEMA, SCHEMA, Row, with_position


def test_a_batch_holds_what_the_rows_said(row: Callable[..., Row]) -> None:
    batch = to_batch([row(1), row(2), row(3)])
    batch.validate(full=True)
    assert batch.schema.equals(SCHEMA)
    first, _, third = batch.to_pylist()
    assert first["time_ns"] == 1001
    assert first["link"] == b"linklink"
    assert (first["protocol"], first["kind"], first["recorded"]) == ("mfp", "request", "full")
    assert first["exchange"] == b"linklink" + (1).to_bytes(8, "big")
    assert third["exchange"] is None
    assert first["ref"] is None
    assert first["raw"] == b"frame 1"
    assert batch.column("direction").to_pylist() == ["out", "in", "out"]


def test_no_rows_make_an_empty_batch() -> None:
    batch = to_batch([])
    batch.validate(full=True)
    assert (batch.num_rows, batch.schema) == (0, SCHEMA)


def test_every_kind_of_row_keeps_its_word() -> None:
    rows = [
        Row(FIXED.pack(1, 1, b"x" * 8, 0, 1, 0, 0, -1, -1, kind, *[-1] * 5, 0, -1, -1, -1, NO_ID, NO_ID, 2))
        for kind in range(len(KINDS))
    ]
    assert to_batch(rows).column("kind").to_pylist() == list(KINDS)


def test_a_reader_adds_node_and_number(row: Callable[..., Row]) -> None:
    placed = with_position(to_batch([row(1), row(2)]), node="a", first_seq=41)
    assert placed.schema.equals(ROW_SCHEMA)
    assert placed.column("seq").equals(pa.array([41, 42]))
    assert placed.column("node").to_pylist() == ["a", "a"]


def test_a_row_knows_its_size(row: Callable[..., Row]) -> None:
    assert row(1, raw=b"x" * 100).size - row(1, raw=b"").size == 100


def test_every_kind_of_the_codes_has_a_number() -> None:
    assert list(Kind) == list(KINDS)
