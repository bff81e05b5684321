import pytest

from framehub.journal.columns import to_batch
from framehub.journal.faults.fault import changed, unrecorded
from framehub.journal.mfp_rows import IN, LinkRows
from framehub.journal.record import Row
from framehub.mfp import codec
from framehub.mfp.frames import RequestFrame


@pytest.fixture
def row() -> Row:
    frame = RequestFrame(id=7, payload=b"question")
    return LinkRows(b"linklink", 5).frame((1, 2), IN, frame, codec.encode(frame), b"e" * 16, endpoint="chat")


def test_only_the_named_columns_change(row: Row) -> None:
    (before,), (after,) = to_batch([row]).to_pylist(), to_batch([changed(row, id=9, user=6)]).to_pylist()
    assert {name for name in before if before[name] != after[name]} == {"id", "user"}
    assert (after["id"], after["user"]) == (9, 6)


def test_an_unrecorded_row_has_no_bytes(row: Row) -> None:
    (after,) = to_batch([unrecorded(row, id=0)]).to_pylist()
    assert (after["recorded"], after["raw"], after["id"], after["bytes"]) == ("off", None, 0, 17)


def test_a_column_that_is_none_is_a_mistake(row: Row) -> None:
    with pytest.raises(KeyError, match="endpoint"):
        changed(row, endpoint=1)
