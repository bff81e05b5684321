import asyncio
import json
from typing import Any

import pytest

from framehub.errors import ConfigError, IncompatibleSpecs
from framehub.rpc import words
from framehub.rpc.settings import WorkerSettings
from framehub.runtime.curve import CurveClient, CurveServer, new_keys
from framehub.runtime.functionset import FunctionSet
from framehub.runtime.worker_link import WorkerLink
from framehub.runtime.zmq_setup import DEALERS_MORE, Options
from framehub.runtime.zmq_socket import MessageSocket
from tests.unit.runtime.rpc_parts import FREE, RawPeer, proxy, until

QUICK = WorkerSettings(silence=0.3, heartbeat=0.1)


def functions() -> FunctionSet:
    made = FunctionSet()

    def square(x: int) -> int:
        """The square of x."""
        return x * x

    made.add(square, coders=("Int", "Int"), max_runtime=5.0)

    def pay(cents: int) -> None: ...

    made.add(pay, redispatch="unacknowledged")
    return made


def linked(address: str, settings: WorkerSettings = QUICK, **others: Any) -> WorkerLink:
    return WorkerLink(address, functions(), processes=3, settings=settings, **others)


class Proxy:
    """A router where a proxy could be, that says only what a test says."""

    def __init__(self, address: str = FREE) -> None:
        self.heard: list[list[bytes]] = []
        self._socket = MessageSocket("router", self.heard.extend)
        self.address = self._socket.bind(address)

    def says(self, *parts: bytes) -> None:
        assert self.heard
        self._socket.send([self.heard[0][0], *parts])

    def types(self) -> list[bytes]:
        return [message[1] for message in self.heard]

    def close(self) -> None:
        self._socket.close()


async def test_it_says_what_it_is_then_registers() -> None:
    """[RPC-5.3.1] [RPC-5.1.7]"""
    there = Proxy()
    link = linked(there.address)
    link.open()
    await until(lambda: len(there.heard) >= 3)
    described, registered, beat = there.heard[:3]
    told = json.loads(described[2])
    assert (told["processes"], told["window"], told["holds"]) == (3, 64, [])
    assert told["functions"]["square"]["doc"] == "The square of x."
    assert told["functions"]["square"]["max_runtime"] == 5.0
    assert told["functions"]["pay"]["redispatch"] == "unacknowledged"
    assert registered[1:] == [
        *(words.WORKER_REGISTER, b"\0\0\0\2"),
        *(b"square", b"Int", b"Int"),
        *(b"pay", b"json", b"json"),
    ]
    assert beat[1:] == [words.HEART_BEAT]
    link.close()
    there.close()


async def test_queries_are_begun_and_their_ends_are_told() -> None:
    """[RPC-5.4.1] [RPC-5.4.3] [RPC-5.4.5]"""
    there = Proxy()
    link = linked(there.address)
    begun: list[tuple[bytes, str, bytes]] = []
    cancelled: list[bytes] = []
    link.begin = lambda *query: begun.append(query)
    link.cancel = cancelled.append
    link.open()
    await until(lambda: there.heard)
    there.says(words.WORKER_DESCRIBE, b"{}")
    for number in (b"1", b"2", b"3", b"4"):
        there.says(words.QUERY, number * 16, b"\0\0\0\2", b"square")
    there.says(words.CANCEL, b"4" * 16)
    await until(lambda: cancelled)
    assert begun[0] == (b"1" * 16, "square", b"\0\0\0\2")
    link.finished(b"1" * 16, b"\0\0\0\4", "")
    link.finished(b"2" * 16, None, "ValueError: no")
    link.died([b"3" * 16])
    link.give_back([b"4" * 16])
    await until(lambda: there.types().count(words.QUERY_RETURNED) == 2)
    assert [words.RESPONSE_RESULT, b"1" * 16, b"\0\0\0\4"] in [message[1:] for message in there.heard]
    assert [words.RESPONSE_EXCEPTION, b"2" * 16, b"ValueError: no"] in [m[1:] for m in there.heard]
    assert link.unacknowledged == 4
    for number in (b"1", b"2", b"3", b"4"):
        there.says(words.RESPONSE_RECEIVED, number * 16)
    await until(lambda: not link.unacknowledged)
    link.close()
    there.close()


async def test_after_a_restart_of_the_proxy_it_registers_again_with_what_it_holds() -> None:
    """[RPC-4.1.1]"""
    first = Proxy()
    link = linked(first.address)
    link.open()
    await until(lambda: first.heard)
    first.says(words.QUERY, b"1" * 16, b"\0\0\0\2", b"square")
    await until(lambda: words.QUERY_RECEIVED in first.types())
    first.close()
    second = Proxy(first.address)
    await until(lambda: words.WORKER_REGISTER in second.types())
    described = next(message for message in second.heard if message[1] == words.WORKER_DESCRIBE)
    assert json.loads(described[2])["holds"] == [(b"1" * 16).hex()]
    assert second.heard[0][0] == first.heard[0][0] == link.identity
    link.close()
    second.close()


