"""Who is let in, by its key, and what is known of it then."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import uvloop
import zmq

from framehub.runtime.curve import CurveClient, CurveServer, new_keys
from framehub.runtime.zmq_zap import PLACE, Doorkeeper

from .zmq_peers import Told, echo, until

ANY = "tcp://127.0.0.1:0"


@pytest.fixture
def server_keys() -> tuple[str, str]:
    return new_keys()


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_key_that_is_known_is_let_in_and_named(run: Callable[[Awaitable[None]], None]) -> None:
    async def main() -> None:
        public, secret = new_keys()
        ann, bob = new_keys(), new_keys()
        curve = CurveServer(secret, [ann[0], bob[0]])
        with (
            Told("router", echo, curve=curve) as server,
            Told("dealer", identity=b"ann", curve=CurveClient(public, ann[1])) as one,
            Told("dealer", identity=b"bob", curve=CurveClient(public, bob[1])) as other,
        ):
            address = server.socket.bind(ANY)
            for client in (one, other):
                client.socket.connect(address)
                for _ in range(50):
                    client.socket.send([b"type", b"x"])
            await one.got(50)
            await other.got(50)
            keys = {b"ann": ann[0], b"bob": bob[0]}
            assert server.senders == [keys[message[0]] for message in server.messages]
            assert one.senders == []
            assert server.socket.refused == 0

    run(main())


async def test_a_key_that_is_not_known_is_refused(server_keys: tuple[str, str]) -> None:
    public, secret = server_keys
    with (
        Told("router", echo, curve=CurveServer(secret, [new_keys()[0]])) as server,
        Told("dealer", curve=CurveClient(public, new_keys()[1])) as client,
    ):
        client.socket.connect(server.socket.bind(ANY))
        client.socket.send([b"x"])
        await until(lambda: "refused" in server.notices and "refused" in client.notices)
        assert server.socket.refused > 0
        assert server.messages == []


async def test_a_server_that_lets_in_nobody(server_keys: tuple[str, str]) -> None:
    public, secret = server_keys
    with (
        Told("router", echo, curve=CurveServer(secret, [])) as server,
        Told("dealer", curve=CurveClient(public, new_keys()[1])) as client,
    ):
        client.socket.connect(server.socket.bind(ANY))
        await until(lambda: server.socket.refused)


async def test_who_shows_no_key_is_refused(server_keys: tuple[str, str]) -> None:
    with Told("router", curve=CurveServer(server_keys[1], [])) as server, Told("dealer") as client:
        client.socket.connect(server.socket.bind(ANY))
        client.socket.send([b"x"])
        await until(lambda: "refused" in server.notices)
        assert server.messages == []


async def test_a_client_does_not_talk_to_another_server(server_keys: tuple[str, str]) -> None:
    own = new_keys()
    with (
        Told("router", curve=CurveServer(server_keys[1], [own[0]])) as server,
        Told("dealer", curve=CurveClient(new_keys()[0], own[1])) as client,
    ):
        client.socket.connect(server.socket.bind(ANY))
        client.socket.send([b"x"])
        await until(lambda: "refused" in server.notices or "disconnected" in client.notices)
        assert server.messages == []


async def test_T47_a_key_of_one_socket_opens_no_other(server_keys: tuple[str, str]) -> None:  # noqa: N802
    """Both have the same secret key, in one process: a client's key is not a worker's."""
    public, secret = server_keys
    client_keys, worker_keys = new_keys(), new_keys()
    with (
        Told("router", echo, curve=CurveServer(secret, [client_keys[0]])) as clients,
        Told("router", echo, curve=CurveServer(secret, [worker_keys[0]])) as workers,
        Told("dealer", curve=CurveClient(public, client_keys[1])) as honest,
        Told("dealer", curve=CurveClient(public, client_keys[1])) as fake_worker,
    ):
        honest.socket.connect(clients.socket.bind(ANY))
        fake_worker.socket.connect(workers.socket.bind(ANY))
        fake_worker.socket.send([b"WORKER_REGISTER"])
        honest.socket.send([b"x"])
        await honest.got(1)
        await until(lambda: workers.socket.refused)
        assert workers.messages == []


async def test_closing_with_a_last_word(server_keys: tuple[str, str]) -> None:
    public, secret = server_keys
    own = new_keys()

    def answer_and_leave(told: Told, message: list[bytes]) -> None:
        told.socket.send(message)
        told.socket.close(linger=5.0)

    server = Told("router", answer_and_leave, curve=CurveServer(secret, [own[0]]))
    with Told("dealer", curve=CurveClient(public, own[1])) as client:
        client.socket.connect(server.socket.bind(ANY))
        client.socket.send([b"x"])
        assert await client.got(1) == [[b"x"]]


async def test_what_is_asked_wrongly_is_refused(server_keys: tuple[str, str]) -> None:
    public, secret = server_keys
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    doorkeeper = Doorkeeper(context, CurveServer(secret, [public]))
    asker = context.socket(zmq.REQ)
    asker.connect(PLACE)
    good = [b"1.0", b"7", b"", b"127.0.0.1", b"", b"CURVE", b"k" * 32]
    for asked in (
        good,
        good[:1],
        good[:6],
        [b"2.0", *good[1:]],
        [*good[:5], b"NULL", b"k" * 32],
        [*good[:6], b"k"],
    ):
        asker.send_multipart(asked)
        answer = await asyncio.to_thread(asker.recv_multipart)
        assert answer == [b"1.0", b"7" if len(asked) > 1 else b"", b"400", b"not known here", b"", b""]
    assert doorkeeper.refused == 6
    doorkeeper.close()
    asker.close(0)
    context.term()
