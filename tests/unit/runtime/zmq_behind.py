"""A socket that is behind with reading: ``python -m tests.unit.runtime.zmq_behind KIND``.

Its connections end meanwhile, or have heartbeats to answer. In the end it says that it is alive.
"""

import asyncio
import socket
import struct
import sys
from contextlib import suppress

import zmq

from framehub.runtime.zmq_setup import Options
from tests.unit.runtime.zmq_peers import Told

BRISK = Options(heartbeat=0.2, heartbeat_timeout=1.5, heartbeat_ttl=2.0)
MANY = 20_000
MESSAGE = bytes(2_000)
BEATS = 3.0
"""Seconds in which several heartbeats are due, and whoever answers none is given up."""
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
FLOOD = (b"\x00\x05hello" * 3 + b"\x04\x0b\x04PING\0\0abcd") * 2_000
"""Messages, and heartbeats between them."""


def ready(kind: bytes) -> bytes:
    body = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
    return bytes((4, len(body))) + body


def flooding(kind: int) -> zmq.Socket[bytes]:
    other = zmq.Context().socket(kind)
    other.set(zmq.LINGER, 0)
    other.set(zmq.SNDHWM, 2 * MANY)
    return other


def flood_and_reset(other: socket.socket, kind: bytes) -> None:
    """Greet, send without reading, and end it with a reset."""
    with other, suppress(OSError):
        other.settimeout(5)
        other.sendall(GREETING)
        got = b""
        while len(got) < 66:
            got += other.recv(66 - len(got))
        other.sendall(ready(kind))
        other.settimeout(0.3)
        other.sendall(FLOOD)
        other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def router() -> None:
    """Its peers flood it with messages and heartbeats while it takes none, and reset their connections."""
    with Told("router", options=BRISK) as told:
        place = told.socket.bind("tcp://127.0.0.1:0").rpartition(":")[2]
        told.socket.pause()
        for _ in range(5):
            other = await asyncio.to_thread(socket.create_connection, ("127.0.0.1", int(place)))
            await asyncio.to_thread(flood_and_reset, other, b"DEALER")
        await asyncio.sleep(BEATS)
        told.socket.resume()
        await told.got(1)
        await asyncio.sleep(0.5)


async def reset() -> None:
    """The same for a dealer: those it dials do so."""
    with socket.create_server(("127.0.0.1", 0)) as server, Told("dealer", options=BRISK) as told:
        told.socket.connect(f"tcp://127.0.0.1:{server.getsockname()[1]}")
        told.socket.pause()
        for _ in range(5):
            other, _ = await asyncio.to_thread(server.accept)
            await asyncio.to_thread(flood_and_reset, other, b"ROUTER")
        await asyncio.sleep(BEATS)
        told.socket.resume()
        await told.got(1)


async def dealer() -> None:
    """Its router floods it; heartbeats are answered all the same, and all is read in the end."""
    other = flooding(zmq.ROUTER)
    port = other.bind_to_random_port("tcp://127.0.0.1")
    with Told("dealer", options=BRISK) as told:
        told.socket.connect(f"tcp://127.0.0.1:{port}")
        told.socket.send([b"hello"])
        identity, _ = other.recv_multipart()
        told.socket.pause()
        for _ in range(MANY):
            other.send_multipart([identity, MESSAGE])
        await asyncio.sleep(BEATS)
        told.socket.resume()
        await told.got(MANY)
        assert "disconnected" not in told.notices
        other.close()


if __name__ == "__main__":
    asyncio.run({"router": router, "reset": reset, "dealer": dealer}[sys.argv[1]]())
    print("alive")
