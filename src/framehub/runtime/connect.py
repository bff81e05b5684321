"""``connect``: reach a listener over WebSocket, TCP or a Unix socket."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from ssl import SSLContext
from typing import Literal, overload

from framehub.mfp.settings import Settings
from framehub.runtime.backoff import Backoff
from framehub.runtime.dial import Dialer, dialer
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.peer import Peer
from framehub.runtime.reconnect import ReconnectingPeer


@overload
def connect(
    url: str,
    *,
    token: str | None = None,
    checksum: str | None = None,
    endpoints: Endpoints | None = None,
    settings: Settings | None = None,
    ssl: SSLContext | None = None,
    reconnect: Literal[False] = False,
) -> AbstractAsyncContextManager[Peer]: ...


@overload
def connect(
    url: str,
    *,
    token: str | None = None,
    checksum: str | None = None,
    endpoints: Endpoints | None = None,
    settings: Settings | None = None,
    ssl: SSLContext | None = None,
    reconnect: Literal[True] | Backoff,
) -> AbstractAsyncContextManager[ReconnectingPeer]: ...


def connect(
    url: str,
    *,
    token: str | None = None,
    checksum: str | None = None,
    endpoints: Endpoints | None = None,
    settings: Settings | None = None,
    ssl: SSLContext | None = None,
    reconnect: bool | Backoff = False,
) -> AbstractAsyncContextManager[Peer] | AbstractAsyncContextManager[ReconnectingPeer]:
    """Connect to a listener inside ``async with``; leaving ends the connection.

    ``url`` is ``ws://HOST:PORT/PATH``, ``wss://HOST:PORT/PATH``, ``tcp://HOST:PORT`` or ``unix:///PATH``. The
    last two take ``?checksum=crc32&timeout=5``: both sides have to say the same.

    ``checksum`` is None, ``crc32`` or ``xor8`` (our frames carry it), or one of them with ``.always`` (every
    frame both ways must). ``token`` says who we are, where a WebSocket's listener wants to know it.
    ``endpoints`` answer what the other side asks of us. With ``reconnect``, which may be a ``Backoff`` that
    says how long to wait, a connection that is lost is made again.

    Raises:
        ConfigError: this cannot be asked for.
        ConnectFailed: nobody there, or it would not have us.
    """
    there = dialer(url, token=token, checksum=checksum, endpoints=endpoints, settings=settings, ssl=ssl)
    if not reconnect:
        return _once(there)
    return _again_and_again(there, Backoff() if reconnect is True else reconnect)


@asynccontextmanager
async def _once(there: Dialer) -> AsyncIterator[Peer]:
    peer = await there.dial()
    try:
        yield peer
    finally:
        await peer.close()


@asynccontextmanager
async def _again_and_again(there: Dialer, backoff: Backoff) -> AsyncIterator[ReconnectingPeer]:
    peer = ReconnectingPeer(there, backoff)
    await peer.start()
    try:
        yield peer
    finally:
        await peer.close()
