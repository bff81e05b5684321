"""The edge: what a peer may do on a byte stream, lawful or not, and what comes of it."""

import asyncio
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import ConnectionClosed
from framehub.mfp import codec
from framehub.mfp.frames import RequestFrame, ResponseFrame
from framehub.mfp.settings import Settings
from framehub.runtime import bytestream
from framehub.runtime.calls import Call
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import Listener, listen
from framehub.runtime.peer import Peer

from .stream_client import StreamClient, framed

PING = bytes.fromhex("2f 00000001 00000001")


def request(id_: int, data: str = "5") -> bytes:
    return codec.encode(RequestFrame(id=id_, payload=b'{"endpoint":"echo","data":%b}' % data.encode()))


def answer(id_: int, data: str = "5") -> ResponseFrame:
    return ResponseFrame(id=id_, ref=id_, payload=b'{"endpoint":"echo","data":%b}' % data.encode())


@pytest.fixture
async def server() -> AsyncIterator[Listener]:
    app = Endpoints()

    @app.on("echo")
    def echo(call: Call) -> object:
        return call.data

    settings = Settings(max_frame_bytes=100_000, progress_timeout=0.3)
    async with listen("tcp://127.0.0.1:0", app, settings=settings) as listener:
        yield listener


async def other_end(server: Listener) -> Peer:
    while not server.peers:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    (peer,) = server.peers
    return peer


async def test_many_frames_in_one_read_are_answered_in_order(server: Listener) -> None:
    """[MFP-9.4.1]"""
    client = await StreamClient.open(server.port)
    client.write(framed(*(request(n) for n in range(1, 101))))
    assert [codec.decode(await client.frame()) for _ in range(100)] == [answer(n) for n in range(1, 101)]
    await client.end()


@pytest.mark.parametrize("step", [1, 3, 5])
async def test_a_frame_may_come_in_any_pieces(server: Listener, step: int) -> None:
    """[MFP-9.4.1]"""
    client = await StreamClient.open(server.port)
    whole = framed(request(1), request(2))
    for at in range(0, len(whole), step):
        client.write(whole[at : at + step])
        await asyncio.sleep(0.001)
    assert [codec.decode(await client.frame()) for _ in range(2)] == [answer(1), answer(2)]
    await client.end()


async def test_a_frame_of_the_greatest_size_goes_through_and_no_greater_one(server: Listener) -> None:
    """[MFP-9.4.2]"""
    room = 100_000 - len(request(1, '""'))
    greatest = request(1, '"' + "x" * room + '"')
    assert len(greatest) == 100_000
    client = await StreamClient.open(server.port)
    client.write(framed(greatest))
    assert b'"code":"limit"' in await client.frame()  # it was taken; only its answer would be too big
    client.write(framed(greatest + b" "))
    peer = await other_end(server)
    assert await client.reader.read() == b""
    assert (await peer.closed).code == 1009
    await client.end()


@pytest.mark.parametrize(
    ("sent", "code", "reason"),
    [
        pytest.param(bytes(4), 1002, "no bytes", id="a frame of no bytes"),
        pytest.param(b"\xff" * 4, 1009, "4294967295 bytes, over 100000", id="4 GiB, declared only"),
        pytest.param(struct.pack(">I", 100_001), 1009, "over 100000", id="one too many, declared only"),
        pytest.param(framed(bytes(5)), 1002, "sub-protocol", id="no MFP frame"),
        pytest.param(
            framed(b"\x50" + bytes(3) + b"\x01" + bytes(4)), 1007, "checksum", id="a wrong checksum"
        ),
        pytest.param(b"GET /mfp HTTP/1.1\r\n\r\n", 1009, "over 100000", id="something else"),
    ],
)
@pytest.mark.parametrize("step", [1, 1_000])
async def test_what_is_not_lawful_ends_the_connection(
    server: Listener, sent: bytes, code: int, reason: str, step: int
) -> None:
    """[MFP-9.4.2] [MFP-9.4.6]"""
    client = await StreamClient.open(server.port)
    peer = await other_end(server)
    for at in range(0, len(sent), step):
        client.write(sent[at : at + step])
        await asyncio.sleep(0.001)
    client.write(framed(PING))  # nothing is answered any more
    assert await client.reader.read() == b""
    await client.end()
    gone = await peer.closed
    assert gone.code == code
    assert reason in gone.reason


async def test_a_frame_that_has_begun_has_to_end(server: Listener) -> None:
    """[MFP-9.4.3]"""
    client = await StreamClient.open(server.port)
    peer = await other_end(server)
    client.write(framed(PING)[:-1])
    assert await client.reader.read() == b""
    gone = await peer.closed
    assert (gone.code, gone.reason) == (1008, "a frame takes too long to come")
    await client.end()


async def test_a_dripping_frame_has_no_more_time_than_a_silent_one(server: Listener) -> None:
    """[MFP-9.4.3]"""
    client = await StreamClient.open(server.port)
    peer = await other_end(server)
    client.write(framed(bytes(1_000))[:4])
    for _ in range(500):
        if peer.closed.done():
            break
        client.write(b"x")
        await asyncio.sleep(0.01)
    assert (await peer.closed).code == 1008
    client.writer.transport.abort()


