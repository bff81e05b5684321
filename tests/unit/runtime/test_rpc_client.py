import asyncio

import pytest

from framehub.errors import ConfigError, ConnectionClosed, LimitExceeded
from framehub.rpc import words
from framehub.rpc.settings import ClientSettings
from framehub.runtime.rpc_client import ClientLink, Ending, new_identity
from framehub.runtime.zmq_setup import Options
from framehub.runtime.zmq_socket import MessageSocket
from tests.unit.runtime.rpc_parts import FREE, RawPeer, proxy, until

REGISTER = (words.WORKER_REGISTER, b"\0\0\0\1", b"square", b"Int", b"Int")


class Listener:
    """A router where a proxy could be, that answers only what a test says."""

    def __init__(self) -> None:
        self.heard: list[list[bytes]] = []
        self._socket = MessageSocket("router", self.heard.extend)
        self.address = self._socket.bind(FREE)

    def says(self, *parts: bytes) -> None:
        self._socket.send(parts)

    def close(self) -> None:
        self._socket.close()


def test_an_identity_is_sixteen_bytes_and_zeromq_can_have_it() -> None:
    """[RPC-10.2]"""
    made = {new_identity() for _ in range(2_000)}
    assert len(made) == 2_000
    assert {len(identity) for identity in made} == {16}
    assert all(identity[0] for identity in made)


async def test_an_answer_is_acknowledged_and_handed_over() -> None:
    """[RPC-3.2.2]"""
    async with proxy() as ours:
        worker, link = RawPeer(ours.workers_address), ClientLink(ours.clients_address)
        worker.says(*REGISTER)
        asking = asyncio.ensure_future(link.query(b"square", b"12", timeout=20))
        [[_, wid, *_]] = await worker.hears()
        worker.says(words.RESPONSE_RESULT, wid, b"144")
        settled = await asking
        assert (settled.ending, settled.body) == (Ending.RESULT, (b"144",))
        await until(lambda: not ours.machine.keeping.kept_bytes)
        assert link.pending == 0
        link.close()
        worker.close()


async def test_a_cancelled_query_is_cancelled_at_the_proxy_too() -> None:
    """[RPC-3.2.4]"""
    async with proxy() as ours:
        worker, link = RawPeer(ours.workers_address, b"w"), ClientLink(ours.clients_address)
        worker.says(words.WORKER_DESCRIBE, b"{}")
        worker.says(*REGISTER)
        await worker.hears()
        assert (await link.functions(timeout=20)).ending is Ending.FUNCTIONS
        assert link.extended
        asking = asyncio.ensure_future(link.query(b"square", b"12", timeout=20))
        [[_, wid, *_]] = await worker.hears()
        asking.cancel()
        assert await worker.hears() == [[words.CANCEL, wid]]
        link.close()
        worker.close()


async def test_after_a_reconnection_everything_open_is_sent_again() -> None:
    """[RPC-3.2.1]"""
    listener = Listener()
    link = ClientLink(listener.address, settings=ClientSettings(resend=60, resend_most=60, silence=60))
    asking = asyncio.ensure_future(link.query(b"square", b"12", timeout=60))
    await until(lambda: listener.heard)
    listener.close()
    heard: list[list[bytes]] = []
    again = MessageSocket("router", heard.extend)
    again.bind(listener.address)
    await until(lambda: heard)
    assert heard[0][1:] == listener.heard[0][1:]
    assert heard[0][0] == listener.heard[0][0] == link.identity
    again.send([heard[0][0], words.RESPONSE_RESULT, heard[0][2], b"144"])
    assert (await asking).body == (b"144",)
    link.close()
    again.close()


async def test_silence_makes_a_new_socket_of_the_same_identity() -> None:
    """[RPC-3.2.3]"""
    listener = Listener()
    link = ClientLink(listener.address, settings=ClientSettings(silence=0.2, resend=60, resend_most=60))
    first = link._socket
    asking = asyncio.ensure_future(link.query(b"square", b"12", timeout=30))
    await until(lambda: link._socket is not first)
    types = [message[1] for message in listener.heard]
    assert types[:2] == [words.QUERY, words.CODER_IDENTITY_QUERY]
    asking.cancel()
    link.close()
    listener.close()


async def test_nobody_there_is_a_timeout() -> None:
    link = ClientLink("tcp://127.0.0.1:1")
    assert (await link.coders(b"square", timeout=0.2)).ending is Ending.TIMEOUT
    link.close()


async def test_whoever_waits_when_it_is_closed_is_told() -> None:
    link = ClientLink("tcp://127.0.0.1:1")
    asking = asyncio.ensure_future(link.query(b"square", b"12", timeout=20))
    await asyncio.sleep(0)
    link.close()
    link.close()
    with pytest.raises(ConnectionClosed):
        await asking
    with pytest.raises(ConnectionClosed):
        await link.query(b"square", b"12", timeout=20)


async def test_an_argument_larger_than_a_message_is_refused_before_it_is_sent() -> None:
    """[RPC-9.1]"""
    link = ClientLink("tcp://127.0.0.1:1", options=Options(max_message_bytes=1_000))
    with pytest.raises(LimitExceeded, match="max_message_bytes: 1001 is over the limit of 1000"):
        await link.query(b"square", bytes(1_001), timeout=1)
    assert link.pending == 0
    link.close()


async def test_what_is_no_address_is_said() -> None:
    with pytest.raises(ConfigError):
        ClientLink("nowhere")
