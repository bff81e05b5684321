import pytest

from framehub.errors import ConnectionClosed
from framehub.runtime.calls import Call
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.memory import pair


def echo() -> Endpoints:
    app = Endpoints()

    @app.on("echo")
    def answer(call: Call) -> object:
        return call.data

    return app


async def test_a_request_goes_there_and_back() -> None:
    client, _ = pair(theirs=echo())
    assert (await client.request("echo", [1, None, "x"])).data == [1, None, "x"]


async def test_both_ends_can_ask() -> None:
    left, right = pair(echo(), echo())
    assert (await left.request("echo", 1)).data == 1
    assert (await right.request("echo", 2)).data == 2


async def test_a_paused_link_holds_frames_and_loses_none() -> None:
    client, server = pair(theirs=echo())
    server.pause_reading()
    ping = client.ping(timeout=0.01)
    with pytest.raises(Exception, match="no pong"):
        await ping
    server.resume_reading()
    assert (await client.request("echo", 3)).data == 3


async def test_closing_ends_both_ends() -> None:
    client, server = pair(theirs=echo())
    await client.close(1000, "done")
    assert (await server.closed).reason == "done"
    with pytest.raises(ConnectionClosed):
        await client.request("echo")
