"""The conversations of spec/vectors/hub between real sockets and a gateway of its own process, byte for byte.

[HUB-7.1] to [HUB-14.1], each case with its own; those that need a clock are played in tests/conformance/hub.
All are played with one gateway: the hub's numbers go on from case to case, and so do those of the vectors.
"""

import asyncio
import subprocess
from collections.abc import Iterator

import pytest
import zmq
import zmq.asyncio

from framehub.codes import HubCommand, HubState
from framehub.hub.headers import HubFrame, Way, decode, encode, version_shown
from tests.conformance.hub.vectors import ConversationCase, Step, conversations
from tests.unit.runtime.raw import BINARY, CLOSE, FIN, RawClient

from .calling import Places, hub

LIMIT = 30.0
CASES = [case for case in conversations() if case.sockets]
USERS = sorted({user for case in CASES for user in case.users.values()})
HEAD_BYTES = {1: 4, 2: 6}
PINGS = {1: bytes.fromhex("00000e01"), 2: bytes.fromhex("00000000 0e01")}
"""How those of the hub begin, by version. They come at any time: when another service has gone."""


class Stage:
    """A gateway, and how many streams its hub has opened to services of each version."""

    def __init__(self, places: Places, tokens: dict[int, str]) -> None:
        self.port = int(places["hub"].split(":")[2].split("/")[0])
        self.services = places["services"]
        self.tokens = tokens
        self.opened = {1: 0, 2: 0}
        self.played = 0


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("hub")
    with hub(folder) as processes:
        add = ("token", "add", "--tokens", "t")
        tokens = {
            user: _token(processes.start(*add, "--user", str(user), "--name", f"user {user}"))
            for user in USERS
        }
        places = processes.gateway("--no-journal", "--tokens", "t", "--allow-anonymous")
        yield Stage(places, tokens)


def _token(process: "subprocess.Popen[str]") -> str:
    out, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, errors
    return out.strip()


