"""A worker's functions in child processes: which child gets which query, and what becomes of it.

No query waits behind a long one. A child that answers quickly gets up to eight plain queries ahead, so that
it never waits for us; one that is slow gets one at a time. A child that has answered nothing for ``STUCK``
seconds has taken away what it has not begun, and others get it (runtime/chute.py). Coroutine functions run
many at once in each child; what a blocked event loop does not take is taken back in the same way.

Only what a child had begun can die with it. All else that it had goes to another child, unnoticed. To end one
plain call its child is killed, so no coroutine ever runs beside one. Where there are functions of both kinds,
one child more is for coroutines only and the first is for plain functions only. The others are for plain
functions too, and lent to coroutines for which that one has no room, or no ear, while no plain query waits.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count
from time import monotonic
from typing import Final

import msgspec

from framehub.errors import ConfigError
from framehub.runtime.backoff import Backoff
from framehub.runtime.functionset import FunctionSet
from framehub.runtime.workdone import CANCELLED, Leftover, Outcome, call, too_long
from framehub.runtime.workframes import INLINE_BYTES, Kind, Setup
from framehub.runtime.workhand import MOST_COROUTINES, Hand, Query
from framehub.runtime.workstaff import Staff

STUCK: Final = 0.02
"""Seconds without an answer after which a child has taken away what it has not begun."""
_DEAF: Final = 1.0
"""Seconds after which an event loop that took nothing is tried again."""


class Workshop:
    """Runs functions in child processes. All of it on one event loop, which never waits for a child."""

    def __init__(
        self,
        source: str,
        functions: FunctionSet,
        *,
        processes: int,
        on_outcome: Callable[[bytes, Outcome], None],
        on_died: Callable[[list[bytes]], None],
        on_broken: Callable[[str], None] = lambda _text: None,
        max_message_bytes: int = 16 << 20,
        cancel_grace: float = 1.0,
        backoff: Backoff | None = None,
    ) -> None:
        """``source`` is how children find the functions: see ``worksource``.

        Of each query, ``on_outcome`` is told how it ended, or ``on_died`` that the child which had begun it
        died; unless ``stop`` returns it. ``on_broken``: why a child could not start, after one that could.
        """
        if processes < 1:
            raise ConfigError(f"processes must be at least 1, not {processes!r}")
        self._indexes = {name: (function, at) for at, (name, function) in enumerate(functions.items())}
        self._on_outcome = on_outcome
        self._on_died = on_died
        self._grace = cancel_grace
        names = [(name, function.is_async) for name, function in functions.items()]
        setup = Setup(source, names, list(sys.path), list(sys.argv), max_message_bytes)
        kinds = {is_async for _, is_async in names}
        self._plain_slots = 0 if kinds == {True} else processes
        """Children in slots below this are for plain functions."""
        self._staff = Staff(
            self,
            msgspec.json.encode(setup),
            processes + (len(kinds) == 2),
            lambda text: call(on_broken, text),
            backoff or Backoff(first=0.1, most=5.0),
        )
        self._queries: dict[bytes, Query] = {}
        self._plain: deque[Query] = deque()
        self._coroutines: deque[Query] = deque()
        self._ending: dict[bytes, Query] = {}
        self._timed: dict[bytes, Query] = {}  # coroutines that may take only so long
        self._numbers = count(1)
        self._timer: asyncio.TimerHandle | None = None
        self._stopping = False
        self._empty: asyncio.Event | None = None

    @property
    def running(self) -> int:
        """Queries that children have begun, or are about to."""
        return sum(bool(hand.plain) + len(hand.coroutines) for hand in self._staff.hands)

    @property
    def waiting(self) -> int:
        """Queries that no child has begun."""
        return sum(
            query.hand is None or (not query.function.is_async and query is not _oldest(query.hand))
            for query in self._queries.values()
        )

    @property
    def alive(self) -> int:
        """Children that run functions."""
        return self._staff.ready

    @property
    def respawns(self) -> int:
        """Children started in the place of others."""
        return self._staff.respawns

    @property
    def pids(self) -> list[int]:
        """Of all children."""
        return [hand.pid for hand in self._staff.hands]

    async def start(self) -> None:
        """Start the children; returns when the first is ready.

        Raises:
            ConfigError: it cannot find the functions, and why.
        """
        await self._staff.start()

    def submit(self, wid: bytes, name: str, argument: bytes) -> None:
        """Have the function ``name`` run. ``wid`` names the query from here on.

        Raises:
            KeyError: there is no such function.
            ValueError: this query is here already, or the workshop is stopping.
        """
        if wid in self._queries or self._stopping:
            raise ValueError("the workshop is stopping" if self._stopping else "this query is here already")
        function, index = self._indexes[name]
        query = Query(wid, function, index, next(self._numbers), argument)
        self._queries[wid] = query
        if function.is_async:
            self._coroutines.append(query)
            self._deal_coroutines()
        else:
            self._plain.append(query)
            self._deal_plain()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(STUCK, self._tick)

    def cancel(self, wid: bytes) -> None:
        """End this query, whatever it takes. Its outcome is ``CANCELLED`` if it was here at all."""
        query = self._queries.get(wid)
        if query is None or query.reason:
            return
        query.reason = CANCELLED.error
        hand = query.hand
        if hand is not None:
            if query.function.is_async:
                self._put_back(self._coroutines, hand.take_back_coroutines())
            else:
                self._put_back(self._plain, hand.take_back())
        if query.hand is None:
            query.given_up = True
            asyncio.get_running_loop().call_soon(self._drop, query)
        else:
            self._end(query)
        self._deal()

    async def stop(
        self, grace: float, *, on_waiting: Callable[[list[bytes]], None] = lambda _wids: None
    ) -> Leftover:
        """Begin nothing more, wait up to ``grace`` seconds for what runs, and end all children.

        ``on_waiting`` is told at once what was never begun.
        """
        self._stopping = True
        for hand in self._staff.hands:
            self._put_back(self._plain, hand.take_back())
            self._put_back(self._coroutines, hand.take_back_coroutines())
        waiting = [query.wid for query in (*self._plain, *self._coroutines) if not query.given_up]
        for wid in waiting:
            del self._queries[wid]
        self._plain.clear()
        self._coroutines.clear()
        on_waiting(waiting)
        self._empty = asyncio.Event()
        if self._queries:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), grace)
        cut_off = list(self._queries)
        for query in self._queries.values():
            query.given_up = True
        self._queries.clear()
        if self._timer is not None:
            self._timer.cancel()
        await self._staff.end()
        return Leftover(waiting, cut_off)

    # --- what becomes of children ---------------------------------------------------------------------------

    def ready(self, hand: Hand) -> None:
        """A child can be given something."""
        self._staff.is_ready(hand)
        self._deal()

    def broken(self, hand: Hand, text: str) -> None:
        """A child cannot start."""
        self._staff.is_broken(hand, text)

    def answered(self, query: Query, kind: int, body: bytes) -> None:
        """A child has done something."""
        if not query.given_up:
            if query.reason:
                outcome = Outcome(error=query.reason)
            elif kind == Kind.RESULT:
                outcome = Outcome(body)
            else:
                outcome = Outcome(error=body.decode(errors="replace"))
            self._finish(query, outcome)
        if self._plain:
            self._deal_plain()
        if self._coroutines:
            self._deal_coroutines()

    def gone(self, hand: Hand, code: int) -> None:
        """A child is dead."""
        plain, coroutines = hand.take_back(), hand.take_back_coroutines()
        died = []
        for query in (*hand.plain.values(), *hand.coroutines.values()):
            if query.given_up:
                continue
            if query.reason:
                self._finish(query, Outcome(error=query.reason))
            else:
                self._forget(query)
                died.append(query.wid)
        self._staff.is_gone(hand, code)
        self._put_back(self._plain, plain)
        self._put_back(self._coroutines, coroutines)
        if died:
            call(self._on_died, died)
        self._deal()

    # --- who gets what --------------------------------------------------------------------------------------

    def _deal(self) -> None:
        self._deal_plain()
        self._deal_coroutines()

    def _deal_plain(self) -> None:
        waiting = self._plain
        while waiting:
            query = waiting[0]
            if query.given_up:
                waiting.popleft()
                continue
            least, chosen = 2 if len(query.argument) > INLINE_BYTES else sys.maxsize, None
            for hand in self._staff.hands:
                has = len(hand.plain)
                if has < least and has < hand.ahead and self._can_run(hand):
                    least, chosen = has, hand
                    if not has:
                        break
            if chosen is None:
                return
            if chosen.give(query):
                waiting.popleft()
            elif chosen.plain:  # its chute is full: until it answers
                chosen.ahead = len(chosen.plain)
            else:
                chosen.kill()

    def _deal_coroutines(self) -> None:
        waiting = self._coroutines
        now = monotonic() if waiting else 0.0
        while waiting:
            query = waiting[0]
            if query.given_up:
                waiting.popleft()
                continue
            hands = [hand for hand in self._staff.hands if self._can_await(hand, now)]
            if not hands:
                return
            chosen = min(hands, key=lambda hand: (hand.slot < self._plain_slots, len(hand.coroutines)))
            if not chosen.give(query):
                chosen.deaf_until = now + STUCK
                continue
            waiting.popleft()
            if query.function.max_runtime is not None:
                self._timed[query.wid] = query

    def _can_run(self, hand: Hand) -> bool:
        is_free = hand.is_ready and not hand.is_ending and not hand.coroutines
        return is_free and hand.slot < self._plain_slots

    def _can_await(self, hand: Hand, now: float) -> bool:
        is_lent = 0 < hand.slot < self._plain_slots and not hand.plain and not self._plain
        has_room = len(hand.coroutines) < MOST_COROUTINES and hand.deaf_until <= now
        is_ours = is_lent or hand.slot >= self._plain_slots
        return is_ours and has_room and hand.is_ready and not hand.is_ending

    def _put_back(self, waiting: deque[Query], queries: Iterable[Query]) -> None:
        """To the front, in their order."""
        queries = list(queries)
        for query in queries:
            self._timed.pop(query.wid, None)
        waiting.extendleft(reversed(queries))

    # --- what takes too long --------------------------------------------------------------------------------

    def _tick(self) -> None:
        now = monotonic()
        for hand in list(self._staff.hands):
            if hand.plain and now - hand.since > STUCK:
                self._look_at(hand, now)
            if hand.coroutines:
                back = hand.take_back_coroutines()
                if back and now - back[0].since > STUCK:
                    hand.deaf_until = now + _DEAF
                self._put_back(self._coroutines, back)
        for query in [query for query in self._timed.values() if now - query.since > _limit(query)]:
            if not query.reason:
                query.reason = too_long(query.function)
                self._end(query)
            elif query.given_up:
                self._kill(query)
        for query in [query for query in self._ending.values() if query.end_at <= now]:
            self._end_now(query)
        self._deal()
        has_more = self._queries or self._timed
        self._timer = asyncio.get_running_loop().call_later(STUCK, self._tick) if has_more else None

    def _look_at(self, hand: Hand, now: float) -> None:
        """A child whose oldest plain query takes long."""
        oldest = _oldest(hand)
        assert oldest is not None
        is_over = now - hand.since > _limit(oldest)
        if len(hand.plain) > 1 or is_over:
            self._put_back(self._plain, hand.take_back())
            hand.ahead = 1
        if is_over and not hand.is_ending:
            if oldest.hand is hand and not oldest.reason:
                oldest.reason = too_long(oldest.function)
            hand.on_purpose = True
            hand.kill()

    def _end(self, query: Query) -> None:
        """It has begun: ask it to end if it can hear, and look again after the grace."""
        if query.function.is_async and query.hand is not None:
            query.hand.cancel(query)
        query.end_at = monotonic() + self._grace
        self._ending[query.wid] = query

    def _end_now(self, query: Query) -> None:
        del self._ending[query.wid]
        if query.told and query.reason == CANCELLED.error:
            # It was told to end and takes its time: nobody waits for it, and others run beside it.
            query.given_up = True
            self._finish(query, CANCELLED)
        else:
            self._kill(query)

    def _kill(self, query: Query) -> None:
        self._timed.pop(query.wid, None)
        if query.hand is not None:
            query.hand.on_purpose = True
            query.hand.kill()

    # --- how queries end ------------------------------------------------------------------------------------

    def _drop(self, query: Query) -> None:
        if self._queries.get(query.wid) is query:
            self._finish(query, CANCELLED)

    def _finish(self, query: Query, outcome: Outcome) -> None:
        self._forget(query)
        call(self._on_outcome, query.wid, outcome)

    def _forget(self, query: Query) -> None:
        del self._queries[query.wid]
        if query.reason:
            self._ending.pop(query.wid, None)
        if self._timed and not query.given_up:
            self._timed.pop(query.wid, None)
        if self._empty is not None and not self._queries:
            self._empty.set()


def _oldest(hand: Hand) -> Query | None:
    return next(iter(hand.plain.values()), None)


def _limit(query: Query) -> float:
    limit = query.function.max_runtime
    return float("inf") if limit is None else limit
