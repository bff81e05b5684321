"""``connect``: reach a listener over WebSocket."""

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from ssl import SSLContext
from urllib.parse import urlsplit

from picows import WSError, WSHandshakeError, ws_connect

from framehub.errors import ConfigError, ConnectFailed
from framehub.mfp.negotiation import SUBPROTOCOLS, subprotocol
from framehub.mfp.settings import Settings
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.peer import Peer
from framehub.runtime.websocket import WebSocketLink, quiet

CONNECT_SECONDS = 10.0


@asynccontextmanager
async def connect(
    url: str,
    *,
    token: str | None = None,
    checksum: str | None = None,
    endpoints: Endpoints | None = None,
    settings: Settings | None = None,
    ssl: SSLContext | None = None,
) -> AsyncIterator[Peer]:
    """Connect to ``ws://HOST:PORT/PATH``; leaving ends the connection.

    ``checksum`` is None, ``crc32`` or ``xor8`` (our frames carry it), or one of them with ``.always`` (every
    frame both ways must). ``endpoints`` answer what the other side asks of us.

    Raises:
        ConnectFailed: nobody there, or it would not have us.
    """
    if urlsplit(url).scheme not in ("ws", "wss"):
        raise ConfigError(f"cannot connect to {url!r}: want ws://HOST:PORT/PATH or wss://")
    name = subprotocol(checksum)
    agreed = replace(settings or Settings(), checksums=SUBPROTOCOLS[name])
    registry = endpoints or Endpoints()
    made: list[Peer] = []

    def own(link: WebSocketLink) -> Peer:
        peer = Peer(
            agreed,
            link,
            registry,
            link_id=secrets.token_bytes(8),
            checksum=checksum is not None,
            expects_hello=True,
        )
        made.append(peer)
        return peer

    headers = {"Sec-WebSocket-Protocol": name}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    try:
        await ws_connect(
            lambda *_: WebSocketLink(own, max_bytes=agreed.max_frame_bytes, listening=False),
            url,
            ssl_context=ssl,
            websocket_handshake_timeout=CONNECT_SECONDS,
            logger_name=quiet,
            enable_auto_pong=False,
            max_frame_size=agreed.max_frame_bytes,
            extra_headers=headers,
            max_redirects=0,
            read_buffer_init_size=16384,
        )
    except WSHandshakeError as exc:
        raise ConnectFailed(url, _refusal(exc)) from exc
    except (OSError, WSError, TimeoutError) as exc:
        raise ConnectFailed(url, _reason(exc)) from exc
    (peer,) = made
    try:
        yield peer
    finally:
        await peer.close()


def _reason(exc: Exception) -> str:
    if isinstance(exc, OSError) and exc.errno:
        return os.strerror(exc.errno)
    return str(exc) or "no answer in time"


def _refusal(exc: WSHandshakeError) -> str:
    if exc.response is None:
        return str(exc)
    body = (exc.raw_body or b"").decode(errors="replace").strip()
    return f"HTTP {exc.response.status.value} {body or exc.response.status.phrase}"
