"""Tables written by hand, as a run leaves them."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

START = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
TIME = pa.timestamp("us", "UTC")
FRAMES = pa.schema([("time", TIME), ("direction", pa.string()), ("bytes", pa.int32())])
FILE = pa.struct([("key", pa.int64()), ("name", pa.string()), ("type", pa.string()), ("bytes", pa.int64())])
MESSAGES = pa.schema(
    [("time", TIME), ("user", pa.int32()), ("kind", pa.string()), ("direction", pa.string())]
    + [(name, pa.string()) for name in ("endpoint", "coder", "json", "error", "exchange")]
    + [("files", pa.list_(FILE)), ("readable", pa.bool_())]
)
EXCHANGES = pa.schema(
    [(name, pa.string()) for name in ("exchange", "kind", "direction", "endpoint", "outcome", "code")]
    + [("user", pa.int32()), ("opened", TIME), ("wait_us", pa.int64())]
)

Row = dict[str, Any]


@pytest.fixture
def at() -> Callable[[float], datetime]:
    return lambda seconds: START + timedelta(seconds=seconds)


@pytest.fixture
def tables(tmp_path: Path) -> Callable[..., Path]:
    """Write tables and their manifest; the directory that ``write_report`` is given."""

    def write(
        frames: Sequence[Row] = (),
        messages: Sequence[Row] = (),
        exchanges: Sequence[Row] = (),
        damage: Sequence[str] = (),
    ) -> Path:
        out = tmp_path / "out"
        snapshot = out / "snapshots" / "one"
        given = {
            "frames": (FRAMES, frames),
            "messages": (MESSAGES, messages),
            "exchanges": (EXCHANGES, exchanges),
        }
        for name, (schema, rows) in given.items():
            day = snapshot / name / f"date={date(2026, 3, 1)}"
            day.mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(list(rows), schema), day / "part.parquet")
        told = {
            "journal": "/data/journal",
            "snapshot": "one",
            "nodes": {"north": len(frames)},
            "rows": {name: len(rows) for name, (_, rows) in given.items()},
            "damage": list(damage),
        }
        (snapshot / "manifest.json").write_text(json.dumps(told))
        (out / "current").symlink_to("snapshots/one")
        return out

    return write


@pytest.fixture
def exchange(at: Callable[[float], datetime]) -> Callable[..., Row]:
    def make(number: int, **fields: Any) -> Row:
        usual = {"exchange": f"{number:032x}", "kind": "request", "direction": "in", "endpoint": "chat"}
        return usual | {"user": 0, "opened": at(number), "outcome": "ok", "wait_us": 100} | fields

    return make
