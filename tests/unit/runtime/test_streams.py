"""Streams between two peers in memory: order, ends and aborts."""

import asyncio

import pytest

from framehub.codes import Service
from framehub.errors import ConnectionClosed, LimitExceeded, StreamAborted
from framehub.mfp import codec
from framehub.mfp.frames import MessageFrame, ServiceFrame
from framehub.mfp.settings import Settings
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.memory import pair
from framehub.runtime.peer import Peer
from framehub.runtime.streams import CHUNK_BYTES, Chunk, InStream

from .streaming import OPENING, Taker, Wire, alone, chunk, end, until, write_for_ever


async def test_chunks_come_in_order_and_the_iteration_ends() -> None:
    taker = Taker()
    client, server = pair(theirs=taker.app)
    async with client.stream("up", {"name": "x"}) as out:
        await out.write(b"one")
        await out.write(b"two", key=77)
        await out.write_data(b"no file")
        await out.write(b"three")
        await out.write(b"")  # nothing to send
    await until(lambda: taker.ends)
    assert taker.chunks == [Chunk(b"one", 0), Chunk(b"two", 77), Chunk(b"no file"), Chunk(b"three", 1)]
    assert [piece.is_file for piece in taker.chunks] == [True, True, False, True]
    (stream,) = taker.streams
    assert (stream.endpoint, stream.data, stream.user) == ("up", {"name": "x"}, 0)
    assert stream.exchange.startswith(server.link)
    await until(lambda: client.pending == server.pending == 0)


async def test_both_sides_stream_at_once() -> None:
    left, right = Taker(), Taker()
    one, two = pair(left.app, right.app)

    async def send(peer: Peer, data: bytes) -> None:
        async with peer.stream("up") as out:
            for _ in range(100):
                await out.write(data)

    await asyncio.gather(send(one, b"a" * 9_000), send(two, b"b" * 9_000))
    await until(lambda: left.ends and right.ends)
    assert (left.data, right.data) == (b"b" * 900_000, b"a" * 900_000)


async def test_a_big_write_goes_in_pieces_with_keys_of_their_own() -> None:
    taker = Taker()
    client, _ = pair(theirs=taker.app)
    async with client.stream("up") as out:
        await out.write(bytes(2 * CHUNK_BYTES + 5))
    await until(lambda: taker.ends)
    assert [(len(piece.data), piece.key) for piece in taker.chunks] == [
        (CHUNK_BYTES, 0),
        (CHUNK_BYTES, 1),
        (5, 2),
    ]


async def test_pieces_fit_the_frames_of_the_connection() -> None:
    taker = Taker()
    client, _ = pair(theirs=taker.app, settings=Settings(max_frame_bytes=100))
    async with client.stream("up") as out:
        await out.write(bytes(range(200)))
        with pytest.raises(LimitExceeded, match="max_frame_bytes"):
            await out.write_data(bytes(200))
    await until(lambda: taker.ends)
    assert taker.data == bytes(range(200))
    assert len(taker.chunks) == 3


async def test_words_are_sent_as_their_bytes() -> None:
    taker = Taker()
    client, _ = pair(theirs=taker.app)
    async with client.stream("up") as out:
        await out.write(memoryview(b"abcdefgh").cast("I"))
    await until(lambda: taker.ends)
    assert taker.data == b"abcdefgh"


async def test_a_small_stream_can_be_read_as_one() -> None:
    app = Endpoints()
    got: list[bytes] = []

    @app.on_stream("up")
    async def up(stream: InStream) -> None:
        got.append(await stream.read())

    client, _ = pair(theirs=app)
    async with client.stream("up") as out:
        await out.write(b"ab")
        await out.write(b"cd")
    await until(lambda: got)
    assert got == [b"abcd"]


async def test_a_last_frame_may_carry_bytes() -> None:
    taker = Taker()
    peer, _ = alone(taker.app)
    peer.frame_received(codec.encode(OPENING))
    peer.frame_received(chunk(b"all", final=True))
    await until(lambda: taker.ends)
    assert (taker.data, taker.ends) == (b"all", [None])


