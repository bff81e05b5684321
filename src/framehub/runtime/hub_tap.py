"""Every frame at the hub becomes a row, at each side that it passes (spec/journal.md, 3.7 and 3.8).

A service's link is open from its registration until it has gone. Whoever speaks and is not registered has an
open link as well, and keeps it until it is registered and gone, or a thousand others came after it.
"""

from time import monotonic_ns, time_ns
from typing import Final

from framehub.codes import HubState
from framehub.errors import MalformedFrame
from framehub.hub.headers import HubFrame, Way, decode, version_shown
from framehub.hub.parties import Client, Instance, Stream
from framehub.hub.switch import About
from framehub.journal.hub_rows import IN, OUT, HubRows, constant, service_link, stream_exchange
from framehub.journal.notes import Label, Shape
from framehub.journal.record import NO_ID
from framehub.runtime.hub_pings import Pings
from framehub.runtime.tap import Tap

MOST_STRANGERS: Final = 1_024
MOST_SECONDS: Final = 2**15 - 1
_FIRST: Final = HubState.FIRST
_MESSAGE: Final = int(HubState.MESSAGE)


class _Link:
    """One link: how its rows are made, and which PINGs of it wait."""

    __slots__ = ("pings", "rows")

    def __init__(self, rows: HubRows, since: int = 0) -> None:
        self.rows = rows
        self.pings = Pings(rows.link, since=since)


