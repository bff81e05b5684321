"""A switch for unit tests: clients and services by name, and what they are told in few words.

Told is (who, stream, error), (who, stream, command, body) or (who, stream, state, parameter, body); a first
frame has the user before its body.
"""

from typing import Any

from framehub.codes import HubCommand, HubError, HubState
from framehub.hub.from_clients import About
from framehub.hub.headers import HubFrame, Settings, Way, decode, encode
from framehub.hub.parties import Client, Instance, Stream
from framehub.hub.settings import HubSettings
from framehub.hub.switch import Switch

START = 1_000.0
FIRST_ID = 1 << 20
Told = list[tuple[Any, ...]]
FIRST, MESSAGE, LAST = HubState.FIRST, HubState.MESSAGE, HubState.LAST
COMMAND, STREAM_ERROR, SERVICE_ERROR = HubState.COMMAND, HubState.STREAM_ERROR, HubState.SERVICE_ERROR
PING, PONG, READY, CLOSE = HubCommand


class Desk:
    """A switch and its clock."""

    def __init__(self, **settings: Any) -> None:
        self.now = START
        self.switch = Switch(HubSettings(**settings), now=self.now)

    # --- who is there ----------------------------------------------------------------------------------

    def client(self, name: str = "c", *, version: int = 2, user: int = 42) -> Client:
        return self.switch.client_joined(name.encode(), version, user, None, self.now)

    def service(self, name: str = "s", *, number: int = 7, version: int = 2, **more: Any) -> Instance:
        """A service that registers; what it is told is taken."""
        assert self.configure(name, number=number, version=version, **more) is None
        self.take()
        return self.switch.instances[name.encode()]

    def configure(
        self, name: str, *, number: int = 7, version: int = 2, timeout_ms: int = 0, interface: bytes = b""
    ) -> About:
        return self.service_sends(name, configuration(number, version, timeout_ms, interface))

    def leaves(self, client: Client) -> None:
        self.switch.client_left(client, self.now)

    # --- what they say ---------------------------------------------------------------------------------

    def sends(self, client: Client, data: bytes) -> About:
        return self.switch.client_says(client, data, self.now)

    def service_sends(self, name: str, *parts: bytes) -> About:
        return self.switch.service_says(name.encode(), list(parts), self.now)

    def says(self, client: Client, stream: int, state: int, parameter: int = 0, body: bytes = b"") -> About:
        return self.sends(client, frame(client.version, stream, state, parameter) + body)

    def answers(self, name: str, stream: int, state: int, parameter: int = 0, body: bytes = b"") -> About:
        version = self.switch.instances[name.encode()].version
        return self.service_sends(name, frame(version, stream, state, parameter) + body)

    def first(
        self,
        client: Client,
        stream: int,
        *,
        service: int = 7,
        function: int = 1,
        body: bytes = b"",
        timeout_ms: int = 0,
    ) -> About:
        settings = Settings(1, timeout_ms, service) if client.version == 1 else None
        number = None if settings else service
        frame = HubFrame(stream, FIRST, function, body, number, settings)
        return self.sends(client, encode(frame, client.version, Way.CLIENT_TO_HUB))

    def opens(self, client: Client, stream: int, **more: Any) -> Stream:
        """A stream that is opened; what the service is told is taken."""
        opened = self.first(client, stream, **more)
        assert isinstance(opened, Stream), opened
        self.take()
        return opened

    # --- time ------------------------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        """Time goes on; the switch looks at the clock four times a second."""
        until = self.now + seconds
        while self.now < until:
            self.now = min(self.now + 0.25, until)
            self.switch.tick(self.now)

    def sleep(self, seconds: float) -> None:
        """The switch does not run for a while."""
        self.now += seconds
        self.switch.tick(self.now)

    # --- what they hear --------------------------------------------------------------------------------

    def to_clients(self) -> Told:
        told = [
            (client.link.decode(), *in_words(data, client.version, Way.HUB_TO_CLIENT))
            for client, data, _ in self.switch.to_clients
        ]
        self.switch.to_clients.clear()
        return told

    def to_services(self) -> Told:
        told = [
            (instance.identity.decode(), *in_words(data, instance.version, Way.HUB_TO_SERVICE))
            for instance, data, _ in self.switch.to_services
        ]
        self.switch.to_services.clear()
        return told

    def to_close(self) -> list[tuple[str, int]]:
        closed = [(client.link.decode(), int(code)) for client, code, _ in self.switch.to_close]
        self.switch.to_close.clear()
        return closed

    def take(self) -> tuple[Told, Told]:
        """What clients, and what services are told since the last look."""
        return self.to_clients(), self.to_services()

    def deliver(self, *full: Instance) -> None:
        """As the owner does: whoever is full is not sent to, all others are."""
        switch = self.switch
        while switch.to_clients or switch.to_services:
            to_clients, to_services = switch.to_clients[:], switch.to_services[:]
            switch.to_clients.clear()
            switch.to_services.clear()
            for instance, data, stream in to_services:
                if instance.held or instance in full:
                    switch.hold_for_service(instance, data, stream, self.now)
            for client, data, about in to_clients:
                if about is not None and (client.is_full or client.held):
                    switch.hold(client, data, about, self.now)

    def held_for(self, client: Client) -> Told:
        """All that waited for a client, in its turn."""
        told = []
        while item := self.switch.next_held(client):
            told.append(in_words(item[0], client.version, Way.HUB_TO_CLIENT))
        return told

    def waits_for(self, instance: Instance) -> Told:
        return [in_words(data, instance.version, Way.HUB_TO_SERVICE) for data, _, _ in instance.held]

    def agree(self) -> None:
        """Every stream is in all tables, or in none; what waits is counted."""
        switch = self.switch
        streams = set(switch.streams.values())
        by_client = [stream for client in switch.clients for stream in client.streams.values()]
        by_service = [stream for one in switch.instances.values() for stream in one.streams.values()]
        assert len(by_client) == len(by_service) == len(streams) == switch.timers
        assert set(by_client) == set(by_service) == streams
        assert not any(stream.is_over for stream in streams)
        held = [data for client in switch.clients for row in client.held.values() for data, _ in row]
        waits = [data for one in switch.instances.values() for data, _, _ in one.held]
        assert switch.held_bytes == sum(len(data) + 64 for data in held + waits)
        assert set(switch.stuck) == {who for who, one in switch.instances.items() if one.held}


def frame(version: int, stream: int, state: int, parameter: int) -> bytes:
    """A header, whether or not it is lawful."""
    if version == 2:
        return stream.to_bytes(4, "big") + bytes([state, parameter])
    return (stream << 12 | state << 8 | parameter).to_bytes(4, "big")


def configuration(number: int = 7, version: int = 2, timeout_ms: int = 0, interface: bytes = b"") -> bytes:
    settings = Settings(version, timeout_ms, number)
    return encode(HubFrame(0, FIRST, 0, interface, None, settings), version, Way.SERVICE_TO_HUB)


def in_words(data: bytes, version: int, way: Way) -> tuple[Any, ...]:
    frame = decode(data, version, way)
    if frame.state is STREAM_ERROR:
        return frame.stream, HubError(frame.parameter).name
    if frame.state is COMMAND:
        return frame.stream, HubCommand(frame.parameter).name, frame.body
    if frame.state is FIRST:
        return frame.stream, "FIRST", frame.parameter, frame.number, frame.body
    return frame.stream, frame.state.name, frame.parameter, frame.body
