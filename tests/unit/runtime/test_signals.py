import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from framehub.runtime.signals import INSISTING, ending, on_ending


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """What the process that runs the tests does with the signal may be anything."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def test_the_end_of_a_terminal_counts_unless_it_is_ignored() -> None:
    assert ending() == [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert ending() == [signal.SIGTERM, signal.SIGINT]


async def told(*numbers: signal.Signals) -> int:
    """How often a process that gets these is asked to end."""
    asked = 0

    def stop() -> None:
        nonlocal asked
        asked += 1

    loop = asyncio.get_running_loop()
    on_ending(stop)
    seen = asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, seen.set)
    try:
        for number in numbers:
            seen.clear()
            os.kill(os.getpid(), number)
            os.kill(os.getpid(), signal.SIGUSR1)
            await seen.wait()
    finally:
        for number in (*ending(), signal.SIGHUP, signal.SIGUSR1):
            loop.remove_signal_handler(number)
    return asked


@pytest.mark.parametrize("number", [*INSISTING, signal.SIGHUP])
async def test_each_of_them_asks(number: signal.Signals) -> None:
    assert await told(number) == 1


async def test_a_second_one_insists_unless_it_is_the_end_of_a_terminal() -> None:
    assert await told(signal.SIGTERM, signal.SIGINT) == 2
    assert await told(signal.SIGHUP, signal.SIGTERM) == 2
    assert await told(signal.SIGHUP, signal.SIGHUP) == 1
    assert await told(signal.SIGTERM, signal.SIGHUP) == 1


async def test_what_is_ignored_stays_so() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert await told(signal.SIGHUP) == 0
