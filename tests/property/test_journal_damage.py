"""Whatever happens to a segment's bytes: rows read are rows written, and what is lost is told."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from framehub.journal import reader
from framehub.journal.generate import generate

FRAMES = 5000  # three blocks


def _journal() -> tuple[bytes, bytes]:
    with tempfile.TemporaryDirectory() as place:
        generate(place, frames=FRAMES, seed=2)
        return (Path(place) / "node.json").read_bytes(), (Path(place) / f"{1:020d}.fhj").read_bytes()


NODE, SEGMENT = _journal()
harm = st.tuples(
    st.integers(0, len(SEGMENT) - 1), st.integers(1, 50_000), st.sampled_from(["zero", "flip", "cut", "copy"])
)


def _harm(data: bytearray, offset: int, size: int, kind: str) -> None:
    offset = min(offset, len(data))
    size = min(size, len(data) - offset)
    if kind == "zero":
        data[offset : offset + size] = bytes(size)
    elif kind == "flip" and offset < len(data):
        data[offset] ^= 1 << size % 8
    elif kind == "cut":
        del data[offset : offset + size]
    elif kind == "copy":
        data[offset:offset] = data[:size]


@settings(max_examples=60)
@given(st.lists(harm, min_size=1, max_size=3))
def test_rows_read_are_rows_written_and_losses_are_told(harms: list[tuple[int, int, str]]) -> None:
    data = bytearray(SEGMENT)
    for offset, size, kind in harms:
        _harm(data, offset, size, kind)
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "node.json").write_bytes(NODE)
        (Path(place) / f"{1:020d}.fhj").write_bytes(data)
        seqs = [
            seq for batch in reader.read(place, columns=["seq"]) for seq in batch.column("seq").to_pylist()
        ]
        assert seqs == sorted(set(seqs))
        assert set(seqs) <= set(range(1, FRAMES + 1))
        report = reader.check(place)
        assert report.rows == len(seqs)
        if len(seqs) < FRAMES:
            assert report.damages or report.torn or not data or _ends_with_a_block(report)


def _ends_with_a_block(report: reader.CheckReport) -> bool:
    """A file cut exactly between two blocks is a shorter journal, and nothing can tell."""
    last = report.nodes[0].last_seq
    return last is None or last % 2048 == 0
