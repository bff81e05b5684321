"""``MessageSocket``: a ROUTER or a DEALER that never blocks, in the running event loop.

What came is given in batches, one for each time that the socket was emptied, so that answers can be gathered.
Each message is a list of its parts; at a router the first is the identity of who sent it.
"""

import asyncio
import errno
import threading
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final, TypeAlias

import zmq
from zmq.backend import Socket as Backend

from framehub.errors import ConfigError
from framehub.runtime.curve import CurveClient, CurveServer
from framehub.runtime.zmq_connections import Connections
from framehub.runtime.zmq_edge import Edge
from framehub.runtime.zmq_inbox import Inbox
from framehub.runtime.zmq_monitor import LinkEvent, Monitor
from framehub.runtime.zmq_setup import TYPES, Kind, Options, configure, dial, listen
from framehub.runtime.zmq_zap import Doorkeeper

OnBatch: TypeAlias = Callable[[list[list[bytes]]], None]
Notice: TypeAlias = Callable[[], None]

TRY_AGAIN_SECONDS: Final = 0.02
"""ZeroMQ does not always say that a queue has room again, so after this long it is tried."""
SETTLE_SECONDS: Final = 0.25
"""How long after a connection ended its identity is free, at most, once its last messages were taken."""
HEARD_SECONDS: Final = 2.0
"""How long a connection has, once accepted, to be heard: its peer may be far away, and have keys."""
LAST: Final = int(zmq.NOBLOCK)
MORE: Final = int(zmq.NOBLOCK | zmq.SNDMORE)
EVENTS: Final = int(zmq.EVENTS)
POLLIN: Final = int(zmq.POLLIN)


class Sent(Enum):
    """What became of a message. OK is not "delivered": a peer that dies takes what is on its way with it."""

    OK = auto()
    AGAIN = auto()
    """The queue is full, or nobody is connected: nothing was sent; ``on_writable`` says when to try again."""
    UNREACHABLE = auto()
    """No peer has this identity, or the socket is closed: nothing was sent."""


_OK: Final = Sent.OK


