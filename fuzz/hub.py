"""Any bytes are one frame of the hub or none, and a script of bytes drives a switch: peers, and time.

Nothing may escape, what goes out is lawful, nothing goes out on a stream after its end, all tables agree
after each step, and when the peers are gone nothing is left.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import MalformedFrame
from framehub.hub.headers import HubFrame, Settings, Way, decode, encode
from framehub.hub.parties import Client, Instance, Stream
from framehub.hub.settings import HubSettings
from framehub.hub.switch import Switch

LIMITS: Final[dict[str, Any]] = {
    "max_streams": 3,
    "max_used": 4,
    "max_strikes": 12,
    "max_cancels": 8,
    "max_pings": 5,
    "opens_burst": 12,
    "max_services": 3,
    "max_service_streams": 4,
    "max_interface_bytes": 64,
    "held_bytes": 200,
    "held_bytes_client": 400,
    "held_bytes_in_all": 700,
    "pause_bytes": 150,
}
CLIENTS: Final = 4
SERVICES: Final = (b"s1", b"s2", b"s3", b"s4")
NUMBERS: Final = (7, 8)
STREAMS: Final = (0, 1, 2, 3, 5, 9, 1 << 20, (1 << 20) + 1, (1 << 20) + 2, (1 << 20) + 3)
STATES: Final = (0, 12, 14, 15, 11, 13, 1, 16)
PARAMETERS: Final = (0, 1, 2, 3, 15, 4, 12, 255)
INTERFACES: Final = (b"", b"{}", b'{"name": "x", "functions": [{"number": 1, "name": "f"}]}', b"[")
STEPS: Final = (0.25, 0.5, 1.0, 3.0, 6.0, 45.0)
ENDS: Final = (1, 2, 3, 9, 11, 12)
"""Errors after which a stream is over."""


class Script:
    """Bytes read one after another; zeros when there are no more."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def one(self, of: Sequence[Any]) -> Any:
        return of[self.byte() % len(of)]

    def block(self) -> bytes:
        size = self.byte() % 72
        self._at += size
        return self._data[self._at - size : self._at]


