"""HTTP methods on a port of WebSockets."""

import asyncio
import gc
from collections.abc import AsyncIterator
from functools import partial
from http import HTTPStatus
from ssl import SSLContext

import pytest
from picows import WSUpgradeResponse

from framehub.mfp.settings import Settings
from framehub.runtime import upgrade
from framehub.runtime.accept import Acceptor
from framehub.runtime.address import Address
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.entrance import Refused
from framehub.runtime.listen import Listener, listen
from framehub.runtime.methods import LONGEST, MOST_DRAINED, AnyMethod
from framehub.runtime.pages import HEADERS, OpenPages, Page, asked_again
from framehub.runtime.upgrade import WebSocketServer
from tests.unit.gateway.asking import get

from .certificates import Tls, make_tls
from .raw import FIN, PING, PONG, RawClient, frame

PAGES = {
    "/a": lambda: Page(body=b"hello", headers=asked_again(b"hello")),
    "/busy": lambda: Page(body=b"not now", status=HTTPStatus.SERVICE_UNAVAILABLE),
}
UPGRADE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


WANT = b"want GET, HEAD\n"


def made(ssl: SSLContext | None = None) -> WebSocketServer:
    entrance = Listener("ws://127.0.0.1/mfp", Endpoints()).entrance(Settings())
    pages = OpenPages(PAGES, host="127.0.0.1")
    return WebSocketServer(Address(scheme="ws", host="127.0.0.1"), {"/mfp": entrance}, pages=pages, ssl=ssl)


@pytest.fixture
async def server() -> AsyncIterator[WebSocketServer]:
    server = made()
    await server.start()
    yield server
    await server.close()


@pytest.fixture
def tls() -> Tls:
    return make_tls("127.0.0.1")


@pytest.fixture
async def tls_server(tls: Tls) -> AsyncIterator[WebSocketServer]:
    server = made(tls.server)
    await server.start()
    yield server
    await server.close()


@pytest.fixture
def url(server: WebSocketServer) -> str:
    return f"http://127.0.0.1:{server.port}"


