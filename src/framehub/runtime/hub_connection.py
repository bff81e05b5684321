"""A client's connection to a hub: one WebSocket, the machine, and whoever waits for what comes."""

import asyncio
import logging
from collections.abc import Callable
from time import monotonic
from typing import Final

from framehub.codes import CloseCode
from framehub.errors import ConnectionClosed, RequestTimeout
from framehub.hub.called import Answer, CalledStream
from framehub.hub.calling import ClientSide
from framehub.runtime.alarm import Alarm
from framehub.runtime.link import Link
from framehub.runtime.room import Room

log = logging.getLogger("framehub.hub_client")

UNBROKEN: Final = 64
"""Frames sent without a pause: after these the rest of the program has its turn."""
_UNREAD: Final = "unread"


class HubConnection:
    """Owns the link, from when it is open to when it is lost."""

    def __init__(self, link: Link, machine: ClientSide) -> None:
        self.closed: asyncio.Future[ConnectionClosed] = asyncio.get_running_loop().create_future()
        """Done when the connection is gone; its result says why."""
        self.machine = machine
        self._link = link
        self._room = Room()
        self._alarm = Alarm(self._tick)
        self._pongs: dict[int, asyncio.Future[None]] = {}
        self._unread_timer: asyncio.TimerHandle | None = None
        self._unbroken = 0
        self._flush()
        self._alarm.set(machine.next_deadline)

    # --- streams -------------------------------------------------------------------------------------------

    async def open(
        self, service: int, function: int, body: bytes, *, timeout: float | None, wake: Callable[[], None]
    ) -> CalledStream:
        """Open a stream; ``wake`` is called when something came on it, or it is over."""
        if wait := self.machine.reserve(monotonic()):
            await asyncio.sleep(wait)
        await self._turn()
        stream = self.machine.open(service, function, body, timeout=timeout, now=monotonic())
        stream.owner = wake
        self._alarm.set(stream.deadline)
        self._flush()
        return stream

    async def send(self, stream: CalledStream, body: bytes) -> None:
        """One message; waits while the hub is behind."""
        stream.check()
        await self._turn()
        self.machine.send(stream, body, monotonic())
        self._flush()

    async def end(self, stream: CalledStream, body: bytes) -> None:
        """Our last."""
        stream.check()
        await self._turn()
        self.machine.end(stream, body, monotonic())
        self._flush()

    def close_stream(self, stream: CalledStream) -> None:
        """End it, whatever becomes of what is under way."""
        self.machine.close(stream)
        self._work()

    def take(self, stream: CalledStream) -> Answer:
        """The next answer that waits."""
        answer = self.machine.take(stream, monotonic())
        self._read_on()
        return answer

    def discard(self, stream: CalledStream) -> None:
        """Nobody will read what waits in it."""
        self.machine.discard(stream)
        self._read_on()

    # --- the connection ------------------------------------------------------------------------------------

    async def ping(self, timeout: float) -> float:
        """Seconds there and back."""
        if self.closed.done():
            raise self.closed.result().again()
        began = monotonic()
        number = self.machine.ping()
        self._pongs[number] = asyncio.get_running_loop().create_future()
        self._flush()
        try:
            async with asyncio.timeout(timeout):
                await self._pongs[number]
        except TimeoutError:
            raise RequestTimeout(f"no pong in {timeout:g} s") from None
        finally:
            del self._pongs[number]
        return monotonic() - began

    async def close(self) -> None:
        """End it; every stream that is open fails with ``ConnectionClosed``."""
        self._link.close(CloseCode.OK, "")
        await asyncio.shield(self.closed)

    # --- what the link says --------------------------------------------------------------------------------

    def frame_received(self, data: bytes | memoryview) -> None:
        """Take one frame from the link."""
        machine = self.machine
        if reason := machine.heard(bytes(data), monotonic()):
            log.warning("%s", reason)
        if self._pongs:
            self._ponged()
        self._work()
        if machine.is_full and self._unread_timer is None:
            self._link.pause(_UNREAD)
            self._look_later()

    def link_full(self) -> None:
        """The hub reads slowly: nothing more is sent until it has caught up."""
        self._room.full()

    def link_ready(self) -> None:
        """The hub has caught up."""
        self._room.ready()

    def link_lost(self, code: int, reason: str) -> None:
        """The connection is gone: fail everything that waits."""
        error = ConnectionClosed(code, reason)
        self.closed.set_result(error)
        self._alarm.stop()
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None
        self.machine.lost(error)
        self._tell()
        for future in self._pongs.values():
            if not future.done():
                future.set_exception(error.again())
        self._room.ready()

    # --- inside --------------------------------------------------------------------------------------------

    async def _turn(self) -> None:
        self._unbroken += 1
        if self._unbroken >= UNBROKEN:
            self._unbroken = 0
            await asyncio.sleep(0)
        if not self._room.free:
            await self._room.turn()
        if self.closed.done():
            raise self.closed.result().again()

    def _ponged(self) -> None:
        for number, future in self._pongs.items():
            if number <= self.machine.ponged and not future.done():
                future.set_result(None)

    def _read_on(self) -> None:
        """Read the connection again once half of what was too much is read."""
        machine = self.machine
        if (
            self._unread_timer is not None
            and machine.waiting_bytes <= machine.settings.max_waiting_bytes // 2
        ):
            self._unread_timer.cancel()
            self._unread_timer = None
            machine.tick(monotonic(), is_deaf=True)
            self._link.resume(_UNREAD)

    def _look_later(self) -> None:
        delay = self.machine.settings.patience / 4
        self._unread_timer = asyncio.get_running_loop().call_later(delay, self._look)

    def _look(self) -> None:
        """Too much has waited for a while: who does not read loses the stream, the others go on."""
        self._look_later()
        self.machine.give_up_unread(monotonic())
        self._work()
        self._read_on()

    def _tick(self) -> None:
        self.machine.tick(monotonic(), is_deaf=self._link.excused)
        if self.machine.is_dead:
            self._link.close(CloseCode.GOING_AWAY, "no sign of life from the hub")
            return
        self._work()
        self._alarm.set(self.machine.next_deadline)

    def _work(self) -> None:
        self._flush()
        self._tell()

    def _flush(self) -> None:
        out = self.machine.out
        for data in out:
            self._link.send(data)
        out.clear()

    def _tell(self) -> None:
        touched, self.machine.touched = self.machine.touched, []
        for stream in touched:
            stream.owner()
