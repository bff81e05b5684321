"""The hub between clients and services (spec/hub.md). Pure.

A switchboard: it is told who came, went and said what, and when; what is to be done stands in the lists
``to_clients``, ``to_services``, ``to_close``, ``to_pause``, ``to_resume`` and ``changes`` afterwards, which
its owner empties. Time comes in as ``now``; ``tick`` is called a few times a second.
"""

from typing import Final

from framehub.codes import CloseCode, HubError
from framehub.hub.board import ENDINGS, Board, Ended
from framehub.hub.from_clients import About, FromClients
from framehub.hub.from_services import FromServices
from framehub.hub.headers import HEADER_BYTES, stream_and_state
from framehub.hub.holding import Holding
from framehub.hub.parties import NEVER, Client, Instance, Stream
from framehub.hub.settings import HubSettings

__all__ = ["About", "Switch"]

LATE: Final = 1.0
"""When two looks at the clock are further apart than this, the time between was ours, not the peers'."""
ASK_SECONDS: Final = 0.2
"""Everybody is not asked for a sign of life more often than this, however many connections end."""
_LOOK_AT_CLIENTS: Final = 1.0


class Switch:
    """See the module. A frame that was taken is answered, or its stream ends and both sides know why."""

    def __init__(self, settings: HubSettings, *, now: float) -> None:
        self.settings = settings
        self._board = board = Board(settings, now)
        self._holding = Holding(board)
        self._services = FromServices(board, self._holding)
        self.clients = board.clients
        self.instances = board.instances
        """Registered services by identity."""
        self.offered = board.offered
        """Instances by the number of their service."""
        self.streams = board.streams
        """Open streams by the hub's own number."""
        self.stuck = board.stuck
        """Instances that something waits for."""
        self.to_clients = board.to_clients
        self.to_services = board.to_services
        self.to_close = board.to_close
        self.to_pause = board.to_pause
        self.to_resume = board.to_resume
        self.changes = board.changes
        self.counts = board.counts
        """What was refused or ended, how often."""
        self.client_says = FromClients(board).says
        self.service_says = self._services.says
        self.service_gone = self._services.gone
        self.hold = self._holding.hold
        self.next_held = self._holding.next_held
        self.hold_for_service = self._holding.hold_for_service
        self.sent = self._holding.sent
        self._ticked = now
        self._lenient_until = now
        self._looked = now
        self._asked_all = NEVER
        self._asked_epoch = 0

    @property
    def timers(self) -> int:
        """Streams whose silence is counted: all of them."""
        return len(self._board.timers)

    @property
    def held_bytes(self) -> int:
        """What waits for clients and services."""
        return self._board.held_bytes

    def endings(self) -> list[Ended]:
        """Where streams that are over are noted from now on; whoever asks for it empties it."""
        if self._board.ended is None:
            self._board.ended = []
        return self._board.ended

    # --- clients ---------------------------------------------------------------------------------------

    def client_joined(self, link: bytes, version: int, user: int, owner: object, now: float) -> Client:
        """Somebody connected."""
        client = Client(link, version, user, owner, now)
        self.clients.add(client)
        return client

    def client_left(self, client: Client, now: float) -> None:
        """Its connection is gone: so are its streams, and their services are told."""
        if client.is_gone:
            return
        client.is_gone = True
        self.clients.discard(client)
        self._board.lose_client(client, now)
        self._holding.forget(client)

    def is_late(self, instance: Instance, data: bytes, stream: Stream | None) -> bool:
        """Whether this is not to be sent to a service any more: what came before it was dropped since."""
        if stream is None or not stream.is_gapped:
            return False
        return stream_and_state(data, instance.version)[1] not in ENDINGS

    def stream_of(self, client: Client, data: bytes | memoryview) -> Stream | None:
        """The open stream that a frame of a client's names."""
        if len(data) < HEADER_BYTES[client.version]:
            return None
        return client.streams.get(stream_and_state(data, client.version)[0])

    # --- services --------------------------------------------------------------------------------------

    def service_named(self, name: str) -> Instance | None:
        """An instance that offers the service of this name; of several the one that came last."""
        staying = (one for one in reversed(self._board.named.get(name, ())) if not one.is_leaving)
        return next(staying, None)

    def service_disconnected(self, now: float) -> None:
        """Some service's connection has ended: sending to everybody shows whose."""
        self._board.epoch += 1
        if now - self._asked_all >= ASK_SECONDS:
            self._ask_all(now)

    def _ask_all(self, now: float) -> None:
        self._asked_all = now
        self._asked_epoch = self._board.epoch
        for instance in list(self.instances.values()):
            self._services.ping(instance, now)

    # --- all -------------------------------------------------------------------------------------------

    def drain(self) -> None:
        """Open no more streams."""
        self._board.is_draining = True

    def fail(self, stream: Stream, now: float) -> None:
        """Something of ours went wrong with this stream; it ends, and no other."""
        if not stream.is_over:
            self._board.kill(stream, HubError.INTERNAL, "the hub failed", now)

    def tick(self, now: float) -> None:
        """Look at the clock: what has timed out, who is silent, who takes nothing."""
        if now - self._ticked > LATE:
            # We were not there: first read what came meanwhile.
            self._lenient_until = now + LATE
        self._ticked = now
        lenient = now < self._lenient_until
        board = self._board
        for stream in board.timers.due(now):
            if stream.deadline > now or lenient:
                board.timers.add(stream, max(stream.deadline, self._lenient_until))
                continue
            what = "no answer" if stream.unanswered is not None else "nothing said"
            board.kill(stream, HubError.TIMEOUT, f"{what} for {stream.timeout:g} s", now)
        if self._asked_epoch != board.epoch:
            self._ask_all(now)
        self._services.tick(now, lenient=lenient)
        self._holding.tick(now, lenient=lenient)
        if now - self._looked >= _LOOK_AT_CLIENTS:
            self._looked = now
            self._look_at_clients(now, lenient=lenient)

    def _look_at_clients(self, now: float, *, lenient: bool) -> None:
        patience = self.settings.client_ping
        quiet = now - patience
        silent = [client for client in self.clients if client.heard <= quiet]
        for client in sorted(silent, key=_link):  # so that the same things always happen in the same order
            if client.is_paused or client.is_full:
                client.heard = now  # it may have said something; we do not read it, or it does not read us
            elif client.heard <= quiet - patience and not lenient:
                text = f"no sign of life for {2 * patience:g} s"
                self._board.send_away(client, CloseCode.GOING_AWAY, text, now)
            elif client.pinged <= quiet:
                client.pinged = now
                self._board.say(client, self._board.ping())


def _link(client: Client) -> bytes:
    return client.link
