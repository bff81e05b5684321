"""What the parts of the switch share: who is there, which streams are open, and what is to be said. Pure.

A stream is in three tables (its client's, its instance's, the hub's) and in the timers, or in none of them.
"""

from collections import Counter, deque
from typing import TypeAlias

from framehub.codes import HubCommand, HubError, HubState
from framehub.hub.headers import HubFrame, Way, encode
from framehub.hub.numbers import Numbers
from framehub.hub.parties import NEVER, Client, Instance, Stream
from framehub.hub.settings import HubSettings
from framehub.hub.timers import Timers

ToClients: TypeAlias = list[tuple[Client, bytes, Stream | None]]
ToServices: TypeAlias = list[tuple[Instance, bytes, Stream | None]]


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
        self.is_draining = False
        self.to_clients: ToClients = []
        self.to_services: ToServices = []
        self.to_close: list[tuple[Client, int, str]] = []
        self.to_pause: list[Client] = []
        self.to_resume: list[Client] = []
        self.changes: list[tuple[bool, Instance]] = []
        self.counts: Counter[str] = Counter()

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

    # --- streams ---------------------------------------------------------------------------------------

    def open(self, stream: Stream, instance: Instance) -> None:
        """Enter a stream everywhere."""
        stream.client.streams[stream.id] = stream
        instance.streams[stream.hub_id] = stream
        self.streams[stream.hub_id] = stream
        self.timers.add(stream, stream.deadline)

    def end(self, stream: Stream, now: float) -> None:
        """Take it out everywhere; what waits for its service is dropped, what waits for its client is not."""
        assert stream.instance is not None
        stream.is_over = True
        client = stream.client
        del client.streams[stream.id]
        del stream.instance.streams[stream.hub_id]
        del self.streams[stream.hub_id]
        self.timers.discard(stream)
        self.numbers.release(stream.hub_id, now)
        client.closed_at = now
        if stream.waiting_bytes:
            self.forget_waiting(stream.instance, stream)

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
        instance = stream.instance
        assert instance is not None
        self.end(stream, now)
        self.counts[f"killed: {code.name.lower()}"] += 1
        body = text.encode()
        if client:
            self.say(stream.client, HubFrame(stream.id, HubState.STREAM_ERROR, code, body), stream)
        if service:
            self.tell(instance, HubFrame(stream.hub_id, HubState.STREAM_ERROR, code, body), stream)

    def close(self, stream: Stream, now: float) -> None:
        """CLOSE: passed on to the one side and echoed to the other."""
        instance = stream.instance
        assert instance is not None
        self.end(stream, now)
        self.tell(instance, HubFrame(stream.hub_id, HubState.COMMAND, HubCommand.CLOSE), stream)
        self.say(stream.client, HubFrame(stream.id, HubState.COMMAND, HubCommand.CLOSE), stream)

    # --- what waits for services -----------------------------------------------------------------------

    def forget_waiting(self, instance: Instance, stream: Stream) -> None:
        """Drop what waits for a service on this stream."""
        kept = deque(entry for entry in instance.held if entry[1] is not stream)
        dropped = sum(cost(entry[0]) for entry in instance.held) - sum(cost(entry[0]) for entry in kept)
        instance.held = kept
        self.held_bytes -= dropped
        stream.waiting_bytes = 0
        self.waits_less(stream.client, dropped)
        if not kept:
            self.unstuck(instance)

    def waits_less(self, client: Client, size: int) -> None:
        """So much less of this client's waits for services."""
        client.waiting_bytes -= size
        if client.is_paused and client.waiting_bytes <= self.settings.pause_bytes // 2:
            client.is_paused = False
            self.to_resume.append(client)

    def unstuck(self, instance: Instance) -> None:
        """Nothing waits for it any more."""
        instance.stuck_since = NEVER
        self.stuck.pop(instance.identity, None)


def cost(data: bytes) -> int:
    """What a frame that waits counts: however small, it takes memory."""
    return len(data) + 64
