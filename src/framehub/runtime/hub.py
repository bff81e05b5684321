"""The hub at work: one ROUTER for services, the switch, and clients on WebSockets or inside this process."""

import asyncio
import logging
import secrets
from time import monotonic
from typing import Final, cast

from framehub.codes import CloseCode, HubError, HubState
from framehub.hub.board import ENDINGS
from framehub.hub.headers import HEADER_BYTES, HubFrame, Way, encode, stream_and_state
from framehub.hub.parties import Client, Stream
from framehub.hub.settings import HubSettings
from framehub.hub.switch import About, Switch
from framehub.journal.record import NO_ID
from framehub.runtime.curve import CurveServer
from framehub.runtime.endings import StreamEndings
from framehub.runtime.entrance import HubEntrance
from framehub.runtime.hub_link import HubLink, Outlet
from framehub.runtime.hub_news import News
from framehub.runtime.hub_out import ServiceOutbox
from framehub.runtime.hub_tap import HubTap
from framehub.runtime.link import Link
from framehub.runtime.rpc_keys import KeyBook
from framehub.runtime.tally import Tally
from framehub.runtime.watchdog import CUT_OFF, LOOK, Watchdog
from framehub.runtime.zmq_setup import Options
from framehub.runtime.zmq_socket import MessageSocket

log = logging.getLogger("framehub.hub")

TICK: Final = 0.25
BY: Final = 32
"""Frames after which what they gave is sent, so that the others work while we do."""
MOST_PARTS: Final = 8
"""Of a service's message, its identity among them: two are right, more are refused, of these not all read."""
TURN_BYTES: Final = 256 * 1024
"""Received from services before clients have their turn: what a fast one takes in that time need not wait."""
GOODBYE_SECONDS: Final = 2.0
"""What clients have to go when the hub is closed; what was last said to services has half of it."""


