"""The hub as `framehub serve` runs it, with services and clients in processes of their own."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from framehub.codes import HubCommand, HubError, HubState
from framehub.hub.headers import HubFrame, Settings, Way, decode
from framehub.journal.reader import read
from tests.unit.runtime.hub_parts import Caller
from tests.unit.runtime.raw import RawClient

from .calling import Places
from .conftest import ENV, FRAMEHUB, PORTS, Cli
from .hub_side import CLOSE, DIE, ECHO, FAIL, FOREIGN, PING, SILENT, TWICE

ROOT = Path(__file__).parents[2]
FIRST, MESSAGE, LAST = HubState.FIRST, HubState.MESSAGE, HubState.LAST
COMMAND, STREAM_ERROR = HubState.COMMAND, HubState.STREAM_ERROR
SERVICE = """
import framehub

service = framehub.Service(40, "calc")


@service.function(1)
async def add(a: int, b: int) -> int:
    return a + b


@service.function(2)
async def echo(stream: framehub.ServiceStream) -> None:
    async for body in stream:
        await stream.send(body)
"""


class Process:
    """Ours, and what it prints."""

    def __init__(self, *command: str, cwd: Path) -> None:
        env = {**ENV, "PYTHONPATH": f"{ROOT}:{ENV.get('PYTHONPATH', '')}"}
        self.popen = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env=env
        )

    async def line(self) -> str:
        assert self.popen.stdout is not None
        async with asyncio.timeout(30):
            return (await asyncio.to_thread(self.popen.stdout.readline)).strip()

    async def heard(self) -> tuple[int, HubState, int, bytes]:
        stream, state, parameter, *body = (await self.line()).split()
        return int(stream), HubState(int(state)), int(parameter), bytes.fromhex("".join(body))

    def kill(self) -> None:
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGKILL)
        self.popen.communicate()


class House:
    """A gateway, and what is started beside it."""

    def __init__(self, folder: Path, *args: str) -> None:
        self.folder = folder
        self.started: list[Process] = []
        self._numbers = iter(range(100, 1000))
        self.gateway = self.start(FRAMEHUB, "serve", *PORTS, "--journal", "journal", *args)
        assert self.gateway.popen.stdout is not None
        self.places = Places(self.gateway.popen.stdout.readline())
        self.port = int(self.places["hub"].split(":")[2].partition("/")[0])

    def start(self, *command: str) -> Process:
        self.started.append(Process(*command, cwd=self.folder))
        return self.started[-1]

    async def service(self, *, version: int = 2, number: int | None = None) -> tuple[Process, int]:
        """A service in a process of its own, registered; and its number."""
        number = number or next(self._numbers)
        side = ("-m", "tests.e2e.hub_side", "service", self.places["services"], str(version), str(number))
        process = self.start(sys.executable, *side)
        assert (await process.heard())[:3] == (0, COMMAND, HubCommand.READY)
        return process, number

    async def client(self, *, version: int = 2, timeout_ms: int = 0) -> Caller:
        headers = f"X-Hub-Version: {version}\r\n"
        caller = Caller(await RawClient.open(self.port, path="/hub", headers=headers), version)
        if timeout_ms:
            caller.says(HubFrame(0, FIRST, 0, b"", None, Settings(version, timeout_ms)))
            assert (await caller.hears()).parameter == HubCommand.READY
        return caller


@contextmanager
def house_in(folder: Path, *args: str) -> Iterator[House]:
    made = House(folder, *args)
    try:
        yield made
    finally:
        for process in reversed(made.started):
            process.kill()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_in(tmp_path_factory.mktemp("hub")) as made:
        yield made


@pytest.fixture
async def caller(house: House) -> AsyncIterator[Caller]:
    made = await house.client()
    yield made
    await made.end()


def killed(stream: int, code: HubError) -> tuple[int, HubState, int]:
    return stream, STREAM_ERROR, int(code)


@pytest.mark.parametrize("client_version", [1, 2])
@pytest.mark.parametrize("service_version", [1, 2])
async def test_every_version_talks_to_every_version(
    house: House, client_version: int, service_version: int
) -> None:
    service, number = await house.service(version=service_version)
    caller = await house.client(version=client_version)
    caller.opens(7, b"one", service=number, function=ECHO)
    caller.tells(7, b"two")
    caller.tells(7, b"three", LAST)
    assert [await caller.hears() for _ in range(3)] == [
        HubFrame(7, MESSAGE, 0, b"one"),
        HubFrame(7, MESSAGE, 0, b"two"),
        HubFrame(7, LAST, 0, b"three"),
    ]
    stream, state, function, body = await service.heard()
    assert (state, function, body) == (FIRST, ECHO, b"\0\0one")
    assert (stream >= 1 << 20) == (service_version == 2)
    assert [(await service.heard())[1:] for _ in range(2)] == [(MESSAGE, 0, b"two"), (LAST, 0, b"three")]
    await caller.end()


async def test_R1_everything_a_client_says_is_answered(house: House) -> None:  # noqa: N802
    service, number = await house.service()
    caller = await house.client(timeout_ms=1_000)
    caller.opens(1, service=9_999)
    assert await caller.hears_error() == (1, HubError.ENDPOINT_NOT_FOUND)
    caller.opens(2, service=number, function=FAIL)
    failed = await caller.hears()
    assert (failed.stream, failed.state, failed.body) == (2, HubState.SERVICE_ERROR, b"no good")
    caller.opens(3, service=number, function=0)
    assert (await caller.hears()).body == b'{"name": "side%d"}' % number
    caller.says_bytes(b"\0\0\0\4\x07\0")
    assert await caller.hears_error() == (4, HubError.BAD_FRAME)
    caller.opens(5, service=number, function=SILENT)
    caller.tells(5, b"well?")
    assert await caller.hears_error() == (5, HubError.TIMEOUT)
    assert service.popen.poll() is None
    await caller.end()


async def test_R2_streams_die_with_their_client(house: House) -> None:  # noqa: N802
    service, number = await house.service()
    side = ("-m", "tests.e2e.hub_side", "client", str(house.port), str(number), "20")
    client = house.start(sys.executable, *side)
    assert await client.line() == "open"
    streams = {(await service.heard())[0] for _ in range(20)}
    client.kill()
    told = [await service.heard() for _ in range(20)]
    assert {one[:3] for one in told} == {killed(stream, HubError.CLIENT_DISCONNECT) for stream in streams}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
async def test_R3_streams_die_with_their_service(house: House, caller: Caller, how: signal.Signals) -> None:  # noqa: N802
    service, number = await house.service()
    for stream in range(1, 21):
        caller.opens(stream, service=number, function=SILENT)
        await service.heard()
    service.popen.send_signal(how)
    told = {await caller.hears_error() for _ in range(20)}
    assert told == {(stream, HubError.SERVICE_DISCONNECT) for stream in range(1, 21)}
    caller.opens(21, service=number)
    assert await caller.hears_error() == (21, HubError.ENDPOINT_NOT_FOUND)


async def test_R3_a_service_that_ends_at_work_takes_its_stream_along(house: House, caller: Caller) -> None:  # noqa: N802
    _, number = await house.service()
    caller.opens(1, service=number, function=DIE)
    assert await caller.hears_error() == (1, HubError.SERVICE_DISCONNECT)


async def test_R4_R5_a_stream_that_dies_of_silence_tells_both_once(house: House) -> None:  # noqa: N802
    service, number = await house.service()
    caller = await house.client(timeout_ms=1_000)
    caller.opens(1, service=number, function=SILENT)
    caller.opens(2, b"once", service=number, function=ECHO)
    assert (await caller.hears()).body == b"once"
    assert {await caller.hears_error() for _ in range(2)} == {(1, HubError.TIMEOUT), (2, HubError.TIMEOUT)}
    silent, echo = (await service.heard())[0], (await service.heard())[0]
    told = {(await service.heard())[:3] for _ in range(2)}
    assert told == {killed(silent, HubError.TIMEOUT), killed(echo, HubError.TIMEOUT)}
    caller.says(HubFrame(0, COMMAND, HubCommand.PING, b"still there?"))
    assert (await caller.hears()).body == b"still there?"
    await caller.end()


async def test_R6_pings_are_answered_on_both_sides(house: House, caller: Caller) -> None:  # noqa: N802
    service, number = await house.service()
    caller.says(HubFrame(0, COMMAND, HubCommand.PING, b"client"))
    assert await caller.hears() == HubFrame(0, COMMAND, HubCommand.PONG, b"client")
    caller.opens(1, b"service", service=number, function=PING)
    assert (await service.heard())[1] is FIRST
    assert await service.heard() == (0, COMMAND, HubCommand.PONG, b"service")


async def test_R7_closing_reaches_the_other_side_and_comes_back(house: House, caller: Caller) -> None:  # noqa: N802
    service, number = await house.service()
    caller.opens(1, service=number, function=SILENT)
    stream, *_ = await service.heard()
    caller.says(HubFrame(1, COMMAND, HubCommand.CLOSE))
    assert await caller.hears() == HubFrame(1, COMMAND, HubCommand.CLOSE)
    assert (await service.heard())[:3] == (stream, COMMAND, HubCommand.CLOSE)
    caller.says(HubFrame(1, COMMAND, HubCommand.CLOSE))
    assert await caller.hears_error() == (1, HubError.STREAM_NOT_FOUND)
    caller.opens(2, service=number, function=CLOSE)
    assert await caller.hears() == HubFrame(2, COMMAND, HubCommand.CLOSE)
    stream, *_ = await service.heard()
    assert (await service.heard())[:3] == (stream, COMMAND, HubCommand.CLOSE)


async def test_HOLE1_a_client_reaches_its_own_streams_only(house: House, caller: Caller) -> None:  # noqa: N802
    service, number = await house.service()
    caller.opens(1, b"mine", service=number, function=ECHO)
    assert (await caller.hears()).body == b"mine"
    other = await house.client()
    for state in (MESSAGE, LAST):
        other.tells(1, b"not yours", state)
        assert await other.hears_error() == (1, HubError.STREAM_NOT_FOUND)
    other.says(HubFrame(1, COMMAND, HubCommand.CLOSE))
    assert await other.hears_error() == (1, HubError.STREAM_NOT_FOUND)
    other.opens(1, b"another", service=number, function=ECHO)
    assert (await other.hears()).body == b"another"
    caller.tells(1, b"still mine")
    assert (await caller.hears()).body == b"still mine"
    heard = [(await service.heard())[3] for _ in range(3)]
    assert heard == [b"\0\0mine", b"\0\0another", b"still mine"]
    await other.end()


async def test_HOLE2_a_service_reaches_its_own_streams_only(house: House, caller: Caller) -> None:  # noqa: N802
    mine, number = await house.service()
    rogue, others = await house.service()
    caller.opens(1, service=number, function=SILENT)
    stream, *_ = await mine.heard()
    caller.opens(2, b"%d" % stream, service=others, function=FOREIGN)
    await rogue.heard()
    assert (await rogue.heard())[:3] == killed(stream, HubError.ZMQ_STREAM_COLLISION)
    caller.opens(3, b"%d" % (stream + 1_000_000), service=others, function=FOREIGN)
    await rogue.heard()
    assert (await rogue.heard())[:3] == killed(stream + 1_000_000, HubError.STREAM_NOT_FOUND)
    caller.says(HubFrame(0, COMMAND, HubCommand.PING, b"nothing came"))
    assert (await caller.hears()).body == b"nothing came"


async def test_HOLE3_nothing_reaches_a_stream_that_is_over(house: House, caller: Caller) -> None:  # noqa: N802
    service, number = await house.service()
    caller.opens(1, service=number, function=TWICE)
    assert await caller.hears() == HubFrame(1, LAST, 0, b"last")
    stream, *_ = await service.heard()
    assert (await service.heard())[:3] == killed(stream, HubError.STREAM_NOT_FOUND)
    caller.tells(1, b"anybody?")
    assert await caller.hears_error() == (1, HubError.STREAM_NOT_FOUND)


async def test_HOLE4_a_number_is_used_once(house: House, caller: Caller) -> None:  # noqa: N802
    service, number = await house.service()
    caller.opens(1, service=number, function=FAIL)
    assert (await caller.hears()).state is HubState.SERVICE_ERROR
    caller.opens(2, service=number, function=SILENT)
    for stream in (1, 2):
        caller.opens(stream, service=number, function=ECHO)
        assert await caller.hears_error() == (stream, HubError.WS_STREAM_COLLISION)
    assert [(await service.heard())[2] for _ in range(2)] == [FAIL, SILENT]


async def test_the_user_is_that_of_the_token(tmp_path: Path, cli: Cli) -> None:
    token = cli("token", "add", "--tokens", "tokens", "--user", "42", "--name", "Anna").stdout.strip()
    with house_in(tmp_path, "--tokens", "tokens") as house:
        service, number = await house.service()
        stranger, refusal = await RawClient.ask(house.port, path="/hub")
        assert refusal.startswith("HTTP/1.1 401")
        await stranger.end()
        headers = f"Authorization: Bearer {token}\r\n"
        caller = Caller(await RawClient.open(house.port, path="/hub", headers=headers), 2)
        caller.opens(1, b"hi", service=number, function=ECHO)
        assert (await service.heard())[3] == b"\0\x2ahi"
        await caller.end()


async def test_a_gateway_that_stops_lets_streams_finish_and_tells_the_others(tmp_path: Path) -> None:
    with house_in(tmp_path) as house:
        service, number = await house.service()
        caller, idle = await house.client(), await house.client()
        caller.opens(1, b"one", service=number, function=ECHO)
        assert (await caller.hears()).body == b"one"
        house.gateway.popen.send_signal(signal.SIGTERM)
        while True:  # until it has seen the signal
            caller.opens(int(time.monotonic_ns() % 2**31), service=number, function=FAIL)
            if (await caller.hears()).parameter == HubError.BUSY:
                break
        caller.tells(1, b"two", LAST)
        assert await caller.hears() == HubFrame(1, LAST, 0, b"two")
        assert await idle.raw.close_code() == 1001
        assert await caller.raw.close_code() == 1001
        await caller.end()
        await idle.end()
        assert await asyncio.to_thread(house.gateway.popen.wait, 30) == 0
        assert service.popen.poll() is None
    kinds = [row["kind"] for batch in read(tmp_path / "journal") for row in batch.to_pylist()]
    assert kinds.count("link_opened") == kinds.count("link_closed") == 3


async def test_a_gateway_that_is_killed_ends_all_and_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "calc.py").write_text(SERVICE)
    with house_in(tmp_path) as house:
        address = house.places["services"]
        ours = house.start(FRAMEHUB, "service", "calc:service", "--connect", address)
        assert (await ours.line()).startswith("ready")
        caller = await house.client()
        caller.opens(1, b"one", service=40, function=2)
        caller.tells(1, b"two")
        assert (await caller.hears()).body == b"two"
        house.gateway.kill()
        with pytest.raises(asyncio.IncompleteReadError):
            await caller.hears()
        await caller.end()
        again = House(tmp_path, "--services", address.removeprefix("tcp://"))
        house.started += again.started
        caller = await again.client()
        while True:
            caller.opens(int(time.monotonic_ns() % 2**31), b"[1, 2]", service=40, function=1)
            if (answer := await caller.hears()).state is LAST:
                break
            await asyncio.sleep(0.1)
        assert answer.body == b"3"
        await caller.end()


async def test_our_own_ends_and_mfp_clients_meet_at_it(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "calc.py").write_text(SERVICE)
    with house_in(tmp_path) as house:
        ours = house.start(FRAMEHUB, "service", "calc:service", "--connect", house.places["services"])
        assert (await ours.line()).startswith("ready")
        done = await asyncio.to_thread(
            cli, "request", "calc.add", '{"a": 1, "b": 2}', "--url", house.places["mfp"]
        )
        assert (done.returncode, done.stdout.strip()) == (0, "3"), done.stderr
        failed = await asyncio.to_thread(cli, "request", "calc.7", "--url", house.places["mfp"])
        assert failed.returncode == 1
        assert "service_error" in failed.stderr + failed.stdout


async def test_what_was_said_is_in_the_journal(tmp_path: Path) -> None:
    """Every frame at both sides, and what it says is what was sent."""
    with house_in(tmp_path) as house:
        service, number = await house.service()
        caller = await house.client()
        caller.opens(1, b"one", service=number, function=ECHO)
        caller.tells(1, b"two", LAST)
        await caller.hears()
        await caller.hears()
        await caller.end()
        stream, *_ = await service.heard()
        house.gateway.popen.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(house.gateway.popen.wait, 30) == 0
    rows = (row for batch in read(tmp_path / "journal") for row in batch.to_pylist())
    said = [row for row in rows if row["exchange"] and row["kind"] != "command"]
    told = [(row["direction"], row["kind"], row["id"], row["ref"]) for row in said]
    here, there = (1, None), (stream, 1)
    assert told[:2] == [("in", "first", *here), ("out", "first", *there)]
    assert set(told[2:]) == {
        ("in", "last", *here),
        ("out", "last", *there),
        ("in", "message", *there),
        ("out", "message", *here),
        ("in", "last", *there),
        ("out", "last", *here),
    }
    assert len(told) == 8
    assert {row["endpoint"] for row in said} == {f"side{number}"}
    first = decode(said[0]["raw"], 2, Way.CLIENT_TO_HUB)
    assert (first.body, first.service, said[0]["code"]) == (b"one", number, 30)
