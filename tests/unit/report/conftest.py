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
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&<!--"
TIME = pa.timestamp("us", "UTC")
FILE = pa.struct([("key", pa.int64()), ("name", pa.string()), ("type", pa.string()), ("bytes", pa.int64())])
BUCKET = pa.struct([("le_us", pa.float64()), ("count", pa.int64())])
_TYPES: dict[str, pa.DataType] = {
    **dict.fromkeys(("time", "opened", "first_answer", "closed", "given", "worker_answered", "last"), TIME),
    **dict.fromkeys(("minute",), TIME),
    **dict.fromkeys(("user", "service", "function", "timeout_s"), pa.int32()),
    **dict.fromkeys(("seq", "key", "wait_us", "dispatches", "frames", "first_seq", "last_seq"), pa.int64()),
    **dict.fromkeys(("frames_in", "frames_out", "bytes_in", "bytes_out"), pa.int64()),
    **dict.fromkeys(("count", "ok", "open", "timeout", "aborted", "unknown"), pa.int64()),
    **dict.fromkeys(("disconnected", "answered", "max_us"), pa.int64()),
    **dict.fromkeys(("p50_us", "p95_us", "p99_us"), pa.float64()),
    **dict.fromkeys(("readable", "complete", "acked"), pa.bool_()),
    "evidence": pa.list_(pa.int64()),
    "waits": pa.list_(BUCKET),
}


def _schema(names: str, **other: pa.DataType) -> pa.Schema:
    return pa.schema([(name, other.get(name) or _TYPES.get(name, pa.string())) for name in names.split()])


SCHEMAS = {
    "frames": _schema("node seq time protocol direction bytes", bytes=pa.int32()),
    "messages": _schema(
        "time user protocol kind direction endpoint coder json error files exchange readable",
        files=pa.list_(FILE),
    ),
    "exchanges": _schema(
        "exchange parent node protocol user kind direction endpoint service function opened first_answer "
        "closed wait_us given worker_answered given_to dispatches timeout_s outcome code ended_by "
        "frames_in frames_out bytes_in bytes_out last"
    ),
    "files": _schema(
        "node seq time user protocol direction endpoint exchange how key name type bytes frames complete "
        "sha256",
        bytes=pa.int64(),
    ),
    "violations": _schema("rule protocol time node link exchange endpoint evidence detail sentence"),
    "metrics": _schema(
        "minute node protocol kind endpoint service count ok error timeout aborted unknown disconnected "
        "open answered p50_us p95_us p99_us max_us waits frames_in frames_out bytes_in bytes_out",
        error=pa.int64(),
    ),
}

Row = dict[str, Any]
At = Callable[[float], datetime]
Make = Callable[..., Row]
Tables = Callable[..., Path]


@pytest.fixture
def at() -> At:
    return lambda seconds: START + timedelta(seconds=seconds)


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    """Write tables and their manifest; the directory that ``write_report`` is given."""

    def write(
        *,
        damage: Sequence[str] = (),
        rules: object = None,
        rows_per_file: int = 1 << 30,
        **given: Sequence[Row],
    ) -> Path:
        out = tmp_path / "out"
        snapshot = out / "snapshots" / "one"
        for name, schema in SCHEMAS.items():
            rows = list(given.get(name, ()))
            day = snapshot / name / f"date={date(2026, 3, 1)}"
            day.mkdir(parents=True)
            for number, start in enumerate(range(0, max(1, len(rows)), rows_per_file)):
                part = pa.Table.from_pylist(rows[start : start + rows_per_file], schema)
                pq.write_table(part, day / f"{number}.parquet")
        told: Row = {
            "journal": "/data/journal",
            "snapshot": "one",
            "nodes": {"north": len(given.get("frames", ()))},
            "rows": {name: len(given.get(name, ())) for name in SCHEMAS},
            "damage": list(damage),
        }
        told |= {"rules": rules} if rules is not None else {}
        (snapshot / "manifest.json").write_text(json.dumps(told))
        (out / "current").symlink_to("snapshots/one")
        return out

    return write


@pytest.fixture
def snapshot(tables: Tables) -> Tables:
    """Write tables; the snapshot's directory, where each table has one of its own."""
    return lambda **given: tables(**given) / "snapshots" / "one"


