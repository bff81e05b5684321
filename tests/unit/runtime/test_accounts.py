"""What one user may take, and what it is told when that is not enough."""

import asyncio
from collections import Counter
from http import HTTPStatus
from math import inf
from time import monotonic
from typing import Any

import pytest

from framehub.errors import ConfigError
from framehub.runtime import accounts
from framehub.runtime.accounts import Account, Accounts, Bucket, LimitSettings, Metered, OverLimit
from framehub.runtime.entrance import Refused


def account(burst: float = 1.0, **limits: float) -> Account:
    every = dict.fromkeys(accounts.OF_ONE, inf) | limits
    return Account("user 7", every, burst, Counter(), 0.0)


class Recorder:
    """A link, its owner, and what both were told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        if name == "keep_to":
            raise AttributeError(name)  # an owner that limits nothing by itself
        return lambda *args: self.told.append((name, *args))


def test_a_bucket_gives_what_there_is_and_says_when_there_is_more() -> None:
    bucket = Bucket(10.0, 2.0, 0.0)
    assert [bucket.take(1, 0.0) for _ in range(20)] == [0.0] * 20
    assert bucket.take(1, 0.0) == pytest.approx(0.1)
    assert bucket.take(1, 0.05) == pytest.approx(0.05)
    assert bucket.take(1, 0.11) == 0.0
    assert not bucket.is_full(0.11)
    assert bucket.is_full(9.0)


def test_what_is_owed_is_to_be_waited_for() -> None:
    bucket = Bucket(100.0, 1.0, 0.0)
    assert bucket.take(100, 0.0, owing=True) == 0.0
    assert bucket.take(50, 0.0, owing=True) == pytest.approx(0.5)
    assert bucket.take(0, 0.5, owing=True) == 0.0


def test_a_slow_rate_still_gives_one() -> None:
    bucket = Bucket(0.1, 1.0, 0.0)
    assert bucket.take(1, 0.0) == 0.0
    assert bucket.take(1, 0.0) == pytest.approx(10.0)


def test_too_many_in_a_second_are_told_which_limit_and_when() -> None:
    """At the limit and one above it."""
    user = account(requests_per_second=2.0)
    user.begin(0.0, counted=True)
    user.begin(0.0, counted=True)
    with pytest.raises(OverLimit) as caught:
        user.begin(0.0, counted=True)
    assert str(caught.value) == (
        "over 2 requests a second for user 7 (requests_per_second); it was not begun, try again in 0.5 s"
    )
    assert user.refused == 1
    user.begin(0.5, counted=True)


@pytest.mark.parametrize("counted", [False, True])
def test_too_many_at_a_time(counted: bool) -> None:
    """What is asked for may be among what is under way already."""
    user = account(max_open=2)
    under_way = [1]
    user.joined("a", lambda: under_way[0])
    user.joined("b", lambda: int(counted))
    user.begin(0.0, counted=counted)
    under_way[0] = 2
    with pytest.raises(OverLimit, match=r"over 2 requests and streams at a time .*when one has ended"):
        user.begin(0.0, counted=counted)
    assert "max_open" in user.refusal(0.0) if not counted else True
    user.left("a")
    assert user.open == int(counted)
    assert user.refusal(0.0) == ""


def test_too_many_connections() -> None:
    user = account(max_connections=1)
    user.connect()
    user.connections += 1
    with pytest.raises(Refused) as caught:
        user.connect()
    assert caught.value.status == HTTPStatus.TOO_MANY_REQUESTS
    assert "max_connections" in caught.value.text


def test_without_limits_nobody_has_an_account() -> None:
    assert Accounts().of(7, "127.0.0.1") is None
    assert Accounts(LimitSettings()).of(0, "127.0.0.1") is None


def test_users_have_one_each_and_the_rest_one_by_address() -> None:
    """A user's own limits come before those of all."""
    known = Accounts(LimitSettings(requests_per_second=5, users={"7": {"requests_per_second": inf}}))
    seven, nobody = known.of(7, "127.0.0.1"), known.of(0, "127.0.0.1")
    assert seven is not None
    assert nobody is not None
    assert known.of(7, "127.0.0.2") is seven
    assert known.of(0, "127.0.0.1") is nobody
    assert known.of(0, "127.0.0.2") is not nobody
    assert [seven.who, nobody.who] == ["user 7", "address 127.0.0.1"]
    now = monotonic()
    for _ in range(20):
        seven.begin(now, counted=True)
    assert [bool(nobody.refusal(now)) for _ in range(11)] == [False] * 10 + [True]
    assert known.counts == {"requests_per_second": 1}


def test_who_has_gone_and_owes_nothing_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "MOST_ACCOUNTS", 2)
    known = Accounts(LimitSettings(max_connections=5))
    stays = known.of(1, "")
    assert stays is not None
    stays.connections += 1
    known.of(2, "")
    known.of(3, "")
    assert list(known.open) == ["user 1", "user 3"]


async def test_who_sends_too_much_is_read_more_slowly() -> None:
    link, owner = Recorder(), Recorder()
    user = account(bytes_per_second=1000.0, burst=0.01)
    metered = Metered(owner, link, user)
    metered.frame_received(b"x" * 10)
    assert link.told == []
    metered.frame_received(b"x" * 30)
    metered.frame_received(b"y")
    assert link.told == [("pause", "bytes")]
    async with asyncio.timeout(10):
        while len(link.told) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    assert link.told[1:] == [("resume", "bytes")]
    metered.frame_received(b"x" * 100)
    metered.link_full()
    metered.link_ready()
    assert user.connections == 1
    metered.link_lost(1000, "over")
    assert user.connections == 0
    assert [name for name, *_ in owner.told] == [
        *["frame_received"] * 4, "link_full", "link_ready", "link_lost",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_open": 0}, "max_open must be above zero, not 0"),
        ({"burst": -1.0}, "burst must be above zero, not -1.0"),
        ({"users": {"Anna": {}}}, "users: 'Anna' is no user: want a number from 0 to 65535"),
        ({"users": {"70000": {}}}, "users: '70000' is no user"),
        (
            {"users": {"7": {"request_per_second": 1}}},
            "users.7: request_per_second is no limit; did you mean requests_per_second?",
        ),
        ({"users": {"7": {"x": 1}}}, "users.7: x is no limit; there are max_connections"),
        ({"users": {"7": {"max_open": 0.0}}}, "users.7: max_open must be above zero, not 0.0"),
    ],
)
def test_what_cannot_be_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        LimitSettings(**settings)
    assert str(caught.value).startswith(message)