async def test_the_log_says_once_that_a_gateway_is_lost_and_once_that_it_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first = Proxy()
    link = linked(first.address)
    link.open()
    await until(lambda: first.heard)
    first.says(words.WORKER_DESCRIBE, b"{}")
    await until(lambda: link._is_ready)
    renewed = link._socket
    first.close()
    await until(lambda: caplog.messages)
    await until(lambda: link._socket is not renewed)  # a new socket, and nobody there: that was said
    second = Proxy(first.address)
    await until(lambda: second.heard)
    second.says(words.WORKER_DESCRIBE, b"{}")
    second.says(words.WORKER_DESCRIBE, b"{}")
    await until(lambda: len(caplog.messages) > 1)
    link.close()
    second.close()
    assert caplog.messages == [
        f"lost the gateway at {first.address}: connecting again",
        f"the gateway at {first.address} has us again",
    ]


async def test_a_proxy_that_falls_silent_gets_a_new_socket(caplog: pytest.LogCaptureFixture) -> None:
    """[RPC-5.3.4]"""
    there = Proxy()
    link = linked(there.address)
    link.open()
    first = link._socket
    await until(lambda: there.heard)
    there.says(words.WORKER_DESCRIBE, b"{}")
    await until(lambda: link._socket is not first)
    assert "connecting anew" in caplog.text
    link.close()
    there.close()


async def test_a_refusal_and_a_welcome_are_told_to_the_owner(caplog: pytest.LogCaptureFixture) -> None:
    refused: list[IncompatibleSpecs] = []
    ready: list[bool] = []
    async with proxy() as ours:
        other = RawPeer(ours.workers_address)
        other.says(words.WORKER_REGISTER, b"\0\0\0\1", b"square", b"json", b"json")
        await until(lambda: ours.machine.registry.workers)
        link = WorkerLink(
            ours.workers_address,
            functions(),
            processes=1,
            settings=QUICK,
            on_refused=refused.append,
            on_ready=lambda: ready.append(True),
        )
        link.open()
        await until(lambda: refused)
        assert str(refused[0]) == "function 'square': other workers offer it as json -> json"
        assert not ready
        other.close()
        link.close()


async def test_what_is_no_message_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    there = Proxy()
    link = linked(there.address)
    link.open()
    await until(lambda: there.heard)
    there.says(b"HELLO")
    await until(lambda: "what is no message" in caplog.text)
    link.close()
    link.close()
    there.close()


async def test_it_says_goodbye() -> None:
    """[RPC-5.1.6]"""
    there = Proxy()
    link = linked(there.address)
    link.open()
    await until(lambda: there.heard)
    link.drain()
    await until(lambda: [words.WORKER_REGISTER, b"\0\0\0\0"] in [m[1:] for m in there.heard])
    link.close()
    there.close()


async def test_an_address_that_is_none_is_said() -> None:
    with pytest.raises(ConfigError):
        linked("nowhere").open()
    await asyncio.sleep(0)


async def test_a_message_that_is_too_large_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """[RPC-9.1]"""
    there = Proxy()
    link = linked(there.address, options=Options(max_message_bytes=1_000))
    link.open()
    await until(lambda: there.heard)
    most = 1_000 + DEALERS_MORE
    there.says(words.QUERY, b"1" * 16, bytes(most - 20), b"square")
    await until(lambda: "too many parts or bytes: it is lost" in caplog.text)
    link.close()
    there.close()


async def test_wrong_keys_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    (server, secret), (_, ours) = new_keys(), new_keys()
    there = MessageSocket("router", lambda _batch: None, curve=CurveServer(secret, []))
    address = there.bind(FREE)
    link = linked(address, curve=CurveClient(server, ours))
    link.open()
    await until(lambda: caplog.messages)
    link._not_let_in()
    assert caplog.messages == [f"not let in at {address}: wrong keys, or not a proxy of functions"]
    link.close()
    there.close()


def test_what_cannot_be_described_is_said() -> None:
    """[RPC-5.3.1]"""
    long = functions()

    def wordy() -> None: ...

    wordy.__doc__ = "x" * (4 << 20)
    long.add(wordy)
    with pytest.raises(ConfigError, match="more than 4194304: shorten them"):
        WorkerLink(FREE, long, processes=1, settings=QUICK)
    odd = functions()
    odd["square"].max_runtime = float("inf")
    with pytest.raises(ConfigError, match="cannot be described"):
        WorkerLink(FREE, odd, processes=1, settings=QUICK)
