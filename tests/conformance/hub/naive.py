"""A hub as one might write it in an afternoon: frames find their way, and all the rest is missing.

One table of streams by the client's numbers, one by the hub's. It translates between the versions and answers
configurations, so plain conversations pass; it knows neither owners nor ends, neither time nor refusals.
"""

from collections import deque
from typing import Any

from framehub.codes import HubCommand, HubState
from framehub.errors import MalformedFrame
from framehub.hub.headers import HubFrame, Settings, Way, decode, encode, version_shown
from framehub.hub.settings import HubSettings

FIRST_NUMBER = {1: 1, 2: 1 << 20}


class Link:
    """A client or a service."""

    def __init__(self, version: int, user: int = 0, owner: object = None, identity: bytes = b"") -> None:
        self.version = version
        self.user = user
        self.owner = owner
        self.identity = identity
        self.is_full = False
        self.held: deque[Any] = deque()


class NaiveHub:
    """What ``Switch`` has, as far as a conversation needs it."""

    def __init__(self, settings: HubSettings, *, now: float) -> None:
        self.to_clients: list[tuple[Link, bytes, None]] = []
        self.to_services: list[tuple[Link, bytes, None]] = []
        self.to_close: list[tuple[Link, int, str]] = []
        self.instances: dict[bytes, Link] = {}
        self.services: dict[int, Link] = {}
        self.by_client: dict[int, tuple[Link, int]] = {}
        self.by_service: dict[int, tuple[Link, int]] = {}
        self.next = dict(FIRST_NUMBER)

    def client_joined(self, link: bytes, version: int, user: int, owner: object, now: float) -> Link:
        return Link(version, user, owner)

    def client_says(self, client: Link, data: bytes, now: float) -> None:
        try:
            frame = decode(data, client.version, Way.CLIENT_TO_HUB)
        except MalformedFrame:
            return
        if frame.state is HubState.FIRST and frame.stream and frame.service in self.services:
            self._open(client, frame, self.services[frame.service])
        elif frame.stream in self.by_client:
            service, number = self.by_client[frame.stream]
            self._tell(service, HubFrame(number, frame.state, frame.parameter, frame.body))

    def service_says(self, identity: bytes, parts: list[bytes], now: float) -> None:
        data = parts[0]
        if identity not in self.instances:
            self.instances[identity] = Link(version_shown(data) or 2, identity=identity)
        service = self.instances[identity]
        frame = decode(data, service.version, Way.SERVICE_TO_HUB)
        if frame.settings is not None:
            self.services[frame.settings.service] = service
            force = Settings(service.version, frame.settings.timeout_ms or 30_000, frame.settings.service)
            self._tell(service, HubFrame(0, HubState.COMMAND, HubCommand.READY, force.encode()))
        elif frame.stream in self.by_service:
            client, number = self.by_service[frame.stream]
            onward = HubFrame(number, frame.state, frame.parameter, frame.body)
            self.to_clients.append((client, encode(onward, client.version, Way.HUB_TO_CLIENT), None))

    def client_left(self, client: Link, now: float) -> None:
        """Who cares."""

    def service_gone(self, instance: Link, now: float) -> None:
        """It will be back."""

    def service_disconnected(self, now: float) -> None:
        """So what."""

    def tick(self, now: float) -> None:
        """Time heals everything."""

    def _open(self, client: Link, frame: HubFrame, service: Link) -> None:
        number = self.next[service.version]
        self.next[service.version] += 1
        self.by_client[frame.stream] = service, number
        self.by_service[number] = client, frame.stream
        self._tell(service, HubFrame(number, HubState.FIRST, frame.parameter, frame.body, client.user))

    def _tell(self, service: Link, frame: HubFrame) -> None:
        self.to_services.append((service, encode(frame, service.version, Way.HUB_TO_SERVICE), None))
