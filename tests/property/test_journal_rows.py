"""Whatever rows are appended, in whatever sizes of block and segment, exactly those are read back."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from framehub.journal import block, reader
from framehub.journal.columns import to_batch
from framehub.journal.record import DIRECTIONS, FIXED, KINDS, NO_ID, PROTOCOLS, RECORDED, Row
from framehub.journal.writer import JournalWriter, WriterSettings

ids = st.none() | st.binary(min_size=16, max_size=16).filter(any)
optional = st.none() | st.integers(0, 2**31 - 1)
short = st.none() | st.integers(0, 2**15 - 1)
wide = st.none() | st.integers(0, 2**32 - 1)
texts = st.none() | st.text(max_size=20)
values = st.fixed_dictionaries(
    {
        "time_ns": st.integers(0, 2**63 - 1),
        "mono_ns": st.integers(0, 2**63 - 1),
        "link": st.binary(min_size=8, max_size=8),
        "protocol": st.sampled_from(PROTOCOLS),
        "version": st.just(1),
        "direction": st.sampled_from(DIRECTIONS),
        "user": st.integers(0, 2**31 - 1),
        "service": optional,
        "function": optional,
        "endpoint": texts,
        "kind": st.sampled_from(KINDS),
        "head": short,
        "id": wide,
        "ref": wide,
        "key": wide,
        "code": short,
        "query": st.none() | st.binary(max_size=8),
        "coder": texts,
        "bytes": st.integers(0, 2**31 - 1),
        "payload_at": optional,
        "payload_bytes": optional,
        "files": optional,
        "error": texts,
        "refused": texts,
        "exchange": ids,
        "parent": ids,
        "recorded": st.sampled_from(RECORDED),
        "raw": st.none() | st.binary(max_size=300),
    }
)
TEXTS = ("endpoint", "query", "error", "refused", "raw", "coder")
NUMBERS = ("head", "id", "ref", "key", "code", "bytes", "payload_at", "payload_bytes", "files")


def pack(value: dict[str, object]) -> Row:
    def number(name: str) -> object:
        return -1 if value[name] is None else value[name]

    fixed = FIXED.pack(
        value["time_ns"],
        value["mono_ns"],
        value["link"],
        PROTOCOLS.index(str(value["protocol"])),
        value["version"],
        DIRECTIONS.index(str(value["direction"])),
        value["user"],
        number("service"),
        number("function"),
        KINDS.index(str(value["kind"])),
        *(number(name) for name in NUMBERS),
        value["exchange"] or NO_ID,
        value["parent"] or NO_ID,
        RECORDED.index(str(value["recorded"])),
    )
    return Row(fixed, *(value[name] for name in TEXTS))  # type: ignore[arg-type]


@given(st.lists(values, max_size=30))
def test_a_block_gives_back_its_rows(rows: list[dict[str, object]]) -> None:
    batch = to_batch([pack(value) for value in rows])
    batch.validate(full=True)
    assert batch.to_pylist() == rows
    if rows:
        data = block.encode_rows(batch, first_seq=5, salt=9)
        assert block.decode_rows(data[block.HEADER_BYTES :], rows=len(rows)).to_pylist() == rows


@settings(max_examples=20)
@given(
    st.lists(values, min_size=1, max_size=30),
    st.integers(1, 3000),
    st.integers(1, 8000),
    st.booleans(),
    st.lists(st.integers(0, 29), max_size=3),
)
def test_a_journal_gives_back_its_rows(
    rows: list[dict[str, object]], group: int, segment: int, seal: bool, reopen: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        limits = WriterSettings(gather_bytes=group, segment_bytes=segment, gather_seconds=0)
        writer = JournalWriter(place, node="n", settings=limits)
        for number, value in enumerate(rows):
            if number in reopen:
                writer.close(seal=seal)
                writer = JournalWriter(place, settings=limits)
            assert writer.append(pack(value)) == number + 1
        writer.close(seal=seal)
        found = [row for batch in reader.read(Path(place)) for row in batch.to_pylist()]
        assert found == [{"node": "n", "seq": seq, **row} for seq, row in enumerate(rows, 1)]
        assert reader.check(place).clean


@given(st.binary(max_size=200))
def test_any_bytes_are_a_header_or_none(data: bytes) -> None:
    header = block.read_header(data, limit=1000)
    assert header is None or header.length <= 1000
