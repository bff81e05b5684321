"""Both ways to note a row: the compiled one does what the plain one does, and neither loses a row."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framehub.journal import _notes, notes
from framehub.journal.brief import BRIEF_BYTES, MFP_BRIEF
from framehub.journal.columns import encode
from framehub.journal.gathering import LIGHT_BYTES, Gathering
from framehub.journal.labels import Labels
from framehub.journal.mfp_rows import OUT, LinkRows
from framehub.journal.notes import Label, Notes, Shape
from framehub.journal.page import Memory, Page
from framehub.journal.rpc_rows import join
from framehub.journal.settings import WriterSettings
from framehub.mfp.envelope import BadEnvelope, Envelope

KINDS = [pytest.param(Notes, id="plain"), pytest.param(_notes.Notes, id="compiled")]
MEMORIES = [pytest.param(BytesIO, id="plain"), pytest.param(_notes.Memory, id="compiled")]
CONSTANTS = LinkRows(b"linklink", 7).constants
VECTORS = Path(__file__).parents[3] / "spec" / "vectors" / "mfp"
FRAMES = [bytes.fromhex(case["hex"]) for case in json.loads((VECTORS / "frames.json").read_text())["cases"]]
REQUEST = bytes.fromhex("61 00000009 00000002") + b"{}"


def test_the_compiled_one_is_used() -> None:
    """It was compiled when the package was installed; if not, .venv/setup.log says why."""
    assert notes.QUICKEST is _notes.Notes


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_brief_is_not_noted(kind: type[Notes]) -> None:
    gathering = Gathering(WriterSettings(), 0, kind=kind)
    took, gave = gathering.notes.link(1, CONSTANTS, LIGHT_BYTES)
    known = Envelope("a")
    longest = REQUEST + bytes(LIGHT_BYTES - len(REQUEST))
    assert not took(REQUEST, 1, None, 1.0)
    assert not took(REQUEST, 1, BadEnvelope("no"), 1.0)
    assert not took(REQUEST, 1, Envelope("a", error="busy"), 1.0)
    assert not took(memoryview(longest + b"x"), 1, known, 1.0)
    assert not took(longest + b"x", 1, known, 1.0)
    assert not gave(longest + b"x", 1, "a")
    assert gathering.is_empty
    assert took(longest, 1, known, 1.0)
    assert gave(longest, 1, "a")
    for raw in FRAMES:
        assert gave(raw, 1, "a") == (len(raw) <= LIGHT_BYTES and MFP_BRIEF[raw[0]] == 2), raw.hex()
    reduced, _ = gathering.notes.link(1, CONSTANTS, -1)
    assert not reduced(REQUEST, 1, known, 1.0)


noted = st.tuples(
    st.sampled_from(["took", "gave", "note", "turn"]),
    st.sampled_from([raw for raw in FRAMES if MFP_BRIEF[raw[0]] == 2]),
    st.integers(0, 2**64 - 1),
    st.sampled_from(["", "a", "chat.say", "\ud800", "x" * 300]),
    st.floats(0, 2**40),
    st.integers(0, 1500),
)


@given(st.lists(noted, max_size=80))
def test_both_make_the_same_pages(rows: list[tuple[str, bytes, int, str, float, int]]) -> None:
    pages = [noted_by(kind, rows) for kind in (Notes, _notes.Notes)]
    assert pages[0] == pages[1]


def noted_by(kind: type[Notes], rows: list[tuple[str, bytes, int, str, float, int]]) -> list[Any]:
    gathering = Gathering(WriterSettings(gather_bytes=5_000), 0, kind=kind)
    links = [gathering.notes.link(number, CONSTANTS, LIGHT_BYTES) for number in (1, 2**64 - 1)]
    for how, raw, exchange, endpoint, now, more in rows:
        took, gave = links[exchange % 2]
        frame = raw + bytes(more)
        if how == "took":
            assert took(frame, exchange, Envelope(endpoint), now)
        elif how == "gave":
            assert gave(frame, exchange, endpoint)
        elif how == "note":
            texts = (endpoint, "busy", None)
            gathering.notes.note(now, (exchange, more), CONSTANTS[OUT], texts, memoryview(frame))
        else:
            gathering.turn()
    gathering.turn()
    clocked = iter([how == "gave" for how, *_ in rows if how != "turn"])
    found = []
    for page in gathering.pages:
        kept = bytes(page.briefs.getbuffer()[: page.rows * BRIEF_BYTES])
        briefs = [kept[at : at + BRIEF_BYTES] for at in range(0, len(kept), BRIEF_BYTES)]
        frames = bytes(page.frames.getbuffer()[: page.frames.tell()])
        # Of what went the clock was read, once by each; the rest is the same.
        found.append((frames, [brief[8:] if next(clocked) else brief for brief in briefs]))
    return found


def label_of(shape: Shape) -> Label:
    name, error = shape
    return CONSTANTS[OUT], name, error, "json"


shaped = st.tuples(
    st.sampled_from(["message", "frame", "note", "turn"]),
    st.tuples(st.sampled_from(["", "a", "b" * 300]), st.sampled_from([None, "busy"])),
    st.binary(min_size=16, max_size=16),
    st.lists(st.binary(max_size=40), max_size=5),
    st.integers(0, 2100),
)


@given(st.lists(shaped, max_size=60))
def test_both_note_shapes_the_same(rows: list[tuple[str, Shape, bytes, list[bytes], int]]) -> None:
    pages = [shaped_by(kind, rows) for kind in (Notes, _notes.Notes)]
    assert pages[0] == pages[1]


def shaped_by(kind: type[Notes], rows: list[tuple[str, Shape, bytes, list[bytes], int]]) -> list[Any]:
    gathering = Gathering(WriterSettings(gather_bytes=5_000), 0, kind=kind)
    shapes = gathering.notes.shapes(label_of)
    taken = []
    for how, shape, exchange, parts, more in rows:
        if how == "message":
            taken.append(shapes.message(shape, exchange, b"peer", [*parts, bytes(more)]))
        elif how == "frame":
            number = int.from_bytes(exchange[8:], "big")
            shapes.frame(shape, exchange[:8], number, memoryview(exchange + bytes(min(more, 1500))))
        elif how == "note":
            gathering.notes.note(1.0, (1, 2), CONSTANTS[OUT], ("a", None, None), REQUEST)
        else:
            gathering.turn()
    gathering.turn()
    found: list[Any] = [taken]
    for page in gathering.pages:
        kept = bytes(page.briefs.getbuffer()[: page.rows * BRIEF_BYTES])
        frames = bytes(page.frames.getbuffer()[: page.frames.tell()])
        briefs = [kept[at + 8 : at + BRIEF_BYTES] for at in range(0, len(kept), BRIEF_BYTES)]
        found.append((frames, briefs, page.labels.records, page.labels.texts))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_is_all_its_parts_each_after_its_length(kind: type[Notes]) -> None:
    gathering = Gathering(WriterSettings(), 0, kind=kind)
    shapes = gathering.notes.shapes(label_of)
    parts = (b"QUERY", b"", bytes(range(256)) * 4, b"add")
    assert shapes.message(("add", None), b"0123456789abcdef", b"peer", parts)
    assert not shapes.message(("add", None), b"0123456789abcdef", b"peer", [bytes(LIGHT_BYTES)])
    gathering.turn()
    ((row,),) = [encode(page).batch().to_pylist() for page in gathering.pages]
    assert row["raw"] == join([b"peer", *parts])
    assert (row["exchange"], row["endpoint"], row["coder"]) == (b"0123456789abcdef", "add", "json")


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_get_new_labels_when_labels_begin_anew(kind: type[Notes]) -> None:
    gathering = Gathering(WriterSettings(), 0, kind=kind)
    shapes = gathering.notes.shapes(label_of)
    for number in range(40_000):  # more than there are labels
        shapes.frame((f"to.{number}", None), b"linklink", number, b"frame")
        if number % 1000 == 999:
            gathering.turn_if_full()
    gathering.turn()
    rows = [row for page in gathering.pages for row in encode(page).batch().to_pylist()]
    assert [row["endpoint"] for row in rows] == [f"to.{number}" for number in range(40_000)]


@contextmanager
def pages_taken(gathering: Gathering) -> Iterator[None]:
    """Another thread takes pages all the time, as the writer's does; at the end, the last one too."""
    gathering.notes.attend = gathering.attend
    done = threading.Event()

    def take() -> None:
        while not done.is_set():
            gathering.turn()

    thread = threading.Thread(target=take)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    gathering.turn()


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_are_noted_while_another_thread_takes_pages(kind: type[Notes]) -> None:
    gathering = Gathering(WriterSettings(gather_bytes=20_000), 0, kind=kind)
    shapes = gathering.notes.shapes(label_of)
    count = 20_000
    with pages_taken(gathering):
        for number in range(1, count + 1):
            parts = [b"QUERY", bytes(number % 300)]
            assert shapes.message((f"to.{number // 7}", None), number.to_bytes(16, "big"), b"peer", parts)
    rows = [row for page in gathering.pages for row in encode(page).batch().to_pylist()]
    assert len(rows) == gathering.last == count
    for number, row in enumerate(rows, start=1):
        assert row["exchange"] == number.to_bytes(16, "big")
        assert row["raw"] == join([b"peer", b"QUERY", bytes(number % 300)])
        assert row["endpoint"] == f"to.{number // 7}"


