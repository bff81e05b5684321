import os
import struct
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from framehub.journal import block
from framehub.journal.columns import to_batch
from framehub.journal.record import Row
from framehub.journal.scan import Block, Damage, SegmentFile, extent, scan_listed, scan_segment
from framehub.journal.segments import Node, Segment

SALT = 0x5EED5A17


def seqs(found: Iterable[Block | Damage]) -> list[int]:
    return [
        seq
        for item in found
        if isinstance(item, Block)
        for seq in range(item.header.first_seq, item.header.last_seq + 1)
    ]


def damages(found: Iterable[Block | Damage]) -> list[Damage]:
    return [item for item in found if isinstance(item, Damage)]


def put(file: Path, offset: int, byte: int) -> None:
    with file.open("r+b") as out:
        out.seek(offset)
        out.write(bytes([byte]))


@pytest.fixture
def sound(node: Node, segment: Callable[..., Path]) -> Path:
    return segment(node.directory)


@pytest.fixture
def offsets(sound: Path) -> list[int]:
    """Where each block begins; the opening is the first."""
    return [0, *(found.offset for found in scan_segment(sound) if isinstance(found, Block))]


def test_a_sound_segment_has_every_row_and_no_damage(sound: Path) -> None:
    found = list(scan_segment(sound))
    assert seqs(found) == list(range(1, 13))
    assert damages(found) == []
    assert found[0].rows().column("raw").to_pylist()[0] == b"frame 1"  # type: ignore[union-attr]


def test_cut_at_every_offset_the_whole_blocks_before_are_read(sound: Path, offsets: list[int]) -> None:
    data = sound.read_bytes()
    ends = [*offsets[2:], len(data)]
    for length in reversed(range(len(data))):
        os.truncate(sound, length)
        found = list(scan_segment(sound))
        whole = sum(end <= length for end in ends)
        assert seqs(found) == list(range(1, 3 * whole + 1)), length
        torn = damages(found)
        clean = length in (0, *offsets[1:])
        assert [damage.torn for damage in torn] == ([] if clean else [True]), length
        there = extent(sound, salt=SALT)
        assert (there.last_seq if there else 0) == 3 * whole, length


def test_a_flipped_bit_costs_at_most_its_block_and_is_reported(sound: Path, offsets: list[int]) -> None:
    ends = [*offsets[1:], sound.stat().st_size]
    for offset, good in enumerate(sound.read_bytes()):
        put(sound, offset, good ^ (1 << (offset % 8)))
        found = list(scan_segment(sound))
        hit = sum(start <= offset for start in offsets) - 1
        lost = set(range(3 * hit - 2, 3 * hit + 1)) if hit else set()
        assert seqs(found) == [seq for seq in range(1, 13) if seq not in lost], offset
        (damage,) = damages(found)
        # Only a change of the last block's header looks like a tail that a crash tore.
        in_last_header = hit == 4 and offset - offsets[4] < 20
        assert not damage.torn or in_last_header, offset
        assert damage.offset == offsets[hit]
        if not damage.torn:
            assert damage.bytes == ends[hit] - offsets[hit]
        if not damage.torn and not in_last_header:
            assert (damage.after_seq, damage.before_seq) == ((3 * hit - 3, 3 * hit + 1) if hit else (0, 1))
        put(sound, offset, good)


def test_zeros_at_the_end_are_a_torn_tail(sound: Path) -> None:
    size = sound.stat().st_size
    with sound.open("ab") as out:
        out.write(bytes(10_000))
    found = list(scan_segment(sound))
    assert seqs(found) == list(range(1, 13))
    (torn,) = damages(found)
    assert (torn.torn, torn.offset, torn.bytes) == (True, size, 10_000)
    assert "zeros" in torn.reason


def test_a_length_of_four_gibibytes_is_damage_and_never_an_allocation(
    sound: Path, offsets: list[int]
) -> None:
    data = bytearray(sound.read_bytes())
    struct.pack_into(">I", data, offsets[2] + 4, 0xFFFFFFFF)
    sound.write_bytes(data)
    found = list(scan_segment(sound))
    assert seqs(found) == [1, 2, 3, *range(7, 13)]
    (damage,) = damages(found)
    assert "4294967295 bytes is over the limit" in damage.reason


def test_a_frame_that_holds_a_whole_block_is_read_as_a_frame(
    node: Node, segment: Callable[..., Path], row: Callable[..., Row]
) -> None:
    """Also when the block around it is damaged: whoever sent it does not know our salt."""
    forged = block.encode_rows(to_batch([row(666)]), first_seq=14, salt=0)
    path = segment(node.directory)
    carrier = block.encode_rows(to_batch([row(13, raw=b"x" * 500 + forged)]), first_seq=13, salt=SALT)
    after = block.encode_rows(to_batch([row(14)]), first_seq=14, salt=SALT)
    data = path.read_bytes()
    path.write_bytes(data + carrier + after)
    assert seqs(scan_segment(path)) == list(range(1, 15))
    broken = bytearray(data + carrier + after)
    broken[len(data) + 5] ^= 0xFF  # its length: the next block must be searched for
    path.write_bytes(broken)
    found = list(scan_segment(path))
    assert seqs(found) == [*range(1, 13), 14]
    assert found[-1].rows().column("id").to_pylist() == [14]  # type: ignore[union-attr]


