"""Peers and routers that are frozen for a while: whose identity it is, and who is heard afterwards."""

import asyncio
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from sys import executable

import pytest
import zmq
import zmq.asyncio

from .zmq_peers import Told, until
from .zmq_stalled import BRISK

COUNT = 20


@asynccontextmanager
async def process(*words: str) -> AsyncIterator[tuple[Process, str]]:
    """Such a process, and the first line it says."""
    command = (executable, "-m", "tests.unit.runtime.zmq_stalled", *words)
    started = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    assert started.stdout is not None
    try:
        yield started, (await started.stdout.readline()).decode().strip()
    finally:
        started.kill()
        await started.wait()


def answer(told: Told, message: list[bytes]) -> None:
    """Send it back, if whoever sent it is still there."""
    told.socket.send(message)


def plain(context: zmq.asyncio.Context, address: str, number: int) -> zmq.asyncio.Socket:
    """What somebody writes who knows ZeroMQ and nothing else."""
    other = context.socket(zmq.DEALER)
    other.set(zmq.IDENTITY, b"client%d" % number)
    other.set(zmq.LINGER, 0)
    other.connect(address)
    return other


async def answered(other: zmq.asyncio.Socket, word: bytes) -> None:
    """Ask until this is answered."""
    while True:
        await other.send(word)
        while await other.poll(200):
            if await other.recv() == word:
                return


@pytest.mark.parametrize("spoke", [True, False], ids=["busy", "idle"])
async def test_plain_clients_are_heard_after_the_router_was_frozen(spoke: bool) -> None:
    """They connect anew while it is frozen: the connections they had keep their identities for a moment."""
    context = zmq.asyncio.Context()
    async with process("router") as (router, address):
        others = [plain(context, address, number) for number in range(COUNT)]
        if spoke:
            await asyncio.gather(*(answered(other, b"before") for other in others))
        else:
            await asyncio.sleep(2.0)  # so long that each has an identity
        router.send_signal(signal.SIGSTOP)
        for _ in range(15):
            if spoke:
                for other in others:
                    await other.send(b"meanwhile")
            await asyncio.sleep(0.2)
        router.send_signal(signal.SIGCONT)
        async with asyncio.timeout(30):
            await asyncio.gather(*(answered(other, b"after") for other in others))
        for other in others:
            other.close()
    context.term()


async def test_the_identity_of_a_frozen_peer_is_free_soon() -> None:
    """[RPC-10.6] Nobody takes it from a living one; who came early has it once the frozen one was noticed."""
    context = zmq.asyncio.Context()
    with Told("router", answer, options=BRISK) as server:
        address = server.socket.bind("tcp://127.0.0.1:0")
        async with process("dealer", address, "client1") as (frozen, said):
            assert said == "hello"
            early = plain(context, address, 1)
            await early.send(b"mine")
            assert not await early.poll(1_500)
            assert "disconnected" not in server.notices
            frozen.send_signal(signal.SIGSTOP)
            async with asyncio.timeout(30):
                await answered(early, b"mine")
            assert "disconnected" in server.notices
            early.close()
    context.term()


async def test_those_that_were_heard_stay_when_others_end() -> None:
    with Told("router", answer, options=BRISK) as server, Told("dealer", options=BRISK) as stays:
        address = server.socket.bind("tcp://127.0.0.1:0")
        stays.socket.connect(address)
        stays.socket.send([b"hello"])
        await stays.got(1)
        for _ in range(5):
            with Told("dealer", options=BRISK) as goes:
                goes.socket.connect(address)
                goes.socket.send([b"hello"])
                await goes.got(1)
            await until(lambda: server.socket.connections is not None and len(server.socket.connections) == 1)
            await asyncio.sleep(0.7)
        assert "disconnected" not in stays.notices


async def test_a_peer_that_comes_back_before_its_last_messages_were_taken_is_heard() -> None:
    """[RPC-10.7] What happens to peers of a router that was frozen, without the chance in it."""
    context = zmq.asyncio.Context()
    with Told("router", answer) as server:
        address = server.socket.bind("tcp://127.0.0.1:0")
        before = plain(context, address, 1)
        await answered(before, b"before")
        server.socket.pause()
        for _ in range(10):
            await before.send(b"last words")
        before.close(linger=1_000)
        await asyncio.sleep(0.5)
        after = plain(context, address, 1)
        await after.send(b"after")
        await asyncio.sleep(0.5)
        assert server.socket.connections is not None
        assert server.socket.connections.is_behind
        server.socket.resume()
        async with asyncio.timeout(30):
            await answered(after, b"after")
        after.close()
    context.term()


async def test_nobody_is_ended_while_messages_wait() -> None:
    """Who has not been heard then may be waiting to be taken; to end its connection would make it deaf."""
    with Told("router", answer, options=BRISK) as server, Told("dealer", options=BRISK) as waits:
        address = server.socket.bind("tcp://127.0.0.1:0")
        with Told("dealer", options=BRISK) as goes:
            goes.socket.connect(address)
            goes.socket.send([b"hello"])
            await goes.got(1)
            server.socket.pause()
            waits.socket.connect(address)
            waits.socket.send([b"hello"])
        await until(lambda: "disconnected" in server.notices)
        await asyncio.sleep(3.5)
        assert "disconnected" not in waits.notices
        server.socket.resume()
        await waits.got(1)
        assert "disconnected" not in waits.notices


async def test_who_is_slow_to_speak_has_two_seconds() -> None:
    """Its handshake may take some, and others come and go meanwhile."""
    with Told("router", answer) as server, Told("dealer") as slow:
        address = server.socket.bind("tcp://127.0.0.1:0")
        slow.socket.connect(address)
        await until(lambda: slow.notices)
        for _ in range(10):
            with Told("dealer") as other:
                other.socket.connect(address)
                other.socket.send([b"hello"])
                await other.got(1)
            await asyncio.sleep(0.1)
        slow.socket.send([b"hello"])
        await slow.got(1)
        assert "disconnected" not in slow.notices
