"""Where an exchange's row lies, without reading the tables: a small sorted file per generation.

A generation is what one step wrote of settled exchanges. Its index holds, for each of them, a hash of (node,
exchange) and the span of its rows in the journal, sorted by the hash. It is mapped, not read, so looking up
a few exchanges among many millions touches a few pages. A false hit (one in 2^64 or so) costs a look for
rows that are not there, nothing else.
"""

import zlib
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from framehub.private import make_directory, new_file

_Numbers: TypeAlias = "np.ndarray[Any, Any]"

ENTRY: Final = np.dtype([("hash", "<u8"), ("first_seq", "<i8"), ("last_seq", "<i8")])
_ID_BYTES: Final = 16
_DIGITS: Final = np.frombuffer(b"0123456789abcdef", np.uint8)
_MIX: Final = tuple(np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))


class Hit(NamedTuple):
    """An exchange that a generation holds."""

    exchange: bytes
    generation: str
    first_seq: int
    last_seq: int


def write_index(target: Path, tables: Iterable[Path]) -> int:
    """Index the exchanges in these files of the table ``exchanges``; how many they are."""
    pieces = [np.empty(0, ENTRY)]
    for file in tables:
        for batch in pq.ParquetFile(file).iter_batches(
            65_536, columns=["node", "exchange", "first_seq", "last_seq"]
        ):
            pieces.append(_entries(batch))
    entries = np.concatenate(pieces)
    entries.sort(order="hash")
    make_directory(target.parent)
    with new_file(target) as written:
        np.save(written, entries, allow_pickle=False)
    return len(entries)


def _entries(batch: pa.RecordBatch) -> _Numbers:
    entries = np.empty(batch.num_rows, ENTRY)
    texts = batch.column("exchange")
    # 32 digits each, no nulls: their bytes are one block.
    data = np.frombuffer(texts.buffers()[2], np.uint8)
    offset = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset]
    digits = data[offset : offset + 2 * _ID_BYTES * batch.num_rows].reshape(batch.num_rows, 2 * _ID_BYTES)
    nodes = batch.column("node").dictionary_encode()
    salts = np.array([_salt(name) for name in nodes.dictionary.to_pylist()], np.uint64)
    entries["hash"] = _hash(digits, salts[nodes.indices.to_numpy()])
    entries["first_seq"] = batch.column("first_seq").to_numpy()
    entries["last_seq"] = batch.column("last_seq").to_numpy()
    return entries


def look_up(index: Path, node: str, exchanges: Collection[bytes]) -> list[Hit]:
    """Those of a node's exchanges that this generation holds."""
    entries = np.load(index, mmap_mode="r", allow_pickle=False)
    if not len(entries) or not exchanges:
        return []
    wanted = list(exchanges)
    ids = np.frombuffer(b"".join(wanted), np.uint8).reshape(len(wanted), _ID_BYTES)
    digits = np.empty((len(wanted), 2 * _ID_BYTES), np.uint8)
    digits[:, 0::2] = _DIGITS[ids >> 4]
    digits[:, 1::2] = _DIGITS[ids & 15]
    hashes = _hash(digits, np.uint64(_salt(node)))
    order = np.argsort(hashes)
    places = np.searchsorted(entries["hash"], hashes[order])
    inside = places < len(entries)
    order, places = order[inside], places[inside]
    found = entries["hash"][places] == hashes[order]
    return [
        Hit(wanted[which], index.stem, int(entries["first_seq"][place]), int(entries["last_seq"][place]))
        for which, place in zip(order[found].tolist(), places[found].tolist(), strict=True)
    ]


def _salt(node: str) -> int:
    return zlib.crc32(node.encode()) * 0x100000001


def _hash(digits: _Numbers, salt: Any) -> _Numbers:
    """Four words of eight digits each, mixed into one."""
    words = np.ascontiguousarray(digits).view("<u8")
    mixed: _Numbers = np.full(len(words), _MIX[2], np.uint64) ^ salt
    with np.errstate(over="ignore"):
        for place in range(words.shape[1]):
            mixed = (mixed ^ words[:, place]) * _MIX[0]
            mixed ^= mixed >> np.uint64(29)
            mixed *= _MIX[1]
            mixed ^= mixed >> np.uint64(32)
    return mixed
