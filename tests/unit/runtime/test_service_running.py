import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import StreamAborted
from framehub.hub.headers import HubFrame
from framehub.hub.served import ServiceSettings
from framehub.runtime import service_running
from framehub.runtime.service import Service
from framehub.runtime.service_stream import ServiceStream
from tests.unit.runtime.raw_hub import RawHub, attended, raw_hub
from tests.unit.runtime.rpc_parts import until

MESSAGE, LAST, SERVICE_ERROR = HubState.MESSAGE, HubState.LAST, HubState.SERVICE_ERROR
GONE = (HubState.STREAM_ERROR, HubError.CLIENT_DISCONNECT)


def service(**others: Any) -> Service:
    return Service(7, "maths", threads=2, **others)


async def answer(hub: RawHub, stream: int, function: int, body: bytes) -> tuple[HubState, bytes]:
    hub.opens(stream, function, body)
    ((_, state, said),) = await hub.hears_bodies()
    return state, said


def leaves(hub: RawHub, stream: int) -> None:
    hub.says(HubFrame(stream, *GONE))


async def test_functions_with_and_without_async() -> None:
    made = service()

    @made.function(1)
    def square(x: int) -> int:
        return x * x

    @made.function(2)
    async def add(a: float, b: float = 1.0) -> float:
        return a + b

    @made.function(3)
    def upside_down(body: bytes) -> bytes:
        return body[::-1]

    @made.function(4)
    async def nothing() -> None: ...

    async with raw_hub() as hub, attended(made, hub.address):
        assert await answer(hub, 9, 1, b"12") == (LAST, b"144")
        assert await answer(hub, 10, 2, b"[1, 2]") == (LAST, b"3.0")
        assert await answer(hub, 11, 2, b'{"a": 5}') == (LAST, b"6.0")
        assert await answer(hub, 12, 3, b"\0\xff") == (LAST, b"\xff\0")
        assert await answer(hub, 13, 4, b"") == (LAST, b"null")
        assert await answer(hub, 14, 1, b'"x"') == (
            SERVICE_ERROR,
            b"bad argument: x: expected int, got str",
        )
        assert await answer(hub, 15, 2, b"{}") == (
            SERVICE_ERROR,
            b"bad argument: object missing required field a",
        )
        assert await answer(hub, 16, 5, b"") == (SERVICE_ERROR, b"no function 5")


async def test_what_a_generator_gives_is_sent_as_it_comes() -> None:
    made = service()
    go_on = asyncio.Event()

    @made.function(1)
    async def count(last: int) -> AsyncIterator[Any]:
        for number in range(last):
            yield {"number": number}
        await go_on.wait()
        yield b"raw"

    async with raw_hub() as hub, attended(made, hub.address):
        hub.opens(9, body=b"2")
        assert await hub.hears_bodies(2) == [(9, MESSAGE, b'{"number":0}'), (9, MESSAGE, b'{"number":1}')]
        go_on.set()
        assert await hub.hears_bodies(2) == [(9, MESSAGE, b"raw"), (9, LAST, b"")]
        state, text = await answer(hub, 10, 1, b'"two"')
        assert (state, text) == (SERVICE_ERROR, b"bad argument: last: expected int, got str")


async def test_what_a_function_raises_is_told_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    made = service()

    @made.function(1)
    async def talk(stream: ServiceStream) -> None:
        raise ValueError(f"not {stream.first.decode()}")

    @made.function(2)
    async def ends(stream: ServiceStream) -> None:
        raise SystemExit(3)

    @made.function(3)
    async def gives_up(stream: ServiceStream) -> None:
        raise asyncio.CancelledError

    @made.function(4)
    async def aborts(stream: ServiceStream) -> None:
        raise StreamAborted("of another stream")

    @made.function(5)
    async def items() -> AsyncIterator[Any]:
        yield 1
        raise KeyError("two")

    @made.function(6)
    async def unwritable() -> AsyncIterator[Any]:
        yield object()

    @made.function(7)
    async def after_its_end(stream: ServiceStream) -> None:
        await stream.end(b"done")
        await stream.send(b"more")

    async with raw_hub() as hub, attended(made, hub.address):
        assert await answer(hub, 9, 1, b"today") == (SERVICE_ERROR, b"ValueError: not today")
        assert await answer(hub, 10, 2, b"") == (SERVICE_ERROR, b"SystemExit: 3")
        assert await answer(hub, 11, 3, b"") == (SERVICE_ERROR, b"CancelledError")
        assert await answer(hub, 12, 4, b"") == (SERVICE_ERROR, b"StreamAborted: of another stream")
        hub.opens(13, 5)
        assert await hub.hears_bodies(2) == [(13, MESSAGE, b"1"), (13, SERVICE_ERROR, b"KeyError: 'two'")]
        state, text = await answer(hub, 14, 6, b"")
        assert (state, text) == (SERVICE_ERROR, b"bad result: cannot write object")
        assert await answer(hub, 15, 7, b"") == (LAST, b"done")
        await until(lambda: "after_its_end failed" in caplog.text)
        assert await hub.is_quiet()
    assert "Traceback" in caplog.text


