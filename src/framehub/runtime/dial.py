"""One connection to a listener, by whichever transport its address names.

``open_websocket`` opens one for anybody who has an owner for its link; ``Dialer`` is that for MFP.
"""

import asyncio
import os
import secrets
import socket
import ssl as tls
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import aiofastnet
from picows import WSError, WSHandshakeError, ws_connect

from framehub.codes import CloseCode
from framehub.errors import ConfigError, ConnectFailed
from framehub.mfp.negotiation import SUBPROTOCOLS, subprotocol
from framehub.mfp.settings import Settings
from framehub.runtime import bearer
from framehub.runtime.address import Address, parse
from framehub.runtime.bytestream import make_link
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.handshakes import hush
from framehub.runtime.hangups import watch
from framehub.runtime.link import Link, LinkOwner
from framehub.runtime.parser import quiet
from framehub.runtime.peer import Peer
from framehub.runtime.websocket import WebSocketLink

CONNECT_SECONDS = 10.0

LinkT = TypeVar("LinkT", bound=Link)
Owner = TypeVar("Owner", bound=LinkOwner)


async def open_websocket(
    url: str,
    own: Callable[[WebSocketLink], Owner],
    *,
    max_bytes: int,
    patience: float,
    subprotocols: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
    token: str | None = None,
    ssl: tls.SSLContext | None = None,
) -> Owner:
    """Open a WebSocket, whatever is spoken on it; gives the owner that ``own`` made for it.

    ``max_bytes`` is the largest message to take, ``patience`` the seconds for one that has begun.

    Raises:
        ConfigError: the token cannot be one.
        ConnectFailed: nobody there, or it would not have us.
    """
    sent = {**(headers or {}), **(bearer.header(token) if token is not None else {})}
    if subprotocols:
        sent["Sec-WebSocket-Protocol"] = ", ".join(subprotocols)

    async def begin(own: Callable[[WebSocketLink], Owner]) -> None:
        hush()
        transport, _ = await ws_connect(
            lambda *_: WebSocketLink(own, max_bytes=max_bytes, listening=False, patience=patience),
            url,
            ssl_context=ssl,
            websocket_handshake_timeout=CONNECT_SECONDS,
            logger_name=quiet,
            enable_auto_pong=False,
            max_frame_size=max_bytes,
            extra_headers=sent,
            max_redirects=0,
            read_buffer_init_size=16384,
        )
        watch(transport.underlying_transport)

    return await _opened(url, own, begin)


async def _opened(
    url: str,
    own: Callable[[LinkT], Owner],
    begin: Callable[[Callable[[LinkT], Owner]], Awaitable[None]],
) -> Owner:
    """The owner of the link that ``begin`` opens.

    Raises:
        ConnectFailed: there is none.
    """
    made: list[Owner] = []
    links: list[LinkT] = []
    given_up = False

    def owned(link: LinkT) -> Owner:
        links.append(link)
        if given_up:
            asyncio.get_running_loop().call_soon(link.close, CloseCode.OK, "")
        made.append(own(link))
        return made[0]

    try:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await begin(owned)
        except BaseException:
            given_up = True  # picows goes on opening all the same
            for link in links:
                link.close(CloseCode.OK, "")
            raise
    except WSHandshakeError as exc:
        status = exc.response.status.value if exc.response else None
        # Its traceback knows the parser, and the parser knows it.
        raise ConnectFailed(url, _refusal(exc), status=status) from exc.with_traceback(None)
    except (OSError, WSError, UnicodeError) as exc:
        exc.__traceback__ = None
        if isinstance(exc, ConnectionResetError) and url.startswith("wss:"):
            reason = "it ended the connection before TLS was agreed; is it a ws:// address?"
            raise ConnectFailed(url, reason) from exc
        raise ConnectFailed(url, _reason(exc)) from exc
    if not made:
        raise ConnectFailed(url, "the connection was lost while it opened")
    return made[0]


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
        if not self.address.is_websocket:
            return await _opened(self.url, self._own, self._byte_stream)
        return await open_websocket(
            self.url,
            self._own,
            max_bytes=self.settings.max_frame_bytes,
            patience=self.settings.progress_timeout,
            subprotocols=(self.subprotocol,),
            token=self.token,
            ssl=self.ssl,
        )

    def _own(self, link: Link) -> Peer:
        return Peer(
            self.settings,
            link,
            self.endpoints,
            link_id=secrets.token_bytes(8),
            checksum=self.checksum,
            expects_hello=self.address.is_websocket,
        )

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
        if token is not None:
            bearer.header(token)
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
