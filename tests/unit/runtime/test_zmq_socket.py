"""Messages through real sockets: none lost, none late, and nobody waits for a peer that does not read."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest
import uvloop
import zmq

from framehub.runtime.zmq_setup import Options
from framehub.runtime.zmq_socket import MessageSocket, Sent

from .zmq_peers import Told, echo, until

ANY = "tcp://127.0.0.1:0"
Runner: TypeAlias = Callable[[Awaitable[None]], None]
both_loops = pytest.mark.parametrize("run", [asyncio.run, uvloop.run])


def nothing(_batch: list[list[bytes]]) -> None:
    pass


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@both_loops
def test_there_and_back(run: Runner) -> None:
    async def main() -> None:
        with Told("router", echo) as server, Told("dealer", identity=b"me") as client:
            client.socket.connect(server.socket.bind(ANY))
            assert client.socket.send([b"QUERY", b"", b"x" * 100_000]) is Sent.OK
            assert client.socket.send((b"one part",)) is Sent.OK
            assert await client.got(2) == [[b"QUERY", b"", b"x" * 100_000], [b"one part"]]
            assert server.messages == [[b"me", b"QUERY", b"", b"x" * 100_000], [b"me", b"one part"]]

    run(main())


@both_loops
def test_many_messages_and_none_lost(run: Runner) -> None:
    """100,000 there and back, in order, with 64 on their way: every wake-up counts, for the last one too."""
    most, flight = 100_000, 64
    sent = flight

    def go_on(told: Told, _message: list[bytes]) -> None:
        nonlocal sent
        if sent < most:
            assert told.socket.send([b"%d" % sent]) is Sent.OK
            sent += 1

    async def main() -> None:
        with Told("router", echo) as server, Told("dealer", go_on) as client:
            client.socket.connect(server.socket.bind(ANY))
            for number in range(flight):
                client.socket.send([b"%d" % number])
            await client.got(most)
            assert [int(number) for (number,) in client.messages] == list(range(most))
            assert client.batches < most

    run(main())


@both_loops
def test_one_at_a_time(run: Runner) -> None:
    """With one in flight, a single wake-up lost is the end."""

    async def main() -> None:
        with Told("router", echo) as server, Told("dealer", echo) as client:
            client.socket.connect(server.socket.bind(ANY))
            client.socket.send([b"ball"])
            await client.got(3_000)

    run(main())


async def test_sending_from_tasks_loses_no_wake_up() -> None:
    """Sending swallows the descriptor's news of what came."""
    with Told("router", echo) as server, Told("dealer") as client:
        client.socket.connect(server.socket.bind(ANY))
        for turn in range(1, 501):
            for _ in range(3):
                client.socket.send([b"x"])
                await asyncio.sleep(0)
            if turn % 5 == 0:
                await client.got(3 * turn)


@both_loops
def test_two_that_send_without_end_leave_the_loop_to_others(run: Runner) -> None:
    async def main() -> None:
        small = Options(turn_parts=4)
        with Told("router", echo, options=small) as server, Told("dealer", echo, options=small) as client:
            client.socket.connect(server.socket.bind(ANY))
            for _ in range(200):
                client.socket.send([b"x"])
            await client.got(2_000)
            assert client.batches >= len(client.messages) / 4
            assert server.batches >= len(server.messages) / 4

    run(main())


async def test_a_turn_ends_after_so_many_bytes() -> None:
    sizes: list[int] = []
    server = MessageSocket(
        "router", lambda batch: sizes.append(len(batch)), options=Options(turn_bytes=1_000)
    )
    with Told("dealer") as client:
        client.socket.connect(server.bind(ANY))
        server.pause()
        for _ in range(50):
            client.socket.send([b"x" * 500])
        server.resume()
        await until(lambda: sum(sizes) == 50)
        assert max(sizes) <= 2
    server.close()