class Peers:
    """Plain sockets, one for each peer of a conversation."""

    def __init__(self, case: ConversationCase, stage: Stage) -> None:
        self._case = case
        self._stage = stage
        self._shift = dict(stage.opened)
        self._context = zmq.asyncio.Context()
        self._clients: dict[str, RawClient] = {}
        self._services: dict[str, zmq.asyncio.Socket] = {}
        self._versions: dict[str, int] = dict(case.clients or {"c1": 2})
        self._registered: set[str] = set()
        self._pings = 0
        stage.played += 1

    async def begin(self) -> None:
        for name, version in self._versions.items():
            headers = f"X-Hub-Version: {version}\r\n"
            if user := self._case.users.get(name):
                headers += f"Authorization: Bearer {self._stage.tokens[user]}\r\n"
            self._clients[name] = await RawClient.open(self._stage.port, path="/hub", headers=headers)

    async def play(self) -> None:
        spoke: tuple[str, str] | None = None
        for step in self._case.steps:
            if step.hears is not None:
                assert await self._next(step.peer) == self._expected(step)
            elif step.closed is not None:
                await self._closed(step.peer[1], step.closed)
            else:
                if spoke is not None:
                    await self._settle(spoke)
                spoke = step.peer if step.does is None else None
                await self._act(step)
        for name in list(self._clients):
            await self._settle(("client", name))
        for name in list(self._registered):
            await self._settle(("service", name))
            await self._say(("service", name), self._frame(name, HubCommand.CLOSE))
            await self._settle(("service", name))

    async def end(self) -> None:
        for client in self._clients.values():
            await client.end()
        for socket in self._services.values():
            socket.close(0)
        self._context.term()

    # --- what they do ----------------------------------------------------------------------------------

    async def _act(self, step: Step) -> None:
        side, name = step.peer
        if step.does == "leaves":
            await self._clients.pop(name).end()
        elif step.does == "vanishes":
            self._services.pop(name).close(0)
            self._registered.discard(name)
        elif side == "client":
            await self._say(step.peer, *step.message)
        else:
            version = version_shown(step.message[0])
            if version is not None:
                self._versions[name] = version
            await self._say(step.peer, *(self._shifted(name, part) for part in step.message))

    async def _say(self, peer: tuple[str, str], *parts: bytes) -> None:
        side, name = peer
        if side == "client":
            self._clients[name].send(FIN | BINARY, parts[0])
            await self._clients[name].writer.drain()
            return
        if name not in self._services:
            socket = self._context.socket(zmq.DEALER)
            socket.set(zmq.IDENTITY, f"{name} of {self._stage.played}".encode())
            socket.connect(self._stage.services)
            self._services[name] = socket
        await self._services[name].send_multipart(list(parts))

    async def _settle(self, peer: tuple[str, str]) -> None:
        """All that this peer said was taken, and nothing is on its way to it: a PING comes back at once."""
        side, name = peer
        if name not in (self._clients if side == "client" else self._registered):
            return
        self._pings += 1
        body = b"settle %d" % self._pings
        await self._say(peer, self._frame(name, HubCommand.PING, body))
        assert await self._next(peer) == self._frame(name, HubCommand.PONG, body), "something is left unheard"

    # --- what they hear --------------------------------------------------------------------------------

    async def _next(self, peer: tuple[str, str]) -> bytes:
        side, name = peer
        if side == "client":
            kind, data = await self._clients[name].receive()
            assert kind == BINARY, (kind, data)
            return data
        while True:
            (data,) = await self._services[name].recv_multipart()
            version = self._versions[name]
            asked = [spoken for spoken, ping in PINGS.items() if data.startswith(ping)]
            if asked == [version]:
                await self._say(peer, self._frame(name, HubCommand.PONG, data[HEAD_BYTES[version] :]))
            if asked:
                continue
            frame = decode(data, version, Way.HUB_TO_SERVICE)
            if frame.state is HubState.FIRST:
                self._stage.opened[version] += 1
            elif frame.stream == 0 and frame.parameter == HubCommand.READY:
                self._registered.add(name)
            return data

    async def _closed(self, name: str, code: int) -> None:
        client = self._clients.pop(name)
        kind, data = await client.receive()
        assert (kind, int.from_bytes(data[:2], "big")) == (CLOSE, code)
        await client.end()

    def _expected(self, step: Step) -> bytes:
        side, name = step.peer
        if side == "client":
            return step.heard
        assert step.hears is not None
        head = bytes.fromhex(step.hears)
        stream = decode(head, self._versions[name], Way.HUB_TO_SERVICE).stream
        text = step.text.replace(f"stream {stream} ", f"stream {stream + self._shift[self._versions[name]]} ")
        return self._shifted(name, head) + text.encode()

    def _shifted(self, name: str, data: bytes) -> bytes:
        """A service's frame with the number that its stream has now."""
        version = self._versions.setdefault(name, 2)
        if len(data) < HEAD_BYTES[version]:
            return data
        word, unit = int.from_bytes(data[:4], "big"), 1 if version == 2 else 1 << 12
        is_stream = word // unit > 0
        return (word + is_stream * unit * self._shift[version]).to_bytes(4, "big") + data[4:]

    def _frame(self, name: str, command: HubCommand, body: bytes = b"") -> bytes:
        frame = HubFrame(0, HubState.COMMAND, command, body)
        return encode(frame, self._versions[name], Way.CLIENT_TO_HUB)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
async def test_conversation(case: ConversationCase, stage: Stage) -> None:
    """What is said is answered as written; the hub says nothing else to anybody."""
    peers = Peers(case, stage)
    try:
        async with asyncio.timeout(LIMIT):
            await peers.begin()
            await peers.play()
    finally:
        await peers.end()


def test_most_conversations_are_played_here() -> None:
    assert len(CASES) > 100
    promises = {promise for case in CASES for promise in case.promises}
    assert promises == {*(f"HUB-R{n}" for n in (1, 2, 3, 4, 6, 7)), *(f"HOLE-{n}" for n in range(1, 5))}
