"""A client's link to a proxy: one DEALER, the machine, and a future for each question."""

import asyncio
import random
import secrets
from collections import OrderedDict
from time import monotonic
from typing import Any, Final

from framehub.errors import ConnectionClosed, LimitExceeded
from framehub.rpc import words
from framehub.rpc.client import Ending, Queries, Settled
from framehub.rpc.messages import Way, counts
from framehub.rpc.settings import ClientSettings
from framehub.runtime.curve import CurveClient
from framehub.runtime.zmq_setup import LARGEST_MESSAGE, Options, for_dealer
from framehub.runtime.zmq_socket import MessageSocket, OnBatch, Sent

TICK: Final = 0.1
LINGER: Final = 0.5
"""Seconds that the last acknowledgements have to go out when a link is closed."""
_QUESTIONS: Final = (words.QUERY, words.CODER_IDENTITY_QUERY, words.FUNCTIONS_QUERY)
_BESIDES: Final = len(words.QUERY) + 16
"""Bytes of a query besides its argument and the function's name."""


def new_identity() -> bytes:
    """16 random bytes, the first of them not zero: ZeroMQ keeps those for itself."""
    return bytes((1 + secrets.randbelow(255),)) + secrets.token_bytes(15)


def dial(address: str, on_batch: OnBatch, *, options: Options | None, **others: Any) -> MessageSocket:
    """A dealer on its way to ``address``, where a proxy has these options.

    Raises:
        ConfigError: that is no address.
    """
    socket = MessageSocket("dealer", on_batch, options=for_dealer(options), **others)
    try:
        socket.connect(address)
    except BaseException:
        socket.close()
        raise
    return socket


class Unsent:
    """What could not be sent yet, the oldest first; what is said again waits only once."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[tuple[bytes, bytes], list[bytes]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def send(self, socket: MessageSocket, fresh: list[list[bytes]]) -> None:
        """Send what waits, then ``fresh``, which is empty afterwards: what is left of it waits."""
        waiting = self._waiting
        while waiting and socket.send(next(iter(waiting.values()))) is Sent.OK:
            waiting.popitem(last=False)
        sent = 0
        if not waiting:
            for parts in fresh:
                if socket.send(parts) is not Sent.OK:
                    break
                sent += 1
        for parts in fresh[sent:]:
            self._add(parts)
        fresh.clear()

    def drop(self, id_: bytes) -> None:
        """Nobody wants to know this any more."""
        if self._waiting:
            for type_ in _QUESTIONS:
                self._waiting.pop((type_, id_), None)

    def _add(self, parts: list[bytes]) -> None:
        type_ = parts[0]
        if type_ == words.WORKER_DESCRIBE:  # the newest, but before the registration that follows it
            self._waiting[type_, b""] = parts
            return
        key = (type_, parts[1] if len(parts) > 1 else b"")
        self._waiting.pop(key, None)
        self._waiting[key] = parts


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
        self._unsent = Unsent()
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
            LimitExceeded: the query is larger than a message may be.
        """
        self.check_size(function, argument)
        id_ = self.new_id()
        self._machine.ask(id_, function, argument, now=monotonic(), timeout=timeout)
        return await self._settled(id_)

    def check_size(self, function: bytes, argument: bytes) -> None:
        """Refuse a query that is larger than a message may be.

        Raises:
            LimitExceeded: it is.
        """
        most = min(self._options.max_message_bytes, LARGEST_MESSAGE)
        size = len(argument) + len(function) + _BESIDES
        if size > most:
            hint = "give it in parts, or a place where the function finds it"
            raise LimitExceeded("max_message_bytes", allowed=most, got=size, hint=hint)

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
        self._begin()
        try:
            return await future
        finally:
            if self._futures.pop(id_, None) is not None and not self.closed:
                self._machine.cancel(id_)
                self._soon()
                self._loop.call_soon(self._unsent.drop, id_)  # after that: it may be in there only then
            else:
                self._unsent.drop(id_)

    def _begin(self) -> None:
        """Something was asked: it is to be sent, and the clock to be looked at."""
        self._soon()
        if self._timer is None:
            self._timer = self._loop.call_later(TICK, self._tick)

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
        self._unsent.send(self._socket, self._machine.out)


__all__ = ["ClientLink", "Ending", "Settled", "new_identity"]
