"""Two gateways before one worker and one service: one is killed, and both journals are one story."""

import asyncio
import signal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import framehub
from framehub.pipeline import exchanges, read_journal
from framehub.pipeline.audit import audit
from tests.e2e.calling import Hub, Places, hub, read_line
from tests.e2e.conftest import PORTS

pytestmark = pytest.mark.spark

JOBS = """
import time

import framehub

worker = framehub.Worker(processes=2)


@worker.function
def square(x: int) -> int:
    return x * x


@worker.function
def slowly(x: int) -> int:
    time.sleep(0.5)
    return x


service = framehub.Service(7, "echo")


@service.function(1, name="back")
async def back(stream: framehub.ServiceStream) -> None:
    async for body in stream:
        await stream.send(body)
    await stream.end()
"""


async def says(place: str, body: bytes) -> list[bytes]:
    async with framehub.HubClient(place) as client, client.open(service=7, function=1) as stream:
        await stream.send(body)
        await stream.end()
        return [body async for body in stream]


async def live(house: Hub) -> None:
    gateways, places = [], []
    for node in ("north", "south"):
        gateway = house.start("serve", *PORTS, "--journal", f"journals/{node}", "--node", node)
        gateways.append(gateway)
        places.append(Places(await asyncio.to_thread(read_line, gateway)))
    north, south = places
    for command, side in (("worker", "workers"), ("service", "services")):
        words = [word for place in places for word in ("--connect", place[side])]
        process = house.start(command, f"both:{command}", *words)
        told = {Places(await asyncio.to_thread(read_line, process))[side] for _ in places}
        assert told == {place[side] for place in places}, "a line for each gateway"
    async with framehub.Functions(south["clients"]) as there:
        async with framehub.Functions(north["clients"]) as here:
            for functions in (here, there):
                assert await asyncio.gather(*(functions.call("square", x) for x in range(20))) == [
                    x * x for x in range(20)
                ]
            for place in places:
                assert (await says(place["hub"], b"hello"))[0] == b"hello"
            cut_off = [asyncio.create_task(here.call("slowly", x, timeout=5)) for x in range(4)]
            going_on = [asyncio.create_task(there.call("slowly", x)) for x in range(4)]
            await asyncio.sleep(0.2)
            gateways[0].send_signal(signal.SIGKILL)
            assert await asyncio.gather(*going_on) == list(range(4)), "the other gateway does not notice"
            for task in cut_off:
                task.cancel()
            await asyncio.gather(*cut_off, return_exceptions=True)
        assert await asyncio.gather(*(there.call("square", x) for x in range(20))) == [
            x * x for x in range(20)
        ]
        assert (await says(south["hub"], b"still here"))[0] == b"still here"
    gateways[1].send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(gateways[1].wait) == 0


def test_one_may_die_and_both_journals_are_read_as_one(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "both.py").write_text(JOBS)
    with hub(tmp_path) as house:
        asyncio.run(asyncio.wait_for(live(house), 120))
    journals = tmp_path / "journals"
    found = audit(journals, spark=spark)
    assert [(row["rule"], row["node"], row["evidence"]) for row in found.violations] == []
    told = exchanges(read_journal(spark, str(journals))).where("endpoint = 'square' AND outcome = 'ok'")
    counted = {row["node"]: row["count"] for row in told.groupBy("node").count().collect()}
    assert counted == {"north": 20, "south": 40}
