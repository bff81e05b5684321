"""A client's link to a proxy: one DEALER, the machine, and a future for each question."""

import asyncio
import random
import secrets
from time import monotonic
from typing import Any, Final

from framehub.errors import ConnectionClosed, LimitExceeded
from framehub.rpc.client import Ending, Queries, Settled
from framehub.rpc.messages import Way, counts
from framehub.rpc.settings import ClientSettings
from framehub.runtime.curve import CurveClient
from framehub.runtime.zmq_setup import Options
from framehub.runtime.zmq_socket import MessageSocket, OnBatch, Sent

TICK: Final = 0.1
LINGER: Final = 0.5
"""Seconds that the last acknowledgements have to go out when a link is closed."""


def new_identity() -> bytes:
    """16 random bytes, the first of them not zero: ZeroMQ keeps those for itself."""
    return bytes((1 + secrets.randbelow(255),)) + secrets.token_bytes(15)


def dial(address: str, on_batch: OnBatch, **others: Any) -> MessageSocket:
    """A dealer on its way to ``address``.

    Raises:
        ConfigError: that is no address.
    """
    socket = MessageSocket("dealer", on_batch, **others)
    try:
        socket.connect(address)
    except BaseException:
        socket.close()
        raise
    return socket


class ClientLink:
    """Made in a running event loop; ``close`` it in the end."""

    def __init__(
        self,
        address: str,
        *,
        settings: ClientSettings | None = None,
        curve: CurveClient | None = None,
        options: Options | None = None,
    ) -> None:
        """Begin to connect.

        Raises:
            ConfigError: that is no address.
        """
        self.address = address
        self.identity = new_identity()
        self.closed = False
        self._curve = curve
        self._options = options or Options()
        self._machine = Queries(
            settings or ClientSettings(),
            random=random.random,
            new_id=lambda: secrets.token_bytes(16),
        )
        self._futures: dict[bytes, asyncio.Future[Settled]] = {}
        self._unsent: list[list[bytes]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._flushing = False
        self._loop = asyncio.get_running_loop()
        self._prefix = secrets.token_bytes(8)
        self._number = 0
        self.reached = asyncio.Event()
        """Set once there has been a connection."""
        self.refused = False
        """Whether somebody was there who did not let us in."""
        self._socket = self._dial()

    @property
    def pending(self) -> int:
        """Questions without an answer."""
        return self._machine.pending

    @property
    def extended(self) -> bool:
        """Whether the proxy has shown that it knows the extensions."""
        return self._machine.extended

    def new_id(self) -> bytes:
        """An id that was never used: random once, then counted."""
        self._number += 1
        return self._prefix + self._number.to_bytes(8, "big")

    async def query(self, function: bytes, argument: bytes, *, timeout: float) -> Settled:
        """Ask for a function to be run.

        Raises:
            LimitExceeded: the argument is larger than a message may be.
        """
        most = self._options.max_message_bytes
        if len(argument) > most:
            raise LimitExceeded("max_message_bytes", allowed=most, got=len(argument), hint="send a stream")
        id_ = self.new_id()
        self._machine.ask(id_, function, argument, now=monotonic(), timeout=timeout)
        return await self._settled(id_)

    async def coders(self, function: bytes, *, timeout: float) -> Settled:
        """Ask for a function's coders."""
        id_ = self.new_id()
        self._machine.ask_coders(id_, function, now=monotonic(), timeout=timeout)
        return await self._settled(id_)

    async def functions(self, *, timeout: float) -> Settled:
        """Ask for all functions; a foreign proxy never answers."""
        id_ = self.new_id()
        self._machine.ask_functions(id_, now=monotonic(), timeout=timeout)
        return await self._settled(id_)

    def close(self) -> None:
        """End the link; whoever waits is told."""
        if self.closed:
            return
        self._flush()
        self.closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._socket.close(linger=LINGER)
        for future in self._futures.values():
            if not future.done():
                future.set_exception(ConnectionClosed(1000, "closed by its owner"))
        self._futures.clear()

    # --- inside ----------------------------------------------------------------------------------------

    def _dial(self) -> MessageSocket:
        return dial(
            self.address,
            self._heard,
            identity=self.identity,
            counts=counts(Way.PROXY_TO_CLIENT),
            curve=self._curve,
            options=self._options,
            on_connect=self._connected,
            on_refused=self._not_let_in,
            on_writable=self._flush,
        )

    async def _settled(self, id_: bytes) -> Settled:
        if self.closed:
            raise ConnectionClosed(1000, "closed by its owner")
        future: asyncio.Future[Settled] = self._loop.create_future()
        self._futures[id_] = future
        self._soon()
        if self._timer is None:
            self._timer = self._loop.call_later(TICK, self._tick)
        try:
            return await future
        finally:
            if self._futures.pop(id_, None) is not None and not self.closed:
                self._machine.cancel(id_)
                self._soon()

    def _heard(self, batch: list[list[bytes]]) -> None:
        now = monotonic()
        machine = self._machine
        for message in batch:
            machine.said(message, now)
        self._settle()
        self._flush()

    def _settle(self) -> None:
        settled, self._machine.settled = self._machine.settled, []
        for one in settled:
            future = self._futures.pop(one.id, None)
            if future is not None and not future.done():
                future.set_result(one)

    def _connected(self) -> None:
        if self.reached.is_set():
            self._machine.connected(monotonic())
        self.reached.set()

    def _not_let_in(self) -> None:
        self.refused = True

    def _tick(self) -> None:
        self._timer = None
        if self._machine.pending:
            self._timer = self._loop.call_later(TICK, self._tick)
        self._machine.tick(monotonic())
        if self._machine.renew:
            self._machine.renew = False
            self._socket.close()
            self._socket = self._dial()
        self._settle()
        self._flush()

    def _soon(self) -> None:
        """Send at the end of this turn of the loop: what many tasks ask goes out together."""
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        if self.closed:
            return
        machine = self._machine
        if machine.out:
            self._unsent += machine.out
            machine.out.clear()
        sent = 0
        for parts in self._unsent:
            if self._socket.send(parts) is not Sent.OK:
                break
            sent += 1
        del self._unsent[:sent]


__all__ = ["ClientLink", "Ending", "Settled", "new_identity"]
