"""A socket that is behind with reading: ``python -m tests.unit.runtime.zmq_behind KIND``.

Its connection ends meanwhile, or has heartbeats to answer. In the end it says that it is alive.
"""

import asyncio
import sys
from dataclasses import replace

import zmq

from framehub.runtime.zmq_setup import Options
from tests.unit.runtime.zmq_peers import Told

BRISK = Options(heartbeat=0.2, heartbeat_timeout=1.5, heartbeat_ttl=2.0)
MANY = 20_000
MESSAGE = bytes(2_000)
BEATS = 3.0
"""Seconds in which several heartbeats are due, and whoever answers none is given up."""


def flooding(kind: int) -> zmq.Socket[bytes]:
    other = zmq.Context().socket(kind)
    other.set(zmq.LINGER, 0)
    other.set(zmq.SNDHWM, 2 * MANY)
    return other


async def router() -> None:
    """Its peer floods it and resets the connection; it has no heartbeats."""
    with Told("router", options=replace(BRISK, heartbeat=0)) as told:
        address = told.socket.bind("tcp://127.0.0.1:0")
        told.socket.pause()
        other = flooding(zmq.DEALER)
        other.connect(address)
        for _ in range(MANY):
            other.send(MESSAGE)
        await asyncio.sleep(BEATS)
        other.close()
        await asyncio.sleep(BEATS)
        told.socket.resume()
        assert len(await told.got(1_000)) < MANY


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
    asyncio.run({"router": router, "dealer": dealer}[sys.argv[1]]())
    print("alive")
