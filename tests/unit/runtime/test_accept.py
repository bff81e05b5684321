"""Who connects and does not open costs little, and nobody else's place."""

import asyncio
import errno
import logging
import os
import resource
import socket
from collections.abc import AsyncIterator, Callable

import pytest

from framehub.runtime.accept import Acceptor, Arrival
from framehub.runtime.address import parse
from framehub.runtime.quiet import QuietLog
from framehub.runtime.sockets import bind

log = logging.getLogger("framehub.test")


class Door:
    """Opens a connection when its peer has sent a byte."""

    def __init__(self) -> None:
        self.port = 0
        self.let_in: list[socket.socket] = []

    async def start(self, **options: float) -> Acceptor:
        bound = await bind(parse("tcp://127.0.0.1:0"))
        self.port = bound.port
        return Acceptor(bound, self.welcome, QuietLog(log, "here"), **options)  # type: ignore[arg-type]

    async def welcome(self, arrival: Arrival) -> None:
        loop = asyncio.get_running_loop()
        try:
            said = await loop.sock_recv(arrival.socket, 1)
            if said == b"!":
                raise ConnectionResetError(errno.ECONNRESET, "gone")
        except BaseException:
            arrival.socket.close()
            raise
        arrival.opened()
        self.let_in.append(arrival.socket)

    async def knock(self, byte: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(byte)
        return reader, writer


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    door = Door()
    yield door
    for connection in door.let_in:
        connection.close()


async def until(happens: Callable[[], bool]) -> None:
    while not happens():  # noqa: ASYNC110
        await asyncio.sleep(0.005)


async def test_who_opens_is_let_in_and_counts_no_longer(door: Door) -> None:
    acceptor = await door.start()
    _, writer = await door.knock(b"x")
    await until(lambda: len(door.let_in) == 1)
    assert acceptor.opening == 0
    writer.close()
    await acceptor.close()


async def test_who_does_not_open_in_time_is_cut_off(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    acceptor = await door.start(seconds=0.05)
    with caplog.at_level(logging.INFO):
        reader, writer = await door.knock()
        assert await reader.read() == b""
    assert "not open after 0.05 s" in caplog.text
    assert (acceptor.opening, door.let_in) == (0, [])
    writer.close()
    await acceptor.close()


async def test_when_there_is_one_too_many_the_oldest_goes(door: Door) -> None:
    acceptor = await door.start(most=3)
    waiting = []
    for n in range(3):
        waiting.append(await door.knock())
        await until(lambda n=n: acceptor.opening == n + 1)  # type: ignore[misc]
    _, honest = await door.knock(b"x")
    await until(lambda: len(door.let_in) == 1)
    assert await waiting[0][0].read() == b""
    assert acceptor.opening == 2
    waiting[1][1].write(b"x")  # the others kept their places
    await until(lambda: len(door.let_in) == 2)
    for _, writer in (*waiting, (None, honest)):
        writer.close()
    await acceptor.close()


async def test_what_fails_while_opening_is_counted_and_hurts_nobody(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    acceptor = await door.start()
    with caplog.at_level(logging.INFO):
        reader, writer = await door.knock(b"!")
        assert await reader.read() == b""
    assert "failed while opening" in caplog.text
    writer.close()
    _, second = await door.knock(b"x")
    await until(lambda: len(door.let_in) == 1)
    second.close()
    await acceptor.close()


async def test_a_fault_of_ours_is_told_with_its_story(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    async def broken(arrival: Arrival) -> None:
        arrival.socket.close()
        raise ZeroDivisionError

    door.welcome = broken  # type: ignore[method-assign]
    acceptor = await door.start()
    reader, writer = await door.knock()
    assert await reader.read() == b""
    assert "ZeroDivisionError" in caplog.text
    writer.close()
    await acceptor.close()


async def test_closing_cuts_off_whoever_is_opening(door: Door) -> None:
    acceptor = await door.start()
    reader, writer = await door.knock()
    await until(lambda: acceptor.opening == 1)
    await acceptor.close()
    assert await reader.read() == b""
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await door.knock()


async def test_without_file_descriptors_it_waits_and_goes_on(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    acceptor = await door.start()
    client = socket.socket()
    client.setblocking(False)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    fillers = [os.dup(client.fileno()) for _ in range(highest + 1 - len(os.listdir("/proc/self/fd")))]  # noqa: PTH208
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
        await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", door.port))
        client.send(b"x")
        await until(lambda: "Too many open files" in caplog.text)
        assert door.let_in == []
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for filler in fillers:
            os.close(filler)
    await until(lambda: len(door.let_in) == 1)
    client.close()
    await acceptor.close()
