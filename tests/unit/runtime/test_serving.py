"""A peer's answering half: what each kind of failure tells the asker, and what it does not."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from framehub.codes import ErrorCode, Service
from framehub.errors import EndpointError, RequestAborted
from framehub.journal.writer import JournalWriter
from framehub.mfp import codec
from framehub.mfp.frames import MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.settings import Settings
from framehub.runtime.calls import Call, Reply
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.memory import pair
from framehub.runtime.peer import Peer
from framehub.runtime.streams import InStream
from framehub.runtime.tap import Tap


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def failure(app: Endpoints, endpoint: str = "it", *, settings: Settings | None = None) -> object:
    client, _ = pair(theirs=app, settings=settings)
    with pytest.raises(EndpointError) as caught:
        await client.request(endpoint)
    return caught.value.value


async def test_a_request_to_an_endpoint_of_streams_says_so() -> None:
    app = Endpoints()

    @app.on_stream("it")
    async def upload(stream: InStream) -> None: ...

    assert await failure(app) == {
        "code": "unknown_endpoint",
        "message": "no endpoint 'it' here; it takes streams",
    }


async def test_an_unknown_endpoint_is_named() -> None:
    assert await failure(Endpoints()) == {
        "code": ErrorCode.UNKNOWN_ENDPOINT,
        "message": "no endpoint 'it' here",
    }


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_handlers_fault_gives_nothing_away(is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    app = Endpoints()

    def plain(call: Call) -> None:
        raise ValueError("the secret is 42")

    async def later(call: Call) -> None:
        await asyncio.sleep(0)
        plain(call)

    app.on("it")(later if is_async else plain)
    value = await failure(app)
    assert isinstance(value, dict)
    assert value["code"] == ErrorCode.INTERNAL
    assert "the secret" not in str(value)
    assert "the secret is 42" in caplog.text
    assert value["message"].split()[-1] in caplog.text  # the exchange leads to the log


async def test_what_json_cannot_carry_is_an_internal_error() -> None:
    app = Endpoints()
    app.on("it")(lambda call: object())
    value = await failure(app)
    assert isinstance(value, dict)
    assert value["code"] == ErrorCode.INTERNAL


async def test_an_error_value_that_json_cannot_carry_still_answers() -> None:
    app = Endpoints()

    @app.on("it")
    def it(call: Call) -> None:
        raise EndpointError(object())

    value = await failure(app)
    assert isinstance(value, dict)
    assert value["code"] == ErrorCode.INTERNAL


async def test_a_name_too_long_for_any_answer_is_refused_and_the_connection_stays() -> None:
    client, _ = pair(settings=Settings(max_frame_bytes=1_000))
    with pytest.raises(RequestAborted):
        await client.request("x" * 940, timeout=5)
    with pytest.raises(EndpointError):
        await client.request("x")


async def test_an_answer_over_the_limit_says_so() -> None:
    app = Endpoints()
    app.on("it")(lambda call: "x" * 1000)
    value = await failure(app, settings=Settings(max_frame_bytes=600))
    assert isinstance(value, dict)
    assert value["code"] == ErrorCode.LIMIT
    assert "max_frame_bytes" in value["message"]


def wired(app: Endpoints) -> tuple[Peer, list[bytes]]:
    sent: list[bytes] = []

    class Wire:
        full = False

        def send(self, *pieces: bytes) -> bool:
            sent.append(b"".join(pieces))
            return True

        excused = False

        def pause(self, why: str) -> None: ...
        def resume(self, why: str) -> None: ...
        def close(self, code: int, reason: str) -> None: ...

    return Peer(Settings(), Wire(), app, link_id=bytes(8)), sent


async def test_a_payload_that_is_no_envelope_is_a_bad_request_or_refused() -> None:
    peer, sent = wired(Endpoints())
    peer.frame_received(codec.encode(RequestFrame(id=1, payload=b"[")))
    peer.frame_received(codec.encode(MessageFrame(id=2, payload=b"[")))
    peer.frame_received(codec.encode(MessageFrame(id=3)))
    answer, refusal, refusal_of_nothing = map(codec.decode, sent)
    assert isinstance(answer, ResponseFrame)
    assert b'"code":"bad_request"' in answer.payload
    for frame, ref in ((refusal, 2), (refusal_of_nothing, 3)):
        assert isinstance(frame, ServiceFrame)
        assert (frame.code.name, frame.ref, frame.own) == ("ABORT", ref, False)


async def test_a_message_nobody_takes_is_refused() -> None:
    peer, sent = wired(Endpoints())
    peer.frame_received(codec.encode(MessageFrame(id=2, payload=b'{"endpoint":"x"}')))
    frame = codec.decode(sent[0])
    assert isinstance(frame, ServiceFrame)
    assert (frame.code.name, frame.ref) == ("ABORT", 2)


async def test_a_failing_message_handler_is_logged_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    app = Endpoints()

    async def later(call: Call) -> None:
        raise ValueError("later")

    def now(call: Call) -> None:
        raise ValueError("now")

    app.on("later")(later)
    app.on("now")(now)
    with caplog.at_level(logging.ERROR):
        client, server = pair(theirs=app)
        await client.send("later", ack=True)
        await client.send("now", ack=True)
        await client.ping()
    assert "ValueError: later" in caplog.text
    assert "ValueError: now" in caplog.text
    assert server.pending == 0


async def test_the_link_going_down_ends_every_handler() -> None:
    ended: list[str] = []
    app = Endpoints()

    @app.on("wait")
    async def wait(call: Call) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("request" if call.is_request else "message")

    client, server = pair(theirs=app)
    task = asyncio.create_task(client.request("wait"))
    await client.send("wait", ack=True)
    await asyncio.sleep(0.01)
    await client.close()
    await asyncio.sleep(0.01)
    assert sorted(ended) == ["message", "request"]
    assert server.pending == 0
    with pytest.raises(Exception, match="closed"):
        await task


async def test_what_a_handler_asks_has_its_exchange_as_parent(tmp_path: Path) -> None:
    from framehub.runtime.serving import current

    seen: list[tuple[bytes, int] | None] = []
    app = Endpoints()

    @app.on("now")
    def now(call: Call) -> str:
        seen.append(current.get())
        return call.exchange

    @app.on("later")
    async def later(call: Call) -> str:
        await asyncio.sleep(0)
        seen.append(current.get())
        return call.exchange

    with JournalWriter(tmp_path, node="n") as writer:
        client, _ = pair(theirs=app, tap=Tap(writer))
        names = [(await client.request(name)).data for name in ("now", "later")]
        await client.close()
    assert [one[0].hex() + f"{one[1]:016x}" for one in seen if one] == names
    assert current.get() is None


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("raised", [SystemExit(5), asyncio.CancelledError(), GeneratorExit()])
async def test_nothing_a_handler_raises_ends_more_than_itself(raised: BaseException, is_async: bool) -> None:
    app = Endpoints()

    def plain(call: Call) -> None:
        raise raised

    async def later(call: Call) -> None:
        await asyncio.sleep(0)
        raise raised

    app.on("it")(later if is_async else plain)
    app.on("echo")(lambda call: call.data)
    client, server = pair(theirs=app)
    with pytest.raises(EndpointError) as caught:
        await client.request("it", timeout=5)
    want = ErrorCode.CANCELLED if isinstance(raised, asyncio.CancelledError) else ErrorCode.INTERNAL
    assert caught.value.value["code"] == want
    await client.send("it", ack=True)
    assert (await client.request("echo", 1)).data == 1
    await until(lambda: server.pending == 0)


async def test_a_reply_may_be_an_error_and_an_error_may_be_none() -> None:
    app = Endpoints()
    app.on("reply")(lambda call: Reply({"partly": 1}, error={"why": "late"}))

    @app.on("none")
    def none(call: Call) -> None:
        raise EndpointError(None)

    client, _ = pair(theirs=app)
    reply = await client.request("reply", raise_on_error=False)
    assert (reply.data, reply.error, reply.is_error) == ({"partly": 1}, {"why": "late"}, True)
    with pytest.raises(EndpointError) as caught:
        await client.request("none")
    assert caught.value.value is None


async def test_an_acknowledgement_goes_before_the_handler_runs() -> None:
    sent_before: list[int] = []
    app = Endpoints()
    peer, sent = wired(app)
    app.on("slow")(lambda call: sent_before.append(len(sent)))
    peer.frame_received(codec.encode(RequestFrame(id=1, payload=b'{"endpoint":"slow"}', need_ack=True)))
    assert sent_before == [1]


async def test_when_too_many_handlers_run_the_peer_is_not_read() -> None:
    go = asyncio.Event()
    begun: list[object] = []
    app = Endpoints()

    @app.on("wait")
    async def wait(call: Call) -> None:
        begun.append(call.data)
        await go.wait()

    client, server = pair(theirs=app, settings=Settings(max_requests=4))
    for n in range(20):
        await client.send("wait", n)
    await asyncio.sleep(0.05)
    assert len(begun) == server.pending == 4
    go.set()
    await until(lambda: len(begun) == 20)
    assert begun == list(range(20))


async def test_giving_up_does_not_make_room_for_more_handlers() -> None:
    stop = asyncio.Event()
    begun: list[int] = []
    app = Endpoints()

    @app.on("stubborn")
    async def stubborn(call: Call) -> None:
        begun.append(1)
        try:
            await asyncio.Event().wait()
        finally:
            await stop.wait()

    client, server = pair(theirs=app, settings=Settings(max_requests=4))
    for _ in range(12):
        task = asyncio.create_task(client.request("stubborn"))
        await asyncio.sleep(0.005)
        task.cancel()
    await asyncio.sleep(0.05)
    assert len(begun) == 4
    stop.set()
    await until(lambda: server.pending == 0)


async def test_a_stopping_side_answers_what_was_asked_and_takes_nothing_new() -> None:
    go = asyncio.Event()
    app = Endpoints()

    @app.on("wait")
    async def wait(call: Call) -> str:
        await go.wait()
        return "done"

    client, server = pair(theirs=app)
    asked = asyncio.create_task(client.request("wait"))
    await client.ping()
    server.drain()
    with pytest.raises(EndpointError) as caught:
        await client.request("wait")
    assert caught.value.value["code"] == ErrorCode.BUSY
    await client.send("wait", ack=True)
    go.set()
    assert (await asked).data == "done"


async def test_a_raw_handler_returns_bytes() -> None:
    app = Endpoints()
    app.on_raw(lambda call: 3)  # type: ignore[type-var]
    peer, sent = wired(app)
    peer.frame_received(codec.encode(RequestFrame(id=1, payload=b"raw")))
    answer = codec.decode(sent[-1])
    assert isinstance(answer, ResponseFrame)
    assert b'"code":"internal"' in answer.payload


async def test_a_request_given_up_in_the_same_moment_leaves_no_coroutine_behind() -> None:
    app = Endpoints()

    @app.on("it")
    async def it(call: Call) -> None: ...

    peer, _ = wired(app)
    peer.frame_received(codec.encode(RequestFrame(id=1, payload=b'{"endpoint":"it"}')))
    peer.frame_received(codec.encode(ServiceFrame(id=2, code=Service.ABORT, ref=1, own=True)))
    await until(lambda: peer.pending == 0)


async def test_an_answer_is_never_given_to_a_later_request_of_the_same_id() -> None:
    app = Endpoints()

    @app.on("stubborn")
    async def stubborn(call: Call) -> object:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.01 if call.data == "second" else 60)
        return call.data

    peer, sent = wired(app)
    for word in (b"first", b"second"):
        payload = b'{"endpoint":"stubborn","data":"%s"}' % word
        peer.frame_received(codec.encode(RequestFrame(id=1, payload=payload)))
        await asyncio.sleep(0)
        if word == b"first":
            peer.frame_received(codec.encode(ServiceFrame(id=2, code=Service.ABORT, ref=1, own=True)))
    await until(lambda: peer.pending == 0)
    (answer,) = map(codec.decode, sent)
    assert isinstance(answer, ResponseFrame)
    assert b"second" in answer.payload


async def test_as_many_handlers_as_may_be_can_all_ask_their_peer() -> None:
    ours, theirs = Endpoints(), Endpoints()

    @ours.on("name")
    def name(_: Call) -> str:
        return "me"

    @theirs.on("who")
    async def who(call: Call) -> object:
        return (await call.peer.request("name")).data

    client, _ = pair(ours, theirs, settings=Settings(max_requests=4, request_timeout=2))
    replies = await asyncio.gather(*(client.request("who") for _ in range(4)))
    assert [reply.data for reply in replies] == ["me"] * 4
