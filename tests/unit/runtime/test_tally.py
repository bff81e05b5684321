"""Requests are counted as they end, by endpoint."""

import asyncio
from collections.abc import Callable

import pytest

from framehub.codes import ErrorCode, Service
from framehub.errors import EndpointError, FramehubError, RequestTimeout
from framehub.mfp.envelope import Envelope
from framehub.mfp.settings import Settings
from framehub.runtime.calls import Call, Reply
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.memory import pair
from framehub.runtime.tally import BOUNDS, MOST_NAMES, OTHERS, RAW, UNKNOWN, Asked, Tally


def outcomes(tally: Tally) -> dict[str, dict[str, int]]:
    return {endpoint: ended.outcomes for endpoint, ended in tally.told()}


def counted() -> tuple[Endpoints, Tally]:
    app = Endpoints()
    tally = app.tally = Tally(lambda name: app.find(name) is not None)

    @app.on("now")
    def now(call: Call) -> object:
        return call.data

    @app.on("later")
    async def later(_call: Call) -> Reply:
        await asyncio.sleep(0)
        return Reply(error={"why": "so"})

    @app.on("wrong")
    def wrong(_call: Call) -> None:
        raise EndpointError("no")

    @app.on("never")
    async def never(_call: Call) -> None:
        await asyncio.get_running_loop().create_future()

    return app, tally


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_bucket_ends_with_its_bound(bound: float) -> None:
    tally = Tally(lambda _: True)
    for seconds in (bound, bound * 1.0001):
        tally.ended("x", "ok", seconds)
    ((_, ended),) = tally.told()
    at = BOUNDS.index(bound)
    assert (ended.buckets[at], ended.buckets[at + 1], sum(ended.buckets)) == (1, 1, 2)
    assert ended.seconds == pytest.approx(bound * 2.0001)


def test_names_are_bounded_and_those_that_clients_make_up_are_one() -> None:
    tally = Tally(lambda name: name.startswith("real"))
    for number in range(MOST_NAMES + 10):
        tally.ended(f"real{number}", "ok", 0.0)
        tally.ended(f"made up {number}", "error", 0.0)
    tally.ended(RAW, "ok", 0.0)
    found = outcomes(tally)
    assert len(found) == MOST_NAMES + 1
    assert found[UNKNOWN] == {"error": MOST_NAMES + 10}
    assert found[OTHERS] == {"ok": 12}
    assert "real0" in found


async def test_every_end_of_a_request_is_counted_once() -> None:
    app, tally = counted()
    client, server = pair(theirs=app)
    assert (await client.request("now", 1)).data == 1
    assert (await client.request("later", raise_on_error=False)).error == {"why": "so"}
    for name in ("wrong", "nobody", "nobody.else"):
        with pytest.raises(EndpointError):
            await client.request(name)
    with pytest.raises(RequestTimeout):
        await client.request("never", timeout=0.001)
    asking = asyncio.create_task(client.request("never"))
    await client.request("now")
    asking.cancel()
    await client.request("now")
    left = asyncio.create_task(client.request("never"))
    await client.request("now")
    await client.close()
    with pytest.raises(FramehubError):
        await left
    await server.closed
    assert outcomes(tally) == {
        "now": {"ok": 4},
        "later": {"error": 1},
        "wrong": {"error": 1},
        UNKNOWN: {"error": 2},
        "never": {"timeout": 1, "aborted": 2},
    }
    assert all(sum(ended.buckets) == sum(ended.outcomes.values()) for _, ended in tally.told())


async def test_who_is_turned_away_is_counted_apart() -> None:
    app, tally = counted()
    client, server = pair(theirs=app, settings=Settings())
    server._serving.draining = True
    with pytest.raises(EndpointError, match="busy"):
        await client.request("now")
    assert outcomes(tally) == {"now": {"busy": 1}}
    await client.close()


@pytest.mark.parametrize(
    "end",
    [
        lambda asked: asked.given_up(1, Service.ABORT),
        lambda asked: asked.respond(1, b"", endpoint="x", error=ErrorCode.INTERNAL),
        lambda asked: asked.close(),
    ],
)
async def test_what_is_over_is_forgotten(end: Callable[[Asked], None]) -> None:
    tally = Tally(lambda _: True)
    client, _ = pair()
    asked = Asked(tally, client)
    asked.begin(1, Envelope("x"))
    end(asked)
    end(asked)
    asked.close()
    ((_, ended),) = tally.told()
    assert sum(ended.outcomes.values()) == 1
