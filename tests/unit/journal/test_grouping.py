from collections import deque
from collections.abc import Callable

from framehub.journal.grouping import TEXT_LIMIT, take_group
from framehub.journal.record import Row

LIMIT = 1 << 20


def test_a_group_ends_at_its_size(row: Callable[..., Row]) -> None:
    rows = deque(row(number, raw=b"x" * 1000) for number in range(10))
    (group,) = take_group(rows, group_bytes=3000, limit=LIMIT)
    assert (group.batch.num_rows, len(rows)) == (3, 7)


def test_two_large_frames_do_not_share_a_block(row: Callable[..., Row]) -> None:
    rows = deque([row(1, raw=b"x" * (LIMIT - 50_000)), row(2, raw=b"x" * (LIMIT - 50_000))])
    assert [group.batch.num_rows for group in take_group(rows, group_bytes=2 * LIMIT, limit=LIMIT)] == [1]
    assert len(rows) == 1


def test_rows_that_turn_out_too_big_are_split_and_none_is_lost(row: Callable[..., Row]) -> None:
    rows = deque(row(number, endpoint="e" * 300_000) for number in range(1, 9))
    groups = take_group(rows, group_bytes=LIMIT, limit=LIMIT)
    assert [name for group in groups for name in group.batch.column("id").to_pylist()] == list(range(1, 9))
    assert all(group.batch.nbytes < LIMIT for group in groups)


def test_a_text_too_long_for_any_block_is_clipped(row: Callable[..., Row]) -> None:
    (group,) = take_group(deque([row(1, endpoint="e" * (2 * LIMIT))]), group_bytes=LIMIT, limit=LIMIT)
    assert group.batch.column("endpoint").to_pylist() == ["e" * TEXT_LIMIT]


def test_a_text_that_is_no_unicode_does_not_stop_the_journal(row: Callable[..., Row]) -> None:
    (group,) = take_group(
        deque([row(1, endpoint="a\ud800b"), row(2, endpoint=None)]), group_bytes=1000, limit=LIMIT
    )
    assert group.batch.column("endpoint").to_pylist() == ["a\\ud800b", None]


def test_a_coder_is_a_text_like_the_others(row: Callable[..., Row]) -> None:
    named = row(1)._replace(coder="List<\ud800>" + "x" * TEXT_LIMIT)
    (group,) = take_group(deque([named, row(2)]), group_bytes=1000, limit=LIMIT)
    coder, none = group.batch.column("coder").to_pylist()
    assert coder.startswith("List<\\ud800>x")
    assert none is None
