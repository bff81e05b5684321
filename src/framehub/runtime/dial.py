"""One connection to a listener, by whichever transport its address names."""

import asyncio
import os
import secrets
import socket
import ssl as tls
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import aiofastnet
from picows import WSError, WSHandshakeError, ws_connect

from framehub.codes import CloseCode
from framehub.errors import ConfigError, ConnectFailed
from framehub.mfp.negotiation import SUBPROTOCOLS, subprotocol
from framehub.mfp.settings import Settings
from framehub.runtime.address import Address, parse
from framehub.runtime.bytestream import make_link
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.handshakes import hush
from framehub.runtime.hangups import watch
from framehub.runtime.link import Link
from framehub.runtime.peer import Peer
from framehub.runtime.websocket import WebSocketLink, quiet

CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Dialer:
    """Knows where to connect, and how."""

    url: str
    address: Address
    settings: Settings
    checksum: bool
    """Whether our frames carry one."""
    endpoints: Endpoints
    subprotocol: str = ""
    token: str | None = field(default=None, repr=False)
    ssl: tls.SSLContext | None = None

    async def dial(self) -> Peer:
        """Connect once.

        Raises:
            ConnectFailed: nobody there, or it would not have us.
        """
        made: list[Peer] = []
        links: list[Link] = []
        given_up = False

        def own(link: Link) -> Peer:
            links.append(link)
            if given_up:
                asyncio.get_running_loop().call_soon(link.close, CloseCode.OK, "")
            peer = Peer(
                self.settings,
                link,
                self.endpoints,
                link_id=secrets.token_bytes(8),
                checksum=self.checksum,
                expects_hello=self.address.is_websocket,
            )
            made.append(peer)
            return peer

        try:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await (self._websocket(own) if self.address.is_websocket else self._byte_stream(own))
            except BaseException:
                given_up = True  # picows goes on opening all the same
                for link in links:
                    link.close(CloseCode.OK, "")
                raise
        except WSHandshakeError as exc:
            status = exc.response.status.value if exc.response else None
            raise ConnectFailed(self.url, _refusal(exc), status=status) from exc
        except (OSError, WSError, UnicodeError) as exc:
            if isinstance(exc, ConnectionResetError) and self.address.scheme == "wss":
                reason = "it ended the connection before TLS was agreed; is it a ws:// address?"
                raise ConnectFailed(self.url, reason) from exc
            raise ConnectFailed(self.url, _reason(exc)) from exc
        if not made:
            raise ConnectFailed(self.url, "the connection was lost while it opened")
        return made[0]

    async def _websocket(self, own: Callable[[Link], Peer]) -> None:
        hush()
        headers = {"Sec-WebSocket-Protocol": self.subprotocol}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        settings = self.settings
        transport, _ = await ws_connect(
            lambda *_: WebSocketLink(
                own,
                max_bytes=settings.max_frame_bytes,
                listening=False,
                patience=settings.progress_timeout,
            ),
            self.url,
            ssl_context=self.ssl,
            websocket_handshake_timeout=CONNECT_SECONDS,
            logger_name=quiet,
            enable_auto_pong=False,
            max_frame_size=settings.max_frame_bytes,
            extra_headers=headers,
            max_redirects=0,
            read_buffer_init_size=16384,
        )
        watch(transport.underlying_transport)

    async def _byte_stream(self, own: Callable[[Link], Peer]) -> None:
        loop, address = asyncio.get_running_loop(), self.address

        def protocol() -> asyncio.Protocol:
            return make_link(own, self.settings, listening=False)

        if address.scheme == "unix":
            transport, _ = await aiofastnet.create_unix_connection(loop, protocol, address.path)
        else:
            transport, _ = await aiofastnet.create_connection(loop, protocol, address.host, address.port)
        watch(transport)


def dialer(
    url: str,
    *,
    token: str | None = None,
    checksum: str | None = None,
    endpoints: Endpoints | None = None,
    settings: Settings | None = None,
    ssl: tls.SSLContext | None = None,
) -> Dialer:
    """Understand what ``connect`` was asked for.

    Raises:
        ConfigError: it cannot be.
    """
    address = parse(url)
    settings, endpoints = settings or Settings(), endpoints or Endpoints()
    if ssl is not None and address.scheme != "wss":
        raise ConfigError(f"ssl= goes with wss://, not with {address.place}")
    if address.is_websocket:
        name = subprotocol(checksum)
        settings = replace(settings, checksums=SUBPROTOCOLS[name])
        return Dialer(url, address, settings, checksum is not None, endpoints, name, token, ssl)
    if token is not None:
        raise ConfigError(f"token= goes with ws:// and wss://, not with {address.place}")
    settings, carries = address.settings(settings, checksum)
    return Dialer(url, address, settings, carries, endpoints)


def _reason(exc: Exception) -> str:
    if isinstance(exc, tls.SSLCertVerificationError):
        return f"its certificate is not trusted: {exc.verify_message}"
    if isinstance(exc, tls.SSLError):
        return f"TLS failed: {(exc.reason or str(exc)).replace('_', ' ').lower()}"
    if isinstance(exc, socket.gaierror):
        return str(exc.strerror)
    if isinstance(exc, OSError) and exc.errno:
        return os.strerror(exc.errno)
    return str(exc) or "no answer in time"


def _refusal(exc: WSHandshakeError) -> str:
    if exc.response is None:
        return str(exc)
    body = (exc.raw_body or b"").decode(errors="replace").strip()
    return f"HTTP {exc.response.status.value} {body or exc.response.status.phrase}"
