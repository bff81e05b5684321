"""A peer that comes back."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from framehub.errors import ConfigError, ConnectFailed, ConnectionClosed, RequestTimeout
from framehub.mfp.settings import Settings
from framehub.runtime.backoff import Backoff
from framehub.runtime.calls import Call
from framehub.runtime.connect import connect
from framehub.runtime.dial import dialer
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.files import File
from framehub.runtime.listen import Listener, listen
from framehub.runtime.reconnect import ReconnectingPeer

QUICK = Backoff(first=0.01, most=0.05)


class Counted(Endpoints):
    """Counts what reaches it; ``wait`` answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = 0
        self.said: list[Any] = []
        self.let = asyncio.Event()
        self.on("echo")(lambda call: call.data)
        self.on("say")(lambda call: self.said.append(call.data))
        self.on("wait")(self.wait)
        self.on_stream("up")(self.up)

    async def wait(self, _call: Call) -> str:
        self.waits += 1
        await self.let.wait()
        return "done"

    async def up(self, stream: Any) -> None:
        self.said.append(await stream.read())


class Relay:
    """Passes bytes on, until it is cut."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.pipes: set[asyncio.StreamWriter] = set()
        self.tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Relay":
        self.server = await asyncio.start_server(self._begin, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        self.cut()
        await asyncio.gather(*self.tasks)

    def cut(self) -> None:
        for pipe in self.pipes:
            pipe.transport.abort()

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", self.target)
        pipes = {writer, there[1]}
        self.pipes |= pipes
        await asyncio.gather(self._pass(reader, there[1]), self._pass(there[0], writer))
        self.pipes -= pipes
        await asyncio.gather(*(pipe.wait_closed() for pipe in pipes), return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
        except ConnectionError:
            pass
        writer.close()


async def lose(peer: ReconnectingPeer, relay: Relay) -> None:
    """Cut the connection, and return when that has been noticed."""
    await peer.ping()
    lost = asyncio.Event()
    peer.on_state(lambda _state: lost.set())
    relay.cut()
    await lost.wait()


@pytest.fixture(params=["ws://127.0.0.1:{}/mfp", "tcp://127.0.0.1:{}"], ids=["ws", "tcp"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def app() -> Counted:
    return Counted()


@pytest.fixture
async def server(form: str, app: Counted) -> AsyncIterator[Listener]:
    async with listen(form.format(0), app) as listener:
        yield listener


@pytest.fixture
async def relay(server: Listener) -> AsyncIterator[Relay]:
    async with Relay(server.port) as relay:
        yield relay


async def until(happens: Callable[[], bool]) -> None:
    while not happens():  # noqa: ASYNC110
        await asyncio.sleep(0.005)


async def test_what_was_pending_fails_at_once_and_is_not_sent_again(
    app: Counted, relay: Relay, form: str
) -> None:
    """[MFP-9.5.1]"""
    states: list[str] = []
    async with connect(form.format(relay.port), reconnect=QUICK) as peer:
        peer.on_state(states.append)
        assert peer.state == "open"
        asking = asyncio.create_task(peer.request("wait"))
        await until(lambda: app.waits == 1)
        assert peer.pending == 1
        relay.cut()
        with pytest.raises(ConnectionClosed):
            await asking
        assert (await peer.request("echo", 1)).data == 1  # waits until it is open again
        assert states == ["connecting", "open"]
        assert await peer.ping() >= 0
        assert app.waits == 1
        assert peer.pending == 0
    assert states == ["connecting", "open", "closed"]


async def test_it_finds_a_listener_that_was_started_again(form: str, app: Counted) -> None:
    listener = listen(form.format(0), app)
    await listener.start()
    async with connect(listener.url, reconnect=QUICK) as peer:
        first = peer.link
        assert (await peer.request("echo", 1)).data == 1
        await listener.close(drain=0)
        await until(lambda: peer.state == "connecting")
        waiting = [asyncio.create_task(peer.request("echo", n)) for n in range(20)]
        telling = asyncio.create_task(peer.send("say", "hello", ack=True, timeout=20))
        await asyncio.sleep(0.1)  # some tries come to nothing
        assert not any(task.done() for task in (*waiting, telling))
        async with listen(listener.url, app):
            assert [(await task).data for task in waiting] == list(range(20))
            await telling
            assert app.said == ["hello"]
            assert peer.link != first


async def test_everything_works_after_coming_back(app: Counted, relay: Relay, form: str) -> None:
    async with connect(form.format(relay.port), reconnect=QUICK) as peer:
        await lose(peer, relay)
        async with peer.stream("up") as out:
            await out.write(b"streamed")
        await until(lambda: app.said == [b"streamed"])
        await lose(peer, relay)
        await peer.announce("say", "announced", {0: File(b"x")}, ack=True)
        assert await peer.ping() >= 0
        assert (peer.hello is not None) == form.startswith("ws")
    await until(lambda: len(app.said) == 2)
    assert app.said == [b"streamed", "announced"]


async def test_a_stream_is_lost_with_its_connection(app: Counted, relay: Relay, form: str) -> None:
    """[MFP-9.5.1]"""
    async with connect(form.format(relay.port), reconnect=QUICK) as peer:

        async def upload() -> None:
            async with peer.stream("up") as out:
                await out.write(b"1", ack=True)
                await lose(peer, relay)
                await peer.ping()
                await out.write(b"2")

        with pytest.raises(ConnectionClosed):
            await upload()
        assert (await peer.request("echo", 1)).data == 1
        assert app.said == []


async def test_endpoints_answer_on_every_connection(server: Listener, relay: Relay, form: str) -> None:
    mine = Endpoints()
    mine.on("who")(lambda call: "me")
    async with connect(form.format(relay.port), endpoints=mine, reconnect=QUICK) as peer:
        for _ in range(3):
            await peer.ping()
            (other,) = server.peers
            assert (await other.request("who")).data == "me"
            await lose(peer, relay)
            await until(lambda: other not in server.peers)  # noqa: B023


async def test_a_call_waits_no_longer_than_its_own_timeout(form: str, app: Counted) -> None:
    listener = listen(form.format(0), app)
    await listener.start()
    async with connect(listener.url, reconnect=QUICK) as peer:
        await listener.close(drain=0)
        await until(lambda: peer.state == "connecting")
        with pytest.raises(RequestTimeout, match=r"not connected to .*: Connection refused"):
            await peer.request("echo", 1, timeout=0.2)
        with pytest.raises(RequestTimeout, match="not connected"):
            await peer.send("say", 1, timeout=0.01)
        with pytest.raises(RequestTimeout, match="not connected"):
            await peer.ping(timeout=0.01)


async def test_the_listeners_time_for_a_request_is_kept_to() -> None:
    """[MFP-9.4]"""
    app = Endpoints()

    @app.on("wait")
    async def wait(_: Call) -> None:
        await asyncio.Event().wait()

    settings = Settings(request_timeout=0.2)
    async with (
        listen("ws://127.0.0.1:0/mfp", app, settings=settings) as server,
        connect(server.url, reconnect=True) as peer,
    ):
        while peer.hello is None:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        next(iter(server.peers)).pause_reading()  # so that it is our time that is over
        with pytest.raises(RequestTimeout, match="no answer in time"):
            await asyncio.wait_for(peer.request("wait"), 5)


async def test_the_first_connection_is_tried_once() -> None:
    """[MFP-9.5.3] Whoever starts a program should hear at once that the address is wrong."""
    with pytest.raises(ConnectFailed, match="Connection refused"):
        async with connect("tcp://127.0.0.1:1", reconnect=True):
            pass


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_a_refusal_that_will_not_go_away_ends_it(app: Counted, status: int) -> None:
    """[MFP-9.5.3]"""
    answer = f"HTTP/1.1 {status} No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno".encode()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    listener = listen("ws://127.0.0.1:0/mfp", app)
    await listener.start()
    states: list[str] = []
    async with connect(listener.url, reconnect=QUICK) as peer:
        peer.on_state(states.append)
        await listener.close(drain=0)
        await until(lambda: peer.state == "connecting")
        waiting = asyncio.create_task(peer.request("echo", 1))
        async with await asyncio.start_server(refuse, "127.0.0.1", listener.port):
            with pytest.raises(ConnectFailed, match=f"HTTP {status} no"):
                await waiting
            assert (peer.state, states) == ("closed", ["connecting", "closed"])
            with pytest.raises(ConnectFailed):
                await peer.send("say", 1)
            assert isinstance(peer.closed.result(), ConnectFailed)
    assert states == ["connecting", "closed"]


async def test_a_listener_that_is_only_stopping_is_tried_again(app: Counted) -> None:
    """HTTP 503 goes away."""

    async def stopping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        writer.close()
        refused.set()

    refused = asyncio.Event()
    listener = listen("ws://127.0.0.1:0/mfp", app)
    await listener.start()
    async with connect(listener.url, reconnect=QUICK) as peer:
        await listener.close(drain=0)
        async with await asyncio.start_server(stopping, "127.0.0.1", listener.port):
            await refused.wait()
        async with listen(listener.url, app):
            assert (await peer.request("echo", 1)).data == 1


async def test_closing_while_it_is_lost_fails_what_waits(form: str, app: Counted) -> None:
    listener = listen(form.format(0), app)
    await listener.start()
    async with connect(listener.url, reconnect=QUICK) as peer:
        await listener.close(drain=0)
        await until(lambda: peer.state == "connecting")
        waiting = asyncio.create_task(peer.request("echo", 1))
        await asyncio.sleep(0.02)
        await peer.close(1000, "enough")
        with pytest.raises(ConnectionClosed, match="enough"):
            await waiting
        await peer.close()
        assert peer.state == "closed"


async def test_closing_while_it_connects_leaves_no_connection_behind(app: Counted) -> None:
    """A listener that answers the upgrade late finds nobody there."""
    asked, answer = asyncio.Event(), asyncio.Event()

    async with listen("ws://127.0.0.1:0/mfp", app) as server:

        async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there = await asyncio.open_connection("127.0.0.1", server.port)
            there[1].write(await reader.readuntil(b"\r\n\r\n"))
            asked.set()
            await answer.wait()
            writer.write(await there[0].readuntil(b"\r\n\r\n"))
            await reader.read()
            writer.close()
            there[1].close()
            gone.set()

        gone = asyncio.Event()
        async with await asyncio.start_server(slowly, "127.0.0.1", 0) as late:
            port = late.sockets[0].getsockname()[1]
            dialing = asyncio.create_task(dialer(f"ws://127.0.0.1:{port}/mfp").dial())
            await asked.wait()
            dialing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await dialing
            answer.set()
            await gone.wait()


async def test_a_connection_that_lasted_starts_the_waits_over(server: Listener, form: str) -> None:
    """[MFP-9.5.2]"""
    asked: list[float] = []

    class Noted(Backoff):
        def delay(self, tries: int, random: Callable[[], float]) -> float:
            asked.append(tries)
            return 0.0

    async with Relay(server.port) as relay:
        backoff = Noted(first=0.01, most=0.2)
        peer = ReconnectingPeer(dialer(form.format(relay.port)), backoff, random=lambda: 0.0)
        await peer.start()
        for wait in (0.0, 0.0, 0.3):
            await peer.ping()
            await asyncio.sleep(wait)
            await lose(peer, relay)
        await peer.ping()
        await peer.close()
    assert asked == [0, 1, 0]


async def test_a_callback_that_fails_hurts_nobody(
    relay: Relay, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    states: list[str] = []
    async with connect(form.format(relay.port), reconnect=QUICK) as peer:

        @peer.on_state
        def broken(_state: str) -> None:
            raise ZeroDivisionError

        peer.on_state(states.append)
        await lose(peer, relay)
        await until(lambda: states == ["connecting", "open"])
    assert "ZeroDivisionError" in caplog.text


async def test_a_bug_of_ours_ends_it_and_is_told(
    relay: Relay, form: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with connect(form.format(relay.port), reconnect=QUICK) as peer:
        monkeypatch.setattr(peer, "_backoff", None)
        await lose(peer, relay)
        with pytest.raises(ConnectionClosed, match="internal error"):
            await asyncio.gather(*(peer.request("echo", n) for n in range(3)))
    assert "AttributeError" in caplog.text


async def test_a_plain_peer_has_a_state_too(server: Listener) -> None:
    async with connect(server.url) as peer:
        states = [peer.state]
    assert [*states, peer.state] == ["open", "closed"]


def test_a_bad_address_is_said_before_anything() -> None:
    with pytest.raises(ConfigError):
        connect("tcp://127.0.0.1", reconnect=True)
