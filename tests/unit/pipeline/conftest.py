"""Batches of journal rows made by hand."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pytest

from framehub.journal.record import ROW_SCHEMA

BatchOf: TypeAlias = Callable[[Sequence[dict[str, Any]]], pa.RecordBatch]


@pytest.fixture(scope="session")
def batch_of() -> BatchOf:
    """Rows to a batch: what is not given is null, or what is usual."""

    def make(rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
        usual = {
            "node": "one",
            "time_ns": 5,
            "mono_ns": 0,
            "link": b"\0\0\0\0\0\0\0\1",
            "protocol": "mfp",
            "version": 1,
            "direction": "in",
            "user": 0,
            "kind": "message",
            "recorded": "full",
        }
        whole = [
            usual | {"seq": number, "bytes": len(row.get("raw") or b"")} | row
            for number, row in enumerate(rows, start=1)
        ]
        return pa.RecordBatch.from_pylist(whole, schema=ROW_SCHEMA)

    return make
