"""Messages that are too large in any way: thrown away in small steps, and only they are lost."""

import asyncio
import socket
import struct

import pytest
import zmq

from framehub.runtime.zmq_drop import QUICKER
from framehub.runtime.zmq_inbox import Inbox
from framehub.runtime.zmq_setup import Kind, Options
from framehub.runtime.zmq_socket import Sent

from .zmq_peers import Told, echo, until

ANY = "tcp://127.0.0.1:0"


@pytest.mark.parametrize(("parts", "is_taken"), [(6, True), (7, True), (8, False), (100, False)])
async def test_the_limit_of_parts(parts: int, is_taken: bool) -> None:
    with (
        Told("router", options=Options(max_parts=8)) as server,
        Told("dealer", identity=b"me") as client,
    ):
        client.socket.connect(server.socket.bind(ANY))
        client.socket.send([b"x"] * parts)
        client.socket.send([b"after"])
        want = [[b"me"] + [b"x"] * parts] if is_taken else []
        assert await server.got(len(want) + 1) == [*want, [b"me", b"after"]]
        assert server.flooders == ([] if is_taken else [b"me"])
        assert server.socket.floods == len(server.flooders)


@pytest.mark.parametrize(("last", "is_taken"), [(99, True), (100, True), (101, False), (500, False)])
@pytest.mark.parametrize("more", [[], [b"y"]])
async def test_the_limit_of_bytes(last: int, is_taken: bool, more: list[bytes]) -> None:
    """Of all parts together: 1,000 and what is last, of 1,100."""
    message = [b"x" * 1_000, b"x" * (last - len(more)), *more]
    with Told("router", options=Options(max_message_bytes=1_100)) as server, Told("dealer") as client:
        client.socket.connect(server.socket.bind(ANY))
        client.socket.send(message)
        client.socket.send([b"after"])
        want = [message, [b"after"]] if is_taken else [[b"after"]]
        assert [got[1:] for got in await server.got(len(want))] == want
        assert server.socket.floods == (not is_taken)


ROOM = {b"LONG": (2, 5_000)}
LONG = [
    ([b"LONG", b"id", b"x" * 5_000, b"y"], [b"LONG", b"id", b"x" * 5_000, b"y"]),
    ([b"LONG", b"id", b"x" * 9_000, b"y"], [b"LONG", b"id", b"x" * 5_001, b"y"]),
    ([b"LONG", b"i" * 9_000, b"x", b"y" * 9_000], [b"LONG", b"i" * 1_025, b"x", b"y" * 1_025]),
    ([b"SHORT", b"x" * 1_024, b"x" * 1_026], [b"SHORT", b"x" * 1_024, b"x" * 1_025]),
    ([b"T" * 9_000, b"x"], [b"T" * 1_025, b"x"]),
    ([b"x" * 9_000], [b"x" * 1_025]),
]


@pytest.mark.parametrize(("said", "kept"), LONG)
async def test_of_a_part_that_is_too_long_no_more_is_copied_than_shows_that(
    said: list[bytes], kept: list[bytes]
) -> None:
    """[RPC-9.1] One part of a type may be long, and it has its place."""
    with Told("router", room=ROOM) as server, Told("dealer", identity=b"me") as client:
        client.socket.connect(server.socket.bind(ANY))
        client.socket.send(said)
        assert await server.got(1) == [[b"me", *kept]]


async def test_parts_that_are_cut_count_whole() -> None:
    with (
        Told("router", room=ROOM, options=Options(max_message_bytes=8_000)) as server,
        Told("dealer", identity=b"me") as client,
    ):
        client.socket.connect(server.socket.bind(ANY))
        client.socket.send([b"SHORT", b"x" * 5_000, b"y" * 5_000])
        client.socket.send([b"after"])
        assert await server.got(1) == [[b"me", b"after"]]
        assert server.flooders == [b"me"]


COUNTS = {b"BEAT": 1, b"TWO": 2, b"THREE": 3}
MESSAGES = [
    [b"BEAT"],
    [b"TWO", b"x"],
    [b"THREE", b"x", b"y"],
    [b"BEAT", b"more than it says"],
    [b"TWO", b"x", b"more", b"and more"],
    [b"not counted"],
    [b"not counted", b"x", b"y"],
    [b"THREE", b"", b""],
]


@pytest.mark.parametrize("kind", ["router", "dealer"])
async def test_counted_messages_are_the_same_messages(kind: Kind) -> None:
    with (
        Told("dealer", identity=b"me", counts=COUNTS if kind == "dealer" else None) as client,
        Told("router", echo, counts=COUNTS if kind == "router" else None) as server,
    ):
        client.socket.connect(server.socket.bind(ANY))
        for _ in range(100):
            for message in MESSAGES:
                client.socket.send(message)
        assert await client.got(800) == MESSAGES * 100
        assert server.messages == [[b"me", *message] for message in MESSAGES] * 100