def test_compiled_shapes_say_no_to_nonsense() -> None:
    gathering = Gathering(WriterSettings(), 0, kind=_notes.Notes)
    shapes = gathering.notes.shapes(label_of)
    with pytest.raises(ValueError, match="16 bytes"):
        shapes.message(("a", None), b"short", b"peer", [b"QUERY"])
    with pytest.raises(ValueError, match="8 bytes"):
        shapes.frame(("a", None), b"short", 1, b"frame")
    with pytest.raises(TypeError):
        shapes.message(("a", None), bytes(16), b"peer", ["QUERY"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="unpack"):
        shapes.frame(("a", None, "too many"), bytes(8), 1, b"frame")
    gathering.turn()
    assert gathering.is_empty


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_noted_while_another_thread_takes_pages(kind: type[Notes]) -> None:
    gathering = Gathering(WriterSettings(gather_bytes=20_000), 0, kind=kind)
    took, gave = gathering.notes.link(1, CONSTANTS, LIGHT_BYTES)
    count = 20_000
    with pages_taken(gathering):
        for number in range(1, count + 1):
            raw = REQUEST + bytes(number % 300)
            endpoint = f"to.{number // 7}"  # labels are full now and then
            assert took(raw, number, Envelope(endpoint), 1.0) if number % 2 else gave(raw, number, endpoint)
    rows = [row for page in gathering.pages for row in encode(page).batch().to_pylist()]
    assert len(rows) == gathering.last == count
    for number, row in enumerate(rows, start=1):
        assert row["exchange"] == (1).to_bytes(8, "big") + number.to_bytes(8, "big")
        assert row["raw"] == REQUEST + bytes(number % 300)
        assert row["endpoint"] == f"to.{number // 7}"
        assert row["direction"] == ("in" if number % 2 else "out")


def test_a_clock_is_read_for_what_went() -> None:
    gathering = Gathering(WriterSettings(), 0)
    _, gave = gathering.notes.link(1, CONSTANTS, LIGHT_BYTES)
    before = monotonic()
    gave(REQUEST, 1, "a")
    after = monotonic()
    gathering.turn()
    (mono,) = encode(gathering.pages[0]).batch().column("mono_ns").to_pylist()
    assert before * 1e9 - 1000 <= mono <= after * 1e9 + 1000


@pytest.mark.parametrize("make", MEMORIES)
def test_memory_is_written_from_its_beginning_and_used_again(make: type[Memory]) -> None:
    memory = make()
    assert memory.write(b"one") == 3
    for piece in (b"", b"two", b"x" * 10_000):
        memory.write(piece)
    assert memory.write(memoryview(b"three")) == 5
    assert memory.tell() == 10_011
    with memory.getbuffer() as view:
        assert bytes(view) == b"onetwo" + b"x" * 10_000 + b"three"
        assert memory.getbuffer() == view
        with pytest.raises(BufferError):
            memory.write(b"more")
    memory.seek(0)
    memory.write(b"new")
    assert bytes(memory.getbuffer()[: memory.tell()]) == b"new"


def test_compiled_memory_says_no_to_nonsense() -> None:
    memory = _notes.Memory()
    assert bytes(memory.getbuffer()) == b""
    with pytest.raises(ValueError, match="0 bytes, not 1"):
        memory.seek(1)
    with pytest.raises(TypeError):
        memory.write("text")  # type: ignore[arg-type]
    nowhere = _notes.Notes(10, (1, 1), threading.Lock())
    with pytest.raises(TypeError):
        nowhere.lay(Page(Labels()))
    with pytest.raises(AttributeError):
        nowhere.note(1.0, (1, 1), CONSTANTS[OUT], ("a", None, None), REQUEST)
