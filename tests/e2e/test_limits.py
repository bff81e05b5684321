"""Users have limits: what they are told, and what the operator sees."""

import asyncio
import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import framehub
from framehub.runtime import tokens

from .calling import Places
from .conftest import FREE, Serve, serving_line

APP = """
import asyncio
import framehub

app = framehub.Endpoints()


@app.on("now")
def now(call):
    return call.user


@app.on("later")
async def later(call):
    await asyncio.sleep(call.data)


@app.on_stream("upload")
async def upload(stream):
    async for chunk in stream:
        pass
"""
LIMITS = """
[limits]
max_connections = 2
requests_per_second = 1
burst = 5
max_open = 3

[limits.users.8]
requests_per_second = inf
"""


async def told(url: str) -> Any:
    def get() -> bytes:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return bytes(answer.read())

    return await asyncio.to_thread(get)


async def opened(client: framehub.HubClient) -> None:
    async with client.open(service=9, function=1) as stream:
        async for _ in stream:
            pass


async def test_users_meet_their_limits_and_are_told_so(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "limited.py").write_text(APP)
    (tmp_path / "gateway.toml").write_text(LIMITS)
    anna, _ = tokens.add(tmp_path / "tokens", user=7, name="anna")
    bob, _ = tokens.add(tmp_path / "tokens", user=8, name="bob")
    process, mfp = serve(
        *("--app", "limited:app", "--config", "gateway.toml", "--tokens", "tokens", "--admin", FREE)
    )
    places = Places(serving_line(process))
    hub, admin = places["hub"], places["admin"]
    async with (
        asyncio.timeout(60),
        framehub.connect(mfp, token=anna) as one,
        framehub.HubClient(hub, token=anna) as two,
        framehub.connect(mfp, token=bob) as other,
    ):
        # One connection more, of whatever kind, is too many for Anna, not for others.
        for there in (framehub.connect(mfp, token=anna), framehub.HubClient(hub, token=anna)):
            with pytest.raises(framehub.ConnectFailed) as refused:
                async with there:
                    pass
            assert refused.value.status == 429
        # What is under way counts on all of them; a stream too.
        waiting = [asyncio.create_task(one.request("later", 30)) for _ in range(2)]
        async with one.stream("upload") as out:
            await out.write(b"x")
            await one.ping()
            with pytest.raises(framehub.EndpointError) as over:
                await one.request("now")
            assert over.value.value["code"] == "limit"
            assert "3 requests and streams at a time for user 7 (max_open)" in over.value.value["message"]
            with pytest.raises(framehub.HubStreamError, match="max_open"):
                await opened(two)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await one.ping()
        # Five at once were allowed and three are spent, however fast this runs: some of ten are too many.
        replies = [await one.request("now", raise_on_error=False) for _ in range(10)]
        limited = [reply.error for reply in replies if reply.is_error]
        assert limited
        assert {error["code"] for error in limited} == {"limit"}
        assert "over 1 requests a second for user 7 (requests_per_second)" in limited[0]["message"]
        assert [(await other.request("now")).data for _ in range(50)] == [8] * 50
        users = {each["who"]: each for each in json.loads(await told(f"{admin}/api/connections"))["users"]}
        assert users["user 7"]["connections"] == 2
        assert users["user 7"]["refused"] >= len(limited) + 3
        assert users["user 8"] == {"who": "user 8", "connections": 1, "open": 0, "refused": 0}
        metrics = (await told(f"{admin}/metrics")).decode()
        assert 'framehub_limited_total{limit="max_connections"} 2.0' in metrics
    async with asyncio.timeout(60), framehub.connect(mfp, token=anna) as again:
        assert again.state == "open"  # those that are gone do not count