class Run:
    """A switch, its peers, and the script that drives them."""

    def __init__(self, data: bytes) -> None:
        self.script = Script(data)
        self.now = 0.0
        self.switch = Switch(HubSettings(**LIMITS), now=0.0)
        first = self.script.byte()
        self.clients = [self.join(1 + (first >> at & 1)) for at in range(CLIENTS)]
        self.blocked: set[bytes] = set()
        self.over: dict[Stream, set[str]] = {}
        for identity, flag in zip(SERVICES, (16, 32, 64), strict=False):
            if first & flag:
                self.configure(identity, 2 if first & 128 else 1, 7, INTERFACES[0])

    def go(self) -> None:
        acts: tuple[Callable[[], None], ...] = (
            self.client_raw,
            self.service_raw,
            self.client_says,
            self.client_says,
            self.service_says,
            self.service_says,
            self.opens,
            self.opens,
            self.configures,
            self.tick,
            self.happens,
        )
        while self.script:
            acts[self.script.byte() % len(acts)]()
            self.deliver()
            agree(self.switch)
        self.end()

    # --- what they do ----------------------------------------------------------------------------------

    def join(self, version: int) -> Client:
        return self.switch.client_joined(b"c", version, 513, None, self.now)

    def client(self) -> Client:
        client: Client = self.script.one(self.clients)
        return client

    def client_raw(self) -> None:
        self.switch.client_says(self.client(), self.script.block(), self.now)

    def service_raw(self) -> None:
        identity, count = self.script.one(SERVICES), self.script.byte() % 3
        parts = [self.script.block() for _ in range((1, 2, 0)[count])]
        self.switch.service_says(identity, parts, self.now)

    def header(self, version: int) -> bytes:
        stream, state = int(self.script.one(STREAMS)), int(self.script.one(STATES))
        parameter = int(self.script.one(PARAMETERS))
        if version == 2:
            return bytes((*stream.to_bytes(4, "big"), state, parameter))
        return ((stream & 0xFFFFF) << 12 | (state & 15) << 8 | parameter).to_bytes(4, "big")

    def client_says(self) -> None:
        """A frame that is likely to mean something."""
        client = self.client()
        about = self.switch.client_says(client, self.header(client.version) + self.script.block(), self.now)
        assert not isinstance(about, str) or about.split(":")[0].upper() in HubError.__members__

    def service_says(self) -> None:
        identity = self.script.one(SERVICES)
        instance = self.switch.instances.get(identity)
        data = self.header(instance.version if instance else 2) + self.script.block()
        self.switch.service_says(identity, [data], self.now)

    def opens(self) -> None:
        client, stream, number = self.client(), self.script.one(STREAMS[1:]), self.script.one(NUMBERS)
        function = self.script.byte() % 4
        if client.version == 1:
            frame = HubFrame(
                stream & 0xFFFFF or 1, HubState.FIRST, function, b"", None, Settings(1, 0, number)
            )
        else:
            frame = HubFrame(stream, HubState.FIRST, function, b"", number)
        self.switch.client_says(client, encode(frame, client.version, Way.CLIENT_TO_HUB), self.now)

    def configures(self) -> None:
        identity, flags = self.script.one(SERVICES), self.script.byte()
        self.configure(identity, 1 + (flags & 1), NUMBERS[flags >> 1 & 1], INTERFACES[flags >> 2 & 3])

    def configure(self, identity: bytes, version: int, number: int, interface: bytes) -> None:
        frame = HubFrame(0, HubState.FIRST, 0, interface, None, Settings(version, 0, number))
        self.switch.service_says(identity, [encode(frame, version, Way.SERVICE_TO_HUB)], self.now)

    def tick(self) -> None:
        until, asleep = self.now + STEPS[self.script.byte() % len(STEPS)], self.script.byte() & 1
        while self.now < until:
            self.now = until if asleep else self.now + 0.25
            self.switch.tick(self.now)

    def happens(self) -> None:
        """What the world does to peers and to the hub."""
        switch, what, which = self.switch, self.script.byte() % 8, self.script.byte()
        client, identity = self.clients[which % CLIENTS], SERVICES[which % len(SERVICES)]
        instance = switch.instances.get(identity)
        if what == 0:
            client.is_full = True
        elif what == 1:
            client.is_full = False
            while item := switch.next_held(client):
                self.went("client", item[1], item[0], client.version)
        elif what == 2:
            self.blocked.add(identity)
        elif what == 3:
            self.blocked.discard(identity)
            while instance is not None and instance.held:
                data, stream, _ = instance.held[0]
                self.went("service", stream, data, instance.version)
                switch.sent(instance)
        elif what == 4:
            switch.client_left(client, self.now)
            self.clients[which % CLIENTS] = self.join(1 + (which >> 4 & 1))
        elif what == 5 and instance is not None:
            switch.service_gone(instance, self.now)
        elif what == 6:
            switch.service_disconnected(self.now)
        elif client.streams:
            switch.fail(next(iter(client.streams.values())), self.now)

    # --- what the hub does -----------------------------------------------------------------------------

    def deliver(self) -> None:
        """As the owner does; some cannot be sent to, and that may make the hub say more."""
        switch = self.switch
        while switch.to_clients or switch.to_services or switch.to_close:
            to_services, to_clients = switch.to_services[:], switch.to_clients[:]
            switch.to_services.clear()
            switch.to_clients.clear()
            for instance, data, stream in to_services:
                self.to_service(instance, data, stream)
            for client, data, stream in to_clients:
                self.to_client(client, data, stream)
            closing = [client for client, _, _ in switch.to_close]
            switch.to_close.clear()
            for client in closing:
                switch.client_left(client, self.now)
                self.clients[self.clients.index(client)] = self.join(client.version)
        for client in switch.to_pause:
            assert client.is_paused or client in switch.to_resume
        switch.to_pause.clear()
        switch.to_resume.clear()
        switch.changes.clear()

    def to_service(self, instance: Instance, data: bytes, stream: Stream | None) -> None:
        if instance.held or instance.identity in self.blocked:
            self.switch.hold_for_service(instance, data, stream, self.now)
        else:
            self.went("service", stream, data, instance.version)

    def to_client(self, client: Client, data: bytes, stream: Stream | None) -> None:
        if stream is not None and (client.is_full or client.held):
            self.switch.hold(client, data, stream, self.now)
        else:
            self.went("client", stream, data, client.version)

    def went(self, side: str, stream: Stream | None, data: bytes, version: int) -> None:
        """It is lawful, and its stream has not ended on this side."""
        frame = decode(data, version, Way.HUB_TO_CLIENT if side == "client" else Way.HUB_TO_SERVICE)
        if stream is None:
            return
        assert frame.stream == (stream.id if side == "client" else stream.hub_id)
        state, ended = frame.state, self.over.setdefault(stream, set())
        if state is HubState.STREAM_ERROR and frame.parameter not in ENDS:
            return
        assert side not in ended, "something after the end"
        closes = state is HubState.COMMAND and frame.parameter == HubCommand.CLOSE
        lasts = side == "client" and state in (HubState.LAST, HubState.SERVICE_ERROR)
        if closes or lasts or state is HubState.STREAM_ERROR:
            ended.add(side)

    def end(self) -> None:
        """All go: whatever was there is told, and is forgotten."""
        switch = self.switch
        for client in list(switch.clients):
            switch.client_left(client, self.now)
        for instance in list(switch.instances.values()):
            switch.service_gone(instance, self.now)
        agree(switch)
        self.now += 60.0
        switch.tick(self.now)
        board = switch._board
        assert (switch.clients, switch.instances, switch.streams, switch.offered) == (set(), {}, {}, {})
        assert (switch.timers, switch.held_bytes, switch.stuck, board.named) == (0, 0, {}, {})


