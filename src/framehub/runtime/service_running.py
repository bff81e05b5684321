"""Runs the functions of a service: one for each stream, from its first frame to its end."""

import asyncio
import logging
from contextlib import aclosing, suppress
from itertools import count
from typing import Final

from framehub.errors import StreamAborted
from framehub.hub.served import ServedStream
from framehub.runtime.functionset import Function
from framehub.runtime.service_functions import Kind, ServiceFunction, ServiceFunctions
from framehub.runtime.service_link import ServiceLink
from framehub.runtime.service_stream import ServiceStream
from framehub.runtime.workdone import Doing, Outcome
from framehub.runtime.workthreads import ThreadWorkshop

log = logging.getLogger("framehub.service")

STOPPED: Final = b"the service has stopped"
LAST_CHANCE: Final = 1.0
"""Seconds that functions have to end once they are cancelled; then nobody waits for them."""
_NOTHING: Final = Outcome(b"")


class Running:
    """A task for each new stream; plain functions have threads beside it."""

    def __init__(self, link: ServiceLink, functions: ServiceFunctions, *, threads: int) -> None:
        self._link = link
        self._functions = functions
        self._settings = link.machine.settings
        self._doing = Doing(link.machine.max_body_bytes, setting="max_frame_bytes", log=log)
        self._tasks: dict[ServedStream, asyncio.Task[None]] = {}
        self._timers: dict[ServedStream, asyncio.TimerHandle] = {}
        self._futures: dict[bytes, asyncio.Future[Outcome]] = {}
        self._numbers = count(1)
        self._idle = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        plain = {one.name: one.typed for one in functions.values() if one.typed and one.kind is Kind.PLAIN}
        self._threads = (
            ThreadWorkshop(plain, threads=threads, on_outcome=self._returned, doing=self._doing)
            if plain
            else None
        )
        link.begin = self._begin
        link.touched = self._touched

    async def start(self) -> None:
        """Start the threads, if there is use for them."""
        if self._threads is not None:
            await self._threads.start()

    @property
    def running(self) -> int:
        """Functions that have not ended."""
        return len(self._tasks)

    async def finish(self) -> None:
        """Wait until there are none."""
        while self._tasks:
            self._idle.clear()
            await self._idle.wait()

    async def stop(self) -> None:
        """End what runs; clients are told."""
        for stream in list(self._link.machine.streams.values()):
            self._link.fail_now(stream, STOPPED)
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            _, left = await asyncio.wait(tasks, timeout=LAST_CHANCE)
            if left:
                log.warning("%d functions do not end though they were cancelled", len(left))
        if self._threads is not None:
            await self._threads.stop(0)

    # --- from the link -------------------------------------------------------------------------------------

    def _begin(self, state: ServedStream) -> None:
        if state.over is not None and not self._has_stream(state):
            return  # nobody wants it any more
        if self.running >= self._settings.max_streams:  # some go on after the end of their streams
            if state.over is None:
                self._link.fail_now(state, f"busy: {self.running} functions run".encode())
            return
        state.owner = stream = ServiceStream(self._link, state)
        self._tasks[state] = task = self._loop.create_task(self._attend(stream, state))
        task.add_done_callback(lambda _task: self._ended(state))
        if state.over is not None:
            self._touched(state)

    def _has_stream(self, state: ServedStream) -> bool:
        """Whether its function hears from its stream what becomes of it."""
        return self._functions[state.function].kind is Kind.STREAM

    def _touched(self, state: ServedStream) -> None:
        state.owner.wake()
        task = self._tasks.get(state)
        if state.over is None or task is None:
            return
        if not self._has_stream(state):
            task.cancel()
        elif state not in self._timers:
            self._timers[state] = self._loop.call_later(self._settings.grace, task.cancel)

    def _ended(self, state: ServedStream) -> None:
        del self._tasks[state]
        if (timer := self._timers.pop(state, None)) is not None:
            timer.cancel()
        self._link.machine.discard(state)
        if not self._tasks:
            self._idle.set()

    # --- one function --------------------------------------------------------------------------------------

    async def _attend(self, stream: ServiceStream, state: ServedStream) -> None:
        outcome = await self._outcome(self._functions[state.function], stream, state)
        if stream.is_open:
            with suppress(StreamAborted):  # cut off while we waited for our turn
                if outcome.result is None:
                    await self._link.fail(state, outcome.error.encode())
                else:
                    await self._link.end(state, outcome.result)

    async def _outcome(
        self, function: ServiceFunction, stream: ServiceStream, state: ServedStream
    ) -> Outcome:
        """Whatever it raises is an outcome, but for our own cancelling."""
        try:
            if function.typed is None:
                await function.call(stream)
                return _NOTHING
            if function.kind is Kind.PLAIN:
                return await self._threaded(function.name, state.first)
            if function.kind is Kind.CALL:
                return await self._doing.run_async(function.typed, state.first)
            return await self._items(function.typed, state)
        except StreamAborted as exc:
            return _NOTHING if state.over is not None else self._doing.failed(function, exc)
        except BaseException as exc:
            task = asyncio.current_task()
            if isinstance(exc, asyncio.CancelledError | GeneratorExit) and (
                task is None or task.cancelling()
            ):
                raise
            return self._doing.failed(function, exc)

    async def _items(self, typed: Function, state: ServedStream) -> Outcome:
        try:
            args, kwargs = typed.read(state.first)
        except Exception as exc:
            return self._doing.refused("bad argument", typed, exc)
        async with aclosing(typed.function(*args, **kwargs)) as items:
            async for item in items:
                written = self._doing.written(typed, item)
                if written.result is None:
                    return written
                await self._link.send(state, written.result)
        return _NOTHING

    async def _threaded(self, name: str, argument: bytes) -> Outcome:
        assert self._threads is not None
        wid = next(self._numbers).to_bytes(8, "big")
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self._futures[wid] = future
        self._threads.submit(wid, name, argument)
        try:
            return await future
        finally:
            if self._futures.pop(wid, None) is not None:
                self._threads.cancel(wid)

    def _returned(self, wid: bytes, outcome: Outcome) -> None:
        future = self._futures.pop(wid, None)
        if future is not None and not future.done():
            future.set_result(outcome)