async def raw(server: WebSocketServer, data: bytes) -> bytes:
    """What is answered to some bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(data)
    try:
        return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize(("path", "status"), [("/a", 200), ("/busy", 503), ("/none", 404), ("/mfp", 400)])
async def test_head_is_what_get_is_without_the_body(url: str, path: str, status: int) -> None:
    got, headers, body = await get(f"{url}{path}")
    head, head_headers, nothing = await get(f"{url}{path}", method="HEAD")
    assert (got, head, nothing) == (status, status, b"")
    assert body
    if status != 400:  # that one is said by picows, and in other words by us
        assert head_headers == headers
        assert head_headers["Content-Length"] == str(len(body))
    if status == 200:
        assert all(headers[name] == value or name == "Cache-Control" for name, value in HEADERS.items())


async def test_head_of_a_page_that_is_known(url: str) -> None:
    _, headers, _ = await get(f"{url}/a")
    known = {"If-None-Match": headers["ETag"]}
    assert (await get(f"{url}/a", known, method="HEAD"))[::2] == (304, b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "NONSENSE"])
@pytest.mark.parametrize("path", ["/a", "/none", "/mfp"])
async def test_other_methods_are_not_allowed(url: str, method: str, path: str) -> None:
    status, headers, body = await get(f"{url}{path}", method=method)
    assert (status, headers["Allow"], body) == (405, "GET, HEAD", WANT)
    assert headers["Connection"] == "close"


async def test_a_body_does_not_matter(server: WebSocketServer) -> None:
    told = await raw(server, b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
    assert told.startswith(b"HTTP/1.1 405 ")
    assert server.refused == {405: 1}


async def test_a_large_body_does_not_matter_either(server: WebSocketServer) -> None:
    """Whoever sends it sees the answer, and not a reset."""
    head = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n"
    assert (await raw(server, head + bytes(900_000))).startswith(b"HTTP/1.1 405 ")


@pytest.mark.parametrize(
    "words", [b"get /a HTTP/1.1", b"M-SEARCH * HTTP/1.1", b"G\x00T /a HTTP/1.1", b"x" * 40, b" / HTTP/1.1"]
)
async def test_what_is_no_method_is_no_request(server: WebSocketServer, words: bytes) -> None:
    assert (await raw(server, words + b"\r\n\r\n")).startswith(b"HTTP/1.1 400 ")


async def test_only_a_get_becomes_a_websocket(url: str) -> None:
    status, headers, body = await get(f"{url}/mfp", UPGRADE, method="HEAD")
    assert (status, headers["Allow"], body) == (405, "GET", b"")
    async with connect(f"ws{url.removeprefix('http')}/mfp") as peer:
        await peer.ping()


OPENING = (
    b"GET /mfp HTTP/1.1\r\nHost: localhost\r\n"
    + "".join(f"{name}: {value}\r\n" for name, value in UPGRADE.items()).encode()
    + b"\r\n"
)


@pytest.mark.parametrize("cut", [0, 2, 4, 30, len(OPENING)])
async def test_a_first_frame_may_come_with_its_opening(server: WebSocketServer, cut: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    data = OPENING + frame(FIN | PING, b"here")
    writer.write(data[:cut])
    await asyncio.sleep(0)
    writer.write(data[cut:])
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
    client = RawClient(reader, writer)
    while (received := await client.receive())[0] != PONG:
        pass
    assert received[1] == b"here"
    await client.end()


async def test_over_tls_too(tls_server: WebSocketServer, tls: Tls) -> None:
    for method, status, body in ((b"GET", b"200", b"hello"), (b"HEAD", b"200", b""), (b"POST", b"405", WANT)):
        reader, writer = await asyncio.open_connection("127.0.0.1", tls_server.port, ssl=tls.client)
        for byte in method + b" /a HTTP/1.1\r\nHost: localhost\r\n\r\n":
            writer.write(bytes([byte]))
        head, _, told = (await reader.read()).partition(b"\r\n\r\n")
        assert (head[9:12], told) == (status, body)
        writer.close()


async def test_who_is_open_has_nothing_of_it(server: WebSocketServer) -> None:
    """Ten thousand of them would have it ten thousand times."""
    async with connect(f"ws://127.0.0.1:{server.port}/mfp") as peer:
        await peer.ping()
        gc.collect()
        assert not [one for one in gc.get_objects() if type(one) is AnyMethod]


@pytest.mark.parametrize("said", [b"", b"PO", b"POST / HTTP/1.1\r\nHost: x\r\n"])
async def test_who_does_not_end_its_request_is_cut_off(monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    """[MFP-9.6.2]"""
    monkeypatch.setattr(upgrade, "Acceptor", partial(Acceptor, seconds=0.1))
    async with listen("ws://127.0.0.1:0/mfp", Endpoints()) as listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(said)
        assert await reader.read() == b""
        writer.close()


async def test_who_says_nothing_leaves_nothing(server: WebSocketServer) -> None:
    assert server._acceptor is not None
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"PO")
    while not server._acceptor.opening:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    writer.close()
    while server._acceptor.opening:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


# --- byte by byte ----------------------------------------------------------------------------------------


class Parser(asyncio.BufferedProtocol):
    """In place of picows: keeps what it is told of, as it does."""

    def __init__(self) -> None:
        self.room = bytearray(20_000)
        self.told = 0

    def get_buffer(self, _sizehint: int) -> memoryview:
        return memoryview(self.room)[self.told :]

    def buffer_updated(self, nbytes: int) -> None:
        self.told += nbytes


class Wire:
    """In place of a transport: bytes that come in pieces."""

    def __init__(self) -> None:
        self.parser = Parser()
        self.heads = 0
        self.refusals = 0
        self.written = b""
        self.ended = self.aborted = False
        self.protocol: asyncio.BufferedProtocol = AnyMethod(
            self.parser, on_head=self._on_head, refuse=self._refuse
        )
        self.protocol.connection_made(self)

    def come(self, *pieces: bytes) -> "Wire":
        for piece in pieces:
            room = self.protocol.get_buffer(-1)
            room[: len(piece)] = piece  # type: ignore[index]
            self.protocol.buffer_updated(len(piece))
        return self

    @property
    def parsed(self) -> bytes:
        return bytes(self.parser.room[: self.parser.told])

    def get_protocol(self) -> asyncio.BufferedProtocol:
        return self.protocol

    def is_closing(self) -> bool:
        return False

    def set_protocol(self, protocol: asyncio.BufferedProtocol) -> None:
        self.protocol = protocol

    def write(self, data: bytes) -> None:
        self.written += data

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def abort(self) -> None:
        self.aborted = True

    def _on_head(self) -> None:
        assert self.parser.told == 0
        self.heads += 1

    def _refuse(self, refused: Refused) -> WSUpgradeResponse:
        self.refusals += 1
        answer: WSUpgradeResponse = WSUpgradeResponse.create_error_response(
            refused.status, refused.text.encode(), refused.headers
        )
        return answer


REST = b" /a HTTP/1.1\r\nHost: localhost\r\n\r\n"


def single(data: bytes) -> list[bytes]:
    return [data[n : n + 1] for n in range(len(data))]


def all_cuts(data: bytes) -> list[list[bytes]]:
    return [[data], single(data), *([data[:cut], data[cut:]] for cut in range(1, len(data)))]


@pytest.mark.parametrize("said", [b"GET", b"G", b"get", b"", b"x" * 16, b"x" * 17, b"G\x00T", b"\xc3\x84"])
def test_what_is_none_of_ours_comes_through_as_it_is(said: bytes) -> None:
    for pieces in all_cuts(said + REST) if said != b"G" else [[b"G", b"ET" + REST]]:
        wire = Wire().come(*pieces)
        assert wire.parsed == b"".join(pieces)
        assert wire.protocol is wire.parser
        assert (wire.heads, wire.written, wire.ended) == (0, b"", False)


def test_bytes_without_an_end_of_the_word_come_through_when_it_is_too_long_for_one() -> None:
    wire = Wire().come(*single(b"X" * LONGEST))
    assert wire.parsed == b""
    assert wire.come(b"X").parsed == b"X" * (LONGEST + 1)


def test_a_head_comes_through_as_a_get() -> None:
    for pieces in all_cuts(b"HEAD" + REST):
        wire = Wire().come(*pieces)
        assert wire.parsed == b"GET" + REST
        assert (wire.protocol, wire.heads) == (wire.parser, 1)


def test_what_is_neither_is_answered_once_and_never_parsed() -> None:
    for pieces in all_cuts(b"POST" + REST):
        wire = Wire().come(*pieces[:-1])
        assert (wire.written, wire.ended) == (b"", False)
        wire.come(pieces[-1])
        assert wire.written.startswith(b"HTTP/1.1 405 ")
        assert wire.ended
        wire.come(b"more", b"\r\n\r\n")
        assert (wire.refusals, wire.parsed, wire.aborted) == (1, b"", False)


@pytest.mark.parametrize("method", [b"POST", b"GET", b"HEAD", b"get"])
def test_its_headers_end_within_16_kib(method: bytes) -> None:
    """[MFP-9.6.1] The piece that is one too many is no longer the parser's."""
    wire = Wire().come(method + b" ", *[bytes(1_024)] * 15, bytes(1_024 - len(method) - 2))
    assert (wire.written, wire.ended) == (b"", False)
    parsed = wire.parser.told
    wire.come(b"x")
    assert wire.written.startswith(b"HTTP/1.1 431 ")
    assert (wire.refusals, wire.ended, wire.parser.told) == (1, True, parsed)


def test_what_comes_after_a_refusal_is_thrown_away_up_to_a_bound() -> None:
    """[MFP-9.6.1]"""
    wire = Wire().come(b"POST" + REST, *[bytes(1_024)] * (MOST_DRAINED // 1_024))
    assert not wire.aborted
    assert wire.come(b"x").aborted
