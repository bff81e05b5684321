"""Files from rows in order, wherever batches are cut; what Spark does before is tested in test_pieces."""

from hashlib import sha256
from typing import Any

import pyarrow as pa
import pytest

from framehub.pipeline.stages.digests import DIGESTS, OPENING, digests

SCHEMA = pa.schema(
    [
        ("node", pa.string()),
        ("exchange", pa.binary()),
        ("about", OPENING),
        ("opening", pa.struct([(name, pa.int32()) for name in ("head", "size", "payload_bytes", "files")])),
        ("end", pa.int64()),
        ("complete", pa.bool_()),
        ("key", pa.int64()),
        ("seq", pa.int64()),
        ("time_ns", pa.int64()),
        ("link", pa.binary()),
        ("user", pa.int32()),
        ("direction", pa.string()),
        ("how", pa.string()),
        ("head", pa.int16()),
        ("bytes", pa.int32()),
        ("raw", pa.binary()),
    ]
)


def opening(
    exchange: bytes, how: str = "streamed", end: int | None = 99, complete: bool = True
) -> dict[str, Any]:
    about = {"seq": 1, "time_ns": 5, "direction": "in", "link": b"L", "user": 7, "endpoint": "e", "how": how}
    sizes = {"head": 0x44, "size": 5, "payload_bytes": None, "files": None}
    shared = {"node": "one", "exchange": exchange}
    return shared | {"about": about, "opening": sizes, "end": end, "complete": complete}


def chunk(
    exchange: bytes, key: int, seq: int, data: bytes, how: str = "streamed", **more: Any
) -> dict[str, Any]:
    raw = bytes(13) + data
    return {
        "node": "one", "exchange": exchange, "key": key, "seq": seq, "time_ns": seq, "link": b"L", "user": 7,
        "direction": "in", "how": how, "head": 0x85, "bytes": len(raw), "raw": raw,
    } | more  # fmt: skip


ROWS = [
    chunk(b"0", 1, 2, b"no opening"),
    opening(b"a", end=8),
    chunk(b"a", 1, 2, b"ab"),
    chunk(b"a", 1, 3, b"other way", direction="out"),
    chunk(b"a", 1, 5, b"cd"),
    chunk(b"a", 1, 9, b"after the end"),
    chunk(b"a", 2, 4, b"x"),
    opening(b"b", complete=False, end=None),
    chunk(b"b", 2, 4, b"xyz"),
    opening(b"c", "announced", end=3),
    chunk(b"c", 1, 2, b"one", "announced"),
    chunk(b"c", 1, 4, b"two", "announced"),
    chunk(b"c", 1, 5, b"streamed"),
    chunk(b"d", 1, 5, b"no opening"),
    opening(b"e"),
    chunk(b"e", 1, 2, b"ab"),
    chunk(b"e", 1, 3, b"cd", raw=None),
]  # fmt: skip


def sha(data: bytes) -> str:
    return sha256(data).hexdigest()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_batches_may_be_cut_anywhere(size: int) -> None:
    whole = pa.Table.from_pylist(ROWS, SCHEMA).to_batches(size)
    made = list(digests(iter(whole)))
    assert {batch.schema for batch in made} == {DIGESTS}
    found = [row for batch in made for row in batch.to_pylist()]
    facts = ("seq", "last_seq", "frames", "bytes", "complete", "sha256")
    assert [(row["exchange"], row["key"], *(row["carried"][name] for name in facts)) for row in found] == [
        (b"a", 1, 2, 5, 2, 4, True, sha(b"abcd")),
        (b"a", 2, 4, 4, 1, 1, True, sha(b"x")),
        (b"b", 2, 4, 4, 1, 3, False, None),
        (b"c", 1, 2, 2, 1, 3, True, sha(b"one")),
        (b"c", 1, 4, 4, 1, 3, True, sha(b"two")),
        (b"e", 1, 2, 3, 2, 4, True, None),
    ]
    assert found[0]["open"] == ROWS[1]["about"]


def test_nothing_gives_nothing() -> None:
    assert [batch.num_rows for batch in digests(iter([]))] == [0]