def test_a_forged_opening_in_the_middle_is_nobodys(node: Node, segment: Callable[..., Path]) -> None:
    path = segment(node.directory)
    opening = block.encode_opening(block.Opening("evil", 1, 1, 1, 100), first_seq=13)
    tail = path.read_bytes()
    path.write_bytes(tail + opening)
    found = list(scan_segment(path))
    assert seqs(found) == list(range(1, 13))
    assert [damage.torn for damage in damages(found)] == [True]


def test_a_block_that_comes_again_is_read_once(sound: Path, offsets: list[int]) -> None:
    data = sound.read_bytes()
    sound.write_bytes(data + data[offsets[1] : offsets[2]])
    found = list(scan_segment(sound))
    assert seqs(found) == list(range(1, 13))
    assert "comes again" in damages(found)[0].reason


def test_rows_missing_between_sound_blocks_are_damage(sound: Path, offsets: list[int]) -> None:
    data = sound.read_bytes()
    sound.write_bytes(data[: offsets[2]] + data[offsets[3] :])
    found = list(scan_segment(sound))
    assert seqs(found) == [1, 2, 3, *range(7, 13)]
    (damage,) = damages(found)
    assert (damage.after_seq, damage.before_seq, damage.bytes) == (3, 7, 0)


def test_a_segment_under_another_name_is_read_and_reported(sound: Path) -> None:
    moved = sound.rename(sound.with_name(f"{50:020d}.fhj"))
    found = list(scan_segment(moved))
    assert seqs(found) == list(range(1, 13))
    assert "named 50 and begins with row 1" in damages(found)[0].reason


def test_the_extent_starts_after_what_was_seen(sound: Path, offsets: list[int]) -> None:
    whole = extent(sound)
    assert whole == (offsets[1], sound.stat().st_size, 1, 12)
    later = extent(sound, after_seq=7)
    assert later is not None
    assert (later.start, later.first_seq, later.last_seq) == (offsets[3], 7, 12)
    assert extent(sound, after_seq=12) is None


def test_the_extent_of_a_damaged_segment_reaches_behind_the_damage(sound: Path, offsets: list[int]) -> None:
    data = bytearray(sound.read_bytes())
    data[offsets[2]] ^= 1
    sound.write_bytes(data)
    there = extent(sound)
    assert there is not None
    assert (there.first_seq, there.last_seq) == (1, 12)


def test_what_is_wrong_is_said_in_words(sound: Path, offsets: list[int]) -> None:
    with SegmentFile(sound, end=offsets[2] + 10) as cut:
        assert "header of a block is cut short" in cut.why_bad(cut.size - 5) or "no block" in cut.why_bad(5)
    damage = Damage(segment="s", offset=1, bytes=2, after_seq=3, before_seq=5, reason="r")
    assert str(damage) == "s: damage at byte 1, 2 bytes: r (row 4 is lost)"


@pytest.mark.parametrize(
    ("after", "before", "lost"),
    [
        (3, 4, "no row is lost"),
        (9, 4, "no row is lost"),
        (3, 5, "row 4 is lost"),
        (3, 7, "rows 4 to 6 are lost"),
        (3, None, "nothing after row 3 can be read"),
        (None, 3, "nothing before row 3 can be read"),
        (None, None, "nothing of it can be read"),
    ],
)
def test_which_rows_are_lost_is_said(after: int | None, before: int | None, lost: str) -> None:
    damage = Damage(segment="s", offset=1, bytes=2, after_seq=after, before_seq=before, reason="r", torn=True)
    assert str(damage) == f"s: torn tail at byte 1, 2 bytes: r ({lost})"


@pytest.mark.parametrize("had_rows", [False, True])
@pytest.mark.parametrize(
    ("kept", "following", "torn", "lost"),
    [
        (0.9, None, True, "nothing after row 9 can be read"),
        (0.9, 13, False, "rows 10 to 12 are lost"),
        (0.01, 13, False, "rows 1 to 12 are lost"),
        (0.01, None, None, "nothing after row 0 can be read"),
    ],
)
def test_a_tail_is_torn_where_nothing_follows_and_something_is_left(
    node: Node,
    segment: Callable[..., Path],
    kept: float,
    following: int | None,
    torn: bool | None,
    lost: str,
    had_rows: bool,
) -> None:
    path = segment(node.directory)
    os.truncate(path, int(path.stat().st_size * kept))
    listed = Segment(path, 1, "blocks")
    (found,) = damages(scan_listed(listed, salt=SALT, following=following, had_rows=had_rows))
    assert (found.torn, found.lost) == (not had_rows if torn is None else torn, lost)


def test_a_segment_without_a_row_is_damage_if_it_had_some(node: Node, segment: Callable[..., Path]) -> None:
    listed = Segment(segment(node.directory, first_seq=5, blocks=0), 5, "blocks")
    assert list(scan_listed(listed, salt=SALT, following=9, had_rows=False)) == []
    (found,) = damages(scan_listed(listed, salt=SALT, following=9, had_rows=True))
    assert (found.lost, found.offset, found.torn) == (
        "rows 5 to 8 are lost",
        listed.path.stat().st_size,
        False,
    )
