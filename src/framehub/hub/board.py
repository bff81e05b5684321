"""What the parts of the switch share: who is there, which streams are open, and what is to be said. Pure.

A stream is in three tables (its client's, its instance's, the hub's) and in the timers, or in none of them.
"""

from collections import Counter, deque
from typing import Final, TypeAlias

from framehub.codes import CloseCode, HubCommand, HubError, HubState
from framehub.hub.headers import HubFrame, Way, encode, stream_and_state
from framehub.hub.numbers import Numbers
from framehub.hub.parties import NEVER, Client, Entry, Instance, Stream
from framehub.hub.settings import HubSettings
from framehub.hub.timers import Timers

ToClients: TypeAlias = list[tuple[Client, bytes, Stream | None]]
ToServices: TypeAlias = list[tuple[Instance, bytes, Stream | None]]
Ended: TypeAlias = tuple[str, str, float]
"""A stream that is over: with what it was; ``LAST``, ``SERVICE_ERROR``, ``COMMAND`` for a CLOSE, or the name
of the error that ended it; and after how many seconds."""

ENDINGS: Final = (HubState.STREAM_ERROR, HubState.COMMAND)
"""What the hub itself says of a stream."""


class Board:
    """Tables and outputs; see ``Switch``, which shows them."""

    def __init__(self, settings: HubSettings, now: float) -> None:
        self.settings = settings
        self.clients: set[Client] = set()
        self.instances: dict[bytes, Instance] = {}
        self.offered: dict[int, list[Instance]] = {}
        self.named: dict[str, list[Instance]] = {}
        """Those whose interface has a name, by it."""
        self.streams: dict[int, Stream] = {}
        self.timers = Timers(now)
        self.numbers = Numbers(self.streams, settings.quarantine)
        self.stuck: dict[bytes, Instance] = {}
        """Instances that something waits for."""
        self.held_bytes = 0
        """What waits for all clients and services."""
        self.epoch = 0
        """How many disconnections of services have been seen."""
        self.pings = 0
        """How many the hub has sent."""
        self.is_draining = False
        self.to_clients: ToClients = []
        self.to_services: ToServices = []
        self.to_close: list[tuple[Client, int, str]] = []
        self.to_pause: list[Client] = []
        self.to_resume: list[Client] = []
        self.changes: list[tuple[bool, Instance]] = []
        self.counts: Counter[str] = Counter()
        self.ended: list[Ended] | None = None
        """Streams that ended since somebody took these out; None: nobody counts them."""

    # --- saying ----------------------------------------------------------------------------------------

    def say(self, client: Client, frame: HubFrame, stream: Stream | None = None) -> None:
        """Send a frame of the hub's own to a client."""
        self.to_clients.append((client, encode(frame, client.version, Way.HUB_TO_CLIENT), stream))

    def tell(self, instance: Instance, frame: HubFrame, stream: Stream | None = None) -> None:
        """Send a frame of the hub's own to a service."""
        self.to_services.append((instance, encode(frame, instance.version, Way.HUB_TO_SERVICE), stream))

    def refuse_service(self, instance: Instance, number: int, code: HubError, text: str) -> str:
        """Answer a frame of a service's with an error; one that does not read is told nothing."""
        self.counts[f"{code.name.lower()} to services"] += 1
        if not instance.is_stuck:
            self.tell(instance, HubFrame(number, HubState.STREAM_ERROR, code, text.encode()))
        return f"{code.name.lower()}: {text}"

    def ping(self) -> HubFrame:
        """The next PING; no two have the same body."""
        self.pings += 1
        return HubFrame(0, HubState.COMMAND, HubCommand.PING, self.pings.to_bytes(8, "big"))

    # --- streams ---------------------------------------------------------------------------------------

    def open(self, stream: Stream, instance: Instance) -> None:
        """Enter a stream everywhere."""
        stream.client.streams[stream.id] = stream
        instance.streams[stream.hub_id] = stream
        self.streams[stream.hub_id] = stream
        self.timers.add(stream, stream.deadline)

    def end(self, stream: Stream, how: HubState | HubError, now: float) -> Instance:
        """Take it out everywhere; what waits for its service is dropped, what waits for its client is not."""
        client, instance = stream.client, stream.instance
        assert instance is not None
        stream.is_over = True
        self.note(instance, stream.function, how, now - stream.opened)
        del client.streams[stream.id]
        del instance.streams[stream.hub_id]
        del self.streams[stream.hub_id]
        self.timers.discard(stream)
        self.numbers.release(stream.hub_id, now)
        client.closed_at = now
        if stream.waiting_bytes:
            self.waits_less(client, stream.waiting_bytes)
            stream.waiting_bytes = 0
            stream.is_gapped = True
            instance.has_husks = True
            self.drop_husks(instance)
        return instance

    def note(self, instance: Instance, function: int, how: HubState | HubError, seconds: float) -> None:
        """A stream is over, or was not taken: remember that for whoever counts."""
        if self.ended is not None:
            self.ended.append((instance.label(function), how.name, seconds))

    def kill(
        self,
        stream: Stream,
        code: HubError,
        text: str,
        now: float,
        *,
        client: bool = True,
        service: bool = True,
    ) -> None:
        """End a stream and tell both sides, or the one that is left."""
        instance = self.end(stream, code, now)
        stream.is_gapped |= not service
        self.counts[f"killed: {code.name.lower()}"] += 1
        self.drop_held(stream)
        body = text.encode()
        if client:
            self.say(stream.client, HubFrame(stream.id, HubState.STREAM_ERROR, code, body), stream)
        if service:
            self.tell(instance, HubFrame(stream.hub_id, HubState.STREAM_ERROR, code, body), stream)

    def close(self, stream: Stream, now: float) -> None:
        """CLOSE: passed on to the one side and echoed to the other."""
        instance = self.end(stream, HubState.COMMAND, now)
        self.drop_held(stream)
        self.tell(instance, HubFrame(stream.hub_id, HubState.COMMAND, HubCommand.CLOSE), stream)
        self.say(stream.client, HubFrame(stream.id, HubState.COMMAND, HubCommand.CLOSE), stream)

    def send_away(self, client: Client, code: CloseCode, why: str, now: float) -> None:
        """Have its connection closed, once; its streams end now."""
        if not client.is_leaving:
            self.to_close.append((client, code, why))
            self.lose_client(client, now)

    def lose_client(self, client: Client, now: float) -> None:
        """Nothing is taken from it any more: its streams die, and their services are told."""
        client.is_leaving = True
        for stream in list(client.streams.values()):
            self.kill(stream, HubError.CLIENT_DISCONNECT, "the client has gone", now, client=False)

    # --- what waits for clients ------------------------------------------------------------------------

    def drop_held(self, stream: Stream) -> None:
        """It was killed or closed: what of it waits for its client is not sent, nor what comes of it."""
        stream.is_cut = True
        for data, _ in stream.client.held.pop(stream.id, ()):
            self.held_less(stream, data)

    def held_less(self, stream: Stream, data: bytes) -> None:
        """This frame does not wait for the client any more."""
        size = cost(data)
        stream.held_bytes -= size
        stream.client.held_bytes -= size
        self.held_bytes -= size
        self.mind(stream.client)

    def mind(self, client: Client) -> None:
        """A client is not read while much of it waits, for services or for itself; again at half of that."""
        waits = client.waiting_bytes + client.held_bytes
        if client.is_paused:
            if waits <= self.settings.pause_bytes // 2:
                client.is_paused = False
                if not client.is_leaving:
                    self.to_resume.append(client)
        elif waits > self.settings.pause_bytes:
            client.is_paused = True
            self.to_pause.append(client)

    # --- what waits for services -----------------------------------------------------------------------

    def drop_husks(self, instance: Instance) -> None:
        """What waits for a service begins with a frame whose stream is not over, or which says that it is."""
        held = instance.held
        while held and _is_husk(held[0], instance.version):
            self.held_bytes -= cost(held.popleft()[0])
        if not held:
            self.unstuck(instance)

    def drop_all_husks(self, instance: Instance) -> None:
        """The others are not kept for long either."""
        instance.has_husks = False
        kept: deque[Entry] = deque()
        for entry in instance.held:
            if _is_husk(entry, instance.version):
                self.held_bytes -= cost(entry[0])
            else:
                kept.append(entry)
        instance.held = kept

    def waits_less(self, client: Client, size: int) -> None:
        """So much less of this client's waits for services."""
        client.waiting_bytes -= size
        self.mind(client)

    def unstuck(self, instance: Instance) -> None:
        """Nothing waits for it any more."""
        instance.stuck_since = NEVER
        instance.has_husks = False
        self.stuck.pop(instance.identity, None)


def cost(data: bytes) -> int:
    """What a frame that waits counts: however small, it takes memory."""
    return len(data) + 64


def _is_husk(entry: Entry, version: int) -> bool:
    """Whether this waits for a service in vain: its stream is over, and it does not say so."""
    data, stream, _ = entry
    return stream is not None and stream.is_over and stream_and_state(data, version)[1] not in ENDINGS
