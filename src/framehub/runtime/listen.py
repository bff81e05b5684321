"""``listen``: serve endpoints over WebSocket, TCP or a Unix socket."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from ssl import SSLContext
from types import TracebackType
from weakref import WeakSet

from framehub.codes import CloseCode
from framehub.errors import ConfigError
from framehub.mfp import envelope
from framehub.mfp.checksum import Checksums
from framehub.mfp.negotiation import HELLO, hello
from framehub.mfp.outbox import FRAME_OVERHEAD
from framehub.mfp.settings import Settings
from framehub.runtime.accounts import Accounts, LimitSettings
from framehub.runtime.address import parse
from framehub.runtime.bytestream import ByteStreamLink, ByteStreamServer
from framehub.runtime.doorkeeper import Doorkeeper
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.entrance import ANONYMOUS, HUB_PATH, Entrance, HubEntrance, MfpEntrance
from framehub.runtime.handshakes import hush
from framehub.runtime.link import Link
from framehub.runtime.pages import Answers
from framehub.runtime.peer import Peer
from framehub.runtime.tap import Tap
from framehub.runtime.turn import turns_of
from framehub.runtime.upgrade import WebSocketServer

DRAIN_SECONDS = 10.0


class Listener:
    """A listening socket; ``async with`` it, or ``start`` and ``close``."""

    def __init__(
        self,
        url: str,
        endpoints: Endpoints,
        *,
        settings: Settings | None = None,
        tap: Tap | None = None,
        origins: Sequence[str] = (),
        ssl: SSLContext | None = None,
        tokens: Path | None = None,
        allow_anonymous: bool = False,
        hub: HubEntrance | None = None,
        pages: Answers | None = None,
        is_full: Callable[[], bool] = lambda: False,
        limits: LimitSettings | None = None,
    ) -> None:
        self.accounts = Accounts(limits)
        """What each user takes, where that is limited."""
        self.peers: set[Peer] = set()
        """Who is connected now."""
        self.opened = 0
        """Connections that were ever open."""
        self._exchanges = 0
        """Of those that are gone."""
        self._leaving: WeakSet[Peer] = WeakSet()
        """Who is gone: handlers that still read what it streamed keep it."""
        self._address = parse(url)
        self._endpoints = endpoints
        self._tap = tap
        self._paused = False
        if (self._address.scheme == "wss") != (ssl is not None):
            raise ConfigError("wss:// and ssl= go together")
        self._server: WebSocketServer | ByteStreamServer
        web = {"origins": origins, "tokens": tokens, "hub": hub, "pages": pages}
        if self._address.is_websocket:
            _check_room(settings or Settings())
            entrances = self._entrances(settings or Settings(), hub)
            self._server = WebSocketServer(
                self._address,
                entrances,
                doorkeeper=Doorkeeper(tokens, allow_anonymous=allow_anonymous),
                origins=origins,
                ssl=ssl,
                pages=pages,
                is_full=is_full,
                accounts=self.accounts,
            )
        elif names := [name for name, it in web.items() if it]:
            raise ConfigError(f"{names[0]}= goes with ws:// and wss://, not with {self._address.place}")
        else:
            self._settings, self._checksum = self._address.settings(settings or Settings())
            self._server = ByteStreamServer(self._address, self._settings, self._own_stream)

    @property
    def url(self) -> str:
        """Where to connect; the port is the real one, also if 0 was asked for."""
        return replace(self._address, port=self.port).url

    @property
    def hub_url(self) -> str:
        """Where clients of the hub connect, if there is one."""
        return replace(self._address, port=self.port, path=HUB_PATH).url

    @property
    def port(self) -> int:
        """The real port; 0 for a Unix socket."""
        return self._server.port

    def entrance(self, settings: Settings) -> MfpEntrance:
        """For another server: who comes in there, as nobody in particular, is a client as others are."""

        def own(link: Link, user: int, *, settings: Settings, greet: bool) -> Peer:  # noqa: ARG001
            return self._own_websocket(link, ANONYMOUS, settings=settings, greet=greet)

        return MfpEntrance(settings, own)

    async def start(self) -> None:
        """Begin to listen.

        Raises:
            ConfigError: the address cannot be had.
        """
        hush()
        await self._server.start()

    async def close(self, *, drain: float = DRAIN_SECONDS) -> None:
        """Take nothing new, let what runs finish for ``drain`` seconds, then say goodbye to everybody."""
        self._server.stop()
        for peer in self.peers:
            peer.drain()
        loop = asyncio.get_running_loop()
        until = loop.time() + drain
        # Only while stopping, and what is pending changes in many places: look, do not wire.
        while self.pending and loop.time() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        await self._server.close()
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

    def _entrances(self, settings: Settings, hub: HubEntrance | None) -> dict[str, Entrance]:
        entrances: dict[str, Entrance] = {self._address.path: MfpEntrance(settings, self._own_websocket)}
        if hub is not None:
            if HUB_PATH in entrances:
                raise ConfigError(f"{self._address.place}: {HUB_PATH} is the hub's")
            entrances[HUB_PATH] = hub
        return entrances

    def _own_websocket(self, link: Link, user: int, *, settings: Settings, greet: bool) -> Peer:
        peer = self._own(link, settings, user, checksum=greet and settings.checksums.mode != "off")
        if greet:
            peer.greet(HELLO, hello(settings, link=peer.link))
        return peer

    def _own_stream(self, link: ByteStreamLink) -> Peer:
        return self._own(link, self._settings, ANONYMOUS, checksum=self._checksum)

    def _own(self, link: Link, settings: Settings, user: int, *, checksum: bool) -> Peer:
        link_id = secrets.token_bytes(8)
        tap = self._tap.link(link_id, user=user) if self._tap else None
        peer = Peer(settings, link, self._endpoints, link_id=link_id, tap=tap, user=user, checksum=checksum)
        self.peers.add(peer)
        self.opened += 1
        peer.closed.add_done_callback(partial(self._left, peer))
        if self._paused:
            peer.pause_reading()
        return peer

    @property
    def pending(self) -> int:
        """How much is under way with all peers, those that left while it ran included."""
        return sum(peer.pending for peer in (*self.peers, *self._leaving))

    @property
    def exchanges(self) -> int:
        """Conversations so far, with all peers."""
        return self._exchanges + sum(peer.exchanges for peer in self.peers)

    @property
    def turned_away(self) -> int:
        """Requests that were answered ``busy``, of all listeners on this event loop."""
        return turns_of(asyncio.get_running_loop()).refused

    @property
    def refused(self) -> Counter[int]:
        """Upgrades that were refused, by the HTTP status."""
        return self._server.refused if isinstance(self._server, WebSocketServer) else Counter()

    def _left(self, peer: Peer, _closed: object) -> None:
        if peer in self.peers:
            self._exchanges += peer.exchanges
        self.peers.discard(peer)
        self._leaving.add(peer)


def _check_room(settings: Settings) -> None:
    """Refuse limits that are too low for our own hello: nobody could connect."""
    longest = replace(settings, checksums=Checksums("always", "crc32"))
    size = len(envelope.encode(HELLO, hello(longest, link=bytes(8).hex())))
    if size > settings.max_payload_bytes or size + FRAME_OVERHEAD > settings.max_frame_bytes:
        raise ConfigError(
            f"a listener's hello has {size} bytes: max_payload_bytes must be at least that, "
            f"max_frame_bytes at least {size + FRAME_OVERHEAD}"
        )


def listen(
    url: str,
    endpoints: Endpoints,
    *,
    settings: Settings | None = None,
    origins: Sequence[str] = (),
    ssl: SSLContext | None = None,
    tokens: Path | None = None,
    allow_anonymous: bool = False,
) -> Listener:
    """Serve ``endpoints`` inside ``async with``; port 0 picks a free one.

    ``url`` is ``ws://HOST:PORT/PATH``, ``wss://HOST:PORT/PATH`` (with ``ssl``), ``tcp://HOST:PORT`` or
    ``unix:///PATH``. The last two take ``?checksum=crc32&timeout=5``: both sides have to say the same.

    ``tokens`` is a file made by ``framehub token``: who connects has to have one of those, unless
    ``allow_anonymous``. It is read again when it changes.

    Raises:
        ConfigError: this cannot be, or the tokens cannot be read.
    """
    return Listener(
        url,
        endpoints,
        settings=settings,
        origins=origins,
        ssl=ssl,
        tokens=tokens,
        allow_anonymous=allow_anonymous,
    )
