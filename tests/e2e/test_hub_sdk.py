"""A gateway, services and clients in processes of their own: conversations, drains, deaths and restarts."""

import asyncio
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import sample

import pytest

from framehub.codes import HubError
from framehub.errors import ConnectFailed, ConnectionClosed, HubStreamError, ServiceFailed
from framehub.runtime.hub_client import HubClient

from .calling import Hub, Places, ended, read_line
from .conftest import Cli
from .test_functions_cli import wait_until

QUOTES = '''
import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import framehub

VERSION = int(os.environ.get("VERSION", "2"))
service = framehub.Service(7, "quotes", doc="Prices.", version=VERSION, timeout=20)


@service.function(1)
async def ticks(stream: framehub.ServiceStream) -> None:
    """Everything upside down."""
    name = stream.first.decode()
    try:
        await stream.send(f"{os.getpid()} {stream.user}".encode(), parameter=9)
        async for body in stream:
            await stream.send(body[::-1])
        await stream.end(b"bye", parameter=8)
    except framehub.StreamAborted as exc:
        Path(f"{name}.new").write_text(str(exc))
        Path(f"{name}.new").rename(f"{name}.told")  # whoever finds it finds it whole


@service.function(2)
def square(x: int) -> int:
    return x * x


@service.function(3)
async def count(last: int, step: int = 1) -> AsyncIterator[int]:
    for number in range(0, last, step):
        yield number


@service.function(4)
async def silent(stream: framehub.ServiceStream) -> None:
    async for body in stream:
        pass


@service.function(5)
async def block(seconds: float) -> None:
    time.sleep(seconds)  # as nobody should


@service.function(6)
async def upload(stream: framehub.ServiceStream) -> None:
    size = 0
    async for body in stream:
        size += len(body)
    await stream.end(str(size).encode())


@service.function(7)
async def fails(text: str) -> None:
    raise ValueError(text)


if __name__ == "__main__":
    service.run()
'''


class House(Hub):
    """A gateway and services."""

    def service(self, address: str, *options: str, version: int = 2) -> "subprocess.Popen[str]":
        return self.start(
            "service", "quotes:service", "--connect", address, *options, env={"VERSION": str(version)}
        )

    def ready_service(self, address: str, *options: str, version: int = 2) -> "subprocess.Popen[str]":
        process = self.service(address, *options, version=version)
        assert Places(read_line(process))["service"] == "7"
        return process


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    (tmp_path / "quotes.py").write_text(QUOTES)
    with ended(House(tmp_path)) as made:
        yield made


