import pytest

from framehub.runtime import rpc_keys
from framehub.runtime.rpc_keys import FREE_AFTER, KeyBook


def test_an_identity_belongs_to_the_key_that_came_with_it() -> None:
    """[RPC-10.4]"""
    book = KeyBook()
    batch = [[b"a", b"1"], [b"b", b"2"], [b"a", b"3"]]
    assert book.rightful(batch, ["A", "B", "B"], now=0.0) == [[b"a", b"1"], [b"b", b"2"]]
    assert book.foreign == 1


def test_a_silent_peers_identity_is_free_after_a_while() -> None:
    book = KeyBook()
    book.rightful([[b"a"]], ["A"], now=0.0)
    assert book.rightful([[b"a"]], ["B"], now=FREE_AFTER - 0.1) == []
    assert book.rightful([[b"a"]], ["B"], now=FREE_AFTER) == [[b"a"]]
    assert book.rightful([[b"a"]], ["A"], now=FREE_AFTER + 1) == []


def test_the_book_does_not_grow_for_ever() -> None:
    book = KeyBook()
    most = rpc_keys._MOST
    for number in range(most + 1):
        book.rightful([[number.to_bytes(4, "big")]], ["A"], now=0.0 if number < most else FREE_AFTER)
    assert len(book._keys) == 1


def test_a_full_book_is_looked_through_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc_keys, "_MOST", 2)
    book = KeyBook()
    for name, now, left in (
        (b"a", 0.0, 1),
        (b"b", 0.5, 2),
        (b"c", FREE_AFTER, 2),
        (b"d", FREE_AFTER + 0.9, 3),
        (b"e", FREE_AFTER + 1.0, 3),
    ):
        assert book.rightful([[name]], ["A"], now=now) == [[name]]
        assert len(book._keys) == left
