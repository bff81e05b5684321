"""A peer's asking half, over an in-memory pair."""

import asyncio

import pytest

from framehub.codes import Service
from framehub.errors import (
    ConnectionClosed,
    EndpointError,
    LimitExceeded,
    LocalProtocolError,
    RemoteProtocolError,
    RequestAborted,
    RequestTimeout,
)
from framehub.mfp import codec
from framehub.mfp.frames import MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.settings import Settings
from framehub.runtime.calls import Call, RawCall, Reply
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.files import File
from framehub.runtime.memory import MemoryLink, pair
from framehub.runtime.peer import Peer


def sample() -> Endpoints:
    app = Endpoints()

    @app.on("plain")
    def plain(call: Call) -> object:
        return call.data

    @app.on("files")
    async def files(call: Call) -> Reply:
        return Reply({"n": len(call.files)}, files={7: File(call.files[0].data[::-1], "b.bin", "x/y")})

    @app.on("never")
    async def never(call: Call) -> None:
        await asyncio.Event().wait()

    @app.on("no")
    def no(call: Call) -> None:
        raise EndpointError({"why": "because"})

    return app


async def test_files_go_both_ways_with_their_names() -> None:
    client, _ = pair(theirs=sample())
    reply = await client.request("files", files={0: File(b"abc", "a.bin", "")})
    assert reply == Reply({"n": 1}, {7: File(b"cba", "b.bin", "x/y")})


async def test_an_error_answer_raises_or_is_returned() -> None:
    client, _ = pair(theirs=sample())
    with pytest.raises(EndpointError) as caught:
        await client.request("no")
    assert caught.value.value == {"why": "because"}
    assert (await client.request("no", raise_on_error=False)).error == {"why": "because"}


async def test_the_time_that_is_told_is_that_of_the_settings_if_none_was_given() -> None:
    client, _ = pair(theirs=sample(), settings=Settings(request_timeout=0.02))
    with pytest.raises(RequestTimeout, match=r"^never: no answer in time \(0.02 s\)$"):
        await client.request("never")


async def test_our_timeout_fails_the_request_and_ends_the_handler() -> None:
    client, server = pair(theirs=sample())
    with pytest.raises(RequestTimeout, match=r"^never: no answer in time \(0.02 s\)$"):
        await client.request("never", timeout=0.02)
    await asyncio.sleep(0.02)
    assert client.pending == server.pending == 0


async def test_the_answerers_timeout_reaches_the_asker() -> None:
    client, server = pair(theirs=sample(), settings=Settings(request_timeout=0.02))
    with pytest.raises(RequestTimeout):
        await client.request("never", timeout=5)
    await asyncio.sleep(0.01)
    assert server.pending == 0


async def test_cancelling_aborts_on_the_wire() -> None:
    client, server = pair(theirs=sample())
    task = asyncio.create_task(client.request("never"))
    await asyncio.sleep(0.01)
    assert server.pending == 2  # the request and its handler
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.01)
    assert client.pending == server.pending == 0


async def test_a_refused_request_is_aborted() -> None:
    client, server = pair(theirs=sample())
    asking = asyncio.create_task(client.request("never"))
    await asyncio.sleep(0.01)
    server._connection.refuse(1)
    server._flush()
    with pytest.raises(RequestAborted, match="refused"):
        await asking


async def test_unknown_from_the_peer_fails_the_request() -> None:
    client, server = pair(theirs=sample())
    asking = asyncio.create_task(client.request("never"))
    await asyncio.sleep(0.01)
    server._link.send(codec.encode(ServiceFrame(id=9, code=Service.UNKNOWN, ref=1)))
    with pytest.raises(RequestAborted, match="does not know"):
        await asking


async def test_an_answer_that_is_no_envelope_fails_the_request_clearly() -> None:
    client, server = pair(theirs=sample())
    asking = asyncio.create_task(client.request("never"))
    await asyncio.sleep(0.01)
    server._link.send(codec.encode(ResponseFrame(id=9, ref=1, payload=b"no json")))
    with pytest.raises(RemoteProtocolError, match="cannot be read"):
        await asking


async def test_closing_fails_everything_at_once() -> None:
    client, server = pair(theirs=sample())
    asking = [asyncio.create_task(client.request("never")) for _ in range(5)]
    pinging = asyncio.create_task(client.ping())
    await asyncio.sleep(0.01)
    await server.close(1001, "going")
    for task in asking:
        with pytest.raises(ConnectionClosed) as caught:
            await task
        assert (caught.value.code, caught.value.reason) == (1001, "going")
    assert await pinging >= 0
    await asyncio.sleep(0)
    assert client.pending == server.pending == 0


async def test_an_acknowledged_message_was_received() -> None:
    seen: list[object] = []
    app = Endpoints()
    app.on("tell")(lambda call: seen.append(call.data))
    client, _ = pair(theirs=app)
    await client.send("tell", 1, ack=True)
    await client.send("tell", 2)
    await client.ping()
    assert seen == [1, 2]


async def test_announced_files_make_one_message() -> None:
    seen: list[Call] = []
    app = Endpoints()
    app.on("album")(seen.append)
    client, _ = pair(theirs=app)
    await client.announce("album", {"n": 2}, {3: File(b"three", "3"), 1: File(b"", "1")}, ack=True)
    await client.announce("album", {"n": 1}, {0: File(b"x")})
    await client.ping()
    assert [dict(call.files) for call in seen] == [
        {3: File(b"three", "3"), 1: File(b"", "1")},
        {0: File(b"x")},
    ]
    assert seen[0].is_request is False


