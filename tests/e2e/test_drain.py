"""SIGTERM while everything is under way (F29): what was taken is finished, and nothing new is taken."""

import asyncio
import json
import signal
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import framehub
from framehub.runtime.hub_stream import HubStream

from .calling import Places, hub, read_line
from .conftest import FREE, PORTS

APP = """
import asyncio
import pathlib

import framehub

app = framehub.Endpoints()


@app.on("slow")
async def slow(call):
    await asyncio.sleep(1.5)
    return call.data


@app.on("stuck")
async def stuck(call):
    await asyncio.sleep(3600)


@app.on("note")
def note(call):
    with pathlib.Path("noted").open("a") as file:
        file.write(f"{call.data}\\n")


@app.on_stream("upload")
async def upload(stream):
    size = 0
    async for chunk in stream:
        size += len(chunk.data)
    pathlib.Path("uploaded").write_text(str(size))


worker = framehub.Worker(threads=4)


@worker.function
async def later(x: int) -> int:
    await asyncio.sleep(1.5)
    return x


service = framehub.Service(7, "count")


@service.function(1, name="to_three")
async def to_three(stream: framehub.ServiceStream) -> None:
    for number in range(3):
        await asyncio.sleep(0.5)
        await stream.send(str(number).encode())
    await stream.end()
"""


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as exc:
        return exc.code


async def all_of(stream: HubStream) -> list[bytes]:
    return [body async for body in stream if body]


async def all_of_another(client: framehub.HubClient) -> list[bytes]:
    async with client.open(service=7, function=1) as stream:
        return await all_of(stream)


@pytest.fixture
def places(tmp_path: Path) -> Path:
    (tmp_path / "draining.py").write_text(APP)
    return tmp_path


async def test_what_was_taken_is_finished(places: Path) -> None:
    with hub(places) as house:
        async with asyncio.timeout(90):
            gateway = house.start(
                "serve", *PORTS, "--admin", FREE, "--app", "draining:app", "--journal", "journal"
            )
            there = Places(await asyncio.to_thread(read_line, gateway))
            for command, side in (("worker", "workers"), ("service", "services")):
                process = house.start(command, f"draining:{command}", "--connect", there[side])
                await asyncio.to_thread(read_line, process)
            async with (
                framehub.connect(there["mfp"]) as peer,
                framehub.Functions(there["clients"]) as functions,
                framehub.HubClient(there["hub"]) as client,
                client.open(service=7, function=1) as stream,
            ):
                for number in range(50):
                    await peer.send("note", number, ack=True)
                streaming = asyncio.create_task(all_of(stream))
                asked = [asyncio.create_task(peer.request("slow", x)) for x in range(10)]
                asked += [asyncio.create_task(peer.request("later", x)) for x in range(10)]
                called = [asyncio.create_task(functions.call("later", x)) for x in range(10)]
                async with peer.stream("upload") as out:
                    await out.write(b"x" * 100_000)
                    await peer.ping()
                    await asyncio.sleep(0.3)  # so that all of it is under way
                    assert await asyncio.to_thread(status, f"{there['admin']}/readyz") == 200
                    gateway.send_signal(signal.SIGTERM)
                    while await asyncio.to_thread(status, f"{there['admin']}/readyz") != 503:  # noqa: ASYNC110
                        await asyncio.sleep(0.01)
                    assert await asyncio.to_thread(status, f"{there['admin']}/healthz") == 200
                    refused = await peer.request("slow", raise_on_error=False)
                    assert refused.error["code"] == "busy"
                    with pytest.raises(framehub.RemoteBusy):
                        await functions.call("later", 1)
                    with pytest.raises(framehub.HubStreamError, match="stopping"):
                        await all_of_another(client)
                    with pytest.raises(framehub.ConnectFailed):
                        async with framehub.connect(there["mfp"]):
                            pass
                    await out.write(b"y" * 100_000)
                assert [reply.data for reply in await asyncio.gather(*asked)] == [*range(10), *range(10)]
                assert await asyncio.gather(*called) == list(range(10))
                assert (await streaming)[:3] == [b"0", b"1", b"2"]
            assert await asyncio.to_thread(gateway.wait, 30) == 0
    assert (places / "uploaded").read_text() == "200000"
    assert (places / "noted").read_text().split() == [str(number) for number in range(50)]


async def test_what_never_ends_is_not_waited_for(places: Path) -> None:
    with hub(places) as house:
        async with asyncio.timeout(90):
            gateway = house.start(
                *("serve", *PORTS, "--app", "draining:app", "--journal", "journal"),
                env={"FRAMEHUB_GATEWAY__DRAIN": "0.5"},
            )
            there = Places(await asyncio.to_thread(read_line, gateway))
            async with framehub.connect(there["mfp"]) as peer:
                stuck = asyncio.create_task(peer.request("stuck"))
                await peer.ping()
                gateway.send_signal(signal.SIGTERM)
                with pytest.raises(framehub.ConnectionClosed) as closed:
                    await stuck
                assert closed.value.code == 1001
            assert await asyncio.to_thread(gateway.wait, 30) == 0
            shown = house.start("journal", "check", "journal", "--json")
            told, _ = await asyncio.to_thread(shown.communicate)
            assert shown.returncode == 0, told
            assert json.loads(told)
