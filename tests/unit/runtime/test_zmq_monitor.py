"""What is told of connections."""

import asyncio

import zmq

from framehub.runtime.zmq_monitor import LinkEvent, Monitor

from .zmq_peers import Told, hang_up, until

ANY = "tcp://127.0.0.1:0"


async def test_alike_in_a_row_are_told_once() -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    server = context.socket(zmq.ROUTER)
    told: list[LinkEvent] = []
    monitor = Monitor(context, server, told.append)
    server.bind(ANY)
    address = server.get(zmq.LAST_ENDPOINT)
    assert isinstance(address, bytes)
    clients = [context.socket(zmq.DEALER) for _ in range(5)]
    for client in clients:
        client.connect(address.decode())
        client.send(b"hello")
    for _ in clients:
        await asyncio.to_thread(server.recv_multipart)
    await until(lambda: told)
    for client in clients:
        client.close(0)
    await until(lambda: told[-1] is LinkEvent.DISCONNECTED)
    assert len(told) < 10
    monitor.close()
    server.close(0)
    context.term()


async def test_who_speaks_something_else_is_refused() -> None:
    with Told("router") as server:
        address = server.socket.bind(ANY)
        _, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + bytes(100))
        await until(lambda: server.notices)
        assert "connected" not in server.notices
        await hang_up(writer)


async def test_a_socket_may_be_closed_by_who_is_told() -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    server, client = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    told: list[LinkEvent] = []

    def close(event: LinkEvent) -> None:
        told.append(event)
        monitor.close()

    monitor = Monitor(context, server, close)
    server.bind(ANY)
    address = server.get(zmq.LAST_ENDPOINT)
    assert isinstance(address, bytes)
    client.connect(address.decode())
    client.send(b"hello")
    await asyncio.to_thread(server.recv_multipart)
    client.close(0)
    await until(lambda: told)
    assert len(told) == 1
    server.close(0)
    context.term()
