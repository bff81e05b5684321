import asyncio

import pytest

from framehub.errors import ConfigError, ConnectionClosed, LimitExceeded
from framehub.rpc import words
from framehub.rpc.settings import ClientSettings, WorkerSettings
from framehub.runtime.rpc_client import ClientLink, Ending, Unsent, new_identity
from framehub.runtime.worker_link import WorkerLink
from framehub.runtime.zmq_setup import Options
from framehub.runtime.zmq_socket import MessageSocket
from tests.unit.runtime.rpc_parts import FREE, RawPeer, proxy, until
from tests.unit.runtime.test_worker_link import functions

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
    with pytest.raises(LimitExceeded, match=r"1001 is over the limit of 1000 \(give it in parts"):
        await link.query(b"square", bytes(974), timeout=1)
    assert link.pending == 0
    whole = ClientLink("tcp://127.0.0.1:1")
    with pytest.raises(LimitExceeded, match=f"over the limit of {16 * 1024 * 1024} "):
        await whole.query(b"square", bytes(16 * 1024 * 1024 - 26), timeout=1)
    whole.close()
    link.close()


async def test_the_largest_query_is_not_too_large_for_anybody() -> None:
    """[RPC-9.1]"""
    options = Options(max_message_bytes=100_000)
    async with proxy(options=options) as ours:
        worker = WorkerLink(
            ours.workers_address,
            functions(),
            processes=1,
            settings=WorkerSettings(),
            options=options,
        )
        begun: list[tuple[bytes, str, bytes]] = []
        worker.begin = lambda *query: begun.append(query)
        worker.open()
        await until(lambda: ours.machine.registry.workers)
        client = RawPeer(ours.clients_address)
        argument = bytes(100_000 - len(words.QUERY) - 1 - len(b"square"))
        client.says(words.QUERY, b"1", argument, b"square")  # and 16 bytes for its id at the worker
        await until(lambda: begun)
        assert begun[0][2] == argument
        client.close()
        worker.close()


async def test_what_cannot_be_sent_waits_once_and_only_while_somebody_wants_it() -> None:
    again = ClientSettings(resend=0.05, resend_most=0.05)
    options = Options(only_connected=True)  # so that nothing can be sent while nobody is there
    link = ClientLink("tcp://127.0.0.1:1", settings=again, options=options)
    asking = asyncio.ensure_future(link.query(b"square", b"12", timeout=20))
    gone = asyncio.ensure_future(link.query(b"square", b"13", timeout=20))
    never = asyncio.ensure_future(link.query(b"square", b"14", timeout=20))
    late = asyncio.ensure_future(link.coders(b"square", timeout=0.1))
    await asyncio.sleep(0)
    never.cancel()  # before it could be tried
    await until(lambda: link._machine.resent > 4)
    gone.cancel()
    assert (await late).ending is Ending.TIMEOUT
    await until(lambda: len(link._unsent) == 1)
    asking.cancel()
    await until(lambda: not link._unsent)
    link.close()


async def test_what_a_worker_says_again_waits_once_and_in_order() -> None:
    there, unsent = (
        MessageSocket("dealer", lambda _batch: None, options=Options(only_connected=True)),
        Unsent(),
    )
    register, beat, goodbye = [words.WORKER_REGISTER, b"1"], [words.HEART_BEAT], [words.WORKER_REGISTER, b"0"]
    unsent.send(there, [[words.WORKER_DESCRIBE, b"old"], register, beat, goodbye])
    unsent.send(there, [[words.WORKER_DESCRIBE, b"new"], register, beat])
    unsent.send(there, [[words.HEART_BEAT]])
    assert len(unsent) == 4
    heard: list[list[bytes]] = []
    router = MessageSocket("router", heard.extend)
    there.connect(router.bind(FREE))

    def all_sent() -> bool:
        unsent.send(there, [])
        return not unsent

    await until(all_sent)
    await until(lambda: len(heard) == 4)
    said = [message[1:] for message in heard]
    assert said == [[words.WORKER_DESCRIBE, b"new"], goodbye, register, beat]
    there.close()
    router.close()


async def test_what_is_no_address_is_said() -> None:
    with pytest.raises(ConfigError):
        ClientLink("nowhere")
