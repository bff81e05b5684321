from collections.abc import Callable

from framehub.journal.columns import encode, to_batch
from framehub.journal.labels import LONG_TEXT, TEXT_LIMIT, Labels
from framehub.journal.page import Page
from framehub.journal.record import Row


def test_a_text_that_is_too_long_is_clipped(row: Callable[..., Row]) -> None:
    batch = to_batch([row(1, endpoint="e" * (LONG_TEXT + 1)), row(2, endpoint="e" * LONG_TEXT)])
    assert [len(name) for name in batch.column("endpoint").to_pylist()] == [TEXT_LIMIT, LONG_TEXT]


def test_a_text_that_is_no_unicode_does_not_stop_the_journal(row: Callable[..., Row]) -> None:
    batch = to_batch([row(1, endpoint="a\ud800b"), row(2, endpoint=None), row(3)._replace(coder="<\ud800>")])
    assert batch.column("endpoint").to_pylist()[:2] == ["a\\ud800b", None]
    assert batch.column("coder").to_pylist() == [None, None, "<\\ud800>"]


def test_ids_of_queries_may_have_any_length_or_be_none(row: Callable[..., Row]) -> None:
    ids = [b"", None, b"x" * 17, b"y" * (LONG_TEXT + 1)]
    batch = to_batch([row(number)._replace(query=query) for number, query in enumerate(ids)])
    assert batch.column("query").to_pylist() == [b"", None, b"x" * 17, b"y" * TEXT_LIMIT]


def test_a_page_reckons_what_it_holds(row: Callable[..., Row]) -> None:
    page = Page(Labels())
    page.add(row(1, raw=b"x" * 1000, endpoint="a" * 100))
    before = page.bytes
    page.add(row(2, raw=b"x" * 1000, endpoint="a" * 100))
    assert page.rows == 2
    assert 1000 < page.bytes - before < 1300
    assert before > 1000


def test_memory_is_used_again_and_holds_only_what_is_new(row: Callable[..., Row]) -> None:
    page = Page(Labels())
    page.add(row(1, raw=b"x" * 1000))
    assert encode(page).frames_bytes == 1000
    page.briefs.seek(0)
    page.frames.seek(0)
    again = Page(page.labels, (page.briefs, page.frames))
    again.add(row(2, raw=b"new"))
    body = encode(again)
    assert (body.rows, body.frames_bytes, bytes(body.back)) == (1, 3, b"new" + bytes(5))