async def test_what_is_too_large_for_a_frame_is_said_so() -> None:
    made = service(settings=ServiceSettings(max_frame_bytes=106))

    @made.function(1)
    def many(size: int) -> bytes:
        return bytes(size)

    async with raw_hub() as hub, attended(made, hub.address):
        assert await answer(hub, 9, 1, b"100") == (LAST, bytes(100))
        text = b"bad result: 101 bytes are over the limit of 100 (setting max_frame_bytes)"
        assert await answer(hub, 10, 1, b"101") == (SERVICE_ERROR, text)


async def test_functions_whose_client_has_gone_are_cancelled() -> None:
    made = service()
    ended: list[str] = []
    gate = threading.Event()

    async def waits(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    @made.function(1)
    async def call() -> None:
        await waits("call")

    @made.function(2)
    async def items() -> AsyncIterator[int]:
        yield 1
        await waits("items")

    @made.function(3)
    def plain() -> None:
        gate.wait(20)
        ended.append("plain")

    async with raw_hub() as hub, attended(made, hub.address):
        for number in (1, 2, 3, 3, 3):
            hub.opens(10 + len(ended) + number, number)
        hub.opens(20, 3)
        hub.opens(21, 3)
        await hub.hears()  # the first item
        for stream in (11, 12, 13, 20, 21):
            leaves(hub, stream)
        await until(lambda: set(ended) >= {"call", "items"})
        gate.set()
        assert await answer(hub, 30, 3, b"") == (LAST, b"null")
        assert await hub.is_quiet()


async def test_one_that_has_the_stream_is_told_and_cancelled_if_it_does_not_end() -> None:
    made = service(settings=ServiceSettings(grace=0.1))
    seen: list[str] = []

    @made.function(1)
    async def deaf(stream: ServiceStream) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    @made.function(2)
    async def polite(stream: ServiceStream) -> None:
        try:
            async for _ in stream:
                pass
        finally:
            seen.append("told")

    async with raw_hub() as hub, attended(made, hub.address):
        hub.opens(9, 1)
        hub.opens(10, 2)
        await asyncio.sleep(0.1)
        leaves(hub, 9)
        leaves(hub, 10)
        await until(lambda: len(seen) == 2)
        assert await hub.is_quiet()
    assert seen == ["told", "cancelled"]


async def test_who_is_gone_at_once_was_still_heard_by_one_that_has_the_stream() -> None:
    made = service()
    seen: list[Any] = []

    @made.function(1)
    async def listen(stream: ServiceStream) -> None:
        async for body in stream:
            seen.append(body)

    @made.function(2)
    async def call() -> None:
        seen.append("called")

    async with raw_hub() as hub, attended(made, hub.address):
        for number in (1, 2):  # all in one batch
            hub.opens(number, number)
            hub.tells(number, b"x")
            hub.says(HubFrame(number, HubState.COMMAND, HubCommand.CLOSE))
        time.sleep(0.3)  # noqa: ASYNC251  # nobody reads until all of it has come
        await until(lambda: seen)
        assert await hub.is_quiet()
    assert seen == [b"x"]


async def test_no_more_functions_run_than_there_may_be_streams() -> None:
    made = service(settings=ServiceSettings(max_streams=2))
    go_on = asyncio.Event()

    @made.function(1)
    async def lingers(stream: ServiceStream) -> None:
        await stream.end(b"done")
        await go_on.wait()

    async with raw_hub() as hub, attended(made, hub.address):
        assert [await answer(hub, number, 1, b"") for number in (1, 2)] == [(LAST, b"done")] * 2
        assert await answer(hub, 3, 1, b"") == (SERVICE_ERROR, b"busy: 2 functions run")
        hub.opens(4)
        leaves(hub, 4)
        # It is refused, or nobody is told who has gone: as the two come together or one by one.
        await hub.is_quiet()
        go_on.set()
        await hub.is_quiet()
        assert [frame.state for frame in hub.frames] in ([], [SERVICE_ERROR])


async def test_a_function_that_does_not_end_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(service_running, "LAST_CHANCE", 0.1)
    made = service()
    tasks: list[Any] = []

    @made.function(1)
    async def stubborn(stream: ServiceStream) -> None:
        tasks.append(asyncio.current_task())
        for _ in range(2):
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    async with raw_hub() as hub:
        async with attended(made, hub.address):
            hub.opens(9)
            await until(lambda: tasks)
        assert await hub.hears_bodies(2) == [
            (0, HubState.COMMAND, b""),
            (9, SERVICE_ERROR, b"the service has stopped"),
        ]
        assert "1 functions do not end" in caplog.text
        tasks[0].cancel()
        await asyncio.wait(tasks)
