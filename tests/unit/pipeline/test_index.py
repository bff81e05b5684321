"""An index finds every exchange it was given, where it is, and nothing else."""

from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from framehub.pipeline.index import Hit, look_up, write_index


def _table(directory: Path, name: str, rows: list[tuple[str, bytes, int, int]]) -> Path:
    nodes, ids, firsts, lasts = (list(column) for column in zip(*rows, strict=True))
    table = pa.table(
        {
            "node": nodes,
            "exchange": [exchange.hex() for exchange in ids],
            "first_seq": pa.array(firsts, pa.int64()),
            "last_seq": pa.array(lasts, pa.int64()),
        }
    )
    pq.write_table(table, directory / name)
    return directory / name


def test_all_that_it_holds_is_found_and_nothing_else(tmp_path: Path) -> None:
    dice = Random(1)
    rows = [(dice.choice(("north", "south")), dice.randbytes(16), n, n + 7) for n in range(5000)]
    files = [_table(tmp_path, "a.parquet", rows[:3000]), _table(tmp_path, "b.parquet", rows[3000:])]
    index = tmp_path / "index" / "g000001.npy"
    assert write_index(index, files) == 5000
    for node in ("north", "south"):
        own = {exchange: (first, last) for name, exchange, first, last in rows if name == node}
        strangers = [dice.randbytes(16) for _ in range(2000)]
        hits = look_up(index, node, [*own, *strangers])
        assert {hit.exchange: (hit.first_seq, hit.last_seq) for hit in hits} == own
        assert {hit.generation for hit in hits} == {"g000001"}


def test_an_exchange_belongs_to_its_node(tmp_path: Path) -> None:
    file = _table(tmp_path, "a.parquet", [("north", b"x" * 16, 3, 4)])
    write_index(tmp_path / "g.npy", [file])
    assert look_up(tmp_path / "g.npy", "north", [b"x" * 16]) == [Hit(b"x" * 16, "g", 3, 4)]
    assert look_up(tmp_path / "g.npy", "south", [b"x" * 16]) == []
    assert look_up(tmp_path / "g.npy", "north", []) == []


def test_a_slice_of_a_batch_is_read_right(tmp_path: Path) -> None:
    """Arrow hands out batches that begin inside a buffer."""
    rows = [("one", n.to_bytes(16, "big"), n, n) for n in range(70_000)]
    write_index(tmp_path / "g.npy", [_table(tmp_path, "a.parquet", rows)])
    wanted = [rows[n][1] for n in (0, 65_535, 65_536, 69_999)]
    found = sorted(hit.first_seq for hit in look_up(tmp_path / "g.npy", "one", wanted))
    assert found == [0, 65_535, 65_536, 69_999]


def test_nothing_gives_an_empty_index(tmp_path: Path) -> None:
    assert write_index(tmp_path / "g.npy", []) == 0
    assert look_up(tmp_path / "g.npy", "one", [b"x" * 16]) == []
