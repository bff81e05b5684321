"""A worker's functions in threads of its own process: the same interface as ``Workshop``, without its walls.

For functions that share what is in memory. A function that holds the GIL stops heartbeats and everything
else, and one that ends the process ends all. A plain function cannot be ended from outside: when it is
cancelled or takes too long its outcome is told at once, another thread takes its place, and what it returns
is thrown away.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Final

import uvloop

from framehub.errors import ConfigError
from framehub.runtime.functionset import Function
from framehub.runtime.workdone import CANCELLED, Doing, Leftover, Outcome, call, too_long

MOST_COROUTINES: Final = 100
"""Coroutines that run at a time."""
MOST_ABANDONED: Final = 100
"""Threads that run what nobody waits for; beyond it, nothing takes their place."""


class Order:
    """One query."""

    __slots__ = (
        "argument",
        "function",
        "is_left",
        "is_over",
        "is_running",
        "is_told",
        "task",
        "timer",
        "wid",
    )

    def __init__(self, wid: bytes, function: Function, argument: bytes) -> None:
        self.wid = wid
        self.function = function
        self.argument = argument
        self.is_running = False
        self.is_over = False
        """The function has returned."""
        self.is_left = False
        """Another thread has taken the place of the one that runs it."""
        self.is_told = False
        """Its outcome was told."""
        self.task: asyncio.Task[Outcome] | None = None
        self.timer: asyncio.TimerHandle | None = None


class ThreadWorkshop:
    """Plain functions in ``threads`` threads, coroutine functions on one event loop beside them."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        *,
        threads: int,
        on_outcome: Callable[[bytes, Outcome], None],
        on_died: Callable[[list[bytes]], None] | None = None,
        max_message_bytes: int = 16 << 20,
        doing: Doing | None = None,
    ) -> None:
        """``on_died`` is never called: a thread dies with its process only."""
        del on_died
        if threads < 1:
            raise ConfigError(f"threads must be at least 1, not {threads!r}")
        self.respawns = 0
        """Threads started in the place of others."""
        self.abandoned = 0
        """Threads that run what nobody waits for."""
        self._functions = functions
        self._on_outcome = on_outcome
        self._doing = doing or Doing(max_message_bytes)
        self._threads = threads
        self._free = threads
        self._home = asyncio.get_running_loop()
        self._loop = uvloop.new_event_loop()
        self._loop_thread = threading.Thread(target=self._run_loop, name="framehub-coroutines", daemon=True)
        self._jobs: SimpleQueue[Order | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._done: deque[tuple[Order, Outcome]] = deque()
        self._is_called = False
        self._to_start: deque[Order] = deque()
        self._is_woken = False
        self._orders: dict[bytes, Order] = {}
        self._plain: deque[Order] = deque()
        self._coroutines: deque[Order] = deque()
        self._awaited = 0
        self._stopping = False
        self._empty = asyncio.Event()

    @property
    def running(self) -> int:
        """Queries that have begun."""
        return sum(order.is_running for order in self._orders.values())

    @property
    def waiting(self) -> int:
        """Queries that have not."""
        return len(self._orders) - self.running

    @property
    def alive(self) -> int:
        """Threads for plain functions, without those that are lost."""
        return 0 if self._stopping else self._threads

    @property
    def pids(self) -> list[int]:
        """There are no children."""
        return []

    async def start(self) -> None:
        """Start the threads."""
        for _ in range(self._threads):
            self._start_thread()
        self._loop_thread.start()

    def submit(self, wid: bytes, name: str, argument: bytes) -> None:
        """Have the function ``name`` run. ``wid`` names the query from here on.

        Raises:
            KeyError: there is no such function.
            ValueError: this query is here already, or the workshop is stopping.
        """
        if wid in self._orders or self._stopping:
            raise ValueError("the workshop is stopping" if self._stopping else "this query is here already")
        order = Order(wid, self._functions[name], argument)
        self._orders[wid] = order
        (self._coroutines if order.function.is_async else self._plain).append(order)
        self._deal()

    def cancel(self, wid: bytes) -> None:
        """Its outcome is ``CANCELLED``, if it was here at all; whether it ends is its own affair."""
        if (order := self._orders.get(wid)) is not None:
            self._home.call_soon(self._give_up, order, CANCELLED)

    async def stop(
        self, grace: float, *, on_waiting: Callable[[list[bytes]], None] = lambda _wids: None
    ) -> Leftover:
        """Begin nothing more, and wait up to ``grace`` seconds for what runs.

        ``on_waiting`` is told at once what was never begun.
        """
        self._stopping = True
        waiting = [wid for wid, order in self._orders.items() if not order.is_running]
        for wid in waiting:
            self._orders.pop(wid).is_told = True
        on_waiting(waiting)
        if self._orders:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), grace)
        cut_off = list(self._orders)
        for order in self._orders.values():
            self._close(order)
        self._orders.clear()
        for _ in range(self._threads):
            self._jobs.put(None)
        if self._loop_thread.is_alive():
            self._loop.call_soon_threadsafe(self._end_loop)
            await asyncio.to_thread(self._loop_thread.join, 1.0)
        if not self._loop_thread.is_alive():
            self._loop.close()
        return Leftover(waiting, cut_off)

    # --- on the worker's event loop -------------------------------------------------------------------------

    def _deal(self) -> None:
        while self._plain and (self._free or self._plain[0].is_told):
            order = self._plain.popleft()
            if not order.is_told:
                self._free -= 1
                self._begin(order)
                self._jobs.put(order)
        while self._coroutines and (self._awaited < MOST_COROUTINES or self._coroutines[0].is_told):
            order = self._coroutines.popleft()
            if not order.is_told:
                self._awaited += 1
                self._begin(order)
                self._to_start.append(order)
                if not self._is_woken:  # one call for all that comes until the other thread looks
                    self._is_woken = True
                    self._loop.call_soon_threadsafe(self._start_tasks)

    def _begin(self, order: Order) -> None:
        order.is_running = True
        if (limit := order.function.max_runtime) is not None:
            late = Outcome(error=too_long(order.function))
            order.timer = self._home.call_later(limit, self._give_up, order, late)

    def _give_up(self, order: Order, outcome: Outcome) -> None:
        """Tell that it is over, though the function may still run."""
        if order.is_told:
            return
        if order.is_running and not order.function.is_async:
            self._replace(order)
        elif order.is_running:
            self._loop.call_soon_threadsafe(self._cancel_task, order)
        self._finish(order, outcome)
        self._deal()

    def _replace(self, order: Order) -> None:
        """Another thread instead of the one that runs this."""
        with self._lock:
            if order.is_over or self.abandoned >= MOST_ABANDONED:
                return
            order.is_left = True
        self.abandoned += 1
        self.respawns += 1
        self._free += 1
        self._start_thread()

    def _collect(self) -> None:
        """What functions have done."""
        self._is_called = False
        while self._done:
            order, outcome = self._done.popleft()
            if order.function.is_async:
                self._awaited -= 1
            elif order.is_left:
                self.abandoned -= 1
            else:
                self._free += 1
            if not order.is_told:
                self._finish(order, outcome)
        self._deal()

    def _finish(self, order: Order, outcome: Outcome) -> None:
        self._close(order)
        del self._orders[order.wid]
        if self._stopping and not self._orders:
            self._empty.set()
        call(self._on_outcome, order.wid, outcome)

    def _close(self, order: Order) -> None:
        order.is_told = True
        if order.timer is not None:
            order.timer.cancel()

    # --- in other threads -----------------------------------------------------------------------------------

    def _start_thread(self) -> None:
        threading.Thread(target=self._run_thread, name="framehub-function", daemon=True).start()

    def _run_thread(self) -> None:
        while (order := self._jobs.get()) is not None:
            outcome = self._doing.run(order.function, order.argument)
            with self._lock:
                order.is_over = True
            self._report(order, outcome)
            if order.is_left:
                return

    def _report(self, order: Order, outcome: Outcome) -> None:
        self._done.append((order, outcome))
        if not self._is_called:
            self._is_called = True
            with suppress(RuntimeError):  # the worker's event loop is closed
                self._home.call_soon_threadsafe(self._collect)

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _end_loop(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.call_soon(self._loop.stop)  # after they have noticed

    def _start_tasks(self) -> None:
        self._is_woken = False
        while self._to_start:
            order = self._to_start.popleft()
            order.task = self._loop.create_task(self._doing.run_async(order.function, order.argument))
            order.task.add_done_callback(partial(self._ended, order))

    def _ended(self, order: Order, task: "asyncio.Task[Outcome]") -> None:
        self._report(order, self._outcome_of(task))

    def _cancel_task(self, order: Order) -> None:
        if order.task is not None:
            order.task.cancel()

    @staticmethod
    def _outcome_of(task: "asyncio.Task[Outcome]") -> Outcome:
        if task.cancelled():
            return Outcome(error="CancelledError")
        exc = task.exception()
        return task.result() if exc is None else Outcome(error=type(exc).__name__)
