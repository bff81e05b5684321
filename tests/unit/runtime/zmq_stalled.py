"""Processes to be frozen: ``python -m tests.unit.runtime.zmq_stalled router|dealer [ADDRESS IDENTITY]``.

A router answers each message with itself; a dealer sends one message and says what came back.
"""

import asyncio
import sys

from framehub.runtime.zmq_setup import Options
from framehub.runtime.zmq_socket import MessageSocket
from tests.unit.runtime.zmq_peers import Told

BRISK = Options(heartbeat=0.2, heartbeat_timeout=3.0, heartbeat_ttl=3.0, handshake=1.0)
SLOW = Options(heartbeat=0.3, heartbeat_timeout=3.0, heartbeat_ttl=0.6)
"""Peers find it out sooner than it finds them out."""


async def router() -> None:
    def answer(batch: list[list[bytes]]) -> None:
        for message in batch:
            server.send(message)

    server = MessageSocket("router", answer, options=SLOW)
    print(server.bind("tcp://127.0.0.1:0"), flush=True)
    await asyncio.Event().wait()


async def dealer() -> None:
    with Told("dealer", identity=sys.argv[3].encode(), options=BRISK) as told:
        told.socket.connect(sys.argv[2])
        told.socket.send([b"hello"])
        print((await told.got(1))[0][0].decode(), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run({"router": router, "dealer": dealer}[sys.argv[1]]())
