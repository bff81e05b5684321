"""``framehub service`` as a process, at a router that says what a hub would."""

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from framehub.codes import HubCommand, HubState
from framehub.hub.headers import HubFrame
from tests.unit.runtime.raw_hub import RawHub, raw_hub

from .calling import Hub, Places, hub, read_line

QUOTES = '''
import framehub

service = framehub.Service(7, "quotes", doc="Prices.")
empty = framehub.Service(8)
number = 5


@service.function(1)
async def ticks(stream: framehub.ServiceStream) -> None:
    """Every price as it changes."""
    async for body in stream:
        await stream.send(body[::-1])
    await stream.end(b"bye")


@service.function(2)
def square(x: int) -> int:
    return x * x
'''
LAST, MESSAGE = HubState.LAST, HubState.MESSAGE


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Hub]:
    (tmp_path / "quotes.py").write_text(QUOTES)
    with hub(tmp_path) as made:
        yield made


async def ready(process: "subprocess.Popen[str]") -> Places:
    return Places(await asyncio.to_thread(read_line, process))


async def test_it_says_when_it_is_ready_and_finishes_what_is_open(house: Hub) -> None:
    async with raw_hub() as there:
        service = house.start("service", "quotes:service", "--connect", there.address)
        told = await ready(service)
        assert told == {
            "services": there.address,
            "service": "7",
            "name": "quotes",
            "functions": "ticks,square",
        }
        there.opens(9, body=b"first")
        there.tells(9, b"abc")
        assert await there.hears_bodies() == [(9, MESSAGE, b"cba")]
        there.opens(10, 2, b"12")
        assert await there.hears_bodies() == [(10, LAST, b"144")]
        service.send_signal(signal.SIGTERM)
        assert await there.hears() == [HubFrame(0, HubState.COMMAND, HubCommand.CLOSE)]
        assert service.stderr is not None
        line = await asyncio.to_thread(service.stderr.readline)
        assert line == "stopping: waiting up to 30 s for 1 streams; Ctrl-C again does not\n"
        there.tells(9, b"", LAST)
        assert await there.hears_bodies() == [(9, LAST, b"bye")]
        assert await asyncio.to_thread(service.wait, 20) == 0


async def test_a_second_ctrl_c_does_not_wait(house: Hub) -> None:
    async with raw_hub() as there:
        service = house.start("service", "quotes:service", "--connect", there.address)
        await ready(service)
        there.opens(9)
        there.tells(9, b"abc")
        await there.hears()
        service.send_signal(signal.SIGINT)
        await there.hears()
        service.send_signal(signal.SIGINT)
        assert await there.hears_bodies() == [(9, HubState.SERVICE_ERROR, b"the service has stopped")]
        assert await asyncio.to_thread(service.wait, 20) == 0


async def test_a_hub_that_was_killed_and_comes_back_has_it_again(house: Hub) -> None:
    there = RawHub()
    service = house.start("service", "quotes:service", "--connect", there.address)
    await ready(service)
    there.opens(9)
    there.tells(9, b"abc")
    await there.hears()
    there.close()
    async with raw_hub(address=there.address) as again:
        async with asyncio.timeout(20):
            while not again.registered:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        again.opens(9, 2, b"7")
        assert await again.hears_bodies() == [(9, LAST, b"49")]
    assert service.poll() is None


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("nowhere:service", "no module 'nowhere' here or installed"),
        ("quotes", "want MODULE:NAME, like quotes:service"),
        ("quotes:srvice", "module 'quotes' has no 'srvice'; it has service, empty"),
        ("quotes:number", "'number' is of type int, not framehub.Service"),
        ("quotes:empty", "this service has no functions: decorate some with @service.function(1)"),
        ("unguarded:service", 'put that under if __name__ == "__main__"'),
        ("wrong:service", "wrong.py:3: f: bytes are a whole body, or none"),
    ],
)
def test_what_cannot_be_offered_is_one_line_and_exit_1(house: Hub, source: str, why: str) -> None:
    (house.folder / "unguarded.py").write_text(QUOTES + "\nservice.run()\n")
    wrong = (
        "import framehub\nservice = framehub.Service(7)\n@service.function(1)\ndef f(a: int, b: bytes): ...\n"
    )
    (house.folder / "wrong.py").write_text(wrong)
    process = house.start("service", source)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, "")
    assert why in err
    assert err.count("\n") == 1


def test_a_script_ends_with_one_line_too(house: Hub) -> None:
    (house.folder / "script.py").write_text(QUOTES + '\nservice.run("nowhere")\n')
    process = house.start_python("script.py")
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, "")
    assert err == "Error: cannot connect to nowhere: want tcp://HOST:PORT or ipc://PATH\n"
