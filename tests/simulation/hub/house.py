"""The hub's process: the switch, and what its owner does with what it says; as the runtime, but plain."""

from collections import Counter, deque
from collections.abc import Callable
from math import inf
from typing import Any

from framehub.hub.numbers import FIRST_V2
from framehub.hub.parties import Instance
from framehub.hub.settings import HubSettings
from framehub.hub.switch import Switch
from tests.simulation.hub import wire
from tests.simulation.hub.answering import Answering
from tests.simulation.hub.asking import Asking
from tests.simulation.hub.book import Book
from tests.simulation.hub.people import Caller
from tests.simulation.hub.plan import Plan
from tests.simulation.hub.sockets import Socket
from tests.simulation.hub.telling import Telling
from tests.simulation.rpc.ledger import Broken
from tests.simulation.rpc.network import Conn, Router, Sent, Timeline
from tests.simulation.rpc.process import Process

ROUNDS = 100
"""So often what cannot be sent may change what there is to send."""


class _Router(Router):
    """Tells the ledger, and only it, whose connection has ended."""

    tell: Callable[[bytes], None]

    def forget(self, conn: Conn) -> None:
        if self.routes.get(conn.identity) is conn:
            self.tell(conn.identity)
        super().forget(conn)


class House(Process):
    """One life of the hub."""

    def __init__(
        self, time: Timeline, plan: Plan, counts: Counter[str], watch: Callable[["House"], None]
    ) -> None:
        super().__init__(time, "hub")
        self.settings: HubSettings = plan.settings
        self.plan = plan
        self.counts = counts
        self.switch = Switch(plan.settings, now=time.now)
        numbers = self.switch._board.numbers
        numbers._fresh, numbers._next = plan.first_v1, plan.first_v2
        self.book = Book(plan.settings, counts, time.now, first_v1=plan.first_v1)
        self.asking = Asking(self.book)
        self.answering = Answering(self.book)
        self.telling = Telling(self.book)
        self.router = _Router(
            time,
            2 * plan.delay,
            lambda *said: self.do(self._service_says, *said),
            lambda: self.do(self._disconnected),
        )
        self.router.tell = lambda identity: self.do(self.book.broken, identity)
        self.sockets: dict[Socket, None] = {}
        self.fail_next = False
        """The next frame of a client finds a fault of ours."""
        self._watch = watch
        self._flush_at = inf
        self._retry_at = inf
        self._links = 0

    # --- clients ---------------------------------------------------------------------------------------

    def accept(self, socket: Socket, version: int, user: int) -> None:
        """A WebSocket was opened."""
        self.flush()
        now = self.time.now
        self._links += 1
        socket.inbox = deque()
        caller = socket.caller = Caller(f"{socket.peer}.{self._links}", version, user, self.settings, now)
        self.book.joined(caller)
        link = self._links.to_bytes(4, "big")
        socket.handle = self.switch.client_joined(link, version, user, socket, now)
        self.sockets[socket] = None

    def arrives(self, socket: Socket, data: bytes) -> None:
        """A message of a client's is there to be read."""
        if self.stopped or socket.inbox or not self._is_read(socket):
            socket.inbox.append(data)
        elif self.alive:
            self._client_says(socket, data)

    def _is_read(self, socket: Socket) -> bool:
        handle = socket.handle
        return not (handle.is_paused or (handle.is_full and self.plan.stops_reading))

    def read(self, socket: Socket) -> None:
        """Read what has arrived, as long as it is read at all."""
        while socket.inbox and not socket.closed and self._is_read(socket):
            self._client_says(socket, socket.inbox.popleft())

    def _client_says(self, socket: Socket, data: bytes) -> None:
        if socket.closed or not self.alive:
            return
        caller, switch, now = socket.caller, self.switch, self.time.now
        if self.fail_next and (stream := switch.stream_of(socket.handle, data)) is not None:
            self.fail_next = False
            self.flush()
            talk = caller.talks[stream.id]
            if talk.why is None and not stream.is_over:
                self.counts["failures"] += 1
                self.asking.failed(caller, talk, now)
                switch.fail(stream, now)
                self.flush()
                return
        wanted = self.asking.before(caller, data, now, held=switch.held_bytes)
        about = switch.client_says(socket.handle, data, now)
        self.asking.after(caller, wanted, about, now)
        self._soon()

    def link_full(self, socket: Socket) -> None:
        """The client does not keep up."""
        socket.handle.is_full = socket.caller.full = True
        self.counts["links full"] += 1

    def link_ready(self, socket: Socket) -> None:
        """It does again."""
        handle, caller = socket.handle, socket.caller
        if socket.closed or caller.gone or not handle.is_full:
            return
        self.flush()
        handle.is_full = caller.full = False
        self.book.touched[caller] = None
        while not handle.is_full:
            item = self.switch.next_held(handle)
            if item is None:
                break
            data, stream = item
            stream.last = self.time.now  # it was not idle as long as something waited
            self.telling.client_gets(caller, data, self.time.now, waited=True)
            socket.down(data)
        self.flush()
        self.read(socket)

    def lost(self, socket: Socket) -> None:
        """A WebSocket is gone."""
        if self.sockets.pop(socket, self) is self:
            return
        self.flush()
        socket.closed = True
        socket.inbox.clear()
        self.book.left(socket.caller, self.time.now)
        self.switch.client_left(socket.handle, self.time.now)
        self.flush()

    # --- services --------------------------------------------------------------------------------------

    def _service_says(self, identity: bytes, parts: list[bytes]) -> None:
        wanted = self.answering.before(identity, parts, self.time.now)
        about = self.switch.service_says(identity, parts, self.time.now)
        self.answering.after(identity, wanted, about)
        self._soon()

    def _disconnected(self) -> None:
        self.flush()
        self.telling.disconnected(self.time.now)
        self.switch.service_disconnected(self.time.now)
        self.flush()

    def retry(self) -> None:
        """Perhaps the ROUTER takes more now."""
        if not self.alive or not self.switch.stuck:
            return
        now = self.time.now
        for instance in list(self.switch.stuck.values()):
            while instance.held:
                data = instance.held[0][0]
                sent = self.router.send(instance.identity, [data])
                if sent is Sent.OK:
                    self.telling.server_gets(instance, data, now)
                    self.switch.sent(instance)
                elif sent is Sent.UNREACHABLE:
                    self._unreachable(instance)
                    break
                else:
                    self._retry_later(instance)
                    break
        self.flush()

    def _unreachable(self, instance: Instance) -> None:
        self.counts["sends to services unreachable"] += 1
        self.telling.unreachable(instance, self.time.now)
        self.switch.service_gone(instance, self.time.now)

    def _retry_later(self, instance: Instance) -> None:
        conn = self.router.routes[instance.identity]
        if conn.blocked_until < self._retry_at:
            self._retry_at = conn.blocked_until
            self.time.at(conn.blocked_until, self._retried, self._retry_at)

    def _retried(self, at: float) -> None:
        if at == self._retry_at:
            self._retry_at = inf
        self.do(self.retry)

    # --- the clock -------------------------------------------------------------------------------------

    def tick(self) -> None:
        self.flush()
        now = self.time.now
        self.book.before_tick(now)
        self.switch.tick(now)
        self.flush()
        self.retry()
        self.book.after_tick(now)

    def go_round(self) -> None:
        """Its numbers begin again at the first one."""
        self.flush()
        self.switch._board.numbers._next = FIRST_V2
        self.book.go_round()

    def drain(self) -> None:
        self.flush()
        self.book.draining = True
        self.switch.drain()

    def resume(self) -> None:
        """It runs again: what has arrived meanwhile is read, and the clock is looked at, in any order."""
        super().resume()
        for socket in list(self.sockets):
            self.read(socket)

    def die(self) -> None:
        self.alive = False
        self.router.close()
        for socket in list(self.sockets):
            socket.cut(hub=0.0, client=0.01 + 0.3 * self.time.rng.random())

    # --- saying ----------------------------------------------------------------------------------------

    def _soon(self) -> None:
        """Send what there is to say now, or with what comes in the next moments."""
        if not self.plan.batch:
            self.flush()
        elif self._flush_at == inf:
            self._flush_at = self.time.now + self.plan.batch
            self.time.at(self._flush_at, self.do, self._flush_soon)

    def _flush_soon(self) -> None:
        if self._flush_at <= self.time.now:
            self.flush()

    def flush(self) -> None:
        """Do what the switch says, until it says nothing more."""
        switch = self.switch
        self._flush_at = inf
        for _ in range(ROUNDS):
            if switch.to_clients:
                self._to_clients()
            if switch.changes:
                self._announce()
            if switch.to_services:
                self._to_services()
            if switch.to_close:
                self._to_close()
            if switch.to_pause or switch.to_resume:
                self._pauses()
            if not (switch.to_clients or switch.to_services or switch.changes):
                break
        else:
            raise Broken("HINV-11", "the hub does not come to an end of saying")
        self.book.settle(self.time.now)
        self._watch(self)

    def _announce(self) -> None:
        changes = self.switch.changes[:]
        self.switch.changes.clear()
        for here, instance in changes:
            self.telling.announced(here, instance, self.time.now)

    def _to_clients(self) -> None:
        switch, telling, now = self.switch, self.telling, self.time.now
        entries = switch.to_clients[:]
        switch.to_clients.clear()
        for client, data, stream in entries:
            socket: Any = client.owner
            caller = socket.caller
            telling.says_to_client(caller, data, now)
            if socket.closed:
                continue
            waits = client.is_full or bool(client.held)
            if waits and stream is not None and stream.is_cut and not self.plan.ends_wait:
                waits = False
                if wire.read(data, client.version)[1] not in (wire.ERROR, wire.COMMAND):
                    continue
            if waits and stream is not None:
                telling.client_waits(caller, data)
                switch.hold(client, data, stream, now)
                self._overhear()
            else:
                telling.client_gets(caller, data, now)
                socket.down(data)

    def _to_services(self) -> None:
        switch, telling, now = self.switch, self.telling, self.time.now
        entries = switch.to_services[:]
        switch.to_services.clear()
        for instance, data, stream in entries:
            identity = instance.identity
            if instance.is_gone or switch.is_late(instance, data, stream):
                continue
            telling.says_to_server(instance, data, now)
            sent = Sent.BLOCKED if instance.held else self.router.send(identity, [data])
            if sent is Sent.OK:
                telling.server_gets(instance, data, now)
            elif sent is Sent.UNREACHABLE:
                self._unreachable(instance)
            else:
                self.counts["sends to services blocked"] += 1
                telling.server_waits(instance, data, now)
                switch.hold_for_service(instance, data, stream, now)
                self._overhear()
                if identity in self.router.routes:
                    self._retry_later(instance)

    def _overhear(self) -> None:
        """What could not be sent may have ended its stream: the ledger is to know before anything else."""
        for client, data, _ in self.switch.to_clients:
            socket: Any = client.owner
            self.telling.says_to_client(socket.caller, data, self.time.now)

    def _to_close(self) -> None:
        closing = self.switch.to_close[:]
        self.switch.to_close.clear()
        for client, code, _ in closing:
            socket: Any = client.owner
            self.telling.closes(socket.caller, code, self.time.now)
            if not socket.closed:
                socket.close(self.time.rng.random())

    def _pauses(self) -> None:
        """Whoever was paused and resumed meanwhile is what it is now."""
        switch = self.switch
        changed = dict.fromkeys((*switch.to_pause, *switch.to_resume))
        switch.to_pause.clear()
        switch.to_resume.clear()
        for client in changed:
            socket: Any = client.owner
            self.telling.pauses(socket.caller, paused=client.is_paused)
            if not client.is_paused:
                self.time.at(self.time.now, self.do, self.read, socket)