@pytest.fixture
def exchange(at: At) -> Make:
    """A row of ``exchanges``: a request that was answered after 100 microseconds."""

    def make(number: int, **fields: Any) -> Row:
        usual: Row = {"exchange": f"{number:032x}", "node": "north", "protocol": "mfp", "kind": "request"}
        usual |= {"direction": "in", "endpoint": "chat", "user": 0, "outcome": "ok", "wait_us": 100}
        row = usual | {"opened": at(number)} | fields
        answered = row["opened"] and row["wait_us"] is not None
        end = row["opened"] + timedelta(microseconds=row["wait_us"]) if answered else None
        return {"first_answer": end, "closed": end, "last": end or row["opened"]} | row

    return make


@pytest.fixture
def metric(at: At) -> Make:
    """A row of ``metrics``: so many requests that were answered within a hundred microseconds."""

    def make(count: int, **fields: Any) -> Row:
        usual = {"minute": at(0), "node": "north", "protocol": "mfp", "kind": "request", "endpoint": "chat"}
        sums = dict.fromkeys(("error", "timeout", "aborted", "unknown", "disconnected", "open"), 0)
        usual |= sums | {"count": count, "ok": count, "answered": count, "max_us": 95}
        usual |= {"waits": [{"le_us": 100.0, "count": count}]}
        return usual | dict.fromkeys(("frames_in", "frames_out", "bytes_in", "bytes_out"), count) | fields

    return make


@pytest.fixture
def violation(at: At) -> Make:
    """A row of ``violations``."""

    def make(rule: str, second: float, **fields: Any) -> Row:
        usual = {"rule": rule, "protocol": "mfp", "time": at(second), "node": "north", "link": "ab" * 8}
        usual |= {
            "exchange": f"{7:032x}",
            "endpoint": "chat",
            "evidence": [3, 9],
            "sentence": f"About {rule}.",
        }
        return usual | fields

    return make


@pytest.fixture
def file(at: At) -> Make:
    """A row of ``files``: one that has come whole."""

    def make(called: str, size: int, **fields: Any) -> Row:
        usual = {"node": "north", "seq": 1, "time": at(0), "user": 1, "protocol": "mfp", "direction": "in"}
        usual |= {"endpoint": "up", "exchange": f"{1:032x}", "how": "attached", "key": 1, "name": called}
        return usual | {"type": "text/plain", "bytes": size, "frames": 1, "complete": True} | fields

    return make


@pytest.fixture
def everything(at: At, exchange: Make, metric: Make, violation: Make, file: Make) -> dict[str, Any]:
    """Some rows of each table; all that strangers choose is as evil as it gets."""
    way = [("mfp", "in"), ("mfp", "out"), ("rpc", "in"), ("hub", "out")]
    frames = [
        {"node": "north", "seq": n, "time": at(n), "protocol": p, "direction": d, "bytes": 10 * n + 1}
        for n, (p, d) in enumerate(way * 5)
    ]
    evil = {"endpoint": EVIL}
    asked = exchange(1, wait_us=30_000, **evil)
    query = {"protocol": "rpc", "kind": "query", "parent": asked["exchange"], "given_to": "cd" * 8}
    failing = exchange(2, outcome="error", code=EVIL, wait_us=20_000, opened=at(1.001), **query, **evil)
    failing |= {"given": at(1.004), "worker_answered": at(1.019), "dispatches": 2}
    message = {"time": at(0), "user": 1, "protocol": "mfp", "kind": "message", "direction": "in"}
    message |= {"json": EVIL, "readable": True, "endpoint": EVIL}
    message |= {"files": [{"key": 1, "name": EVIL, "type": EVIL, "bytes": 1}]}
    broken = metric(4, ok=2, error=1, timeout=1, answered=2, **evil)
    return {
        "frames": frames,
        "messages": [message, message | {"error": EVIL}],
        "exchanges": [asked, failing, exchange(3, outcome="open", wait_us=None)],
        "files": [file(EVIL, 5, type=EVIL, **evil), file(EVIL, 9, complete=False, frames=0, how="announced")],
        "violations": [violation("mfp-zero-id", 3, detail=EVIL, **evil), violation("hub-lost", 4)],
        "metrics": [broken, metric(3, protocol="rpc", kind="query", **evil)],
    }


@pytest.fixture
def evil() -> str:
    """What a stranger might call things."""
    return EVIL