class Hub:
    """``start`` it, ``close`` it; ``entrance`` is for the listener that its WebSockets come to."""

    def __init__(
        self,
        *,
        services: str,
        settings: HubSettings | None = None,
        tap: HubTap | None = None,
        keys: CurveServer | None = None,
        options: Options | None = None,
    ) -> None:
        """``services`` is ZeroMQ's address, ``tcp://HOST:PORT``; port 0 picks a free one."""
        self.address = services
        self.settings = settings or HubSettings()
        self.is_up = False
        """Whether the socket is bound."""
        self._tap = tap
        self._keys = keys
        self._book = KeyBook() if keys else None
        self._options = options or Options(max_parts=MOST_PARTS, turn_bytes=TURN_BYTES)
        self.entrance = HubEntrance(
            self.own, max_bytes=self.settings.max_frame_bytes, max_sent=self._options.max_message_bytes
        )
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._endings: StreamEndings | None = None
        self._paused = False
        self._is_due = False
        self._is_flushing = False

    async def start(self) -> None:
        """Bind the socket.

        Raises:
            ConfigError: the address cannot be had.
        """
        self._loop = asyncio.get_running_loop()
        self.switch = Switch(self.settings, now=monotonic())
        self._news = News(self.switch.counts)
        self._to_clients = self.switch.to_clients
        self._to_services = self.switch.to_services
        self._socket = MessageSocket(
            "router",
            self._from_services,
            curve=self._keys,
            options=self._options,
            on_disconnect=self._service_left,
            on_writable=self._writable,
            on_flood=self._flooded,
        )
        self._outbox = ServiceOutbox(self.switch, self._socket, self._tap)
        try:
            self.address = self._socket.bind(self.address)
        except BaseException:
            self._socket.close()
            raise
        self.is_up = True
        self.watchdog = Watchdog([self._socket.connections], lambda: self.switch.held_bytes, self._options)
        self._tick()
        self._look()

    @property
    def pending(self) -> int:
        """Streams that are open."""
        return len(self.switch.streams) if self.is_up else 0

    def counted(self) -> Tally:
        """How streams ended, by service and function, from the first time on that somebody wants to know."""
        if self._endings is None:
            self._endings = StreamEndings(self.switch)
        return self._endings.tally

    def pause(self) -> None:
        """Stop reading: what is recorded cannot be written as fast as it comes."""
        if not self._paused and self.is_up:
            self._paused = True
            self._socket.pause()
            for client in self.switch.clients:
                _outlet(client).pause("journal")

    def resume(self) -> None:
        """Read again."""
        if self._paused:
            self._paused = False
            self._socket.resume()
            for client in self.switch.clients:
                _outlet(client).resume("journal")

    def drain(self) -> None:
        """Open no new streams."""
        self.switch.drain()

    async def close(self) -> None:
        """Say goodbye to clients, tell services that they have gone, and end all connections."""
        if not self.is_up:
            return
        for timer in (self._timer, self._looking):
            if timer is not None:
                timer.cancel()
        switch = self.switch
        for client in list(switch.clients):
            _outlet(client).close(CloseCode.GOING_AWAY, "the gateway stops")
        until = self._loop.time() + GOODBYE_SECONDS
        while switch.clients and self._loop.time() < until:  # noqa: ASYNC110 (they go by themselves)
            await asyncio.sleep(0.01)
        for client in list(switch.clients):
            self.left(client, CloseCode.GOING_AWAY, "the gateway stops")
        self._flush()
        self.is_up = False
        if self._tap is not None:
            self._tap.close()
        self._socket.close(linger=GOODBYE_SECONDS / 2)

    # --- clients ---------------------------------------------------------------------------------------

    def own(self, link: Link, *, version: int, user: int) -> HubLink:
        """A WebSocket is open: somebody joins."""
        client = self.join(link, version=version, user=user)
        return HubLink(self, link, client)

    def join(self, outlet: Outlet, *, version: int = 2, user: int = 0) -> Client:
        """Somebody joins whose frames come by ``says``; what is for them goes to ``outlet``."""
        client = self.switch.client_joined(secrets.token_bytes(8), version, user, outlet, monotonic())
        if self._tap is not None:
            self._tap.joined(client)
        if self._paused:
            outlet.pause("journal")
        return client

    def says(self, client: Client, data: bytes | memoryview, *, parent: bytes = NO_ID) -> About:
        """Take a client's frame. What comes of it goes out soon, with what comes of others; where it is
        recorded, at once, so that rows stand in the order in which things happened.
        """
        try:
            about = self.switch.client_says(client, data, monotonic())
        except Exception:
            about = self._failed(client, bytes(data))
        if self._tap is not None:
            self._tap.client_said(client, data, about, parent)
            self._flush()
        elif not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._flush_soon)
        elif len(self._to_services) >= BY:
            self._flush()
        return about

    def left(self, client: Client, code: int, reason: str) -> None:
        """A client has gone."""
        if client.is_gone:
            return
        self._flush()
        if self._tap is not None:
            self._tap.left(client, code, reason)
        self.switch.client_left(client, monotonic())
        self._flush()

    def caught_up(self, client: Client) -> None:
        """A client's link takes frames again: what waited for it goes first."""
        switch, outlet, tap = self.switch, _outlet(client), self._tap
        while not client.is_full and (item := switch.next_held(client)) is not None:
            data, stream = item
            stream.last = monotonic()  # it was not idle as long as something waited
            if outlet.send(data) and tap is not None:
                tap.told_client(client, data, stream)

    # --- what comes from services ----------------------------------------------------------------------

    def _from_services(self, batch: list[list[bytes]]) -> None:
        self._flush()  # what clients said before
        switch, tap, now = self.switch, self._tap, monotonic()
        if self._book is not None:
            came, batch = batch, self._book.rightful(batch, self._socket.senders, now)
            if len(batch) < len(came):
                self._usurped(came, batch, now)
        says = switch.service_says
        for at, message in enumerate(batch, 1):
            identity = message.pop(0)
            try:
                about = says(identity, message, now)
            except Exception:
                about = self._failed_service(identity, message)
            if about is None and self._outbox.heard(identity, message[0]):
                self._loop.call_soon(self._writable)
            if tap is not None:
                self._note_changes()
                tap.service_said(identity, message, about, switch.instances.get(identity))
                self._flush()
            elif not at % BY:
                self._flush()
        self._flush()

    def _usurped(self, came: list[list[bytes]], rightful: list[list[bytes]], now: float) -> None:
        """Somebody has an identity that is another key's: whoever had it is not connected any more."""
        self.switch.counts["under another service's identity"] += len(came) - len(rightful)
        kept = set(map(id, rightful))
        for identity in {message[0] for message in came if id(message) not in kept}:
            instance = self.switch.instances.get(identity)
            if instance is not None:
                self.switch.service_gone(instance, now)
        self._flush()

    def _flooded(self, identity: bytes) -> None:
        """Its message had so many parts that they were not all kept."""
        self._from_services([[identity, *[b""] * MOST_PARTS]])

    def _service_left(self) -> None:
        self._flush()
        self.switch.service_disconnected(monotonic())
        self._flush()

    def _tick(self) -> None:
        self._timer = self._loop.call_later(TICK, self._tick)
        now = monotonic()
        if not self._paused:
            self._flush()
            self.switch.tick(now)
            self._flush()
        self._news.tick(now)

    def _look(self) -> None:
        """Once in a while: who fills the memory?"""
        self._looking = self._loop.call_later(LOOK, self._look)
        before = self.watchdog.cut_off
        self.watchdog.look(monotonic())
        if self.watchdog.cut_off > before:
            self.switch.counts[CUT_OFF] += self.watchdog.cut_off - before

    # --- what goes -------------------------------------------------------------------------------------

    def _flush_soon(self) -> None:
        self._is_due = False
        self._flush()

    def _flush(self) -> None:
        """Do all there is to do; what cannot be sent may change what there is to do."""
        if self._is_flushing:
            return
        self._is_flushing = True
        switch = self.switch
        try:
            while True:
                if self._to_clients:
                    self._send_to_clients()
                elif self._to_services:
                    self._outbox.send_all()
                elif switch.to_pause or switch.to_resume or switch.to_close:
                    self._attend()
                else:
                    break
            if switch.changes:
                self._note_changes()
            if self._endings is not None:
                self._endings.take()
        finally:
            self._is_flushing = False

    def _send_to_clients(self) -> None:
        sending = self._to_clients[:]
        self._to_clients.clear()
        tap, hold = self._tap, self.switch.hold
        for client, data, stream in sending:
            try:
                waits = client.is_full or client.held
                if stream is not None and waits and not stream.is_cut:
                    hold(client, data, stream, monotonic())
                elif waits and stream_and_state(data, client.version)[1] not in ENDINGS:
                    continue  # of a stream that was killed: what came before it is lost, and no gap is to be
                elif not client.is_gone and client.owner.send(data) and tap is not None:  # type: ignore[attr-defined]
                    tap.told_client(client, data, stream)
            except Exception:
                self._failed_with(stream)

    def _writable(self) -> None:
        """Some service may take something again."""
        self._outbox.send_held()
        self._flush()

    def _attend(self) -> None:
        """Stop or go on reading clients, or send them away."""
        switch = self.switch
        changed = [*switch.to_pause, *switch.to_resume]
        switch.to_pause.clear()
        switch.to_resume.clear()
        for client in changed:  # some perhaps more than once, and back: what holds now is what counts
            (_outlet(client).pause if client.is_paused else _outlet(client).resume)("behind")
        closing, switch.to_close[:] = switch.to_close[:], []
        for client, code, reason in closing:
            _outlet(client).close(code, reason)

    def _note_changes(self) -> None:
        changes = self.switch.changes
        if changes:
            for has_come, instance in changes:
                self._news.of_service(instance, monotonic(), has_come=has_come)
                self._outbox.forget(instance.identity)
                if self._tap is not None:
                    self._tap.changed(instance, has_come=has_come)
            changes.clear()

    # --- when something of ours goes wrong -------------------------------------------------------------

    def _failed(self, client: Client, data: bytes) -> str:
        """Of what a client said: its stream dies, and no other; there is an answer in any case."""
        log.exception("a frame of a client could not be handled; link %s", client.link.hex())
        stream = self.switch.stream_of(client, data)
        if stream is not None:
            self.switch.fail(stream, monotonic())
        elif len(data) >= HEADER_BYTES[client.version]:
            number = stream_and_state(data, client.version)[0]
            frame = HubFrame(number, HubState.STREAM_ERROR, HubError.INTERNAL, b"the hub failed")
            self._to_clients.append((client, encode(frame, client.version, Way.HUB_TO_CLIENT), None))
        return "internal: the hub failed"

    def _failed_service(self, identity: bytes, parts: list[bytes]) -> str:
        log.exception("a frame of a service could not be handled")
        instance = self.switch.instances.get(identity)
        if instance is not None and len(parts[0]) >= HEADER_BYTES[instance.version]:
            stream = instance.streams.get(stream_and_state(parts[0], instance.version)[0])
            if stream is not None:
                self.switch.fail(stream, monotonic())
        return "internal: the hub failed"

    def _failed_with(self, stream: Stream | None) -> None:
        log.exception("a frame could not be passed on")
        if stream is not None and stream.instance is not None:
            self.switch.fail(stream, monotonic())


def _outlet(client: Client) -> Outlet:
    return cast(Outlet, client.owner)