async def test_an_acknowledged_write_has_arrived() -> None:
    taker = Taker()
    client, server = pair(theirs=taker.app)
    async with client.stream("up") as out:
        await out.write(bytes(CHUNK_BYTES + 1), ack=True)
        await out.write_data(b"x", ack=True)
        assert server._inflow._bytes + len(taker.data) >= CHUNK_BYTES + 2
    assert client._waiting._acks == {}


async def test_requests_go_on_beside_a_stream() -> None:
    taker = Taker()
    client, _ = pair(theirs=taker.app)
    async with client.stream("up") as out:
        for n in range(20):
            await out.write(bytes(100_000))
            assert (await client.request("echo", n)).data == n
    await until(lambda: taker.ends)
    assert len(taker.data) == 2_000_000


async def test_a_write_that_never_waits_still_lets_others_run() -> None:
    class Bottomless(Wire):
        def send(self, *pieces: bytes) -> bool:
            return True

    peer = Peer(Settings(), Bottomless(), Endpoints(), link_id=bytes(8))
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    async with peer.stream("up") as out:
        await out.write(bytes(16 << 20))
    counting.cancel()
    assert turns >= 32


async def test_leaving_by_an_exception_aborts() -> None:
    taker = Taker()
    client, server = pair(theirs=taker.app)
    out = client.stream("up")

    async def fail() -> None:
        async with out:
            await out.write(b"half")
            raise ValueError("disk")

    with pytest.raises(ValueError, match="disk"):
        await fail()
    await until(lambda: taker.ends)
    assert taker.data == b"half"
    assert isinstance(taker.ends[0], StreamAborted)
    await until(lambda: client.pending == server.pending == 0)
    with pytest.raises(StreamAborted):
        await out.write(b"more")


async def test_a_sender_may_abort_and_then_not_write() -> None:
    taker = Taker()
    client, _ = pair(theirs=taker.app)
    out = await client.stream("up").__aenter__()
    await out.abort()
    with pytest.raises(StreamAborted):
        await out.write(b"more")
    await until(lambda: taker.ends)
    assert isinstance(taker.ends[0], StreamAborted)


async def test_an_end_that_is_cancelled_while_it_waits_is_an_abort() -> None:
    taker = Taker()
    client, server = pair(theirs=taker.app)

    async def send() -> None:
        async with client.stream("up") as out:
            await out.write(b"x")
            client.link_full()

    sending = asyncio.create_task(send())
    await asyncio.sleep(0.01)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    await until(lambda: taker.ends)
    assert isinstance(taker.ends[0], StreamAborted)
    await until(lambda: client.pending == server.pending == 0)


