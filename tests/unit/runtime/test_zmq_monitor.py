"""What is told of connections."""

import asyncio
from contextlib import ExitStack

import pytest
import zmq

from framehub.runtime import zmq_monitor
from framehub.runtime.zmq_monitor import LinkEvent, Monitor
from framehub.runtime.zmq_socket import MessageSocket

from .zmq_peers import Told, echo, hang_up, until

ANY = "tcp://127.0.0.1:0"


async def test_connections_are_told_with_their_descriptors() -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    server = context.socket(zmq.ROUTER)
    told: list[LinkEvent] = []
    files: list[int] = []

    def turn() -> bool:
        for event, number in monitor.take():
            told.append(event)
            if event in (LinkEvent.ACCEPTED, LinkEvent.DISCONNECTED):
                files.append(number)
        return monitor.has_more

    monitor = Monitor(context, server, turn)
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
    await until(lambda: told.count(LinkEvent.DISCONNECTED) == 5)
    assert [told.count(event) for event in LinkEvent] == [5, 5, 5, 0]
    assert len(set(files[:5])) == 5
    assert sorted(files[:5]) == sorted(files[5:])
    assert not monitor.has_more
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


async def test_alike_in_a_row_are_told_once() -> None:
    with Told("router", echo) as server, Told("dealer") as one, Told("dealer") as two:
        address = server.socket.bind(ANY)
        for client in (one, two):
            client.socket.connect(address)
            client.socket.send([b"hello"])
        await until(lambda: one.messages and two.messages)
        assert server.notices in (["connected"], ["connected"] * 2)


async def test_a_socket_may_be_closed_by_who_is_told() -> None:
    told: list[str] = []

    def close() -> None:
        told.append("disconnected")
        server.close()

    server = MessageSocket("router", lambda _batch: None, on_disconnect=close)
    with Told("dealer") as client, Told("dealer") as other:
        address = server.bind(ANY)
        client.socket.connect(address)
        other.socket.connect(address)
        await until(lambda: client.notices and other.notices)
        client.socket.close()
        await until(lambda: told)
        other.socket.close()
        await asyncio.sleep(0.1)
    assert told == ["disconnected"]


async def test_more_events_than_one_turn_takes_are_all_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zmq_monitor, "MOST", 2)
    with Told("router", echo) as server, ExitStack() as stack:
        clients = [stack.enter_context(Told("dealer")) for _ in range(20)]
        address = server.socket.bind(ANY)
        for client in clients:
            client.socket.connect(address)
        connections = server.socket.connections
        assert connections is not None
        await until(lambda: len(connections) == 20)
