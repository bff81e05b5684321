"""One Spark for the whole suite, and journals written by hand."""

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from framehub.journal import reader
from framehub.journal.columns import to_batch
from framehub.journal.generate import generate
from framehub.journal.record import ROW_SCHEMA
from framehub.journal.rpc_rows import IN, OUT, RpcRows, Side
from framehub.pipeline import session
from framehub.pipeline.schemas import TABLES, journal_schema
from framehub.pipeline.step import FOR_FEW_ROWS

NOON_NS = 1_780_000_000_000_000_000
LINK = bytes.fromhex("00000000000000a1")

Row: TypeAlias = dict[str, Any]
JournalOf: TypeAlias = Callable[[Sequence[Row]], DataFrame]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patched:
        # Spark's own daemon of Python workers reads this; ours run with the tests' strictness.
        patched.setenv("PYTHONWARNINGS", "ignore")
        conf = {"spark.driver.memory": "1500m", "spark.sql.shuffle.partitions": "2"}
        running = session("local[2]", "tests", log=tmp_path_factory.mktemp("spark") / "log", conf=conf)
        # No plan here lives long enough for a compiled one; ``newSession`` has what users have.
        for name, value in FOR_FEW_ROWS.items():
            running.conf.set(name, value)
        yield running
        running.stop()


@pytest.fixture(scope="session")
def journal_of(spark: SparkSession) -> JournalOf:
    """Rows to a DataFrame with the journal's columns: what is not given is null, or what is usual."""

    def make(rows: Sequence[Row]) -> DataFrame:
        usual = {
            "node": "one",
            "mono_ns": 0,
            "link": LINK,
            "protocol": "mfp",
            "version": 1,
            "direction": "in",
            "user": 0,
            "bytes": 9,
            "recorded": "full",
        }
        whole = [
            usual
            | {"seq": number, "time_ns": NOON_NS + number * 1_000_000, "mono_ns": number * 1_000_000}
            | row
            for number, row in enumerate(rows, start=1)
        ]
        table = pa.Table.from_pylist(whole, schema=ROW_SCHEMA)
        return spark.createDataFrame(table).to(journal_schema())

    return make


def with_envelope(kind: str, payload: bytes | str | dict[str, Any], **fields: Any) -> Row:
    """A row with a payload as the gateway writes it: head, id, sizes, payload, map, files."""
    if isinstance(payload, dict):
        fields = {"endpoint": payload.get("endpoint"), **fields}
        payload = json.dumps(payload)
    body = payload if isinstance(payload, bytes) else payload.encode()
    files: dict[int, bytes] = fields.pop("attached", {})
    announced: list[int] = fields.pop("announced", [])
    head = {"message": 0x40, "request": 0x60, "response": 0xA0}[kind] | 1 | fields.pop("flags", 0)
    head |= 0b0110 if files else 0b0010 if announced else 0
    follows = b"".join(struct.pack(">II", key, len(data)) for key, data in files.items())
    follows += b"".join(struct.pack(">I", key) for key in announced)
    start = struct.pack(">BI", head, fields.get("id", 1))
    start += struct.pack(">I", fields["ref"]) if kind == "response" else b""
    start += struct.pack(">I", len(body)) + (struct.pack(">I", len(follows)) if follows else b"")
    raw = start + body + follows + b"".join(files.values())
    row = {
        "kind": kind,
        "head": head,
        "raw": raw,
        "bytes": len(raw),
        "payload_at": len(start),
        "payload_bytes": len(body),
        "files": len(files) or len(announced) or None,
    }
    return row | fields


@pytest.fixture(scope="session")
def envelope() -> Callable[..., Row]:
    return with_envelope


def rpc_row(way: str, *parts: bytes | str, peer: str = "", **labels: Any) -> Row:
    """A message of functions as the proxy's tap writes it; ``way`` is "in" or "out", the type comes first."""
    made = RpcRows()
    whole = [part.encode() if isinstance(part, str) else part for part in parts]
    side: Side = "worker" if peer.startswith("worker") else "client"
    identity = (peer or side).encode()
    link = labels.pop("link", None) or made.link_of(side, identity)
    direction = OUT if way == "out" else IN
    (row,) = to_batch([made.row((0, 0), direction, identity, whole, link=link, **labels)]).to_pylist()
    return {name: value for name, value in row.items() if name not in ("time_ns", "mono_ns")}


@pytest.fixture(scope="session")
def rpc() -> Callable[..., Row]:
    return rpc_row


@pytest.fixture
def two_nodes(tmp_path: Path) -> Path:
    """Two nodes, sealed segments and an open one each, under a name that is a pattern to Spark."""
    root = tmp_path / "a {b,c} [d] *"
    for number, node in enumerate(("north", "south")):
        generate(root / node, frames=6000, seed=number, node=node, segment_bytes=1_000_000)
        kinds = {part.kind for part in reader.snapshot(root / node)}
        assert kinds == {"parquet", "blocks"}
    return root


def _by_place(table: pa.Table) -> pa.Table:
    return table.sort_by([("node", "ascending"), ("seq", "ascending")])


@pytest.fixture(scope="session")
def holds_all_of() -> Callable[[DataFrame, Path], bool]:
    """Whether a DataFrame is exactly what the journal's own reader reads."""

    def same(frame: DataFrame, path: Path) -> bool:
        want = _by_place(pa.Table.from_batches(reader.read(path)))
        return bool(_by_place(frame.toArrow()).cast(want.schema).equals(want))

    return same


@pytest.fixture(scope="session")
def tables_of() -> Callable[[Path], dict[str, Any]]:
    """Rows of every table in a directory, in an order that does not depend on the run."""

    def read(directory: Path) -> dict[str, Any]:
        import pyarrow.dataset as ds

        tables = {}
        for name in TABLES:
            rows = ds.dataset(directory / name, format="parquet", partitioning="hive").to_table().to_pylist()
            tables[name] = sorted(map(repr, rows))
        return tables

    return read