async def test_a_full_queue_says_again_and_later_goes_on() -> None:
    """Nobody reads: nothing is lost, nobody blocks, and it goes on when there is room."""
    options = Options(queue=10)
    numbers = iter(range(10**9))
    unsent: list[bytes] = [b"0"]
    writable = 0

    def push() -> None:
        nonlocal writable
        writable += 1
        while client.send([unsent[0], payload]) is Sent.OK:
            unsent[0] = b"%d" % (next(numbers) + 1)

    payload = bytes(10_000)
    with Told("router", options=options) as server:
        client = MessageSocket("dealer", nothing, options=options, on_writable=push)
        client.connect(server.socket.bind(ANY))
        push()
        await server.got(1)
        server.socket.pause()
        before = writable
        await until(lambda: writable > before + 5)  # it is tried, without success
        stuck = int(unsent[0])
        server.socket.resume()
        await until(lambda: int(unsent[0]) > stuck + 1_000)
        client.close()
        got = [int(message[1]) for message in server.messages]
        assert got == list(range(len(got)))


async def test_a_router_with_a_peer_that_does_not_read() -> None:
    """The others get theirs, and the slow one loses nothing that was taken."""
    options = Options(queue=10)
    with Told("router", options=options) as server:
        address = server.socket.bind(ANY)
        slow = Told("dealer", identity=b"slow", options=options)
        quick = Told("dealer", identity=b"quick", options=options)
        for one in (slow, quick):
            one.socket.connect(address)
            one.socket.send([b"hello"])
        await server.got(2)
        slow.socket.pause()
        taken = 0
        while server.socket.send([b"slow", b"%d" % taken, bytes(100_000)]) is Sent.OK:
            taken += 1
        assert server.socket.send([b"slow", b"x"]) is Sent.AGAIN
        assert server.socket.send([b"quick", b"y"]) is Sent.OK
        assert await quick.got(1) == [[b"y"]]
        slow.socket.resume()
        await slow.got(taken)
        assert [int(message[0]) for message in slow.messages] == list(range(taken))
        assert server.socket.send([b"slow", b"again"]) is Sent.OK
        await slow.got(taken + 1)
        slow.socket.close()
        quick.socket.close()


async def test_an_identity_that_nobody_has() -> None:
    with Told("router") as server, Told("dealer", identity=b"me") as client:
        client.socket.connect(server.socket.bind(ANY))
        assert server.socket.send([b"nobody", b"x"]) is Sent.UNREACHABLE
        client.socket.send([b"hello"])
        await server.got(1)
        assert server.socket.send([b"me", b"x"]) is Sent.OK
        await client.got(1)
        client.socket.close()
        await until(lambda: server.socket.send([b"me", b"x"]) is Sent.UNREACHABLE)


async def test_who_has_an_identity_keeps_it() -> None:
    """[T45] A newcomer with the identity of somebody who is there hears nothing."""
    with (
        Told("router") as server,
        Told("dealer", identity=b"victim") as victim,
        Told("dealer", identity=b"victim") as thief,
    ):
        address = server.socket.bind(ANY)
        victim.socket.connect(address)
        victim.socket.send([b"mine"])
        await server.got(1)
        thief.socket.connect(address)
        thief.socket.send([b"mine too"])
        await until(lambda: "connected" in thief.notices)
        for number in range(100):
            server.socket.send([b"victim", b"%d" % number])
        await victim.got(100)
        assert thief.messages == []
        assert len(server.messages) == 1


async def test_connections_are_told_of() -> None:
    with Told("router") as server:
        address = server.socket.bind(ANY)
        client = Told("dealer")
        client.socket.connect(address)
        await until(lambda: client.notices == server.notices == ["connected"])
        client.socket.close()
        await until(lambda: server.notices == ["connected", "disconnected"])


async def test_a_dealer_comes_back_to_a_server_that_was_restarted() -> None:
    with Told("dealer", identity=b"me") as client:
        first = Told("router")
        address = first.socket.bind(ANY)
        client.socket.connect(address)
        await until(lambda: client.notices == ["connected"])
        first.socket.close()
        await until(lambda: client.notices[:2] == ["connected", "disconnected"])
        with Told("router") as second:
            assert second.socket.bind(address) == address  # it is free at once
            await until(lambda: client.notices[-1] == "connected")
            client.socket.send([b"hello again"])
            assert await second.got(1) == [[b"me", b"hello again"]]