class HubTap:
    """Records what comes from clients and services and what goes to them."""

    def __init__(self, tap: Tap) -> None:
        self._append = tap.append
        self._append_link = tap.append_link
        self._light = -1
        if tap.takes_brief:
            self._light = tap.writer.notes.light
            self._note = tap.writer.notes.shapes(_label).frame
        self._clients: dict[Client, _Link] = {}
        self._services: dict[bytes, _Link] = {}  # by identity
        self._strangers: dict[bytes, None] = {}  # those of them that are not registered, the oldest first

    # --- links -----------------------------------------------------------------------------------------

    def joined(self, client: Client) -> None:
        """Record that a client's link is up."""
        rows = HubRows(client.link, version=client.version, user=client.user)
        self._clients[client] = _Link(rows)
        self._append_link(rows.opened(_now()))

    def left(self, client: Client, code: int, reason: str) -> None:
        """Record that it is gone, and why."""
        self._append_link(self._clients.pop(client).rows.closed(_now(), code, reason))

    def changed(self, instance: Instance, *, has_come: bool) -> None:
        """Record that a service was registered, or has gone."""
        if has_come:
            self._opened(instance.identity, instance.version)
            self._strangers.pop(instance.identity, None)
        else:
            self._closed(instance.identity, "the service has gone")

    def close(self) -> None:
        """Record the end of all links to services."""
        for identity in list(self._services):
            self._closed(identity, "the hub has stopped")

    # --- frames ----------------------------------------------------------------------------------------

    def client_said(
        self, client: Client, data: bytes | memoryview, about: About, parent: bytes = NO_ID
    ) -> None:
        """Record a client's frame."""
        link = self._clients[client]
        if isinstance(about, Stream) and parent is NO_ID and self._is_brief(data, client.version):
            shape = client.link, IN, about.service, about.function, about.name, client.user, -1
            self._note(shape, client.link, about.id, data)
            return
        at, raw = _now(), bytes(data)
        if isinstance(about, str):
            self._refused(link, at, raw, client.version, Way.CLIENT_TO_HUB, about)
            return
        frame = decode(raw, client.version, Way.CLIENT_TO_HUB)
        if about is None:
            exchange = link.pings.exchange(IN, frame)
            self._append(link.rows.frame(at, IN, frame, raw, exchange))
            return
        seconds = int(about.timeout) if frame.state is _FIRST else 0
        row = link.rows.frame(
            at,
            IN,
            frame,
            raw,
            stream_exchange(client.link, about.id),
            service=about.service,
            function=about.function,
            endpoint=about.name or None,
            timeout_s=min(seconds, MOST_SECONDS) or None,
            parent=parent,
        )
        self._append(row)

    def told_client(self, client: Client, data: bytes, stream: Stream | None) -> None:
        """Record what was sent to a client."""
        link = self._clients[client]
        if stream is not None and self._is_brief(data, client.version):
            shape = client.link, OUT, stream.service, stream.function, stream.name, client.user, -1
            self._note(shape, client.link, stream.id, data)
            return
        at = _now()
        frame = decode(data, client.version, Way.HUB_TO_CLIENT)
        if stream is None:
            exchange = link.pings.exchange(OUT, frame)
            self._append(link.rows.frame(at, OUT, frame, data, exchange))
            return
        row = link.rows.frame(
            at,
            OUT,
            frame,
            data,
            stream_exchange(client.link, stream.id),
            service=stream.service,
            function=stream.function,
            endpoint=stream.name or None,
        )
        self._append(row)

    def service_said(
        self, identity: bytes, parts: list[bytes], about: About, instance: Instance | None
    ) -> None:
        """Record a service's frame; ``instance`` is None for a stranger's."""
        raw = parts[0] if len(parts) == 1 else b"".join(parts)
        version = instance.version if instance is not None else version_shown(raw) or 2
        link = self._opened(identity, version)
        if isinstance(about, Stream) and self._is_brief(raw, version):
            self._brief_at_service(link, IN, about, raw)
            return
        at = _now()
        if isinstance(about, str):
            self._refused(link, at, raw, version, Way.SERVICE_TO_HUB, about, instance, len(parts))
            return
        frame = decode(raw, version, Way.SERVICE_TO_HUB)
        self._at_service(link, at, IN, frame, raw, about, instance)

    def told_service(self, instance: Instance, data: bytes, stream: Stream | None) -> None:
        """Record what was sent to a service."""
        link = self._opened(instance.identity, instance.version)
        if stream is not None and self._is_brief(data, instance.version):
            self._brief_at_service(link, OUT, stream, data)
            return
        at = _now()
        frame = decode(data, instance.version, Way.HUB_TO_SERVICE)
        self._at_service(link, at, OUT, frame, data, stream, instance)

    # --- inside ----------------------------------------------------------------------------------------

    def _is_brief(self, data: bytes | memoryview, version: int) -> bool:
        """Whether a frame of a live stream is an ordinary message: its own bytes tell the rest of its row."""
        return version == 2 and len(data) <= self._light and data[4] == _MESSAGE

    def _brief_at_service(self, link: _Link, direction: int, stream: Stream, data: bytes) -> None:
        client = stream.client
        shape = (
            link.rows.link, direction, stream.service, stream.function, stream.name, client.user, stream.id
        )  # fmt: skip
        self._note(shape, client.link, stream.id, data)

    def _at_service(
        self,
        link: _Link,
        at: tuple[int, int],
        direction: int,
        frame: HubFrame,
        raw: bytes,
        stream: Stream | None,
        instance: Instance | None,
    ) -> None:
        if stream is None:
            number, name = _offer(instance)
            exchange = link.pings.exchange(direction, frame)
            row = link.rows.frame(at, direction, frame, raw, exchange, service=number, endpoint=name)
        else:
            client = stream.client
            row = link.rows.frame(
                at,
                direction,
                frame,
                raw,
                stream_exchange(client.link, stream.id),
                service=stream.service,
                function=stream.function,
                endpoint=stream.name or None,
                user=client.user,
                ref=stream.id,
            )
        self._append(row)

    def _refused(
        self,
        link: _Link,
        at: tuple[int, int],
        raw: bytes,
        version: int,
        way: Way,
        reason: str,
        instance: Instance | None = None,
        parts: int = 1,
    ) -> None:
        """What was not taken keeps what it says, if it says anything."""
        try:
            frame = decode(raw, version, way)
        except MalformedFrame:
            self._append(link.rows.refused(at, raw, reason))
            return
        if parts > 1:
            self._append(link.rows.refused(at, raw, reason))
            return
        number, name = _offer(instance)
        opens = frame.state is _FIRST and frame.stream > 0
        row = link.rows.frame(
            at,
            IN,
            frame,
            raw,
            service=frame.service if opens and way is Way.CLIENT_TO_HUB else number,
            function=frame.parameter if opens else None,
            endpoint=name,
            refused=reason,
        )
        self._append(row)

    def _opened(self, identity: bytes, version: int) -> _Link:
        """A service's link, open."""
        link = self._services.get(identity)
        if link is None:
            while len(self._strangers) >= MOST_STRANGERS:
                self._closed(next(iter(self._strangers)), "not registered")
            rows = HubRows(service_link(identity), version=version, is_service=True)
            at = _now()
            link = self._services[identity] = _Link(rows, since=at[0])
            self._strangers[identity] = None
            self._append_link(rows.opened(at))
        elif link.rows.version != version:  # it had not shown which it speaks
            link.rows.version = version
        return link

    def _closed(self, identity: bytes, reason: str) -> None:
        self._strangers.pop(identity, None)
        link = self._services.pop(identity, None)
        if link is not None:
            self._append_link(link.rows.closed(_now(), reason=reason))


def _offer(instance: Instance | None) -> tuple[int | None, str | None]:
    """Number and name of the service that an instance is registered for."""
    if instance is None or instance.number < 0:
        return None, None
    return instance.number, instance.name or None


def _label(shape: Shape) -> Label:
    link, direction, service, function, name, user, ref = shape
    return constant(link, direction, service, function, user, ref), name or None, None, None


def _now() -> tuple[int, int]:
    return time_ns(), monotonic_ns()
