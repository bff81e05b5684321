"""Coroutine functions in a child process: many at once, on an event loop in a thread of its own."""

import asyncio
import socket
import threading
from collections.abc import Sequence
from functools import partial

import uvloop

from framehub.runtime.functionset import Function
from framehub.runtime.workdone import Doing, Outcome
from framehub.runtime.workframes import FRAME, PACKET_BYTES, QUERY, Kind
from framehub.runtime.workphone import Payloads, Phone


class Coroutines:
    """Takes every query from its chute as it comes; the parent sees to it that there are not too many."""

    def __init__(
        self,
        chute: socket.socket,
        functions: Sequence[Function],
        doing: Doing,
        phone: Phone,
        payloads: Payloads,
    ) -> None:
        chute.setblocking(False)
        self._chute = chute
        self._functions = functions
        self._doing = doing
        self._phone = phone
        self._payloads = payloads
        self._tasks: dict[int, asyncio.Task[Outcome]] = {}
        self._told: set[int] = set()
        self._answers: list[bytes] = []
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="framehub-coroutines", daemon=True)

    def start(self) -> None:
        """Run the event loop until ``stop``."""
        self._thread.start()

    def cancel(self, number: int) -> None:
        """From another thread: cancel this one, if it runs."""
        self._loop.call_soon_threadsafe(self._cancel, number)

    def stop(self) -> None:
        """From another thread: stop taking queries."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def join(self, seconds: float) -> None:
        """Wait for the thread to end."""
        self._thread.join(seconds)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.add_reader(self._chute, self._take)
        self._loop.run_forever()
        self._loop.remove_reader(self._chute)
        self._loop.close()

    def _take(self) -> None:
        while True:
            try:
                packet = self._chute.recv(PACKET_BYTES)
            except (BlockingIOError, InterruptedError):
                return
            if not packet:
                self._loop.remove_reader(self._chute)
                return
            number, index, apart = QUERY.unpack_from(packet)
            running = self._perform(self._functions[index], None if apart else packet[QUERY.size :], number)
            task = self._loop.create_task(running)
            self._tasks[number] = task
            task.add_done_callback(partial(self._done, number))

    async def _perform(self, function: Function, argument: bytes | None, number: int) -> Outcome:
        if argument is None:
            argument = await asyncio.to_thread(self._payloads.wait, number)
        return await self._doing.run_async(function, argument)

    def _cancel(self, number: int) -> None:
        task = self._tasks.get(number)
        if task is not None:
            self._told.add(number)
            task.cancel()
            self._answer(Kind.TOLD, number, b"")

    def _done(self, number: int, task: "asyncio.Task[Outcome]") -> None:
        del self._tasks[number]
        was_told = number in self._told
        self._told.discard(number)
        if task.cancelled():
            kind, body = (Kind.CANCELLED, b"") if was_told else (Kind.EXCEPTION, b"CancelledError")
        elif (exc := task.exception()) is not None:  # GeneratorExit and its like
            kind, body = Kind.EXCEPTION, type(exc).__name__.encode()
        else:
            outcome = task.result()
            if outcome.result is None:
                kind, body = Kind.EXCEPTION, outcome.error.encode()
            else:
                kind, body = Kind.RESULT, outcome.result
        self._answer(kind, number, body)

    def _answer(self, kind: Kind, number: int, body: bytes) -> None:
        """What ends in one pass of the loop goes out in one write."""
        if not self._answers:
            self._loop.call_soon(self._flush)
        self._answers += (FRAME.pack(len(body), kind, number), body)

    def _flush(self) -> None:
        answers, self._answers = self._answers, []
        self._phone.send_block(b"".join(answers))
