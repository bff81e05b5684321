"""The dialogs of spec/vectors/rpc/dialogs.json between plain ZeroMQ sockets and our proxy, byte for byte.

[RPC-2.1] to [RPC-8.4], each case with its own; those that need a clock are played in tests/conformance/rpc.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import zmq
import zmq.asyncio

from framehub.journal.rpc_rows import Side
from framehub.rpc.asking import About
from framehub.rpc.jobs import Job
from framehub.rpc.settings import ProxySettings
from framehub.runtime.rpc_proxy import RpcProxy
from framehub.runtime.rpc_state import ProxyState
from framehub.runtime.rpc_tap import RpcTap
from tests.conformance.rpc.vectors import DialogCase, Step, dialogs, unpacked

FREE = "tcp://127.0.0.1:0"
LIMIT = 30.0
FILE = dialogs()
CASES = [case for case in FILE.cases if case.sockets]
STARTED = 0.001
"""Seconds for which the proxy counts as just started."""


class Counting(RpcTap):
    """Stands where the journal's tap stands: sees what came to the proxy, and what it sent."""

    def __init__(self) -> None:
        self.messages_in = 0
        self.messages_out = 0

    def came(
        self, side: Side, identity: bytes, parts: Sequence[bytes], about: About, link: bytes | None = None
    ) -> None:
        self.messages_in += 1

    def went(
        self, side: Side, identity: bytes, parts: Sequence[bytes], job: Job | None, link: bytes | None = None
    ) -> None:
        self.messages_out += 1


class Peers:
    """Plain DEALERs, one for each peer of a dialog."""

    def __init__(self, case: DialogCase, proxy: RpcProxy) -> None:
        self._case = case
        self._addresses = {"client": proxy.clients_address, "worker": proxy.workers_address}
        self._context = zmq.asyncio.Context()
        self._sockets: dict[tuple[str, str], zmq.asyncio.Socket] = {}

    def of(self, step: Step) -> zmq.asyncio.Socket:
        side, name = step.peer
        if step.peer not in self._sockets:
            socket = self._context.socket(zmq.DEALER)
            if self._case.identities.get(name, name) is not None:
                socket.set(zmq.IDENTITY, self._case.identity(name))
            socket.connect(self._addresses[side])
            self._sockets[step.peer] = socket
        return self._sockets[step.peer]

    def close(self) -> None:
        for socket in self._sockets.values():
            socket.close(0)
        self._context.term()


@pytest.fixture(params=CASES, ids=[case.name for case in CASES])
def case(request: pytest.FixtureRequest) -> DialogCase:
    found: DialogCase = request.param
    return found


@pytest.fixture
async def tap() -> Counting:
    return Counting()


@pytest.fixture
async def proxy(case: DialogCase, tap: Counting) -> AsyncIterator[RpcProxy]:
    state = ProxyState(None)
    state.key = bytes.fromhex(FILE.key)
    settings: dict[str, Any] = {"wait_start": STARTED, **case.settings}
    ours = RpcProxy(clients=FREE, workers=FREE, settings=ProxySettings(**settings), state=state, tap=tap)
    await ours.start()
    await asyncio.sleep(2 * STARTED)
    yield ours
    ours.close()


async def test_dialog(case: DialogCase, proxy: RpcProxy, tap: Counting) -> None:
    """What is said is answered as written; the proxy says nothing else to anybody."""
    peers = Peers(case, proxy)
    said = heard = 0
    try:
        async with asyncio.timeout(LIMIT):
            for step in case.steps:
                socket = peers.of(step)
                if step.hears is not None:
                    heard += 1
                    assert await socket.recv_multipart() == unpacked(step.hears)
                    continue
                assert step.says is not None
                assert tap.messages_out == heard, "something is left unheard"
                await socket.send_multipart(unpacked(step.says))
                said += 1
                while tap.messages_in < said:  # noqa: ASYNC110
                    await asyncio.sleep(0)
        assert tap.messages_out == heard, "something is left unheard"
    finally:
        peers.close()


def test_most_dialogs_are_played_here() -> None:
    assert len(CASES) > 70
    rules = {rule for case in CASES for rule in case.rules}
    assert {rule.split(".")[0] for rule in rules} >= {"RPC-2", "RPC-3", "RPC-4", "RPC-5", "RPC-8"}