async def test_without_a_connection_a_dealer_may_queue_or_refuse() -> None:
    with Told("dealer") as queues, Told("dealer", options=Options(only_connected=True)) as refuses:
        for one in (queues, refuses):
            one.socket.connect("tcp://127.0.0.1:9")
        assert queues.socket.send([b"a", b"b"]) is Sent.OK
        assert refuses.socket.send([b"a", b"b"]) is Sent.AGAIN


async def test_a_connection_that_ends_inside_a_message() -> None:
    """ZeroMQ refuses that part and throws the rest away, for which it must be given the rest."""
    given: list[bytes] = []

    def refuse_the_second(part: bytes, _flags: int) -> None:
        given.append(part)
        if len(given) == 2:
            raise zmq.Again

    with Told("dealer") as client:
        client.socket._send = refuse_the_second
        assert client.socket.send([b"1", b"2", b"3", b"4"]) is Sent.AGAIN
        assert client.socket.send([b"5"]) is Sent.OK
        assert given == [b"1", b"2", b"3", b"4", b"5"]


async def test_what_ought_not_to_happen_is_raised() -> None:
    def fail(_part: bytes, _flags: int) -> None:
        raise zmq.ZMQError(zmq.EFAULT)

    with Told("dealer") as client:
        client.socket._send = fail
        with pytest.raises(zmq.ZMQError):
            client.socket.send([b"1"])


async def test_pausing_inside_a_batch() -> None:
    def pause(told: Told, _message: list[bytes]) -> None:
        told.socket.pause()

    with Told("router", pause, options=Options(turn_parts=2)) as server, Told("dealer") as client:
        client.socket.connect(server.socket.bind(ANY))
        for _ in range(10):
            client.socket.send([b"x"])
        for count in range(1, 11):
            await server.got(count)
            assert len(server.messages) == count
            server.socket.resume()


async def test_what_a_callback_raises_loses_nothing() -> None:
    raised: list[object] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _loop, context: raised.append(context["exception"])
    )

    def fail(_told: Told, _message: list[bytes]) -> None:
        raise ValueError("mine")

    with Told("router", fail, options=Options(turn_parts=2)) as server, Told("dealer") as client:
        client.socket.connect(server.socket.bind(ANY))
        for _ in range(20):
            client.socket.send([b"x"])
        await server.got(20)
        assert {str(one) for one in raised} == {"mine"}


@both_loops
def test_closing_frees_everything(run: Runner) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        before = 0
        for turn in range(30):
            with Told("router", echo) as server, Told("dealer") as client:
                client.socket.connect(server.socket.bind(ANY))
                client.socket.send([b"x"])
                await client.got(1)
                number = client.socket._socket.get(zmq.FD)
                assert isinstance(number, int)
                client.socket.send([b"x"])  # a turn is due
                client.socket.close()
                client.socket.close()
                client.socket.resume()
                assert not loop.remove_reader(number)
                assert client.socket.send([b"x"]) is Sent.UNREACHABLE
            if turn == 5:
                before = open_files()
        await until(lambda: open_files() <= before + 8)

    run(main())


async def test_closing_inside_a_batch() -> None:
    def close(told: Told, _message: list[bytes]) -> None:
        told.socket.send([b"x", b"y"])
        told.socket.close()

    with Told("router", close) as server, Told("dealer") as client:
        client.socket.connect(server.socket.bind(ANY))
        client.socket.send([b"x"])
        await server.got(1)
        await until(lambda: "disconnected" in client.notices)


async def test_a_last_word_gets_out() -> None:
    with Told("router") as server:
        client = MessageSocket("dealer", nothing)
        client.connect(server.socket.bind(ANY))
        client.send([b"goodbye"])
        client.close(linger=5.0)
        assert (await server.got(1))[0][1:] == [b"goodbye"]


async def test_a_file_for_an_address(tmp_path: Path) -> None:
    with Told("router", echo) as server, Told("dealer") as client:
        client.socket.connect(server.socket.bind(f"ipc://{tmp_path / 'rpc'}"))
        client.socket.send([b"x"])
        assert await client.got(1) == [[b"x"]]