def free_port() -> str:
    """One that the system gives to nobody who connects.

    A service that tries again and again would be given it some day, be connected to itself, and in the way.
    """
    for port in sample(range(20_000, 30_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return f"127.0.0.1:{port}"
    raise AssertionError("no port is free")


def pid(answer: bytes) -> int:
    return int(answer.split()[0])


async def when_offered(client: HubClient) -> bytes:
    """Five squared, as soon as the service is there."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await client.call(7, 2, b"5")
            except HubStreamError as exc:
                if exc.code is not HubError.ENDPOINT_NOT_FOUND:
                    raise
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("service_version", [1, 2])
@pytest.mark.parametrize("client_version", [1, 2])
async def test_every_version_talks_to_every_other(
    house: House, client_version: int, service_version: int
) -> None:
    told = house.gateway("--no-journal")
    service = house.ready_service(told["services"], version=service_version)
    async with HubClient(told["hub"], version=client_version) as client:
        interface = await client.interface(service=7)
        assert (interface["name"], interface["doc"]) == ("quotes", "Prices.")
        assert [one["name"] for one in interface["functions"]][:3] == ["ticks", "square", "count"]
        async with client.open(7, 1, b"talk") as stream:
            greeting = await anext(stream.answers())
            assert (greeting.body, greeting.parameter) == (f"{service.pid} 0".encode(), 9)
            for number in range(100):
                await stream.send(b"<%d" % number)
                assert await anext(stream) == (b"<%d" % number)[::-1]
            await stream.end()
            (last,) = [answer async for answer in stream.answers()]
            assert (last.body, last.parameter, last.is_last) == (b"bye", 8, True)
        assert await client.call(7, 2, b"12") == b"144"
        async with client.open(7, 3, b'{"last": 1000, "step": 10}') as stream:
            assert [int(body) async for body in stream] == list(range(0, 1000, 10))
        async with client.open(7, 6) as stream:
            for _ in range(200):
                await stream.send(bytes(50_000))
            await stream.end()
            assert await stream.read() == b"10000000"
        with pytest.raises(ServiceFailed, match="ValueError: not so"):
            await client.call(7, 7, b'"not so"')
        with pytest.raises(ServiceFailed, match="bad argument: x: expected int, got str"):
            await client.call(7, 2, b'"x"')
        with pytest.raises(ServiceFailed, match="no function 99"):
            await client.call(7, 99)
        with pytest.raises(HubStreamError) as refused:
            await client.call(8, 1)
        assert refused.value.code is HubError.ENDPOINT_NOT_FOUND
        assert await client.ping() > 0


async def test_many_conversations_at_once_keep_apart(house: House) -> None:
    told = house.gateway("--no-journal")
    house.ready_service(told["services"], version=1)
    house.ready_service(told["services"])
    pids: set[int] = set()

    async def talk(client: HubClient, name: int) -> None:
        async with client.open(7, 1, b"talk") as stream:
            pids.add(pid(await anext(stream)))
            for number in range(20):
                text = f"{name}:{number}".encode()
                await stream.send(text)
                assert await anext(stream) == text[::-1]
            await stream.end()
            assert await stream.read() == b"bye"

    async with HubClient(told["hub"], version=1) as one, HubClient(told["hub"]) as two:
        await asyncio.gather(*(talk(client, at) for at in range(50) for client in (one, two)))
    assert len(pids) == 2  # both services had some


@pytest.mark.parametrize("version", [1, 2])
async def test_silence_ends_a_stream_on_both_sides(house: House, version: int) -> None:
    told = house.gateway("--no-journal")
    house.ready_service(told["services"])
    async with HubClient(told["hub"], version=version) as client:
        async with client.open(7, 4, timeout=1.0) as stream:
            with pytest.raises(HubStreamError, match=r"TIMEOUT: no answer for 1 s") as late:
                await anext(stream)
            assert late.value.code is HubError.TIMEOUT
        hasty = HubClient(told["hub"], version=version, timeout=1.0)
        async with hasty, hasty.open(7, 1, b"late") as stream:
            await anext(stream)
            with pytest.raises(HubStreamError, match=r"TIMEOUT: nothing said for 1 s"):
                await anext(stream)
        await asyncio.to_thread(wait_until, house.folder / "late.told")
        assert "it timed out" in (house.folder / "late.told").read_text()
        assert await client.call(7, 2, b"2") == b"4"


async def test_a_service_hears_that_its_client_has_gone_or_closed(house: House) -> None:
    told = house.gateway("--no-journal")
    house.ready_service(told["services"])
    async with HubClient(told["hub"]) as client:
        async with client.open(7, 1, b"closed") as stream:
            await anext(stream)
        await asyncio.to_thread(wait_until, house.folder / "closed.told")
        async with HubClient(told["hub"]) as other, other.open(7, 1, b"gone") as stream:
            await anext(stream)
            await other.close()
            with pytest.raises(ConnectionClosed):
                await anext(stream)
        await asyncio.to_thread(wait_until, house.folder / "gone.told")
    assert (house.folder / "closed.told").read_text() == "the client closed it"
    assert (house.folder / "gone.told").read_text().startswith("the client has gone")


async def test_a_service_that_ends_finishes_its_streams_while_another_gets_the_new_ones(house: House) -> None:
    told = house.gateway("--no-journal")
    old = house.ready_service(told["services"])
    async with HubClient(told["hub"]) as client, client.open(7, 1, b"long") as stream:
        assert pid(await anext(stream)) == old.pid
        new = house.ready_service(told["services"])
        old.send_signal(signal.SIGTERM)
        assert old.stderr is not None
        assert "for 1 streams" in await asyncio.to_thread(old.stderr.readline)
        for _ in range(10):
            async with client.open(7, 1, b"next") as other:
                assert pid(await anext(other)) == new.pid
        await stream.send(b"still there")
        assert await anext(stream) == b"ereht llits"
        await stream.end()
        assert await stream.read() == b"bye"
        assert await asyncio.to_thread(old.wait, 20) == 0


async def test_a_second_signal_tells_clients_at_once(house: House) -> None:
    told = house.gateway("--no-journal")
    service = house.ready_service(told["services"])
    async with HubClient(told["hub"]) as client, client.open(7, 1, b"long") as stream:
        await anext(stream)
        service.send_signal(signal.SIGINT)
        assert service.stderr is not None
        await asyncio.to_thread(service.stderr.readline)
        service.send_signal(signal.SIGINT)
        with pytest.raises(ServiceFailed, match="the service has stopped"):
            await anext(stream)
        assert await asyncio.to_thread(service.wait, 20) == 0
        with pytest.raises(HubStreamError, match="ENDPOINT_NOT_FOUND"):
            await client.call(7, 2, b"2")


async def test_a_service_that_is_killed_ends_its_streams_and_may_come_back(house: House) -> None:
    told = house.gateway("--no-journal")
    service = house.ready_service(told["services"])
    async with HubClient(told["hub"]) as client:
        async with client.open(7, 1, b"cut") as stream:
            await anext(stream)
            service.kill()
            with pytest.raises(HubStreamError) as gone:
                await asyncio.wait_for(anext(stream), 20)
            assert gone.value.code is HubError.SERVICE_DISCONNECT
        await asyncio.to_thread(house.ready_service, told["services"])
        assert await client.call(7, 2, b"3") == b"9"


async def test_after_a_restart_of_the_gateway_everything_is_there_again(house: House) -> None:
    where, services = free_port(), free_port()
    ports = ("--listen", where, "--services", services, "--no-journal")
    told = house.gateway(*ports)
    gateway = house.started[-1]
    service = house.ready_service(told["services"])
    async with HubClient(told["hub"]) as client, client.open(7, 1, b"cut") as stream:
        await anext(stream)
        gateway.kill()
        with pytest.raises(ConnectionClosed):
            await asyncio.wait_for(anext(stream), 20)
    with pytest.raises(ConnectFailed):
        async with client:
            pass
    await asyncio.to_thread(wait_until, house.folder / "cut.told")
    assert (house.folder / "cut.told").read_text() == "the connection to the hub was lost"
    await asyncio.to_thread(house.gateway, *ports)
    async with client:
        assert await when_offered(client) == b"25"
    assert service.poll() is None


async def test_a_service_that_was_taken_for_dead_registers_again(house: House) -> None:
    told = house.gateway("--no-journal")
    service = house.ready_service(told["services"])
    async with HubClient(told["hub"]) as client, client.open(7, 1, b"cut") as stream:
        await anext(stream)
        blocking = asyncio.ensure_future(client.call(7, 5, b"10"))
        for waiting in (blocking, anext(stream)):
            with pytest.raises(HubStreamError) as gone:
                await asyncio.wait_for(waiting, 30)
            assert gone.value.code is HubError.SERVICE_DISCONNECT
        await asyncio.to_thread(wait_until, house.folder / "cut.told")
        assert (house.folder / "cut.told").read_text() == "the hub took us for gone"
        assert await when_offered(client) == b"25"
    assert service.poll() is None


async def test_it_may_be_there_before_the_hub(house: House) -> None:
    services = free_port()
    service = house.service(services)
    assert service.stderr is not None
    line = await asyncio.to_thread(service.stderr.readline)
    assert line.startswith(f"no answer from a hub at tcp://{services} yet: is `framehub serve` up")
    told = await asyncio.to_thread(house.gateway, "--no-journal", "--services", services)
    assert Places(await asyncio.to_thread(read_line, service))["name"] == "quotes"
    async with HubClient(told["hub"]) as client:
        assert await client.call(7, 2, b"6") == b"36"


async def test_keys(house: House, cli: Cli) -> None:
    for name in ("hub", "ours", "stranger"):
        assert cli("keys", "new", f"{name}.key").returncode == 0
    only = ("--no-journal", "--clients", "off", "--workers", "off")
    told = house.gateway(*only, "--curve-key", "hub.key", "--service-keys", "ours.key.pub")
    options = ("--server-key", "hub.key.pub", "--curve-key")
    stranger = house.service(told["services"], *options, "stranger.key")
    assert stranger.stderr is not None
    assert "wrong keys, or not a hub" in await asyncio.to_thread(stranger.stderr.readline)
    house.ready_service(told["services"], *options, "ours.key")
    async with HubClient(told["hub"]) as client:
        assert await client.call(7, 2, b"7") == b"49"


async def test_whose_token_it_is_reaches_the_service(house: House, cli: Cli) -> None:
    token = cli("token", "add", "--tokens", "tokens", "--user", "42", "--name", "Anna").stdout.strip()
    told = house.gateway("--no-journal", "--tokens", "tokens")
    house.ready_service(told["services"])
    async with HubClient(told["hub"], token=token) as client, client.open(7, 1, b"me") as stream:
        assert (await anext(stream)).endswith(b" 42")
    with pytest.raises(ConnectFailed, match="401"):
        async with HubClient(told["hub"]):
            pass
