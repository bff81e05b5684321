import random
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

from framehub.errors import DecodingError, EncodingError
from framehub.rpc.arrow_coder import ArrowCoder

CODER = ArrowCoder()
TABLE = pa.table(
    {
        "a": [1, 2, None],
        "b": ["x", "", None],
        "c": [[1], [], None],
        "d": pa.array(["u", "v", "u"]).dictionary_encode(),
    }
)


def stream(table: Any, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(
        sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)
    ) as out:
        out.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


@pytest.mark.parametrize("table", [TABLE, TABLE.slice(0, 0), pa.table({}), pa.table({"n": pa.nulls(100)})])
def test_tables_survive(table: Any) -> None:
    assert CODER.decode(CODER.encode(table)).equals(table)


def test_batches_and_columns_become_tables() -> None:
    assert CODER.decode(CODER.encode(TABLE.to_batches()[0])).equals(TABLE)
    assert CODER.decode(CODER.encode({"a": [1, 2]})).to_pydict() == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([1], "expected a Table, a RecordBatch or a dict of columns, got list"),
        ({"a": [1], "b": [1, 2]}, "no Arrow columns"),
        ({"a": [1, "x"]}, "no Arrow columns"),
        ({"a": pa.nulls(10**6)}, "1000000 rows are more than"),
        ({"a": pa.array([[None]])}, "type null are not taken"),
        ({"a": pa.array([{}])}, "type struct<> are not taken"),
    ],
)
def test_what_is_no_table_is_refused(value: Any, why: str) -> None:
    with pytest.raises(EncodingError) as caught:
        CODER.encode(value)
    assert why in caught.value.message


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no Arrow stream"),
        (b"\xff\xff\xff\xff\xff\xff\xff\x7f", "no Arrow stream"),
        (CODER.encode(TABLE)[:-60], "no Arrow stream"),
        (CODER.encode(TABLE) + b"\0", "1 bytes too many"),
        (stream(TABLE.select(["a"]), "zstd"), "compressed batches are not taken"),
        (stream(TABLE.select(["d"]), "lz4"), "compressed batches are not taken"),
        (stream(pa.table({"n": pa.nulls(10**6)})), "1000000 rows are more than"),
        (stream(pa.table({"n": pa.array([[None] * 1000])})), "type null are not taken"),
    ],
)
def test_other_bytes_are_refused(data: bytes, why: str) -> None:
    """[RPC-6.11] [RPC-6.12]"""
    with pytest.raises(DecodingError) as caught:
        CODER.decode(data)
    assert why in caught.value.message


def test_offsets_that_lie_are_found() -> None:
    """[RPC-6.11]"""
    data, offsets = stream(pa.table({"a": ["a" * 77]})), bytes.fromhex("00000000 4d000000")
    with pytest.raises(DecodingError, match="offsets"):
        CODER.decode(bytes.fromhex("00000000 00ffff00").join(data.rsplit(offsets, 1)))


def test_damaged_streams_are_tables_or_refused() -> None:
    chance, whole = random.Random(7), CODER.encode(TABLE)
    for _ in range(3000):
        data = bytearray(whole[: chance.choice([len(whole), chance.randrange(len(whole))])])
        for _ in range(chance.randrange(4) if data else 0):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            CODER.decode(bytes(data)).to_pydict()
        except DecodingError:
            continue


def test_arrow_is_loaded_when_it_is_needed() -> None:
    code = "import sys, framehub.rpc.coders; assert 'pyarrow' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
