from collections.abc import Callable

import pyarrow as pa
import pytest

from framehub.journal.columns import to_batch
from framehub.journal.message import Column, assemble
from framehub.journal.record import SCHEMA, Row


@pytest.mark.parametrize("count", [1, 7, 8, 9, 100])
def test_arrow_reads_the_message_and_writes_it_likewise(count: int, row: Callable[..., Row]) -> None:
    batch = to_batch([row(number) for number in range(count)])
    batch.validate(full=True)
    assert batch.schema.equals(SCHEMA)
    again = pa.ipc.read_record_batch(batch.serialize(), SCHEMA)
    assert again.equals(batch)
    assert again.column("id").to_pylist() == list(range(count))


def test_other_columns_are_no_message_of_ours() -> None:
    with pytest.raises(AssertionError):
        assemble(1, [Column(0, (b"", b"12345678"))], memoryview(bytes(16)))
