"""Compiled code makes the very bytes that numpy makes, and leaves to it what it does not know."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framehub.codes import HubState
from framehub.journal import _fold, brief, columns
from framehub.journal.brief import MFP_BRIEF
from framehub.journal.columns import encode
from framehub.journal.gathering import Gathering
from framehub.journal.hub_rows import constant
from framehub.journal.message import HEAD
from framehub.journal.mfp_rows import IN, OUT, LinkRows
from framehub.journal.page import Page
from framehub.journal.record import FIXED, KINDS, RECORDED, SCHEMA, Row
from framehub.journal.rpc_rows import RpcRows, join
from framehub.journal.settings import WriterSettings

VECTORS = Path(__file__).parents[3] / "spec" / "vectors" / "mfp"
FRAMES = [bytes.fromhex(case["hex"]) for case in json.loads((VECTORS / "frames.json").read_text())["cases"]]
BRIEF = [raw for raw in FRAMES if MFP_BRIEF[raw[0]]]
LINKS = [LinkRows(b"linklink", 7).constants, LinkRows(b"\x00" * 7 + b"x", 2**31 - 1).constants]
TEXTS = [None, "", "a", "chat.say", "\ud800", "x" * 300]


Noted: TypeAlias = tuple[float, tuple[int, int], bytes, tuple[str | None, str | None, str | None], bytes]
HALVES = st.sampled_from([0, 1, 2**56, 2**64 - 1])
texts = st.tuples(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.sampled_from(TEXTS))


def hub(state: int, body: bytes, number: int) -> tuple[bytes, bytes]:
    return constant(b"hubhubhu", IN, 7, 1, 1, number), number.to_bytes(4, "big") + bytes((state, 9)) + body


def rpc(identity: bytes, type_: bytes, rest: list[bytes]) -> tuple[bytes, bytes]:
    parts = [type_, *rest]
    first = len(rest[0]) if rest else 0
    return RpcRows().constant(b"rpcrpcrp", OUT, parts[0], len(identity), first), join([identity, *parts])


framed = st.one_of(
    st.tuples(st.sampled_from([link[way] for link in LINKS for way in (IN, OUT)]), st.sampled_from(BRIEF)),
    st.builds(
        hub,
        st.sampled_from([int(state) for state in HubState]),
        st.binary(max_size=20),
        st.integers(0, 2**32 - 1),
    ),
    st.builds(
        rpc,
        st.binary(min_size=1, max_size=20),
        st.just(b"RESPONSE_RESULT"),
        st.lists(st.binary(max_size=40), min_size=2, max_size=2),
    ),
    st.builds(rpc, st.binary(min_size=1, max_size=20), st.just(b"HEART_BEAT"), st.just([])),
)
noted = st.builds(
    lambda now, exchange, frame, told: (now, exchange, frame[0], told, frame[1]),
    st.floats(0, 2**33),
    st.tuples(HALVES, HALVES),
    framed,
    texts,
)
small = st.integers(-1, 2**15 - 1)
whole = st.builds(
    lambda numbers, link, names, told, query, raw: Row(
        FIXED.pack(
            *numbers[:2], link, numbers[2] % 3, 1, numbers[3] % 2, 5, *numbers[4:6], numbers[6] % len(KINDS),
            *numbers[7:16], *names, numbers[16] % len(RECORDED),
        ),
        told[0], query, told[1], told[2], raw, told[0],
    ),
    st.lists(small, min_size=17, max_size=17),
    st.binary(min_size=8, max_size=8),
    st.tuples(*[st.sampled_from([bytes(16), b"x" * 16, bytes(15) + b"x", b"x" + bytes(15)])] * 2),
    texts,
    st.none() | st.binary(max_size=20),
    st.none() | st.binary(max_size=50),
)  # fmt: skip


@given(st.lists(noted | whole, min_size=1, max_size=40))
def test_it_makes_what_numpy_makes(rows: list[Noted | Row]) -> None:
    with pytest.MonkeyPatch.context() as patching:
        for module in (brief, columns):
            patching.setattr(module, "wall_offset", lambda: 1_700_000_000_123_456_789)
        folded = encode(paged(rows))
        patching.setattr(columns, "folding", None)
        plain = encode(paged(rows))
    assert folded.batch().to_pylist() == plain.batch().to_pylist()
    assert (folded.front, bytes(folded.back)) == (plain.front, bytes(plain.back))
    folded.batch().validate(full=True)


def paged(rows: Sequence[Noted | Row]) -> Page:
    gathering = Gathering(WriterSettings(), 0)
    for row in rows:
        if isinstance(row, Row):
            gathering.add(row)
        else:
            gathering.notes.note(*row)
    gathering.turn()
    (page,) = gathering.pages
    return page


def test_every_brief_frame_of_the_vectors_is_folded() -> None:
    rows: list[Noted] = [(1.0, (1, 2), LINKS[0][OUT], ("a", None, None), raw) for raw in BRIEF]
    page = paged(rows)
    made = _fold.fold(
        page.briefs.getbuffer(),
        memoryview(b"".join(BRIEF) + bytes(16)),
        page.labels.records,
        page.labels.texts,
        0,
        [],
    )
    assert made is not None
    assert len(made) == len(SCHEMA)


def test_nothing_is_nothing_to_fold() -> None:
    assert _fold.fold(memoryview(b""), memoryview(bytes(16)), b"", [b""], 0, []) is None


def test_what_does_not_fit_together_is_not_read(row: Callable[..., Row]) -> None:
    """None of it can come from a page; but this is C, and would read on."""
    page = paged([(1.0, (1, 2), LINKS[0][IN], ("a", None, None), BRIEF[0]), row(1)])
    briefs, labels, texts = page.briefs.getbuffer(), page.labels.records, page.labels.texts
    frames = memoryview(bytes(page.frames.getbuffer()) + bytes(16))
    assert _fold.fold(briefs, frames, labels, texts, 0, page.whole) is not None
    assert _fold.fold(briefs, frames, b"", texts, 0, page.whole) is None
    assert _fold.fold(briefs, frames[:-1], labels, texts, 0, page.whole) is None
    assert _fold.fold(briefs, frames, labels, texts[:1], 0, page.whole) is None
    assert _fold.fold(briefs, frames, labels, texts, 0, []) is None
    assert _fold.fold(briefs, frames, labels, texts, 0, page.whole * 2) is None
    assert _fold.fold(briefs, frames, labels, texts, 0, [page.whole[0]._replace(fixed=b"short")]) is None
    query = paged([(1.0, (1, 2), *_query())])
    frames = memoryview(bytes(query.frames.getbuffer()) + bytes(16))
    for size in (b"\0\1\0\5", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"):
        wrong = memoryview(frames.tobytes().replace(b"\0\0\0\5query", size + b"query"))
        assert wrong != frames
        briefs, labels, texts = query.briefs.getbuffer(), query.labels.records, query.labels.texts
        assert _fold.fold(briefs, frames, labels, texts, 0, []) is not None
        assert _fold.fold(briefs, wrong, labels, texts, 0, []) is None


def _query() -> tuple[bytes, tuple[str | None, str | None, str | None], bytes]:
    constant, raw = rpc(b"me", b"RESPONSE_RESULT", [b"query", b"result"])
    return constant, ("f", None, None), raw


def test_other_columns_than_there_are_are_not_joined() -> None:
    with pytest.raises(ValueError, match="other columns"):
        _fold.join([(0, (b"", b"12345678"))], 1, 0, HEAD)
