from collections.abc import Callable

import pytest

from framehub.journal import _notes
from framehub.journal.columns import encode
from framehub.journal.gathering import Gathering
from framehub.journal.labels import MOST, TEXT_BYTES
from framehub.journal.mfp_rows import IN, LinkRows
from framehub.journal.notes import Notes
from framehub.journal.page import ROW_BYTES
from framehub.journal.record import Row
from framehub.journal.settings import WriterSettings
from framehub.mfp.envelope import Envelope

KINDS = [pytest.param(Notes, id="plain"), pytest.param(_notes.Notes, id="compiled")]


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
    gathering.notes.every_row = False
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


def test_labels_begin_anew_also_where_everything_is_dropped(row: Callable[..., Row]) -> None:
    gathering = Gathering(WriterSettings(), 0)
    first = gathering.page.labels
    for number in range(MOST):
        first.code(str(number))
    assert gathering.drop() == 0
    assert gathering.page.labels is not first


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


FRAME = bytes.fromhex("61 00000009 00000002") + b"{}"
CONSTANTS = LinkRows(b"linklink", 0).constants


def test_memory_is_kept_while_there_is_much_to_write_and_little_at_rest(
    row: Callable[..., Row],
) -> None:
    gathering = Gathering(WriterSettings(), 0)
    for number in range(20):
        gathering.add(row(number))
        gathering.turn()
    pages = list(gathering.pages)
    gathering.pages.clear()
    gathering.written(pages)
    used = {id(page.frames) for page in pages}
    gathering.turn()
    assert id(gathering.page.frames) in used
    gathering.rest()
    again = []
    for number in range(3):
        gathering.add(row(number))
        gathering.turn()
        again.append(id(gathering.page.frames) in used)
    assert again == [True, True, False]


def test_large_pieces_of_memory_are_not_kept(row: Callable[..., Row]) -> None:
    gathering = Gathering(WriterSettings(), 0)
    gathering.add(row(1, raw=bytes(3 << 20)))
    gathering.turn()
    page = gathering.pages.popleft()
    gathering.written([page])
    gathering.turn()
    assert gathering.page.frames is not page.frames


@pytest.mark.parametrize("kind", KINDS)
def test_notes_count_and_keep_their_place_before_others(kind: type[Notes], row: Callable[..., Row]) -> None:
    gathering = Gathering(WriterSettings(), 0, kind=kind)
    gathering.notes.every_row = False
    took, _ = gathering.notes.link(1, CONSTANTS, 1000)
    count = 67
    for number in range(count):
        assert took(FRAME, number, Envelope(f"to.{number % 3}"), 1.0)
    assert (gathering.last, gathering.is_empty) == (count, False)
    assert gathering.add(row(7))[0] == count + 1
    took(FRAME, count, Envelope("to.x"), 1.0)
    gathering.notes.note(1.0, (1, count + 1), CONSTANTS[IN], ("a", None, None), memoryview(FRAME))
    gathering.turn()
    (page,) = gathering.pages
    found = encode(page).batch().to_pylist()
    assert found.pop(count)["id"] == 7
    numbers = [one["exchange"] and int.from_bytes(one["exchange"][8:], "big") for one in found]
    assert numbers == [None, *range(1, count + 2)]
    assert [one["endpoint"] for one in found] == [*(f"to.{n % 3}" for n in range(count)), "to.x", "a"]
    assert found[1]["exchange"][:8] == (1).to_bytes(8, "big")


@pytest.mark.parametrize("kind", KINDS)
def test_labels_begin_anew_with_another_page_and_nobody_uses_the_old_ones(
    kind: type[Notes], row: Callable[..., Row]
) -> None:
    gathering = Gathering(WriterSettings(), 0, kind=kind)
    took, gave = gathering.notes.link(1, CONSTANTS, 1000)
    took(FRAME, 1, Envelope("a"), 1.0)
    gathering.notes.note(1.0, (1, 1), CONSTANTS[IN], ("b", None, None), FRAME)
    first = gathering.page.labels
    for number in range(TEXT_BYTES // 100_000 + 1):
        gathering.add(row(number, endpoint=str(number) * 50_000))
    assert gathering.page.labels is first
    assert gathering.turn_if_full()
    took(FRAME, 2, Envelope("b"), 1.0)
    gave(FRAME, 3, "a")
    gathering.turn()
    old, new = gathering.pages
    assert old.labels is first
    assert new.labels is not first
    assert encode(old).batch().column("endpoint").to_pylist()[:2] == ["a", "b"]
    assert encode(new).batch().column("endpoint").to_pylist() == ["b", "a"]
    assert encode(new).batch().column("direction").to_pylist() == ["in", "out"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_thread_is_woken_by_the_first_row_and_by_a_full_page(kind: type[Notes]) -> None:
    gathering = Gathering(WriterSettings(gather_bytes=10_000), 0, kind=kind)
    woken: list[int] = []

    def attend() -> None:
        if gathering.attend():
            woken.append(gathering.last)

    gathering.notes.attend = attend
    took, _ = gathering.notes.link(1, CONSTANTS, 1000)
    raw = FRAME + bytes(500)
    for number in range(1, 64):
        took(raw, number, Envelope("a"), 1.0)
    assert woken[0] == 1
    assert woken[1] == 10_000 // len(raw) + 1
    assert not gathering.notes.every_row
    assert sum(page.rows for page in gathering.pages) + gathering.page.rows <= gathering.last


@pytest.mark.parametrize("kind", KINDS)
def test_too_many_endpoints_fill_a_page(kind: type[Notes]) -> None:
    gathering = Gathering(WriterSettings(), 0, kind=kind)
    gathering.notes.attend = gathering.attend
    took, _ = gathering.notes.link(1, CONSTANTS, 1000)
    first = gathering.page.labels
    for number in range(MOST + 32):
        took(FRAME, number, Envelope(f"to.{number}"), 1.0)
    assert gathering.page.labels is not first
    assert gathering.last == MOST + 32


def test_full_pages_are_something_to_do_though_the_one_at_hand_is_not_full(row: Callable[..., Row]) -> None:
    gathering = Gathering(WriterSettings(gather_bytes=100_000), 0)
    gathering.notes.every_row = False
    assert [gathering.add(row(number, raw=b"x" * 60_000))[1] for number in (1, 2, 3)] == [False, True, True]
    assert gathering.attend()
    gathering.pages.clear()
    assert not gathering.attend()
