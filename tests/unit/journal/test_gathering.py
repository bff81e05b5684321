from collections.abc import Callable

from framehub.journal.brief import LOOSE_ROWS
from framehub.journal.columns import encode
from framehub.journal.gathering import Gathering
from framehub.journal.labels import TEXT_BYTES
from framehub.journal.mfp_rows import IN, LinkRows
from framehub.journal.page import ROW_BYTES
from framehub.journal.record import Row
from framehub.journal.settings import WriterSettings


def test_rows_have_numbers_across_pages(row: Callable[..., Row]) -> None:
    gathering = Gathering(WriterSettings(), 40)
    assert gathering.add(row(1))[0] == 41
    gathering.turn()
    assert gathering.add(row(1))[0] == gathering.last == 42
    assert [page.rows for page in gathering.pages] == [1]


def test_two_large_frames_do_not_share_a_page(row: Callable[..., Row]) -> None:
    gathering = Gathering(WriterSettings(gather_bytes=100_000), 0)
    for number in (1, 2, 3):
        assert gathering.add(row(number, raw=b"x" * 90_000))[0] == number
    assert [page.rows for page in gathering.pages] == [1, 1]
    assert gathering.pending > 90_000
    assert gathering.backlog > 270_000


def test_a_page_is_full_of_rows_or_of_bytes_or_of_texts(row: Callable[..., Row]) -> None:
    gathering = Gathering(WriterSettings(gather_bytes=10_000), 0)
    gathering.look_at = 1 << 30
    for full in (
        [row(1)] * 400,
        [row(1, raw=b"x" * 10_000)],
        [row(1, endpoint=f"{n}" * 50_000) for n in range(6)],
    ):
        due = [gathering.add(one)[1] for one in full]
        assert due[-1]
        gathering.turn_if_full()
    assert len(gathering.pages) == 3
    gathering.turn_if_full()
    assert len(gathering.pages) == 3


def test_what_is_dropped_never_had_a_number(row: Callable[..., Row]) -> None:
    gathering = Gathering(WriterSettings(), 0)
    for _ in range(3):
        gathering.add(row(1))
    assert gathering.drop() == 3
    assert gathering.is_empty
    assert gathering.add(row(1))[0] == 1


def test_what_is_written_makes_room_and_its_memory_is_used_again(row: Callable[..., Row]) -> None:
    gathering = Gathering(WriterSettings(), 0)
    gathering.add(row(1, raw=b"x" * 5_000))
    gathering.turn()
    page = gathering.pages.popleft()
    assert gathering.backlog == page.reckoned >= 5_000 + ROW_BYTES
    gathering.written([page])
    assert (gathering.backlog, gathering.is_empty) == (0, True)
    gathering.add(row(2))
    gathering.turn()
    assert gathering.page.frames is page.frames
    assert gathering.pending == 0


def test_loose_rows_count_and_keep_their_place_before_whole_ones(row: Callable[..., Row]) -> None:
    gathering = Gathering(WriterSettings(), 0)
    gathering.look_at = LOOSE_ROWS
    label = gathering.labels.number(LinkRows(b"linklink", 0).constants[IN], "a", None, None)
    frame = bytes.fromhex("61 00000009 00000002") + b"{}"
    due = [gathering.note(1.0, (1, number), label, frame) for number in range(1, LOOSE_ROWS + 1)]
    assert due == [False] * (LOOSE_ROWS - 1) + [True]
    assert (gathering.last, gathering.is_empty, gathering.pending) == (LOOSE_ROWS, False, 0)
    gathering.note(1.0, (1, 99), label, memoryview(frame))
    assert gathering.add(row(7))[0] == LOOSE_ROWS + 2
    gathering.note(1.0, (1, 100), label, frame)
    gathering.turn()
    (page,) = gathering.pages
    found = encode(page).batch().to_pylist()
    numbers = [*range(1, LOOSE_ROWS + 1), 99, 100]
    assert [one["exchange"] for one in found if one["id"] == 9] == [
        (1).to_bytes(8, "big") + number.to_bytes(8, "big") for number in numbers
    ]
    assert found[LOOSE_ROWS + 1]["id"] == 7


def test_labels_begin_anew_with_another_page_and_nobody_uses_the_old_ones(row: Callable[..., Row]) -> None:
    gathering = Gathering(WriterSettings(), 0)
    first = gathering.labels
    noted = {"a": first.number(LinkRows(b"linklink", 0).constants[IN], "a", None, None)}
    first.lend(noted)
    for number in range(TEXT_BYTES // 100_000 + 1):
        gathering.add(row(number, endpoint=str(number) * 50_000))
    assert gathering.labels is first
    assert gathering.turn_if_full()
    assert gathering.labels is not first
    assert noted == {}
    gathering.add(row(9, endpoint="b"))
    gathering.turn()
    old, new = gathering.pages
    assert (old.labels, new.labels) == (first, gathering.labels)
    assert encode(new).batch().column("endpoint").to_pylist() == ["b"]