@pytest.mark.parametrize("how", ["return", "raise", "abort"])
async def test_a_handler_that_leaves_early_stops_the_writer(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    app = Endpoints()

    @app.on_stream("up")
    async def up(stream: InStream) -> None:
        await anext(stream)
        if how == "raise":
            raise ValueError("no space")
        if how == "abort":
            stream.abort()
            with pytest.raises(StreamAborted, match="we aborted"):
                await anext(stream)

    client, server = pair(theirs=app)

    with pytest.raises(StreamAborted):
        await write_for_ever(client, "up")
    await until(lambda: client.pending == server.pending == 0)
    assert (server._inflow._open, server._inflow._unread, server._inflow._bytes) == ({}, {}, 0)
    assert ("no space" in caplog.text) is (how == "raise")


async def test_a_failure_elsewhere_is_logged_though_it_is_of_the_same_kind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = Endpoints()

    @app.on_stream("up")
    async def up(stream: InStream) -> None:
        raise StreamAborted("another stream, behind this one")

    client, _ = pair(theirs=app)
    with pytest.raises(StreamAborted):
        await write_for_ever(client, "up")
    assert "behind this one" in caplog.text


@pytest.mark.parametrize(
    "payload",
    [b'{"endpoint":"nobody"}', b"no json", b"", b'{"endpoint":"framehub.hello"}', b'{"endpoint":"echo"}'],
)
async def test_a_stream_that_nobody_reads_is_aborted(payload: bytes) -> None:
    peer, wire = alone(Taker().app)
    peer.frame_received(codec.encode(MessageFrame(id=1, payload=payload, streaming=True)))
    peer.frame_received(chunk(b"under way"))
    assert wire.sent == [ServiceFrame(id=1, code=Service.ABORT, ref=1)]
    assert peer.pending == 0


async def test_a_writer_to_nobody_learns_it() -> None:
    client, _ = pair()
    with pytest.raises(StreamAborted):
        await write_for_ever(client, "nobody")


async def test_a_lost_link_is_told_after_what_had_come(caplog: pytest.LogCaptureFixture) -> None:
    """[MFP-8.6.11]"""
    taker = Taker()
    taker.go.clear()
    client, server = pair(theirs=taker.app)
    out = await client.stream("up").__aenter__()
    await out.write(b"one")
    await out.write(b"two", ack=True)
    await client.close(1001, "away")
    taker.go.set()
    await until(lambda: taker.ends)
    assert taker.data == b"onetwo"
    assert isinstance(taker.ends[0], ConnectionClosed)
    assert server.pending == 0
    for attempt in (out.write(b"three"), out.__aexit__(None, None, None), client.stream("up").__aenter__()):
        with pytest.raises(ConnectionClosed):
            await attempt
    await out.abort()  # nobody to tell: no harm
    assert caplog.text == ""


async def test_a_stream_that_has_ended_survives_the_link() -> None:
    """[MFP-8.6.11] A client sends all, ends the stream and goes: the handler reads everything."""
    taker = Taker()
    taker.go.clear()
    client, server = pair(theirs=taker.app)
    async with client.stream("up") as out:
        await out.write(bytes(300_000))
    await client.close()
    await server.closed
    taker.go.set()
    await until(lambda: taker.ends)
    assert (len(taker.data), taker.ends) == (300_000, [None])


async def test_a_handler_that_outlives_the_link_for_too_long_is_ended() -> None:
    taker = Taker()
    taker.go.clear()
    client, server = pair(theirs=taker.app, settings=Settings(progress_timeout=0.05))
    async with client.stream("up") as out:
        await out.write(b"x")
    await client.close()
    await server.closed
    assert server.pending == 1
    await until(lambda: server.pending == 0)
    assert taker.ends == []  # cancelled, not failed


async def test_the_peers_limit_of_streams_aborts_the_next() -> None:
    taker = Taker()
    peer, wire = alone(taker.app, max_streams=2)
    for id_ in (1, 2, 3):
        peer.frame_received(codec.encode(MessageFrame(id=id_, payload=OPENING.payload, streaming=True)))
    assert wire.sent == [ServiceFrame(id=1, code=Service.ABORT, ref=3)]
    for ref in (1, 2):
        peer.frame_received(end(ref))
    await until(lambda: peer.pending == 0)


async def test_our_limit_of_streams_is_kept_before_a_byte_goes() -> None:
    client, _ = pair(theirs=Taker().app, settings=Settings(max_streams=1))
    async with client.stream("up"):
        with pytest.raises(LimitExceeded, match="max_streams"):
            await client.stream("up").__aenter__()


async def test_an_ended_stream_does_not_abort_the_next_of_its_id() -> None:
    """The peer may use an id again once its stream has ended, while our handler still reads the old one."""
    taker = Taker()
    taker.go.clear()
    peer, wire = alone(taker.app)
    peer.frame_received(codec.encode(OPENING))
    peer.frame_received(chunk(b"old", final=True))
    peer.frame_received(codec.encode(OPENING))
    await asyncio.sleep(0.01)
    taker.streams[0].abort()
    peer.frame_received(chunk(b"new", final=True))
    taker.go.set()
    await until(lambda: len(taker.ends) == 2)
    assert wire.sent == []
    assert taker.data == b"new"
    assert [type(error) for error in taker.ends] == [StreamAborted, type(None)]


async def test_aborting_what_was_read_to_the_end_changes_nothing() -> None:
    taker = Taker()
    peer, wire = alone(taker.app)
    peer.frame_received(codec.encode(OPENING))
    peer.frame_received(end())
    await until(lambda: taker.ends)
    taker.streams[0].abort()
    with pytest.raises(StopAsyncIteration):
        await anext(taker.streams[0])
    assert wire.sent == []
