"""A side of the hub in a process of its own, without our library: a service, or a client that only waits.

``python -m tests.e2e.hub_side service ADDRESS VERSION NUMBER`` prints every frame that it hears, one a line:
stream, state, parameter and body in hex. What it does with a stream is in the function that was asked for.
``... client PORT NUMBER STREAMS`` opens streams, says so, and waits.
"""

import asyncio
import os
import struct
import sys

import zmq

from tests.unit.runtime.raw import BINARY, FIN, RawClient

ECHO, SILENT, FAIL, CLOSE, TWICE, DIE, FOREIGN, PING = range(1, 9)
"""Functions: say everything again; nothing; SERVICE_ERROR; CLOSE; LAST and then more; end the process; speak
on the stream that the body names; PING the hub."""
MESSAGE, SERVICE_ERROR, LAST, COMMAND, FIRST = 0, 11, 12, 14, 15


def pack(version: int, stream: int, state: int, parameter: int, body: bytes = b"") -> bytes:
    if version == 2:
        return struct.pack(">IBB", stream, state, parameter) + body
    return struct.pack(">I", stream << 12 | state << 8 | parameter) + body


def unpack(version: int, data: bytes) -> tuple[int, int, int, bytes]:
    if version == 2:
        stream, state, parameter = struct.unpack_from(">IBB", data)
        return stream, state, parameter, data[6:]
    (word,) = struct.unpack_from(">I", data)
    return word >> 12, word >> 8 & 15, word & 255, data[4:]


def serve(address: str, version: int, number: int) -> None:
    socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
    socket.connect(address)

    def say(stream: int, state: int, parameter: int, body: bytes = b"") -> None:
        socket.send(pack(version, stream, state, parameter, body))

    say(0, FIRST, 0, struct.pack(">BIH", version, 0, number) + b'{"name": "side%d"}' % number)
    functions: dict[int, int] = {}
    while True:
        stream, state, parameter, body = unpack(version, socket.recv())
        if (stream, state, parameter) == (0, COMMAND, 1):
            say(0, COMMAND, 2, body)
            continue
        print(stream, state, parameter, body.hex(), flush=True)
        if state == FIRST:
            functions[stream] = parameter
            body = body[2:]  # the user
            if parameter == FAIL:
                say(stream, SERVICE_ERROR, 0, b"no good")
            elif parameter == CLOSE:
                say(stream, COMMAND, 15)
            elif parameter == TWICE:
                say(stream, LAST, 0, b"last")
                say(stream, MESSAGE, 0, b"more")
            elif parameter == DIE:
                os._exit(1)
            elif parameter == FOREIGN:
                say(int(body), MESSAGE, 0, b"not yours")
            elif parameter == PING:
                say(0, COMMAND, 1, body)
        if functions.get(stream) == ECHO and state in (FIRST, MESSAGE, LAST):
            say(stream, LAST if state == LAST else MESSAGE, 0, body)


async def wait(port: int, number: int, streams: int) -> None:
    client = await RawClient.open(port, path="/hub")
    for stream in range(1, streams + 1):
        client.send(FIN | BINARY, pack(2, stream, FIRST, SILENT, struct.pack(">H", number)))
    print("open", flush=True)
    await asyncio.sleep(600)


if __name__ == "__main__":
    if sys.argv[1] == "service":
        serve(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        asyncio.run(wait(*map(int, sys.argv[2:5])))
