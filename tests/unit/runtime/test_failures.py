"""So many wrong tries from an address, and it has to wait."""

import pytest

from framehub.runtime.failures import Failures


def test_ten_in_a_minute_are_too_many_and_nine_are_not() -> None:
    """[MFP-9.7.5]"""
    failures = Failures()
    for n in range(9):
        failures.count("127.0.0.1", 100.0 + n)
    assert not failures.too_many("127.0.0.1", 109.0)
    failures.count("127.0.0.1", 109.0)
    assert failures.too_many("127.0.0.1", 109.0)
    assert not failures.too_many("127.0.0.2", 109.0)
    assert failures.left("127.0.0.1", 109.0) == 51.0


def test_the_minute_begins_with_the_first_and_does_not_begin_again() -> None:
    failures = Failures(most=2)
    failures.count("a", 100.0)
    failures.count("a", 159.0)
    assert failures.too_many("a", 159.9)
    assert not failures.too_many("a", 160.0)
    assert failures.left("a", 160.0) == 60.0
    failures.count("a", 160.0)
    assert not failures.too_many("a", 161.0)
    failures.count("a", 162.0)
    assert failures.too_many("a", 219.0)


def test_only_so_many_addresses_are_remembered_and_the_oldest_goes() -> None:
    failures = Failures(most=1, addresses=3)
    for n in range(1, 6):
        failures.count(f"10.0.0.{n}", 100.0)
        assert len(failures) == min(n, 3)
    assert [failures.too_many(f"10.0.0.{n}", 101.0) for n in range(1, 6)] == [False, False, True, True, True]


def test_one_that_is_over_makes_room_and_comes_back_as_the_newest() -> None:
    failures = Failures(most=1, addresses=2)
    failures.count("a", 100.0)
    failures.count("b", 150.0)
    failures.count("a", 161.0)
    failures.count("c", 162.0)
    assert [failures.too_many(who, 163.0) for who in "abc"] == [True, False, True]
    assert len(failures) == 2


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
    failures.count(one, 1.0)
    assert failures.too_many(one, 2.0)
    assert failures.too_many(other, 2.0) == are_the_same