class MessageSocket:
    """Made in a running event loop; then ``bind`` or ``connect``, and ``close`` in the end."""

    def __init__(
        self,
        kind: Kind,
        on_batch: OnBatch,
        *,
        identity: bytes | None = None,
        curve: CurveServer | CurveClient | None = None,
        options: Options | None = None,
        counts: Mapping[bytes, int] | None = None,
        room: Mapping[bytes, tuple[int, int]] | None = None,
        on_connect: Notice | None = None,
        on_disconnect: Notice | None = None,
        on_refused: Notice | None = None,
        on_writable: Notice | None = None,
        on_flood: Callable[[bytes], None] | None = None,
    ) -> None:
        """``counts`` says how many parts a message has whose first (at a router, second) part is the key: it
        makes receiving much faster, and is only for peers that are trusted to keep to it.

        ``room`` has, by what that part is, the place of the one part that may be long and its most bytes: of
        other parts over ``SHORT`` only the beginning is taken, and one byte more than may be of that one.

        ``on_connect``, ``on_disconnect`` and ``on_refused`` tell of some connection, not whose it is.

        ``on_writable`` is called after a send that gave AGAIN, when another try may be worth it. ``on_flood``
        is given the identity of who sent a message of too many parts or bytes; no bytes at a dealer.

        Raises:
            ConfigError: an identity that ZeroMQ does not allow.
        """
        self._on_batch = on_batch
        self._on_writable = on_writable
        self._on_flood = on_flood
        self._on_link = {
            LinkEvent.CONNECTED: on_connect,
            LinkEvent.DISCONNECTED: on_disconnect,
            LinkEvent.REFUSED: on_refused,
        }
        self.is_closed = False
        self.floods = 0
        """Messages thrown away for their parts or bytes."""
        self._is_in_turn = False
        self._has_sent = False
        self._is_blocked = False
        self._retry: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        options = options or Options()
        has_keys = isinstance(curve, CurveServer)
        # A context more is a thread more to wake for each message, so there is one where it must be.
        self._context = zmq.Context() if has_keys else zmq.Context.instance()
        self._doorkeeper = Doorkeeper(self._context, curve) if isinstance(curve, CurveServer) else None
        self._socket = self._context.socket(TYPES[kind])
        try:
            configure(self._socket, kind, options, identity)
            if curve is not None:
                curve.secure(self._socket)
        except ConfigError:
            self._release(0)
            raise
        self._inbox = Inbox(
            self._socket,
            options,
            has_identities=kind == "router",
            has_keys=has_keys,
            counts=counts,
            room=room,
        )
        # pyzmq's calls in C, without the layers around them.
        self._send: Callable[..., Any] = Backend.send.__get__(self._socket)
        self._get: Callable[[int], Any] = Backend.get.__get__(self._socket)
        self.connections = Connections(options.handshake) if kind == "router" else None
        """Those made to this socket, at a router."""
        self._sweep: asyncio.TimerHandle | None = None
        self._deaf_until = 0.0
        """Connections made until then may be ignored for the identity of one that ended."""
        self._is_paused = False
        is_told = self.connections is not None or any(self._on_link.values())
        self._monitor = Monitor(self._context, self._socket, self._link_turn) if is_told else None
        self._edge = Edge(self._socket, self._turn)

    @property
    def senders(self) -> Sequence[str]:
        """While ``on_batch`` runs, and only with a ``CurveServer``: the public key behind each message."""
        return self._inbox.keys

    @property
    def refused(self) -> int:
        """Peers that were not let in for their keys."""
        return self._doorkeeper.refused if self._doorkeeper else 0

    def bind(self, address: str) -> str:
        """Listen at ``address``; gives the real one, also if port 0 was asked for.

        Raises:
            ConfigError: it is taken, or none that can be listened at.
        """
        return listen(self._socket, address)

    def connect(self, address: str) -> None:
        """Connect, and again whenever the connection is lost.

        Raises:
            ConfigError: that is no address.
        """
        dial(self._socket, address)

    def send(self, parts: Sequence[bytes]) -> Sent:
        """Hand over one message, whole or not at all; at a router its first part says to whom."""
        if not self._has_sent:
            self._has_sent = True
            if not self._is_in_turn:
                self._edge.soon()
        send = self._send
        done = 0
        last = len(parts) - 1
        try:
            while done < last:
                send(parts[done], MORE)
                done += 1
            send(parts[last], LAST)
        except zmq.ZMQError as exc:
            return self._not_sent(exc, parts, done)
        return _OK

    def send_to(self, identity: bytes, parts: Sequence[bytes]) -> Sent:
        """``send([identity, *parts])`` at a router, quicker.

        Whether it can be sent shows with the identity: what a router cannot send after that, it drops.
        """
        if not self._has_sent:
            self._has_sent = True
            if not self._is_in_turn:
                self._edge.soon()
        send = self._send
        try:
            send(identity, MORE)
            if len(parts) == 2:
                send(parts[0], MORE)
            elif len(parts) == 3:
                send(parts[0], MORE)
                send(parts[1], MORE)
            else:
                for part in parts[:-1]:
                    send(part, MORE)
            send(parts[-1], LAST)
        except zmq.ZMQError as exc:
            return self._not_sent(exc, parts, 0)
        return _OK

    def send_one(self, identity: bytes, part: bytes) -> Sent:
        """``send_to(identity, [part])``, quicker still."""
        if not self._has_sent:
            self._has_sent = True
            if not self._is_in_turn:
                self._edge.soon()
        send = self._send
        try:
            send(identity, MORE)
            send(part, LAST)
        except zmq.ZMQError as exc:
            return self._not_sent(exc, (part,), 0)
        return _OK

    def pause(self) -> None:
        """Take no more messages, until ``resume``; they wait in ZeroMQ, which takes all that comes."""
        self._is_paused = True
        if self.connections is not None:
            self.connections.is_behind = True
        self._edge.pause()

    def resume(self) -> None:
        """Take messages again."""
        self._is_paused = False
        if not self.is_closed:
            self._edge.resume()

    def close(self, linger: float = 0.0) -> None:
        """End all connections; what was sent and is still here gets ``linger`` seconds to go out."""
        if self.is_closed:
            return
        self.is_closed = True
        self._edge.pause()
        for timer in (self._retry, self._sweep):
            if timer is not None:
                timer.cancel()
        if self._monitor is not None:
            self._monitor.close()
        self._release(round(linger * 1_000))

    def _release(self, linger: int) -> None:
        self._socket.close(linger)
        if self._doorkeeper is None:
            return
        self._doorkeeper.close()
        if linger:  # ending a context waits for that
            threading.Thread(target=self._context.term, daemon=True).start()
        else:
            self._context.term()

    # --- in the event loop ---------------------------------------------------------------------------------

    def _turn(self) -> bool:
        """Take what there is, if that is not too much for one turn; whether there may be more."""
        self._is_in_turn = True
        try:
            if self._is_blocked:
                self._unblock()
            elif self._has_sent and self._is_empty():
                return False
            return not self.is_closed and self._take()
        finally:
            self._is_in_turn = False

    def _take(self) -> bool:
        batch, is_empty = self._inbox.take()
        for identity in self._inbox.flooders:
            self.floods += 1
            if self._on_flood is not None:
                self._on_flood(identity)
        if batch:
            self._on_batch(batch)
        if self.connections is not None:
            self._note_links(is_empty=is_empty)
        if self.is_closed or (is_empty and not self._has_sent):
            return False
        return not (self._is_empty() and is_empty)

    def _is_empty(self) -> bool:
        """Whether no message is there. Sending may have swallowed the news of one."""
        self._has_sent = False
        return not self._get(EVENTS) & POLLIN

    # --- connections ---------------------------------------------------------------------------------------

    def _link_turn(self) -> bool:
        """Something happened to a connection. What came of it before is taken first."""
        if self.connections is None or self._is_paused:
            self._note_links(is_empty=False)
        elif not self.is_closed and self._take():
            self._edge.soon()
        return self._monitor is not None and self._monitor.has_more

    def _note_links(self, *, is_empty: bool) -> None:
        """See what happened to connections, and say so: what is alike and in a row, once."""
        monitor, connections = self._monitor, self.connections
        if monitor is None or self.is_closed:
            return
        notices: list[LinkEvent] = []
        if monitor.has_more:
            now = self._loop.time()
            for event, number in monitor.take():
                if notices[-1:] != [event]:
                    notices.append(event)
                if connections is None:
                    continue
                if event is LinkEvent.ACCEPTED:
                    connections.accepted(number, now)
                elif event is LinkEvent.DISCONNECTED and connections.ended(number, now):
                    self._deaf_until = now + SETTLE_SECONDS
                    if self._sweep is None:
                        self._sweep = self._loop.call_later(2 * SETTLE_SECONDS, self._look_for_deaf)
        if connections is not None:
            connections.took(self._inbox.taken, is_empty=is_empty and not self._is_paused)
            self._inbox.taken = {}
            if LinkEvent.DISCONNECTED in notices:
                self._edge.soon()  # their last messages may have come since we looked
        for event in notices:
            notice = self._on_link.get(event)
            if notice is not None and not self.is_closed:  # by one of those who were told
                notice()

    def _look_for_deaf(self) -> None:
        """End connections that may be ignored, once the identities of those that ended are free."""
        connections = self.connections
        assert connections is not None
        now = self._loop.time()
        self._sweep = None
        settled = now - HEARD_SECONDS
        if connections.is_behind:  # an identity is kept until the last message under it was taken
            self._deaf_until = now + SETTLE_SECONDS
            has_more = True
        else:
            has_more = connections.end_unheard(min(self._deaf_until, settled))
        if has_more or self._deaf_until > settled:
            self._sweep = self._loop.call_later(2 * SETTLE_SECONDS, self._look_for_deaf)

    # --- when a queue is full ------------------------------------------------------------------------------

    def _not_sent(self, exc: zmq.ZMQError, parts: Sequence[bytes], done: int) -> Sent:
        if exc.errno == errno.EHOSTUNREACH or self.is_closed:
            return Sent.UNREACHABLE
        if exc.errno != errno.EAGAIN:
            raise exc
        if done:
            # The connection ended in the middle of it: the rest is thrown away, and has to be given for that.
            for at in range(done + 1, len(parts)):
                self._send(parts[at], LAST if at == len(parts) - 1 else MORE)
        self._is_blocked = True
        if self._retry is None and self._on_writable is not None:
            self._retry = self._loop.call_later(TRY_AGAIN_SECONDS, self._unblock)
        return Sent.AGAIN

    def _unblock(self) -> None:
        self._is_blocked = False
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._on_writable is not None:
            self._on_writable()
