"""One child at a time: what it is given, what is taken back, and how it ends."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from framehub.runtime.workframes import Kind, Setup
from framehub.runtime.workhand import MOST_AHEAD, Hand, Query

from . import workfunctions
from .working import SOURCE, lives, until

NAMES = [(name, function.is_async) for name, function in workfunctions.functions.items()]


class Owner:
    def __init__(self) -> None:
        self.events: list[str] = []
        self.answers: dict[bytes, tuple[int, bytes]] = {}
        self.left: list[bytes] = []
        self.codes: list[int] = []

    def ready(self, hand: Hand) -> None:
        self.events.append("ready")

    def broken(self, hand: Hand, text: str) -> None:
        self.events.append(text)

    def answered(self, query: Query, kind: int, body: bytes) -> None:
        self.answers[query.wid] = (kind, body)

    def gone(self, hand: Hand, code: int) -> None:
        self.left = [query.wid for query in (*hand.take_back(), *hand.take_back_coroutines())]
        self.codes.append(code)


def query(number: int, name: str, argument: bytes) -> Query:
    function = workfunctions.functions[name]
    return Query(b"%d" % number, function, [known for known, _ in NAMES].index(name), number, argument)


@pytest.fixture
def owner() -> Owner:
    return Owner()


@pytest.fixture
async def hand(owner: Owner) -> AsyncIterator[Hand]:
    made = Hand(owner, _setup(), 0)
    yield made
    made.kill()
    await until(lambda: owner.codes)
    assert not lives(made.pid)


def open_descriptors() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


def _setup() -> bytes:
    return msgspec.json.encode(Setup(SOURCE, NAMES, sys.path, ["program"], 1 << 20))


@pytest.mark.parametrize("place", ["Line", "subprocess.Popen", "os.pidfd_open"])
async def test_a_child_that_cannot_be_started_leaves_nothing(
    owner: Owner, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    before = open_descriptors()

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    started: list[int] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self.pid)

    monkeypatch.setattr("framehub.runtime.workhand.subprocess.Popen", Noted)
    with monkeypatch.context() as patch:
        patch.setattr(f"framehub.runtime.workhand.{place}", refuse)
        with pytest.raises(OSError, match="Too many"):
            Hand(owner, _setup(), 0)
    await asyncio.sleep(0)
    assert open_descriptors() == before
    assert not any(map(lives, started))


async def test_a_child_answers_what_it_is_given(owner: Owner, hand: Hand) -> None:
    await until(lambda: owner.events == ["ready"])
    assert hand.is_ready
    assert hand.give(query(1, "square", b"12"))
    assert hand.give(query(2, "square_later", b"12"))
    assert hand.give(query(3, "size", bytes(2_000_000)))
    await until(lambda: len(owner.answers) == 3)
    assert owner.answers == {b"1": (6, b"144"), b"2": (6, b"144"), b"3": (6, b"2000000")}
    assert not hand.plain
    assert not hand.coroutines


async def test_quick_answers_let_it_have_more_and_slow_ones_less(owner: Owner, hand: Hand) -> None:
    await until(lambda: hand.is_ready)
    hand.give(query(1, "square", b"1"))
    for wanted in (2, 4, 8, 8):
        hand.since = asyncio.get_running_loop().time() + 1e6  # whatever the machine does, that was quick
        hand._heard(Kind.RESULT, next(iter(hand.plain)), b"")
        assert hand.ahead == min(wanted, MOST_AHEAD)
        hand.give(query(wanted + 10, "square", b"1"))
    hand.since = 0.0
    hand._heard(Kind.RESULT, next(iter(hand.plain)), b"")
    assert hand.ahead == 1


async def test_what_it_has_not_begun_can_be_taken_back(owner: Owner, hand: Hand, tmp_path: Path) -> None:
    await until(lambda: hand.is_ready)
    hand.give(query(1, "sleep_on", msgspec.json.encode(str(tmp_path / "begun"))))
    await until((tmp_path / "begun").exists)
    for number in (2, 3):
        hand.give(query(number, "size", bytes(number * 100_000)))
    back = hand.take_back()
    assert [one.number for one in back] == [2, 3]
    assert [one.hand for one in back] == [None, None]
    assert list(hand.plain) == [1]


async def test_the_queries_of_a_dead_child_can_be_taken_back(owner: Owner, tmp_path: Path) -> None:
    hand = Hand(owner, _setup(), 0)
    hand.give(query(1, "square", b"1"))
    hand.give(query(2, "square_later", b"1"))
    os.kill(hand.pid, signal.SIGKILL)
    await until(lambda: owner.codes)
    assert owner.codes == [-9]
    assert owner.left == [b"1", b"2"]
    hand.kill()


async def test_what_it_said_before_it_died_is_heard(owner: Owner) -> None:
    hand = Hand(owner, _setup(), 0)
    await until(lambda: hand.is_ready)
    hand.give(query(1, "many", b"1000000"))
    hand.give(query(2, "leave", b"5"))
    await until(lambda: owner.codes)
    assert owner.codes == [5]
    assert owner.answers[b"1"] == (6, b"x" * 1_000_000)
    assert list(hand.plain) == [2]


async def test_an_idle_child_leaves_in_its_own_way(owner: Owner) -> None:
    hand = Hand(owner, _setup(), 0)
    await until(lambda: hand.is_ready)
    hand.leave()
    await until(lambda: owner.codes)
    assert owner.codes == [0]


async def test_a_coroutine_is_told_to_end(owner: Owner, hand: Hand, tmp_path: Path) -> None:
    await until(lambda: hand.is_ready)
    one = query(1, "wait_long", msgspec.json.encode(str(tmp_path / "begun")))
    hand.give(one)
    await until((tmp_path / "begun").exists)
    hand.cancel(one)
    await until(lambda: owner.answers)
    assert owner.answers == {b"1": (Kind.CANCELLED, b"")}
    assert one.told
    hand._heard(Kind.RESULT, 77, b"")  # of nothing we know
    assert len(owner.answers) == 1


async def test_a_child_that_cannot_find_its_functions_says_why(owner: Owner) -> None:
    Hand(owner, msgspec.json.encode(Setup("absent:worker", NAMES, sys.path, [""], 9)), 0)
    await until(lambda: owner.codes)
    assert owner.events == ["absent:worker: no module 'absent' here or installed"]
    assert owner.codes == [3]
