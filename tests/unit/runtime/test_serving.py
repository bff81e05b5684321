"""A peer's answering half: what each kind of failure tells the asker, and what it does not."""

import asyncio
import logging

import pytest

from framehub.codes import ErrorCode
from framehub.errors import EndpointError
from framehub.mfp import codec
from framehub.mfp.frames import MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.settings import Settings
from framehub.runtime.calls import Call
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.memory import pair
from framehub.runtime.peer import Peer


async def failure(app: Endpoints, endpoint: str = "it", *, settings: Settings | None = None) -> object:
    client, _ = pair(theirs=app, settings=settings)
    with pytest.raises(EndpointError) as caught:
        await client.request(endpoint)
    return caught.value.value


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

        def send(self, data: bytes) -> None:
            sent.append(data)

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


async def test_what_a_handler_asks_has_its_exchange_as_parent() -> None:
    from framehub.runtime.serving import current

    seen: list[bytes] = []
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

    client, _ = pair(theirs=app)
    names = [(await client.request(name)).data for name in ("now", "later")]
    assert [name.hex() for name in seen] == names
    assert current.get() == bytes(16)