async def test_counted_messages_have_limits_too() -> None:
    options = Options(max_parts=4, max_message_bytes=100)
    with Told("router", counts=COUNTS, options=options) as server, Told("dealer", identity=b"me") as client:
        client.socket.connect(server.socket.bind(ANY))
        for message in ([b"TWO"] * 4, [b"THREE", b"x" * 60, b"y" * 60], [b"TWO", b"after"]):
            client.socket.send(message)
        assert await server.got(1) == [[b"me", b"TWO", b"after"]]
        assert server.flooders == [b"me", b"me"]


async def test_what_is_shorter_than_it_says_does_not_stop_what_follows() -> None:
    with Told("router") as server, Told("dealer", identity=b"me", counts=COUNTS) as client:
        client.socket.connect(server.socket.bind(ANY))
        client.socket.send([b"hello"])
        await server.got(1)
        server.socket.send([b"me", b"THREE"])
        await until(lambda: server.socket.send([b"me", b"TWO", b"x"]) is Sent.OK and client.messages)
        assert client.messages[-1] == [b"TWO", b"x"] or client.messages[0] == [b"THREE", b"TWO", b"x"]


async def test_a_dealer_is_protected_too() -> None:
    with Told("router") as server, Told("dealer", identity=b"me", options=Options(max_parts=3)) as client:
        client.socket.connect(server.socket.bind(ANY))
        client.socket.send([b"hello"])
        await server.got(1)
        server.socket.send([b"me", *[b"x"] * 4])
        server.socket.send([b"me", *[b"x"] * 3])
        assert await client.got(1) == [[b"x"] * 3]
        assert client.flooders == [b""]


def test_a_hundred_thousand_parts_are_dropped_in_many_turns() -> None:
    """Others have their turn in between; what was before and after it is whole."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    taker, giver = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    port = taker.bind_to_random_port("tcp://127.0.0.1")
    taker.set(zmq.RCVTIMEO, 20_000)
    giver.set(zmq.IDENTITY, b"me")
    giver.connect(f"tcp://127.0.0.1:{port}")
    giver.send_multipart([b"before"])
    giver.send_multipart([b"x"] * 100_000)
    giver.send_multipart([b"after"])
    options = Options(turn_parts=128)
    inbox = Inbox(taker, options, has_identities=True, has_keys=False)
    batches: list[list[bytes]] = []
    flooders: list[bytes] = []
    turns = 0
    while len(batches) < 2:
        taker.poll(20_000)
        batch, _ = inbox.take()
        batches += batch
        flooders += inbox.flooders
        turns += 1
    assert batches == [[b"me", b"before"], [b"me", b"after"]]
    assert flooders == [b"me"]
    assert turns > (100_000 - options.max_parts) / (options.turn_parts * QUICKER)
    assert inbox.take() == ([], True)
    taker.close(0)
    giver.close(0)
    context.term()


async def test_what_was_taken_from_each_connection_is_counted() -> None:
    """By the file descriptor of its connection, with what goes before each part, also if it was too large."""
    small = Options(max_parts=3)
    with Told("router", options=small) as server, Told("dealer") as one, Told("dealer") as two:
        address = server.socket.bind("tcp://127.0.0.1:0")
        for client in (one, two):
            client.socket.connect(address)
        one.socket.send([b"x"])
        two.socket.send([b"x"] * 9)
        two.socket.send([b"yy"])
        await server.got(2)
        assert server.socket.connections is not None
        found = {connection.number: connection for connection in server.socket.connections}
        assert len(found) == 2
        assert all(connection.is_heard for connection in found.values())
        flooder = sorted(found.values(), key=lambda each: each.taken)[-1]
        assert 10 < flooder.taken <= 3 * 4 + 6


async def test_a_message_of_a_connection_that_was_reset_unseen_takes_no_others_with_it() -> None:
    """Who speaks ZMTP 1.0 has no handshake: its message may be there when nothing is known of it any more."""
    with Told("router") as server, Told("dealer", identity=b"me") as honest:
        address = server.socket.bind("tcp://127.0.0.1:0")
        honest.socket.connect(address)
        port = int(address.rpartition(":")[2])
        for number in range(200):
            with socket.create_connection(("127.0.0.1", port)) as other:
                other.sendall(b"\x01\x00" + b"\x02\x00x" * 3)
                other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            honest.socket.send([b"%d" % number])
            if not number % 20:
                await asyncio.sleep(0.01)
        await until(lambda: server.messages and server.messages[-1][1] == b"199")
        heard = [int(message[1]) for message in server.messages if message[0] == b"me"]
        assert heard == list(range(200))
