"""A service's link to a hub: one DEALER and the machine; functions run elsewhere."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Final

from framehub.hub.served import ServedStream
from framehub.hub.serving import ServiceSide
from framehub.runtime.curve import CurveClient
from framehub.runtime.room import Room
from framehub.runtime.rpc_client import dial
from framehub.runtime.zmq_setup import Options
from framehub.runtime.zmq_socket import MessageSocket, Sent

log = logging.getLogger("framehub.service")

TICK: Final = 0.1
LINGER: Final = 0.5
UNBROKEN: Final = 64
"""Frames sent without a pause: after these the rest of the program has its turn."""

MARK: Final = 1024 * 1024
"""After so many bytes the hub is asked whether it has read them."""
AHEAD: Final = 8 * MARK
"""Bytes that the hub may be behind: what it has not read waits in its memory."""
_FRAME_BYTES: Final = 64
"""What a frame takes there besides."""


class Ahead:
    """How far we are ahead of what the hub has read: PINGs come back in order with the rest."""

    def __init__(self) -> None:
        self._sent = 0
        self._read = 0
        self._marks: deque[tuple[int, int]] = deque()  # number of a PING, and what was sent before it

    @property
    def is_full(self) -> bool:
        """Whether to wait."""
        return self._sent - self._read >= AHEAD

    @property
    def wants_ping(self) -> bool:
        """Whether it is time for one."""
        return self._sent - (self._marks[-1][1] if self._marks else self._read) >= MARK

    def sent(self, size: int) -> None:
        """A frame of so many bytes went out."""
        self._sent += size + _FRAME_BYTES

    def pinged(self, number: int) -> None:
        """A PING of this number follows it."""
        self._marks.append((number, self._sent))

    def ponged(self, number: int) -> None:
        """The hub has had everything up to this PING."""
        while self._marks and self._marks[0][0] <= number:
            self._read = self._marks.popleft()[1]


class ServiceLink:
    """``open`` it when functions can be run, ``close`` it in the end."""

    def __init__(
        self,
        address: str,
        machine: ServiceSide,
        *,
        curve: CurveClient | None = None,
        options: Options | None = None,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_ready`` is told each time that the hub has us."""
        self.address = address
        self.machine = machine
        self.begin: Callable[[ServedStream], None] = lambda _stream: None
        """Has a new stream attended to; set by the owner, like ``touched``."""
        self.touched: Callable[[ServedStream], None] = lambda _stream: None
        """Something came on a stream that was begun, or it is over."""
        self._curve = curve
        # What is meant for one connection never goes out on the next.
        self._options = replace(options or Options(), only_connected=True)
        self.on_ready = on_ready
        self._is_ready = False
        self._has_warned = False
        self._unsent: deque[bytes] = deque()
        self._room = Room()
        self._ahead = Ahead()
        self._ask_at = 0.0
        self._unbroken = 0
        self._timer: asyncio.TimerHandle | None = None
        self._socket: MessageSocket | None = None
        self._loop = asyncio.get_running_loop()

    def open(self) -> None:
        """Connect, and register whenever a connection is there.

        Raises:
            ConfigError: that is no address.
        """
        self._socket = self._dial()
        self._tick()

    def close(self) -> None:
        """End the link; all streams are over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._socket is not None:
            self._flush()
            self._socket.close(linger=LINGER)
            self._socket = None
        self.machine.disconnected("the service has stopped")
        self._tell()

    def drain(self) -> None:
        """Say goodbye: take nothing new."""
        self.machine.drain()
        self._flush()

    def ping(self) -> None:
        """Ask the hub whether it has had all that was sent; ``machine.is_settled`` then says so."""
        self.machine.ping()
        self._flush()

    # --- streams -------------------------------------------------------------------------------------------

    def take(self, stream: ServedStream) -> bytes:
        """The next body that waits."""
        return self.machine.take(stream)

    async def send(self, stream: ServedStream, body: bytes, parameter: int = 0) -> None:
        """One message; waits while the hub is behind."""
        await self._turn(stream)
        self.machine.send(stream, body, parameter)
        self._flush()

    async def end(self, stream: ServedStream, body: bytes = b"", parameter: int = 0) -> None:
        """The last one."""
        await self._turn(stream)
        self.machine.end(stream, body, parameter)
        self._work()

    async def fail(self, stream: ServedStream, body: bytes) -> None:
        """An error as the last one."""
        await self._turn(stream)
        self.fail_now(stream, body)

    def fail_now(self, stream: ServedStream, body: bytes) -> None:
        """The same without waiting: it is small, and there is one for each stream."""
        self.machine.fail(stream, body)
        self._work()

    # --- inside --------------------------------------------------------------------------------------------

    async def _turn(self, stream: ServedStream) -> None:
        stream.check()
        self._unbroken += 1
        if self._unbroken >= UNBROKEN:
            self._unbroken = 0
            await asyncio.sleep(0)
        if not self._room.free:
            await self._room.turn()

    def _dial(self) -> MessageSocket:
        return dial(
            self.address,
            self._heard,
            curve=self._curve,
            options=self._options,
            on_connect=self._connected,
            on_disconnect=self._disconnected,
            on_refused=self._not_let_in,
            on_writable=self._flush,
            on_flood=self._too_large,
        )

    def _not_let_in(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning("not let in at %s: wrong keys, or not a hub", self.address)

    def _too_large(self, _identity: bytes) -> None:
        log.warning("%s sent a message of too many parts or bytes: it is lost", self.address)

    def _connected(self) -> None:
        self._has_warned = False
        self._start_anew()
        self.machine.connected(monotonic())
        self._work()

    def _disconnected(self) -> None:
        if self._is_ready:
            log.warning("lost the hub at %s: connecting again", self.address)
        self._start_anew()
        self.machine.disconnected()
        self._work()

    def _start_anew(self) -> None:
        self._is_ready = False
        self._unsent.clear()
        self._ahead = Ahead()
        self._room.ready()

    def _heard(self, batch: list[list[bytes]]) -> None:
        now = monotonic()
        for parts in batch:
            if len(parts) != 1:
                log.warning("the hub sent a message of %d parts", len(parts))
            elif reason := self.machine.heard(parts[0], now):
                log.warning("%s: %s", self.address, reason)
        self._ahead.ponged(self.machine.ponged)
        if not self._is_ready and self.machine.in_force is not None:
            self._is_ready = True
            self.on_ready()
        self._work()

    def _work(self) -> None:
        """Send what is to be sent, begin what is to begin, tell what happened."""
        self._flush()
        self._tell()

    def _tell(self) -> None:
        machine = self.machine
        opened, machine.opened = machine.opened, []
        for stream in opened:
            self.begin(stream)
        touched, machine.touched = machine.touched, []
        for stream in touched:
            if stream.owner is not None:
                self.touched(stream)

    def _tick(self) -> None:
        self._timer = self._loop.call_later(TICK, self._tick)
        now = monotonic()
        self.machine.tick(now)
        if self._ahead.is_full and self.machine.in_force is not None and now >= self._ask_at:
            self._ask_at = now + 1.0
            self.machine.ping()  # the PONGs may have been dropped: a hub does so when we do not read
        if self.machine.renew:
            self.machine.renew = False
            log.warning("no word from %s: connecting anew", self.address)
            self._start_anew()
            assert self._socket is not None
            self._socket.close()
            self._socket = self._dial()
        self._work()

    def _flush(self) -> None:
        socket, unsent = self._socket, self._unsent
        unsent += self.machine.out
        self.machine.out.clear()
        if socket is None:
            unsent.clear()
            return
        while unsent:
            if socket.send((unsent[0],)) is not Sent.OK:
                self._room.full()
                return
            self._ahead.sent(len(unsent.popleft()))
            if self._ahead.wants_ping and self.machine.in_force is not None:
                self._ahead.pinged(self.machine.ping())
                unsent += self.machine.out
                self.machine.out.clear()
        if self._ahead.is_full and self.machine.in_force is not None:
            self._room.full()
        elif not self._room.free:
            self._room.ready()