async def test_a_slow_frame_is_a_sign_of_life_and_silence_is_none() -> None:
    """[MFP-8.7.2] [MFP-8.7.3]"""
    async with listen("tcp://127.0.0.1:0", Endpoints(), settings=Settings(keepalive=0.02)) as quick:
        client = await StreamClient.open(quick.port)
        peer = await other_end(quick)
        client.write(framed(PING)[:7])
        await asyncio.sleep(0.2)
        assert not peer.closed.done()
        client.write(framed(PING)[7:])
        gone = await peer.closed
        assert (gone.code, gone.reason) == (1001, "no sign of life for 0.04 s")
        await client.end()


async def test_frames_that_end_may_go_on_for_ever(server: Listener) -> None:
    """Each read ends inside a frame, but never in the same one for long."""
    client = await StreamClient.open(server.port)
    data = framed(PING)
    client.write(data[:5])
    for _ in range(60):
        client.write(data[5:] + data[:5])
        assert (await client.frame())[-4:] == PING[-4:]
        await asyncio.sleep(0.01)
    await client.end()


async def test_an_end_between_frames_is_a_goodbye_and_inside_one_a_loss(server: Listener) -> None:
    """[MFP-9.4.6]"""
    client = await StreamClient.open(server.port)
    peer = await other_end(server)
    await client.end()
    assert (await peer.closed).code == 1000
    client = await StreamClient.open(server.port)
    peer = await other_end(server)
    client.write(b"\x00")
    await client.end()
    assert (await peer.closed).reason == "the connection ended inside a frame"


async def test_a_reset_is_a_loss(server: Listener) -> None:
    client = await StreamClient.open(server.port)
    peer = await other_end(server)
    client.write(framed(PING))
    await client.frame()
    sock = client.writer.get_extra_info("socket")
    sock.setsockopt(1, 13, struct.pack("ii", 1, 0))  # SO_LINGER: a reset instead of an end
    client.writer.transport.abort()
    assert (await peer.closed).code == 1006


async def test_what_was_sent_before_the_end_arrives(server: Listener) -> None:
    """[MFP-9.4.6]"""
    client = await StreamClient.open(server.port)
    peer = await other_end(server)
    sending = [asyncio.create_task(peer.send("x", "y" * 50_000)) for _ in range(4)]
    await asyncio.gather(*sending)
    closing = asyncio.create_task(peer.close(1001, "bye"))
    for _ in range(4):
        assert len(await client.frame()) > 50_000
    assert await client.reader.read() == b""
    await client.end()
    await closing
    assert (await peer.closed).code == 1001


async def test_who_connects_is_not_greeted(server: Listener) -> None:
    """[MFP-9.4.4] The first frame is the answer to the first question."""
    client = await StreamClient.open(server.port)
    client.write(framed(PING))
    assert await client.frame() == bytes.fromhex("21 00000001 00000001")
    await client.end()


async def test_a_peer_that_does_not_end_too_is_cut_off(
    server: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bytestream, "CLOSING_SECONDS", 0.05)
    client = await StreamClient.open(server.port)
    peer = await other_end(server)
    await peer.close(1001, "bye")  # the client has not read, nor closed
    assert peer.closed.done()
    await client.end()


async def test_time_for_which_we_do_not_read_is_not_the_peers(server: Listener) -> None:
    """[MFP-9.4.3]"""
    client = await StreamClient.open(server.port)
    peer = await other_end(server)
    client.write(framed(PING)[:5])
    await asyncio.sleep(0.05)
    server.pause()
    await asyncio.sleep(0.8)
    client.write(framed(PING)[5:])
    server.resume()
    assert len(await client.frame()) == len(PING)
    assert not peer.closed.done()
    await client.end()


@pytest.mark.parametrize("query", ["", "?checksum=off", "?checksum=crc32", "?checksum=xor8.always&timeout=3"])
@pytest.mark.parametrize("kind", ["tcp", "tcp6", "unix"])
async def test_every_byte_stream_carries_requests_messages_and_streams(
    tmp_path: Path, kind: str, query: str
) -> None:
    app = Endpoints()
    app.on("echo")(lambda call: call.data)
    got: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    @app.on_stream("up")
    async def up(stream: Any) -> None:
        got.set_result(await stream.read())

    place = {"tcp": "tcp://127.0.0.1:0", "tcp6": "tcp://[::1]:0", "unix": f"unix://{tmp_path}/hub"}[kind]
    mine = Endpoints()
    mine.on("who")(lambda call: "me")
    async with listen(place + query, app) as server:
        async with connect(server.url, endpoints=mine) as peer:
            assert (await peer.request("echo", "x" * 300_000)).data == "x" * 300_000
            await peer.send("echo", 1, ack=True)
            async with peer.stream("up") as out:
                await out.write(bytes(1_000_000))
            assert len(await got) == 1_000_000
            (other,) = server.peers
            assert (await other.request("who")).data == "me"
            assert peer.hello is None  # nobody greets on a byte stream
        assert (await peer.closed).code == 1000


async def test_checksums_that_disagree_end_the_connection(server: Listener) -> None:
    """[MFP-9.4.4]"""
    async with connect(f"{server.url}?checksum=xor8") as peer:
        with pytest.raises(ConnectionClosed):
            await peer.request("echo", 1)


async def test_who_comes_while_nobody_is_read_costs_nothing() -> None:
    async with listen("tcp://127.0.0.1:0", Endpoints()) as server:
        server.pause()
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"something")
        while not server.peers:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        (peer,) = server.peers
        there = peer._link._transport.get_extra_info("socket")  # type: ignore[attr-defined]
        assert not asyncio.get_running_loop().remove_reader(there.fileno())
        server.resume()
        await asyncio.wait_for(asyncio.shield(peer.closed), 5)  # it was read: that is no frame
        writer.close()
