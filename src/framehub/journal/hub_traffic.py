"""Clients, services and streams of the hub in made-up traffic, row by row (spec/journal.md, 3.7)."""

from typing import Any

import msgspec

from framehub.codes import HubCommand, HubError, HubState
from framehub.hub.headers import HubFrame, Settings
from framehub.journal.hub_rows import ping_exchange, service_link, stream_exchange
from framehub.journal.record import NO_ID
from framehub.journal.traffic import IN, OUT, HubLink, World


class HubClient(HubLink):
    """A client's connection."""

    def __init__(self, link: bytes, *, version: int, user: int) -> None:
        super().__init__(link, version=version, user=user)
        self.streams = 0
        """Streams that it has opened; it counts."""
        self.timeout_s = 30
        """Of its streams, where they do not say."""


class HubService(HubLink):
    """One instance of a service."""

    def __init__(self, identity: bytes, *, version: int, number: int, name: str, timeout_s: int = 0) -> None:
        super().__init__(service_link(identity), version=version, is_service=True)
        self.identity = identity
        self.number = number
        self.name = name
        self.timeout_s = timeout_s

    @property
    def interface(self) -> bytes:
        """What function 0 says."""
        functions = [{"number": number, "name": f"f{number}", "doc": ""} for number in range(1, 5)]
        return msgspec.json.encode({"name": self.name, "doc": "", "functions": functions})

    def configure(self, world: World) -> int:
        """The configuration in."""
        settings = Settings(self.version, 1000 * self.timeout_s, self.number)
        frame = HubFrame(0, HubState.FIRST, 0, self.interface, None, settings)
        return world.hub(self, IN, frame, service=self.number, endpoint=self.name)

    def ready(self, world: World) -> int:
        """READY out, with what is in force."""
        settings = Settings(self.version, 1000 * (self.timeout_s or 30), self.number)
        frame = HubFrame(0, HubState.COMMAND, HubCommand.READY, settings.encode())
        return world.hub(self, OUT, frame, service=self.number, endpoint=self.name)

    def come(self, world: World) -> int:
        """The link opens, the service registers; the number of its configuration."""
        world.opened(self)
        seq = self.configure(world)
        self.ready(world)
        return seq


class Stream:
    """One stream: each method puts one row of it on the tape and gives the row's number."""

    def __init__(
        self,
        world: World,
        client: HubClient,
        service: HubService,
        id_: int | None = None,
        *,
        function: int = 1,
        timeout_s: int = 30,
        number: int | None = None,
    ) -> None:
        """``id_`` is the hub's number towards the service, ``number`` the client's; by default the next."""
        if number is None:
            client.streams += 1
            number = client.streams
        self.world = world
        self.client = client
        self.service = service
        self.id = id_ if id_ is not None else world.hub_ids.take(service.version)
        self.function = function
        self.timeout_s = timeout_s
        self.number = number
        self.exchange = stream_exchange(client.link, number)
        self.labels: dict[str, Any] = {
            "service": service.number,
            "function": function,
            "endpoint": service.name,
        }
        """What every row of it says."""

    # --- at the client ---------------------------------------------------------------------------------

    def opened(self, body: bytes, *, parent: bytes = NO_ID) -> int:
        """The client's first frame in."""
        client, wanted = self.client, self.service.number
        if client.version == 1:
            settings = Settings(1, 1000 * self.timeout_s, wanted)
            frame = HubFrame(self.number, HubState.FIRST, self.function, body, None, settings)
        else:
            frame = HubFrame(self.number, HubState.FIRST, self.function, body, wanted)
        more: dict[str, Any] = {"timeout_s": self.timeout_s, "parent": parent}
        return self.world.hub(client, IN, frame, self.exchange, **more, **self.labels)

    def came(self, state: HubState, body: bytes = b"", parameter: int | None = None) -> int:
        """Another frame of the client's in."""
        return self._at_client(IN, state, body, self.function if parameter is None else parameter)

    def told(self, state: HubState, body: bytes = b"", parameter: int = 0) -> int:
        """A frame out to the client."""
        return self._at_client(OUT, state, body, parameter)

    # --- at the service --------------------------------------------------------------------------------

    def given(self, body: bytes) -> int:
        """The first frame out to the service."""
        frame = HubFrame(self.id, HubState.FIRST, self.function, body, self.client.user)
        return self._at_service(OUT, frame)

    def passed(self, state: HubState, body: bytes = b"", parameter: int | None = None) -> int:
        """Another frame out to the service."""
        parameter = self.function if parameter is None else parameter
        return self._at_service(OUT, HubFrame(self.id, state, parameter, body))

    def said(self, state: HubState, body: bytes = b"", parameter: int = 0) -> int:
        """A frame of the service's in."""
        return self._at_service(IN, HubFrame(self.id, state, parameter, body))

    # --- errors of the hub -----------------------------------------------------------------------------

    def killed_at_client(self, code: HubError, text: bytes = b"") -> int:
        """STREAM_ERROR out to the client."""
        return self._at_client(OUT, HubState.STREAM_ERROR, text, code)

    def killed_at_service(self, code: HubError, text: bytes = b"") -> int:
        """STREAM_ERROR out to the service."""
        return self.passed(HubState.STREAM_ERROR, text, code)

    # --- inside ----------------------------------------------------------------------------------------

    def _at_client(self, direction: int, state: HubState, body: bytes, parameter: int) -> int:
        frame = HubFrame(self.number, state, parameter, body)
        return self.world.hub(self.client, direction, frame, self.exchange, **self.labels)

    def _at_service(self, direction: int, frame: HubFrame) -> int:
        who: dict[str, Any] = {"user": self.client.user, "ref": self.number}
        return self.world.hub(self.service, direction, frame, self.exchange, **who, **self.labels)


def ping(world: World, link: HubLink, direction: int, body: bytes = b"") -> tuple[int, bytes]:
    """PING; its row's number and its exchange."""
    link.pings += 1
    exchange = ping_exchange(link.link, link.pings)
    return command(world, link, direction, HubCommand.PING, body, exchange), exchange


def command(
    world: World,
    link: HubLink,
    direction: int,
    what: HubCommand,
    body: bytes = b"",
    exchange: bytes = NO_ID,
) -> int:
    """A command on stream 0."""
    frame = HubFrame(0, HubState.COMMAND, what, body)
    if isinstance(link, HubService):
        return world.hub(link, direction, frame, exchange, service=link.number, endpoint=link.name)
    return world.hub(link, direction, frame, exchange)


def refusal(
    world: World,
    link: HubLink,
    frame: HubFrame,
    error: HubError,
    text: bytes = b"",
    **labels: Any,
) -> tuple[int, int]:
    """A frame in that is not taken, and the error out that says why; the numbers of both rows."""
    came = world.hub(link, IN, frame, refused=error.name.lower(), **labels)
    return came, error_out(world, link, frame.stream, error, text, **labels)


def error_out(
    world: World, link: HubLink, stream: int, error: HubError, text: bytes = b"", **labels: Any
) -> int:
    """STREAM_ERROR out about no live stream."""
    return world.hub(link, OUT, HubFrame(stream, HubState.STREAM_ERROR, error, text), **labels)
