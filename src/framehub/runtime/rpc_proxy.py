"""The proxy at work: two ROUTERs, the machine between them, and what it has to write down."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Final

from framehub.errors import JournalError
from framehub.journal.record import NO_ID
from framehub.journal.rpc_rows import Side
from framehub.rpc.jobs import Job
from framehub.rpc.keeping import Sending
from framehub.rpc.messages import Way, room
from framehub.rpc.proxy import Proxy
from framehub.rpc.settings import ProxySettings
from framehub.runtime.curve import CurveServer
from framehub.runtime.endings import CallEndings
from framehub.runtime.rpc_keys import KeyBook
from framehub.runtime.rpc_state import ProxyState
from framehub.runtime.rpc_tap import RpcTap
from framehub.runtime.tally import Tally
from framehub.runtime.watchdog import CUT_OFF, LOOK, Watchdog
from framehub.runtime.zmq_setup import Options
from framehub.runtime.zmq_socket import MessageSocket, Sent

log = logging.getLogger("framehub.rpc")

TICK: Final = 0.25
BY: Final = 32
"""Messages after which what they gave is sent, so that the others work while we do."""
TELL_EVERY: Final = 10.0
"""What was ignored or refused is counted, and told in one line each so many seconds."""
_OK: Final = Sent.OK

Heard = Callable[[list[bytes], Job | None], None]
"""What a caller inside this process is told: a message to it, and the query that it is about."""


class RpcProxy:
    """``start`` it, ``close`` it."""

    def __init__(
        self,
        *,
        clients: str,
        workers: str,
        settings: ProxySettings | None = None,
        state: ProxyState | None = None,
        tap: RpcTap | None = None,
        client_keys: CurveServer | None = None,
        worker_keys: CurveServer | None = None,
        options: Options | None = None,
        on_failure: Callable[[JournalError], None] = lambda _error: None,
    ) -> None:
        """Addresses are ZeroMQ's, ``tcp://HOST:PORT``; port 0 picks a free one."""
        self.clients_address = clients
        self.workers_address = workers
        self._settings = settings or ProxySettings()
        self._state = state or ProxyState(None)
        self._tap = tap
        self._keys: dict[Side, CurveServer | None] = {"client": client_keys, "worker": worker_keys}
        self._books: dict[Side, KeyBook | None] = {
            side: KeyBook() if keys else None for side, keys in self._keys.items()
        }
        self._options = options
        self._on_failure = on_failure
        self._insiders: dict[bytes, tuple[bytes, Heard]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._endings: CallEndings | None = None
        self._paused = False
        self._failed = False
        self.is_up = False
        """Whether both sockets are bound."""
        self._told: Counter[str] = Counter()
        self._tell_at = 0.0

    async def start(self) -> None:
        """Bind both sockets.

        Raises:
            ConfigError: an address cannot be had.
        """
        state = self._state
        now = monotonic()
        self.machine = Proxy(
            self._settings, key=state.key, now=now, missing=state.roster, begun_before=state.begun
        )
        self._clients = self._socket("client", self._from_clients)
        try:
            self._workers = self._socket("worker", self._from_workers)
            try:
                self.clients_address = self._clients.bind(self.clients_address)
                self.workers_address = self._workers.bind(self.workers_address)
            except BaseException:
                self._workers.close()
                raise
        except BaseException:
            self._clients.close()
            self._state.close()
            raise
        self.is_up = True
        sockets = (self._clients.connections, self._workers.connections)
        self.watchdog = Watchdog(sockets, lambda: self.machine.held_bytes, self._options)
        self._tick()
        self._look()

    @property
    def pending(self) -> int:
        """Queries without an answer."""
        return self.machine.pending

    def counted(self) -> Tally:
        """How calls ended, by function, from the first time on that somebody wants to know."""
        if self._endings is None:
            self._endings = CallEndings(self.machine)
        return self._endings.tally

    def pause(self) -> None:
        """Stop reading: what is recorded cannot be written as fast as it comes."""
        if not self._paused and self.is_up:
            self._paused = True
            self._clients.pause()
            self._workers.pause()

    def resume(self) -> None:
        """Read again."""
        if self._paused:
            self._paused = False
            self._clients.resume()
            self._workers.resume()

    def drain(self) -> None:
        """Take no new queries."""
        self.machine.drain()

    def close(self) -> None:
        """End all connections. Workers and clients that are left try again until another proxy is there."""
        self.is_up = False
        for timer in (self._timer, self._looking):
            if timer is not None:
                timer.cancel()
        if not self.machine.pending:
            self._save_roster([])  # nobody has anything of ours: the next proxy need not wait for them
        self._clients.close()
        self._workers.close()
        self._state.close()

    # --- callers inside this process -------------------------------------------------------------------

    def admit(self, identity: bytes, link: bytes, heard: Heard) -> None:
        """A client without a socket: what is for this identity goes to ``heard``; no socket can have it."""
        assert identity[0] == 0
        assert len(identity) != 5, "ZeroMQ makes such identities itself"
        self._insiders[identity] = (link, heard)

    def dismiss(self, identity: bytes) -> None:
        """It hears nothing more."""
        self._insiders.pop(identity, None)

    def tell(self, identity: bytes, parts: list[bytes], *, parent: bytes = NO_ID) -> None:
        """Take a message of such a client's."""
        about = self.machine.client_says(identity, parts, monotonic(), parent=parent)
        if self._tap is not None:
            self._tap.came("client", identity, parts, about, self._insiders[identity][0])
        self._flush()

    # --- what comes ------------------------------------------------------------------------------------

    def _socket(self, side: Side, on_batch: Callable[[list[list[bytes]]], None]) -> MessageSocket:
        return MessageSocket(
            "router",
            on_batch,
            curve=self._keys[side],
            options=self._options,
            room=room(Way.CLIENT_TO_PROXY if side == "client" else Way.WORKER_TO_PROXY),
            on_disconnect=self._worker_left if side == "worker" else None,
            on_flood=lambda identity: self._flooded(side, identity),
        )

    def _from_clients(self, batch: list[list[bytes]]) -> None:
        self._handle("client", self.machine.client_says, self._clients, batch)

    def _from_workers(self, batch: list[list[bytes]]) -> None:
        self._handle("worker", self.machine.worker_says, self._workers, batch)

    def _handle(
        self,
        side: Side,
        says: Callable[..., Job | str | None],
        socket: MessageSocket,
        batch: list[list[bytes]],
    ) -> None:
        now = monotonic()
        tap, book = self._tap, self._books[side]
        if book is not None:
            count = len(batch)
            batch = book.rightful(batch, socket.senders, now)
            if len(batch) < count:
                self.machine.counts[f"under another {side}'s identity"] += count - len(batch)
        for at, message in enumerate(batch, 1):
            identity = message.pop(0)
            about = says(identity, message, now)
            if tap is not None:
                tap.came(side, identity, message, about)
            if not at % BY:
                self._flush()
        self._flush()

    def _flooded(self, side: Side, identity: bytes) -> None:
        self.machine.counts[f"too many parts or bytes from a {side}"] += 1
        if self._tap is not None:
            self._tap.flooded(side, identity)

    def _worker_left(self) -> None:
        self.machine.worker_disconnected(monotonic())
        self._flush()

    def _tick(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(TICK, self._tick)
        now = monotonic()
        if not self._paused:
            self.machine.tick(now)
            self._flush()
        if now >= self._tell_at and self._told != self.machine.counts:
            self._tell_at = now + TELL_EVERY
            news = self.machine.counts - self._told
            self._told = self.machine.counts.copy()
            log.info("%s", ", ".join(f"{what}: {count}" for what, count in sorted(news.items())))

    def _look(self) -> None:
        """Once in a while: who fills the memory?"""
        self._looking = asyncio.get_running_loop().call_later(LOOK, self._look)
        before = self.watchdog.cut_off
        self.watchdog.look(monotonic())
        if self.watchdog.cut_off > before:
            self.machine.counts[CUT_OFF] += self.watchdog.cut_off - before

    # --- what goes -------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Send all there is to send; what cannot be sent may change what there is to send."""
        machine = self.machine
        while machine.to_workers or machine.to_clients or machine.working.roster_changed:
            if machine.working.roster_changed:  # before anybody has a query: a restart waits for these
                machine.working.roster_changed = False
                self._save_roster(machine.roster)
            if machine.placing.to_note:
                self._note()
            if machine.to_workers:
                self._send_to_workers(machine.to_workers[:])
            if machine.to_clients:
                self._send_to_clients(machine.to_clients[:])
        if machine.placing.poisonous:
            self._quarantine()
        if self._endings is not None:
            self._endings.take()

    def _send_to_workers(self, sending: Sending) -> None:
        self.machine.to_workers.clear()
        unreachable: Sending = []
        blocked: Sending = []
        send_to, tap = self._workers.send_to, self._tap
        for item in sending:
            identity, parts, job = item
            sent = send_to(identity, parts)
            if sent is _OK:
                if tap is not None:
                    tap.went("worker", identity, parts, job)
            else:
                (unreachable if sent is Sent.UNREACHABLE else blocked).append(item)
        if unreachable or blocked:
            self.machine.undelivered(unreachable, blocked, monotonic())

    def _send_to_clients(self, sending: Sending) -> None:
        self.machine.to_clients.clear()
        send_to, tap, insiders = self._clients.send_to, self._tap, self._insiders
        blocked: Sending = []
        for identity, parts, job in sending:
            link = None
            if identity[0] == 0 and identity in insiders:
                link, heard = insiders[identity]
                heard(parts, job)
            else:
                sent = send_to(identity, parts)
                if sent is not _OK:
                    if sent is Sent.AGAIN:
                        blocked.append((identity, parts, job))
                    continue
            if tap is not None:
                tap.went("client", identity, parts, job, link)
        if blocked:
            self.machine.untold(blocked)

    # --- what is written down --------------------------------------------------------------------------

    def _note(self) -> None:
        wids = self.machine.placing.to_note[:]
        self.machine.placing.to_note.clear()
        try:
            self._state.note(wids)
        except JournalError as exc:
            self._fail(exc)

    def _save_roster(self, identities: list[bytes]) -> None:
        try:
            self._state.save_roster(identities)
        except JournalError as exc:
            self._fail(exc)

    def _fail(self, error: JournalError) -> None:
        if not self._failed:
            self._failed = True
            self._on_failure(error)

    def _quarantine(self) -> None:
        for job, argument in self.machine.placing.poisonous:
            name = job.function.decode(errors="replace")
            place = self._state.quarantine(job.wid, name, argument, job.deaths)
            killed = f"killed {job.deaths} processes or workers"
            log.error("query %s of %r %s; kept in %s", job.wid.hex(), name, killed, place)
        self.machine.placing.poisonous.clear()
