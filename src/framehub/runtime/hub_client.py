"""``HubClient``: open streams to the services of a hub."""

import json
from contextlib import suppress
from math import isfinite
from ssl import SSLContext
from time import monotonic
from types import TracebackType
from typing import Any, Final

from framehub.errors import ConfigError, ConnectionClosed, LocalProtocolError, RemoteProtocolError
from framehub.hub.called import HubClientSettings
from framehub.hub.calling import ClientSide
from framehub.runtime import bearer
from framehub.runtime.address import parse
from framehub.runtime.dial import open_websocket
from framehub.runtime.files import Buffer
from framehub.runtime.hub_connection import HubConnection
from framehub.runtime.hub_stream import HubStream
from framehub.runtime.service_stream import as_bytes
from framehub.runtime.websocket import WebSocketLink

DEFAULT_HUB: Final = "ws://127.0.0.1:7400/hub"
LONGEST_TIMEOUT: Final = 2**32 / 1000
INTERFACE: Final = 0


class HubClient:
    """One connection to a hub, inside ``async with``; any number of streams on it.

    A stream whose answers nobody reads holds up the whole connection when 4 MiB wait, and is closed if nobody
    reads it for 15 s then (``HubClientSettings``).
    """

    def __init__(
        self,
        url: str = DEFAULT_HUB,
        *,
        token: str | None = None,
        version: int = 2,
        timeout: float | None = None,
        ssl: SSLContext | None = None,
        settings: HubClientSettings | None = None,
    ) -> None:
        """``timeout`` is how many seconds a stream may be silent, where ``open`` does not say; else the
        service's, else the hub's.

        Raises:
            ConfigError: this cannot be asked for.
        """
        address = parse(url)
        if not address.is_websocket:
            raise ConfigError(f"the clients of a hub come by ws:// or wss://, not by {address.place}")
        if ssl is not None and address.scheme != "wss":
            raise ConfigError(f"ssl= goes with wss://, not with {address.place}")
        if version not in (1, 2):
            raise ConfigError(f"version is 1 or 2, not {version!r}")
        if token is not None:
            bearer.header(token)
        self.url = url
        self.version = version
        self.timeout = _checked(timeout)
        self._token = token
        self._ssl = ssl
        self._settings = settings or HubClientSettings()
        self._connection: HubConnection | None = None

    async def __aenter__(self) -> "HubClient":
        """Connect.

        Raises:
            ConnectFailed: nobody there, or it would not have us.
        """
        if self._connection is not None and not self._connection.closed.done():
            raise LocalProtocolError("this client is connected: make another for another connection")
        self._connection = await open_websocket(
            self.url,
            self._own,
            max_bytes=self._settings.max_answer_bytes,
            patience=self._settings.patience,
            subprotocols=(f"hub.v{self.version}",),
            token=self._token,
            ssl=self._ssl,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the connection; what is open on it fails with ``ConnectionClosed``."""
        if self._connection is not None:
            await self._connection.close()

    def open(
        self, service: int, function: int, body: Buffer = b"", *, timeout: float | None = None
    ) -> HubStream:
        """A stream to a function of a service: ``async with hub.open(7, 1) as stream``.

        ``timeout`` is how many seconds it may go without an answer, or without a word of either side; it ends
        with ``HubStreamError`` TIMEOUT then. It can only be shorter than what holds without it.

        Raises, when the block is entered:
            ConnectionClosed: there is no connection.
            LimitExceeded: the body is too large for one frame, or the connection has no number left.
            LocalProtocolError: a number that cannot be.
        """
        return HubStream(self._connected, service, function, as_bytes(body), _checked(timeout))

    async def call(
        self, service: int, function: int, body: Buffer = b"", *, timeout: float | None = None
    ) -> bytes:
        """Ask once: say ``body`` and no more, and wait for all that is answered, as one.

        Raises:
            ServiceFailed: the service answered with an error.
            HubStreamError: the hub did, say because nobody offers the service, or no answer came in time.
            ConnectionClosed: there is no connection, or it ended.
            LimitExceeded: the body is too large for one frame, or the answer for one piece.
        """
        async with self.open(service, function, body, timeout=timeout) as stream:
            if function != INTERFACE:  # which the hub answers before it hears of an end
                with suppress(LocalProtocolError):  # it was answered before there was room to say so
                    await stream.end()
            return await stream.read()

    async def interface(self, service: int, *, timeout: float = 10.0) -> dict[str, Any]:
        """What a service says of itself: its name, and its functions with their numbers and schemas.

        Raises as ``call`` does, and:
            RemoteProtocolError: it is no JSON object.
        """
        body = await self.call(service, INTERFACE, timeout=timeout)
        told = None
        with suppress(ValueError, RecursionError):
            told = json.loads(body)
        if not isinstance(told, dict):
            raise RemoteProtocolError(f"the interface of service {service} is no JSON object")
        return told

    async def ping(self, *, timeout: float = 10.0) -> float:
        """Seconds to the hub and back.

        Raises:
            RequestTimeout: no sign of life in ``timeout`` seconds.
            ConnectionClosed: there is no connection.
        """
        return await self._connected().ping(timeout)

    # --- inside --------------------------------------------------------------------------------------------

    def _own(self, link: WebSocketLink) -> HubConnection:
        machine = ClientSide(
            version=self.version, timeout=self.timeout, settings=self._settings, now=monotonic()
        )
        return HubConnection(link, machine)

    def _connected(self) -> HubConnection:
        if self._connection is None:
            raise ConnectionClosed(1006, "not connected yet: use the client inside async with")
        return self._connection


def _checked(timeout: float | None) -> float | None:
    if timeout is not None and not (isfinite(timeout) and 0 < timeout < LONGEST_TIMEOUT):
        raise ConfigError(f"timeout must be above zero and at most 49 days, not {timeout!r}")
    return timeout