async def test_a_lost_announcement_is_not_delivered() -> None:
    seen: list[Call] = []
    app = Endpoints()
    app.on("album")(seen.append)
    client, server = pair(theirs=app)
    client._link.send(codec.encode(MessageFrame(id=1, payload=b'{"endpoint":"album"}', expected=(1, 2))))
    client._link.send(bytes.fromhex("8200000002000000010000000900"))  # key 9 was not announced
    await asyncio.sleep(0.01)
    assert seen == []
    assert server.pending == 0


async def test_a_refused_announcement_stops_sending_files() -> None:
    client, _ = pair(theirs=sample(), settings=Settings(max_announced=1))
    client._link.send(codec.encode(MessageFrame(id=900, payload=b'{"endpoint":"plain"}', expected=(1,))))
    with pytest.raises(RequestAborted, match="does not take"):
        await client.announce("plain", None, {n: File(b"x") for n in range(5)}, ack=True)


async def test_a_ping_that_nobody_answers_is_forgotten() -> None:
    client, server = pair()
    server.pause_reading()
    with pytest.raises(RequestTimeout, match="no pong"):
        await client.ping(timeout=0.01)
    assert client.pending == 0
    server.resume_reading()
    assert await client.ping() >= 0  # the late pong of the first does no harm


async def test_what_cannot_be_sent_is_refused_before_a_byte_goes() -> None:
    client, server = pair(theirs=sample(), settings=Settings(max_frame_bytes=100, max_requests=1))
    with pytest.raises(LimitExceeded, match="max_frame_bytes"):
        await client.request("plain", "x" * 100)
    with pytest.raises(LocalProtocolError, match="cannot be sent as JSON"):
        await client.request("plain", object())
    with pytest.raises(LocalProtocolError, match="an endpoint is a name"):
        await client.send("")
    first = asyncio.create_task(client.request("never"))
    await asyncio.sleep(0.01)
    with pytest.raises(LimitExceeded, match="max_requests"):
        await client.request("plain")
    first.cancel()
    assert server.closed.done() is False


async def test_a_malformed_frame_closes_with_1002_and_a_bad_sum_with_1007() -> None:
    for data, code in ((b"\0" * 9, 1002), (bytes.fromhex("500000000100000000"), 1007)):
        client, server = pair(theirs=sample())
        client._link.send(data)
        assert (await server.closed).code == code
        server.frame_received(b"late")  # nothing happens any more


async def test_a_full_link_holds_back_what_we_produce() -> None:
    client, _ = pair(theirs=sample())
    client.link_full()
    asking = asyncio.create_task(client.request("plain", 1))
    await asyncio.sleep(0.01)
    assert client.pending == 0
    client.link_ready()
    assert (await asking).data == 1


async def test_the_hello_names_the_link_and_what_the_listener_takes() -> None:
    client, server = pair(theirs=sample())
    assert client.link == server.link
    server.greet("framehub.hello", {"link": "00ff00ff00ff00ff", "limits": {"frame_bytes": 200}})
    await client.ping()
    assert client.link == "00ff00ff00ff00ff"
    with pytest.raises(LimitExceeded, match="200"):
        await client.request("plain", "x" * 200)
    assert client.chunk_bytes < 200


@pytest.mark.parametrize("said", ["nonsense", {"link": 5, "limits": 7}, {"link": "SPOOFED\nlog"}, None])
async def test_a_hello_of_nonsense_is_done_without(said: object) -> None:
    client, server = pair(theirs=sample())
    server.greet("framehub.hello", said)
    assert (await client.request("plain", 1)).data == 1
    assert client.link == server.link


async def test_only_a_first_hello_of_the_listener_counts() -> None:
    client, server = pair(theirs=sample())
    server.greet("framehub.hello", {"version": 1})
    await client.send("framehub.hello", {"link": "0123456789abcdef"}, ack=True)
    server.greet("framehub.hello", {"version": 2})
    await client.ping()
    assert client.hello == {"version": 1}
    assert server.hello is None


async def test_a_response_nobody_waits_for_is_answered_unknown() -> None:
    sent: list[bytes] = []

    class Wire(MemoryLink):
        def send(self, *pieces: bytes) -> bool:
            sent.append(b"".join(pieces))
            return True

    peer = Peer(Settings(), Wire(), Endpoints(), link_id=bytes(8))
    peer.frame_received(codec.encode(ResponseFrame(id=5, ref=9)))
    assert codec.decode(sent[0]) == ServiceFrame(id=1, code=Service.UNKNOWN, ref=5)


async def test_bare_payloads_reach_the_raw_handler() -> None:
    app = Endpoints()
    seen: list[RawCall] = []

    @app.on_raw
    async def raw(call: RawCall) -> bytes | None:
        seen.append(call)
        return call.payload.upper() if call.is_request else None

    sent: list[bytes] = []

    class Wire(MemoryLink):
        def send(self, *pieces: bytes) -> bool:
            sent.append(b"".join(pieces))
            return True

    peer = Peer(Settings(), Wire(), app, link_id=bytes(8), user=3)
    peer.frame_received(codec.encode(RequestFrame(id=4, payload=b"abc", files=((1, b"f"),))))
    peer.frame_received(codec.encode(MessageFrame(id=5)))
    await asyncio.sleep(0.01)
    assert [(call.payload, call.files, call.user) for call in seen] == [(b"abc", {1: b"f"}, 3), (b"", {}, 3)]
    assert codec.decode(sent[0]) == ResponseFrame(id=1, ref=4, payload=b"ABC")
