"""The child processes of a workshop: started, and started again when they die."""

import asyncio
import logging
import signal
from collections.abc import Callable
from time import monotonic
from typing import Final

from framehub.errors import ConfigError
from framehub.runtime.backoff import Backoff
from framehub.runtime.workhand import Hand, Owner

log = logging.getLogger("framehub.worker")

YOUNG: Final = 1.0
"""Seconds: who dies younger is replaced later each time."""
_LEAVING: Final = 1.0
"""Seconds that an idle child has to end in its own way."""


class Staff:
    """As many children as there should be, or on the way to it."""

    def __init__(
        self,
        owner: Owner,
        setup: bytes,
        processes: int,
        on_broken: Callable[[str], None],
        backoff: Backoff,
    ) -> None:
        self.hands: list[Hand] = []
        """The children that live, ready or not."""
        self.respawns = 0
        self._owner = owner
        self._setup = setup
        self._processes = processes
        self._on_broken = on_broken
        self._backoff = backoff
        self._tries = [0] * processes
        self._reasons: dict[Hand, str] = {}
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._first: asyncio.Future[str] | None = None
        self._leaving: asyncio.Event | None = None

    @property
    def ready(self) -> int:
        """Children that run functions."""
        return sum(hand.is_ready and not hand.is_ending for hand in self.hands)

    async def start(self) -> None:
        """Start all of them; returns when the first is ready.

        Raises:
            ConfigError: one cannot be started, or the first that says anything cannot start; the others
                are ended.
        """
        self._first = asyncio.get_running_loop().create_future()
        try:
            for slot in range(self._processes):
                self.hands.append(Hand(self._owner, self._setup, slot))
            reason = await self._first
        except OSError as exc:
            await self.end()
            raise ConfigError(_no_process(exc)) from exc
        except BaseException:
            await self.end()
            raise
        finally:
            self._first = None
        if reason:
            await self.end()
            raise ConfigError(reason)

    def is_ready(self, hand: Hand) -> None:
        """A child is ready."""
        log.debug("process %d of the worker is ready", hand.pid)
        if self._first is not None and not self._first.done():
            self._first.set_result("")

    def is_broken(self, hand: Hand, reason: str) -> None:
        """A child cannot import its functions; it is about to end."""
        self._reasons[hand] = reason

    def is_gone(self, hand: Hand, code: int) -> None:
        """A child is dead: have another in its place, unless this is the end."""
        self.hands.remove(hand)
        reason = self._reasons.pop(hand, "")
        if self._leaving is not None:
            self._leaving.set()
            return
        if not hand.is_ready:
            reason = reason or f"a process of the worker ended while it was starting: {how(code)}"
            if self._first is not None and not self._first.done():
                self._first.set_result(reason)
                return
            self._on_broken(reason)
        elif not hand.on_purpose:
            log.warning("process %d of the worker ended: %s; another takes its place", hand.pid, how(code))
        self._replace(hand)

    async def end(self) -> None:
        """Let those that do nothing leave, kill the others; returns when all are dead."""
        self._leaving = asyncio.Event()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for hand in self.hands:
            if not hand.is_ready or hand.plain or hand.coroutines:
                hand.kill()
            else:
                hand.leave()
        killing = asyncio.get_running_loop().call_later(_LEAVING, self._kill_all)
        while self.hands:
            self._leaving.clear()
            await self._leaving.wait()
        killing.cancel()

    def _kill_all(self) -> None:
        for hand in self.hands:
            hand.kill()

    def _replace(self, gone: Hand) -> None:
        slot = gone.slot
        if gone.on_purpose:
            delay = 0.0
        else:
            grown = gone.is_ready and monotonic() - gone.ready_at >= YOUNG
            self._tries[slot] = 0 if grown else self._tries[slot]
            delay = self._backoff.longest(self._tries[slot])
            self._tries[slot] += 1
        self._start_later(slot, delay)

    def _start_later(self, slot: int, delay: float) -> None:
        loop = asyncio.get_running_loop()
        self._timers[slot] = loop.call_later(delay, self._start_again, slot)

    def _start_again(self, slot: int) -> None:
        del self._timers[slot]
        try:
            self.hands.append(Hand(self._owner, self._setup, slot))
        except OSError as exc:  # no process or descriptor to be had now
            self._on_broken(_no_process(exc))
            self._start_later(slot, self._backoff.most)
        else:
            self.respawns += 1


def _no_process(exc: OSError) -> str:
    return f"no process can be started: {exc}"


def how(code: int) -> str:
    """The end of a process in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
