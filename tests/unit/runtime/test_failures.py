"""So many different wrong tries from an address, and it is over."""

import sys

import pytest

from framehub.runtime.failures import Failures


def test_ten_in_a_minute_are_too_many_and_nine_are_not() -> None:
    """[MFP-9.7.5]"""
    failures = Failures()
    for n in range(10):
        assert not failures.count("127.0.0.1", b"%d" % n, 100.0 + n)
    assert failures.count("127.0.0.1", b"another", 109.0)
    assert failures.count("127.0.0.1", b"9", 109.0)
    assert not failures.count("127.0.0.2", b"another", 109.0)
    assert failures.left("127.0.0.1", 109.0) == 51.0


def test_the_same_again_counts_once() -> None:
    """[MFP-9.7.5]"""
    failures = Failures(most=2)
    assert [failures.count("a", what, 1.0) for what in (b"1", b"1", b"1", b"2", b"3")] == [False] * 4 + [True]


def test_the_minute_begins_with_the_first_and_does_not_begin_again() -> None:
    failures = Failures(most=2)
    assert not failures.count("a", b"1", 100.0)
    assert not failures.count("a", b"2", 159.0)
    assert failures.count("a", b"3", 159.9)
    assert failures.left("a", 160.0) == 60.0
    assert not failures.count("a", b"1", 160.0)
    assert not failures.count("a", b"3", 162.0)
    assert failures.count("a", b"2", 219.0)


def test_only_so_many_addresses_are_remembered_and_the_oldest_goes() -> None:
    failures = Failures(most=1, addresses=3)
    for n in range(1, 6):
        assert not failures.count(f"10.0.0.{n}", b"1", 100.0)
        assert len(failures) == min(n, 3)
    # From the newest on: who was forgotten is remembered again, and another makes room for it.
    over = [failures.count(f"10.0.0.{n}", b"2", 101.0) for n in (5, 4, 3, 2, 1)]
    assert over == [True, True, True, False, False]


def test_one_that_is_over_makes_room_and_comes_back_as_the_newest() -> None:
    failures = Failures(most=1, addresses=2)
    assert not failures.count("a", b"1", 100.0)
    assert not failures.count("b", b"1", 150.0)
    assert not failures.count("a", b"1", 161.0)
    assert not failures.count("c", b"1", 162.0)
    assert len(failures) == 2
    assert [failures.count(who, b"2", 163.0) for who in "acb"] == [True, True, False]


def test_an_address_keeps_so_much_however_much_is_tried() -> None:
    failures = Failures()
    over = [failures.count("a", n.to_bytes(32, "big"), 1.0) for n in range(1_000)]
    assert over == [False] * 10 + [True] * 990
    (_, kept), *others = failures._failed.values()
    assert (len(kept), others) == (10, [])
    assert sum(map(sys.getsizeof, (kept, *kept))) < 1_024


@pytest.mark.parametrize(
    ("one", "other", "are_the_same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("", "10.0.0.2", False),
    ],
)
def test_who_has_an_address_of_ipv6_has_many(one: str, other: str, are_the_same: bool) -> None:
    """[MFP-9.7.5]"""
    failures = Failures(most=1)
    assert not failures.count(one, b"1", 1.0)
    assert failures.count(other, b"2", 2.0) == are_the_same
    assert failures.count(one, b"3", 2.0)
