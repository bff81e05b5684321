"""Addresses, and what ZeroMQ is told before there is one; and what raw bytes can do to it."""

import asyncio
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
import zmq

from framehub.errors import ConfigError
from framehub.runtime.zmq_setup import LARGEST_MESSAGE, Options, for_dealer
from framehub.runtime.zmq_socket import MessageSocket

from .zmq_peers import Told, echo, hang_up, until

ANY = "tcp://127.0.0.1:0"
GREETING = bytes.fromhex("FF 00000000000000 01 7F 03 00") + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06DEALER"


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:0", "tcp://127.0.0.1:*", "tcp://localhost:0", "tcp://[::1]:0"]
)
async def test_a_free_port_is_found_and_told(address: str) -> None:
    with Told("router", echo) as server, Told("dealer") as client:
        real = server.socket.bind(address)
        assert port_of(real) > 0
        client.socket.connect(real)
        client.socket.send([b"x"])
        await client.got(1)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1:7400", "want tcp://HOST:PORT or ipc://PATH"),
        ("tcp://127.0.0.1", "want tcp://HOST:PORT or ipc://PATH"),
        ("tcp://127.0.0.1:70000", "want tcp://HOST:PORT or ipc://PATH"),
        ("http://127.0.0.1:1", "want tcp://HOST:PORT or ipc://PATH"),
        ("", "want tcp://HOST:PORT or ipc://PATH"),
        ("tcp://no.such.host.invalid:1", "want * or an IP address of this machine for a host"),
        ("tcp://203.0.113.7:1", "Cannot assign requested address"),
        ("ipc:///no/such/directory/rpc", "No such file or directory"),
    ],
)
async def test_an_address_that_cannot_be_had_is_a_clear_error(address: str, reason: str) -> None:
    with Told("router") as server, pytest.raises(ConfigError) as caught:
        server.socket.bind(address)
    assert str(caught.value) == f"cannot listen on {address}: {reason}"


async def test_a_taken_port_is_a_clear_error() -> None:
    with Told("router") as first, Told("router") as second:
        address = first.socket.bind(ANY)
        with pytest.raises(ConfigError, match=f"cannot listen on {address}: Address already in use"):
            second.socket.bind(address)


async def test_a_file_of_too_long_a_name(tmp_path: Path) -> None:
    with Told("router") as server, pytest.raises(ConfigError, match="too long"):
        server.socket.bind(f"ipc://{tmp_path}/{'x' * 120}")


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:*", "tcp://127.0.0.1:0", "tcp://:1"])
async def test_an_address_to_connect_to_that_is_none(address: str) -> None:
    with Told("dealer") as client, pytest.raises(ConfigError) as caught:
        client.socket.connect(address)
    assert str(caught.value) == f"cannot connect to {address}: want tcp://HOST:PORT or ipc://PATH"


@pytest.mark.parametrize("identity", [b"", b"\0abc", b"x" * 256])
async def test_an_identity_that_cannot_be(identity: bytes) -> None:
    with pytest.raises(ConfigError, match="an identity has 1 to 255 bytes"):
        MessageSocket("dealer", print, identity=identity)


async def test_everything_is_set() -> None:
    with Told("router") as router, Told("dealer", options=Options(only_connected=True)) as dealer:
        for one in (router, dealer):
            raw = one.socket._socket
            assert raw.get(zmq.MAXMSGSIZE) == LARGEST_MESSAGE + 64 * 1024
            assert raw.get(zmq.SNDHWM) == 1_000
            assert raw.get(zmq.HANDSHAKE_IVL) == 5_000
            assert raw.get(zmq.HEARTBEAT_IVL) == 1_000
            assert raw.get(zmq.HEARTBEAT_TIMEOUT) == 3_000
            assert raw.get(zmq.HEARTBEAT_TTL) == 5_000
            assert raw.get(zmq.RECONNECT_IVL) == 100
            assert raw.get(zmq.RECONNECT_IVL_MAX) == 1_000
            assert raw.get(zmq.LINGER) == 0
            assert raw.get(zmq.RCVHWM) == 0
        assert router.socket._socket.get(zmq.TCP_KEEPALIVE) == 1
        assert dealer.socket._socket.get(zmq.IMMEDIATE) == 1


@pytest.mark.parametrize("kind", ["router", "reset", "dealer"])
def test_a_connection_that_ends_while_we_are_behind_does_not_end_the_process(kind: str) -> None:
    """A process of its own: what failed here would end this one."""
    words = [sys.executable, "-m", "tests.unit.runtime.zmq_behind", kind]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("alive\n", "", 0)


async def greeted(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that has done ZMTP's handshake by hand."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(address))
    writer.write(GREETING)
    await reader.readexactly(64)
    writer.write(READY)
    head = await reader.readexactly(2)
    await reader.readexactly(head[1])
    return reader, writer


@pytest.mark.parametrize("head", ["02 00000000FFFFFFFF", "02 7FFFFFFFFFFFFFFF", "02 0000000001100001"])
async def test_T51_a_frame_that_announces_too_much_ends_its_connection(head: str) -> None:  # noqa: N802
    with Told("router", echo) as server, Told("dealer") as client:
        address = server.socket.bind(ANY)
        client.socket.connect(address)
        reader, writer = await greeted(address)
        writer.write(bytes.fromhex("00 02") + b"ok")
        assert (await server.got(1))[0][1:] == [b"ok"]
        writer.write(bytes.fromhex(head))
        async with asyncio.timeout(10):
            assert (await reader.read()).endswith(b"ok")
        await hang_up(writer)
        await until(lambda: "disconnected" in server.notices)
        client.socket.send([b"hello"])
        await client.got(1)


async def test_T51_the_largest_frame_is_read() -> None:  # noqa: N802
    with Told("router", echo) as server, Told("dealer") as client:
        client.socket.connect(server.socket.bind(ANY))
        payload = bytes(LARGEST_MESSAGE + 64 * 1024)
        client.socket.send([payload])
        assert await client.got(1) == [[payload]]


def test_T51_what_passes_a_router_is_not_too_large_for_a_dealer() -> None:  # noqa: N802
    """[RPC-9.1]"""
    assert LARGEST_MESSAGE < Options().max_message_bytes < for_dealer(None).max_message_bytes
    assert for_dealer(Options(max_message_bytes=1, queue=7)) == Options(max_message_bytes=131_073, queue=7)


async def test_T59_connections_without_a_greeting_are_freed() -> None:  # noqa: N802
    with Told("router", echo, options=Options(handshake=0.3)) as server, Told("dealer") as client:
        address = server.socket.bind(ANY)
        with ExitStack() as stack:
            bare = [
                stack.enter_context(socket.create_connection(("127.0.0.1", port_of(address))))
                for _ in range(500)
            ]
            client.socket.connect(address)
            client.socket.send([b"hello"])
            await client.got(1)
            for one in bare:
                one.setblocking(False)
                async with asyncio.timeout(10):
                    while await asyncio.get_running_loop().sock_recv(one, 1_000):
                        pass


async def test_a_message_cut_off_in_the_middle_is_never_seen() -> None:
    with Told("router", echo) as server, Told("dealer") as client:
        address = server.socket.bind(ANY)
        _reader, writer = await greeted(address)
        writer.write(bytes.fromhex("01 01 41 01 01 42"))  # two parts, and more would follow
        await writer.drain()
        await hang_up(writer)
        await until(lambda: "disconnected" in server.notices)
        client.socket.connect(address)
        client.socket.send([b"hello"])
        await client.got(1)
        assert [message[1:] for message in server.messages] == [[b"hello"]]
