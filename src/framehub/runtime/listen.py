"""``listen``: serve endpoints over WebSocket."""

import asyncio
import logging
import secrets
from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus
from ipaddress import ip_address
from ssl import SSLContext
from types import TracebackType
from urllib.parse import urlsplit

from picows import WSUpgradeRequest, WSUpgradeResponse, WSUpgradeResponseWithListener, ws_create_server

from framehub.codes import CloseCode
from framehub.errors import ConfigError
from framehub.mfp.negotiation import HELLO, SUBPROTOCOLS, choose, hello
from framehub.mfp.settings import Settings
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.peer import Peer
from framehub.runtime.tap import Tap
from framehub.runtime.websocket import WebSocketLink, quiet

log = logging.getLogger("framehub.listen")

HANDSHAKE_SECONDS = 5.0
DRAIN_SECONDS = 10.0


class Listener:
    """A listening WebSocket; ``async with`` it, or ``start`` and ``close``."""

    def __init__(
        self,
        url: str,
        endpoints: Endpoints,
        *,
        settings: Settings | None = None,
        tap: Tap | None = None,
        origins: Sequence[str] = (),
        ssl: SSLContext | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("ws", "wss") or not parts.hostname or parts.query or parts.fragment:
            raise ConfigError(f"cannot listen on {url!r}: want ws://HOST:PORT/PATH")
        if (parts.scheme == "wss") != (ssl is not None):
            raise ConfigError("wss:// and ssl= go together")
        self.host = parts.hostname
        self.port = parts.port if parts.port is not None else 7400
        self.path = parts.path or "/"
        self.peers: set[Peer] = set()
        """Who is connected now."""
        self._leaving: set[Peer] = set()
        """Who is gone, while handlers still read what it streamed."""
        self._scheme = parts.scheme
        self._endpoints = endpoints
        self._settings = settings or Settings()
        self._tap = tap
        self._origins = frozenset(origins)
        self._ssl = ssl
        self._server: asyncio.Server | None = None
        self._draining = False
        self._paused = False

    @property
    def url(self) -> str:
        """Where to connect; the port is the real one, also if 0 was asked for."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self._scheme}://{host}:{self.port}{self.path}"

    async def start(self) -> None:
        """Begin to listen.

        Raises:
            ConfigError: the address cannot be had.
        """
        try:
            self._server = await ws_create_server(
                self._admit,
                self.host,
                self.port,
                ssl=self._ssl,
                websocket_handshake_timeout=HANDSHAKE_SECONDS,
                logger_name=quiet,
                enable_auto_pong=False,
                max_frame_size=self._settings.max_frame_bytes,
                read_buffer_init_size=4096,
            )
        except (OSError, UnicodeError) as exc:
            reason = getattr(exc, "strerror", None) or exc
            raise ConfigError(f"cannot listen on {self.url}: {reason}") from exc
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self, *, drain: float = DRAIN_SECONDS) -> None:
        """Take nothing new, let what runs finish for ``drain`` seconds, then say goodbye to everybody."""
        self._draining = True
        if self._server:
            self._server.close()
        for peer in self.peers:
            peer.drain()
        loop = asyncio.get_running_loop()
        until = loop.time() + drain
        # Only while stopping, and what is pending changes in many places: look, do not wire.
        while self._is_busy and loop.time() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        await asyncio.gather(
            *(peer.close(CloseCode.GOING_AWAY, "the gateway stops") for peer in list(self.peers))
        )

    def pause(self) -> None:
        """Stop reading from everybody: what is recorded cannot be written as fast as it comes."""
        if self._paused:
            return
        self._paused = True
        for peer in self.peers:
            peer.pause_reading()

    def resume(self) -> None:
        """Read again."""
        self._paused = False
        for peer in self.peers:
            peer.resume_reading()

    async def __aenter__(self) -> "Listener":
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(drain=DRAIN_SECONDS if exc is None else 0)

    # --- inside ----------------------------------------------------------------------------------------

    def _admit(self, request: WSUpgradeRequest) -> WSUpgradeResponseWithListener:
        """Decide on one upgrade, before anything is made for it (spec/mfp.md, section 9.1)."""
        path, _, query = request.path.decode("latin-1").partition("?")
        if path != self.path:
            return _refusal(HTTPStatus.NOT_FOUND, f"nothing at {path}; MFP is at {self.path}")
        if query:
            return _refusal(HTTPStatus.BAD_REQUEST, "no query string is accepted")
        if self._draining:
            return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "stopping")
        origin = request.headers.get("Origin")
        if origin is not None and origin not in self._origins | self._own_origins:
            return _refusal(HTTPStatus.FORBIDDEN, f"origin {origin} is not allowed")
        offered = [
            name.strip()
            for line in request.headers.getall("Sec-WebSocket-Protocol", [])
            for name in line.split(",")
        ]
        name = choose(offered)
        if offered and name is None:
            return _refusal(HTTPStatus.BAD_REQUEST, f"speak one of {', '.join(SUBPROTOCOLS)}")
        settings = self._settings
        if name is not None:
            settings = replace(settings, checksums=SUBPROTOCOLS[name])
        link = WebSocketLink(
            lambda link: self._own(link, settings, greet=name is not None),
            max_bytes=settings.max_frame_bytes,
            listening=True,
            patience=settings.progress_timeout,
        )
        headers = {"Sec-WebSocket-Protocol": name} if name else None
        return WSUpgradeResponseWithListener(WSUpgradeResponse.create_101_response(headers), link)

    @property
    def _own_origins(self) -> set[str]:
        """Pages that this address could have served. What a request calls its host proves nothing."""
        names = {self.host, "localhost", "127.0.0.1", "[::1]"} if is_loopback(self.host) else {self.host}
        return {f"{scheme}://{name}:{self.port}" for scheme in ("http", "https") for name in names}

    def _own(self, link: WebSocketLink, settings: Settings, *, greet: bool) -> Peer:
        link_id = secrets.token_bytes(8)
        peer = Peer(
            settings,
            link,
            self._endpoints,
            link_id=link_id,
            tap=self._tap.link(link_id) if self._tap else None,
            checksum=greet and settings.checksums.mode != "off",
        )
        self.peers.add(peer)
        peer.closed.add_done_callback(lambda _: self._left(peer))
        if self._paused:
            peer.pause_reading()
        if greet:
            peer.greet(HELLO, hello(settings, link=link_id.hex()))
        return peer

    @property
    def _is_busy(self) -> bool:
        return any(peer.pending for peer in self.peers | self._leaving)

    def _left(self, peer: Peer) -> None:
        self.peers.discard(peer)
        self._leaving = {gone for gone in (*self._leaving, peer) if gone.pending}


def listen(
    url: str,
    endpoints: Endpoints,
    *,
    settings: Settings | None = None,
    origins: Sequence[str] = (),
    ssl: SSLContext | None = None,
) -> Listener:
    """Serve ``endpoints`` at ``ws://HOST:PORT/PATH`` (port 0 picks a free one) inside ``async with``."""
    return Listener(url, endpoints, settings=settings, origins=origins, ssl=ssl)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _refusal(status: HTTPStatus, text: str) -> WSUpgradeResponseWithListener:
    response = WSUpgradeResponse.create_error_response(status, f"{text}\n".encode())
    return WSUpgradeResponseWithListener(response, None)