def agree(switch: Switch) -> None:
    """Every stream is in all tables, or in none; what waits is counted, and within its bounds."""
    streams = switch.streams
    by_client = [stream for client in switch.clients for stream in client.streams.values()]
    by_service = [stream for one in switch.instances.values() for stream in one.streams.values()]
    assert len(by_client) == len(by_service) == len(streams) == switch.timers
    assert set(by_client) == set(by_service) == set(streams.values())
    for number, stream in streams.items():
        assert (stream.hub_id, stream.is_over) == (number, False)
        assert stream.client.streams[stream.id] is stream
        assert stream.instance is not None
        assert switch.instances[stream.instance.identity] is stream.instance
    held = waiting = 0
    for client in switch.clients:
        sizes = [len(data) + 64 for row in client.held.values() for data, _ in row]
        assert client.held_bytes == sum(sizes)
        assert client.waiting_bytes == sum(stream.waiting_bytes for stream in client.streams.values())
        assert len(client.streams) <= LIMITS["max_streams"]
        assert len(client.used) <= LIMITS["max_used"]
        held += sum(sizes)
    for instance in switch.instances.values():
        waiting += sum(len(data) + 64 for data, _, _ in instance.held)
        live = [entry for entry in instance.held if entry[1] is not None and not entry[1].is_over]
        assert sum(len(data) + 64 for data, _, _ in live) == sum(
            stream.waiting_bytes for stream in instance.streams.values()
        )
        assert instance in switch.offered[instance.number]
    assert switch.held_bytes == held + waiting
    assert set(switch.stuck) == {who for who, one in switch.instances.items() if one.held}
    assert sum(len(offering) for offering in switch.offered.values()) == len(switch.instances)


def read_any_way(data: bytes) -> None:
    """Whatever the bytes are, they are one frame each way, written as they were read, or no frame."""
    for version in (1, 2):
        for way in Way:
            with suppress(MalformedFrame):
                assert encode(decode(data, version, way), version, way) == data


def one_input(data: bytes) -> None:
    read_any_way(data)
    Run(data).go()
