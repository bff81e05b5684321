"""A connection that is reset is over at once, under uvloop too."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import Listener, listen

from .raw import BINARY, FIN, RawClient

RESET = struct.pack("ii", 1, 0)
ACK = bytes.fromhex("21 00000005 DEADBEEF")
"""Of nothing: it is not answered, so nothing is found out by writing."""
RUNNERS = [asyncio.run, uvloop.run]


def reset(connection: socket.socket, last: bytes) -> None:
    """Send, and close without a goodbye: nobody on this thread's loop can read one before the other."""
    connection.sendall(last)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    connection.close()


async def nobody_left(listener: Listener) -> None:
    async with asyncio.timeout(5):
        while listener.peers:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def websocket_client(listener: Listener) -> None:
    client = await RawClient.open(listener.port)
    connection = client.writer.get_extra_info("socket").dup()
    client.writer.transport.abort()  # the socket stays open: this was not its last name
    reset(connection, bytes((FIN | BINARY, 0x80 | len(ACK))) + bytes(4) + ACK)


async def tcp_client(listener: Listener) -> None:
    connection = await asyncio.to_thread(socket.create_connection, ("127.0.0.1", listener.port))
    await asyncio.sleep(0.01)  # it is accepted
    reset(connection, len(ACK).to_bytes(4, "big") + ACK)


@pytest.mark.parametrize("run", RUNNERS)
@pytest.mark.parametrize(
    ("url", "client"), [("ws://127.0.0.1:0/mfp", websocket_client), ("tcp://127.0.0.1:0", tcp_client)]
)
def test_a_frame_and_a_reset_at_once_end_a_connection(
    run: Callable[[Awaitable[None]], None], url: str, client: Callable[[Listener], Awaitable[None]]
) -> None:
    async def main() -> None:
        async with listen(url, Endpoints()) as listener:
            for _ in range(20):
                await client(listener)
            await asyncio.sleep(0.1)
            await nobody_left(listener)
            # The numbers of those sockets are used again, and nothing of the old ones is in the way.
            async with connect(listener.url) as peer:
                await peer.ping()
                assert len(listener.peers) == 1

    run(main())


@pytest.mark.parametrize("run", RUNNERS)
def test_half_an_upgrade_and_a_reset_at_once_leave_nothing(run: Callable[[Awaitable[None]], None]) -> None:
    async def main() -> None:
        async with listen("ws://127.0.0.1:0/mfp", Endpoints()) as listener:
            for _ in range(20):
                connection = await asyncio.to_thread(socket.create_connection, ("127.0.0.1", listener.port))
                await asyncio.sleep(0.01)
                reset(connection, b"GET /mfp HTTP/1.1\r\nHost: here\r\n")
            acceptor = listener._server._acceptor
            assert acceptor is not None
            async with asyncio.timeout(3):  # less than an opening may take
                await asyncio.sleep(0.1)
                while acceptor.opening:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)

    run(main())


@pytest.mark.parametrize("run", RUNNERS)
def test_a_listener_that_vanishes_is_noticed_by_its_client(run: Callable[[Awaitable[None]], None]) -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            async with connect(f"tcp://127.0.0.1:{server.getsockname()[1]}") as peer, asyncio.timeout(5):
                connection, _ = await asyncio.to_thread(server.accept)
                reset(connection, len(ACK).to_bytes(4, "big") + ACK)
                assert (await peer.closed).code == 1006

    run(main())


def test_what_came_before_the_reset_is_still_delivered() -> None:
    taken = 0
    many = 3_000

    async def main() -> None:
        app = Endpoints()

        @app.on("note")
        def note(_call: object) -> None:
            nonlocal taken
            taken += 1

        async with listen("tcp://127.0.0.1:0", app) as listener:
            connection = await asyncio.to_thread(socket.create_connection, ("127.0.0.1", listener.port))
            await asyncio.sleep(0.01)
            frames = []
            payload = b'{"endpoint":"note"}'
            for id_ in range(1, many + 1):
                frame = struct.pack(">BII", 0x41, id_, len(payload)) + payload
                frames.append(len(frame).to_bytes(4, "big") + frame)
            reset(connection, b"".join(frames))
            await asyncio.sleep(0.1)
            await nobody_left(listener)

    uvloop.run(main())
    assert taken == many


@pytest.mark.parametrize("run", RUNNERS)
def test_a_connection_whose_reset_is_not_noticed_yet_can_be_closed(
    run: Callable[[Awaitable[None]], None],
) -> None:
    async def main() -> None:
        async with listen("tcp://127.0.0.1:0", Endpoints()) as listener:
            connection = await asyncio.to_thread(socket.create_connection, ("127.0.0.1", listener.port))
            await asyncio.sleep(0.01)
            (peer,) = listener.peers
            reset(connection, b"")
            await peer.close()
            assert peer.closed.done()

    run(main())
