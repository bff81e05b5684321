"""How a listener opens, refuses and ends connections (spec/mfp.md, section 9), over a real socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from framehub.codes import CloseCode, Service
from framehub.errors import ConnectionClosed
from framehub.mfp import codec, envelope
from framehub.mfp.frames import MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.negotiation import HELLO, SUBPROTOCOLS, hello
from framehub.mfp.settings import Settings
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.files import File
from framehub.runtime.listen import Listener, listen
from framehub.runtime.peer import Peer


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    async with listen("ws://127.0.0.1:0/mfp", Endpoints()) as listener:
        yield listener


class Wire:
    """The client's end of one TCP connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def message(self) -> tuple[int, bytes]:
        """Opcode and content of one short WebSocket message."""
        head = await self.reader.readexactly(2)
        size = head[1]
        if size == 126:
            size = int.from_bytes(await self.reader.readexactly(2), "big")
        return head[0] & 15, await self.reader.readexactly(size)

    def send(self, data: bytes) -> None:
        """One binary message, masked with zeros."""
        assert len(data) < 126
        self.writer.write(bytes((0x82, 0x80 | len(data), 0, 0, 0, 0)) + data)


async def upgrade(
    listener: Listener, target: str = "/mfp", method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], Wire]:
    """Ask for a WebSocket; the status, the headers and the wire."""
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    fields = {
        "Host": f"127.0.0.1:{listener.port}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    writer.write("\r\n".join(lines).encode())
    status, *answer = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
    if "101" not in status:
        writer.close()
    found = dict(line.lower().split(": ", 1) for line in answer)
    return int(status.split()[1]), found, Wire(reader, writer)


@pytest.mark.parametrize("name", SUBPROTOCOLS)
async def test_a_peer_that_names_its_checksums_gets_them_and_a_hello(listener: Listener, name: str) -> None:
    """[MFP-9.1] [MFP-9.2] The first frame is the hello, with the checksum that was agreed."""
    status, headers, wire = await upgrade(listener, Sec_WebSocket_Protocol=f"soap, {name}, mfp")
    assert (status, headers["sec-websocket-protocol"]) == (101, name)
    opcode, data = await wire.message()
    assert opcode == 2
    frame = codec.decode(data, SUBPROTOCOLS[name])
    assert isinstance(frame, MessageFrame)
    opened = envelope.decode(frame.payload)
    assert opened.endpoint == HELLO
    settings = Settings(checksums=SUBPROTOCOLS[name])
    assert opened.data == hello(settings, link=opened.data["link"])
    wire.writer.close()


async def test_a_peer_that_names_nothing_gets_no_hello(listener: Listener) -> None:
    """[MFP-9.2] Its first ping is answered by the first frame."""
    status, headers, wire = await upgrade(listener)
    assert status == 101
    assert "sec-websocket-protocol" not in headers
    wire.send(bytes.fromhex("2f 00000001 00000001"))
    assert await wire.message() == (2, bytes.fromhex("21 00000001 00000001"))
    wire.writer.close()


async def test_another_path_is_not_found(listener: Listener) -> None:
    """[MFP-9.1.1]"""
    assert (await upgrade(listener, "/other"))[0] == 404


@pytest.mark.parametrize("method", ["HEAD", "POST", "OPTIONS"])
async def test_only_a_get_is_an_upgrade(listener: Listener, method: str) -> None:
    """[MFP-9.1.5]"""
    status, headers, _ = await upgrade(listener, method=method)
    assert (status, headers["allow"].split(", ")[0]) == (405, "get")


async def test_a_query_string_is_refused(listener: Listener) -> None:
    """[MFP-9.1.2]"""
    assert (await upgrade(listener, "/mfp?token=secret"))[0] == 400


async def test_only_unknown_subprotocols_are_refused(listener: Listener) -> None:
    """[MFP-9.1.3]"""
    assert (await upgrade(listener, Sec_WebSocket_Protocol="mfp.md5, soap"))[0] == 400


async def test_a_listener_that_verifies_always_takes_only_those_who_send_sums() -> None:
    """[MFP-3.8] [MFP-9.1.3] Our own client's service frames have them too."""
    async with listen("ws://127.0.0.1:0/mfp", Endpoints(), settings=Settings(verify_always=True)) as listener:
        assert (await upgrade(listener, Sec_WebSocket_Protocol="mfp"))[0] == 400
        for checksum in ("crc32", "xor8", "crc32.always"):
            async with connect(listener.url, checksum=checksum) as peer:
                await peer.ping()
        _, _, wire = await upgrade(listener)
        wire.send(bytes.fromhex("2f 00000001 00000001"))
        opcode, data = await wire.message()
        assert (opcode, int.from_bytes(data[:2], "big")) == (8, CloseCode.BAD_CHECKSUM)
        wire.writer.close()


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
async def test_a_foreign_origin_is_forbidden(listener: Listener, origin: str) -> None:
    """[MFP-9.1.4]"""
    assert (await upgrade(listener, Origin=origin))[0] == 403


async def test_the_listeners_own_origin_may_connect(listener: Listener) -> None:
    """[MFP-9.1.4]"""
    status, _, wire = await upgrade(listener, Origin=f"http://127.0.0.1:{listener.port}")
    assert status == 101
    wire.writer.close()


@pytest.mark.parametrize(
    ("hexed", "code"),
    [("50 00000001 00000000", CloseCode.BAD_CHECKSUM), ("40 00000000", CloseCode.PROTOCOL_ERROR)],
    ids=["a wrong checksum", "no frame"],
)
async def test_a_refused_frame_ends_the_connection(listener: Listener, hexed: str, code: CloseCode) -> None:
    """[MFP-9.2.1]"""
    _, _, wire = await upgrade(listener)
    wire.send(bytes.fromhex(hexed))
    opcode, data = await wire.message()
    assert (opcode, int.from_bytes(data[:2], "big")) == (8, code)
    wire.writer.close()


async def test_what_is_pending_fails_when_the_connection_ends(listener: Listener) -> None:
    """[MFP-9.3] On both sides."""
    never = asyncio.Event()
    mine = Endpoints()
    asked = asyncio.Event()

    @mine.on("wait")
    async def wait(_call: Any) -> None:
        asked.set()
        await never.wait()

    async with connect(listener.url, endpoints=mine) as peer:
        await peer.ping()
        (other,) = listener.peers
        question = asyncio.ensure_future(other.request("wait"))
        await asked.wait()
        await peer.close()
        with pytest.raises(ConnectionClosed):
            await question
        await asyncio.sleep(0)  # a cancelled handler ends in its own turn
        assert (peer.pending, other.pending) == (0, 0)


class Sent:
    """A link that keeps what it is given."""

    full = excused = False

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.code = 0
        self.closing = asyncio.Event()

    def send(self, *pieces: bytes) -> bool:
        self.frames.append(b"".join(pieces))
        return True

    def pause(self, why: str) -> None: ...

    def resume(self, why: str) -> None: ...

    def close(self, code: int, reason: str) -> None:
        self.code = code
        self.closing.set()


@pytest.mark.parametrize("payload", [b"", b"hello", b'{"endpoint":""}', b"[" * 100_000, b"1" * 100_000])
async def test_a_payload_that_is_no_envelope_is_answered_and_the_connection_stays(payload: bytes) -> None:
    """[MFP-7.5] A request gets ``bad_request``, a message an abort."""
    link = Sent()
    peer = Peer(Settings(), link, Endpoints(), link_id=bytes(8))
    peer.frame_received(codec.encode(RequestFrame(id=1, payload=payload)))
    peer.frame_received(codec.encode(MessageFrame(id=2, payload=payload)))
    answer, abort = (codec.decode(data) for data in link.frames)
    assert isinstance(answer, ResponseFrame)
    assert json.loads(answer.payload)["error"]["code"] == "bad_request"
    assert isinstance(abort, ServiceFrame)
    assert (abort.code.name, abort.ref, abort.own) == ("ABORT", 2, False)
    assert link.code == 0


async def test_announced_files_need_no_names() -> None:
    """[MFP-7.4] [MFP-8.4.1]"""
    endpoints = Endpoints()
    calls: list[Any] = []
    endpoints.on("up")(calls.append)
    link = Sent()
    peer = Peer(Settings(), link, endpoints, link_id=bytes(8))
    peer.frame_received(codec.encode(MessageFrame(id=1, payload=b'{"endpoint":"up"}', expected=(7,))))
    peer.frame_received(bytes.fromhex("82 00000002 00000001 00000007 aa"))
    (call,) = calls
    assert {key: (file.data, file.name, file.type) for key, file in call.files.items()} == {
        7: (b"\xaa", "", "")
    }
    assert link.frames == []


@pytest.mark.parametrize("how", ["at its end", "in time"])
async def test_a_handler_is_told_which_announced_files_are_left_out_and_why(how: str) -> None:
    """[MFP-8.4.8] [MFP-7.4] The filemap may name files that did not come."""
    endpoints = Endpoints()
    calls: asyncio.Queue[Any] = asyncio.Queue()
    endpoints.on("up")(calls.put_nowait)
    peer = Peer(Settings(bad_files="deliver", progress_timeout=0.01), Sent(), endpoints, link_id=bytes(8))
    payload = envelope.encode("up", names={7: ("a.png", "image/png"), 8: ("b.png", "image/png")})
    peer.frame_received(codec.encode(MessageFrame(id=1, payload=payload, expected=(7, 8))))
    peer.frame_received(bytes.fromhex(f"8{2 if how == 'at its end' else 3} 00000002 00000001 00000007 aa"))
    call = await calls.get()
    assert call.files == {7: File(b"\xaa", "a.png", "image/png")}
    assert call.left_out == {
        8: "did not come before the end" if how == "at its end" else "did not come in time"
    }
    peer.link_lost(1000, "")


async def test_a_raw_handler_is_told_too() -> None:
    """[MFP-8.4.8]"""
    endpoints = Endpoints()
    calls: list[Any] = []
    endpoints.on_raw(calls.append)
    peer = Peer(Settings(bad_files="deliver"), Sent(), endpoints, link_id=bytes(8))
    peer.frame_received(codec.encode(MessageFrame(id=1, payload=b"raw", expected=(7,))))
    peer.frame_received(bytes.fromhex("80 00000002 00000001"))
    (call,) = calls
    assert (call.files, call.left_out) == ({}, {7: "did not come before the end"})


async def test_a_peer_that_never_says_anything_is_pinged_then_closed() -> None:
    """[MFP-8.7.1] [MFP-8.7.2] Although nothing else was ever sent to it."""
    link = Sent()
    peer = Peer(Settings(keepalive=0.01), link, Endpoints(), link_id=bytes(8))
    await link.closing.wait()
    assert [codec.decode(data) for data in link.frames] == [
        ServiceFrame(id=1, code=Service.PING, ref=1, own=True)
    ]
    assert link.code == CloseCode.GOING_AWAY
    peer.link_lost(link.code, "")


async def test_a_peer_that_is_not_read_is_pinged_and_not_judged() -> None:
    """[MFP-8.7.3]"""
    link = Sent()
    link.excused = True
    peer = Peer(Settings(keepalive=0.01), link, Endpoints(), link_id=bytes(8))
    await asyncio.sleep(0.1)
    assert len(link.frames) > 2
    assert link.code == 0
    link.excused = False
    await link.closing.wait()
    peer.link_lost(link.code, "")


async def test_a_connection_that_nobody_uses_is_closed() -> None:
    """[MFP-8.7.4]"""
    link = Sent()
    peer = Peer(Settings(idle_timeout=0.01), link, Endpoints(), link_id=bytes(8))
    await link.closing.wait()
    assert (link.code, link.frames) == (CloseCode.OK, [])
    peer.link_lost(link.code, "")


@pytest.mark.parametrize("kind", ["request", "message", "stream", "response"])
async def test_payloads_that_are_no_envelopes_end_the_connection_when_they_come_in_crowds(kind: str) -> None:
    """[MFP-8.8.1] [MFP-7.5] Each was answered before the one too many."""
    link = Sent()
    peer = Peer(Settings(max_strikes=2), link, Endpoints(), link_id=bytes(8))
    asking = [asyncio.ensure_future(peer.request("a")) for _ in range(3)] if kind == "response" else []
    await asyncio.sleep(0)
    link.frames.clear()
    frames: dict[str, Any] = {
        "request": lambda id_: RequestFrame(id=id_, payload=b"no", need_ack=id_ == 3),
        "message": lambda id_: MessageFrame(id=id_, payload=b"no"),
        "stream": lambda id_: MessageFrame(id=id_, payload=b"no", streaming=True),
        "response": lambda id_: ResponseFrame(id=id_, ref=id_, payload=b"no"),
    }
    for id_ in (1, 2):
        peer.frame_received(codec.encode(frames[kind](id_)))
    assert link.code == 0
    peer.frame_received(codec.encode(frames[kind](3)))
    assert link.code == CloseCode.POLICY
    assert len(link.frames) == (0 if kind == "response" else 2)
    peer.link_lost(link.code, "")
    await asyncio.gather(*asking, return_exceptions=True)


@pytest.mark.parametrize("payload", [b"", b"bare"])
async def test_bare_payloads_are_no_fault_where_they_have_a_handler_nor_are_empty_ones_elsewhere(
    payload: bytes,
) -> None:
    """[MFP-8.8.1] [MFP-5.8]"""
    link = Sent()
    endpoints = Endpoints()
    if payload:
        endpoints.on_raw(lambda _call: b"")
    peer = Peer(Settings(max_strikes=1), link, endpoints, link_id=bytes(8))
    for id_ in range(1, 10):
        peer.frame_received(codec.encode(RequestFrame(id=id_, payload=payload)))
    assert link.code == 0
    assert len(link.frames) == 9
    peer.link_lost(1000, "")
