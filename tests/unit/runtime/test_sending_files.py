"""Files on their way: announced, in answers, and streamed."""

import asyncio
import io
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import StreamAborted
from framehub.mfp.settings import Settings
from framehub.runtime import files
from framehub.runtime.calls import Call, Reply
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.files import PIECE_BYTES, File, open_regular
from framehub.runtime.memory import pair
from framehub.runtime.peer import Peer

from .sources import Make, Slow, keeper, make
from .streaming import Taker, until

__all__ = ["make"]


# --- announced -------------------------------------------------------------------------------------------


async def test_announced_files_are_read_one_at_a_time_each_in_its_turn(tmp_path: Path) -> None:
    reads: list[tuple[int, int]] = []
    client, calls = keeper()
    received = 0

    class Turn:
        def __init__(self, number: int) -> None:
            self.number, self.left = number, [bytes(100_000)]

        def read(self, size: int) -> bytes:
            if self.left:
                reads.append((self.number, acknowledged()))
            return self.left.pop() if self.left else b""

    def acknowledged() -> int:
        return received

    sent = client._sent

    async def counted(*args: Any, **options: Any) -> None:
        nonlocal received
        await sent(*args, **options)
        received += 1

    client._sent = counted  # type: ignore[method-assign]
    await client.announce("keep", None, {n: File(Turn(n)) for n in range(4)}, ack=True)
    await until(lambda: calls)
    assert reads == [(0, 1), (1, 2), (2, 3), (3, 4)]  # the message itself, then file by file
    assert [len(file.data) for file in calls[0].files.values()] == [100_000] * 4


async def test_an_announced_file_that_goes_away_aborts_the_message(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x")

    class Remover:
        def read(self, size: int) -> bytes:
            path.unlink(missing_ok=True)
            return b""

    client, calls = keeper()
    with pytest.raises(FileNotFoundError):
        await client.announce("keep", None, {0: File(Remover()), 1: File(path)})
    await client.ping()
    assert (calls, client.pending) == ([], 0)


# --- in answers ------------------------------------------------------------------------------------------


def answering(reply: Callable[[], Reply], *, later: bool, settings: Settings | None = None) -> Peer:
    app = Endpoints()

    @app.on("get")
    def get(call: Call) -> Any:
        async def wait() -> Reply:
            await asyncio.sleep(0)
            return reply()

        return wait() if later else reply()

    client, _ = pair(theirs=app, settings=settings)
    return client


@pytest.mark.parametrize("later", [False, True], ids=["plain", "async"])
async def test_an_answer_carries_files_of_every_source(later: bool, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"from disk")

    def reply() -> Reply:
        stands = io.BytesIO(b"open")
        return Reply({"n": 3}, {0: File(tmp_path / "a.txt"), 1: File(stands), 2: File(b"bytes")})

    got = await answering(reply, later=later).request("get")
    assert got.data == {"n": 3}
    assert got.files == {0: File(b"from disk", "a.txt", "text/plain"), 1: File(b"open"), 2: File(b"bytes")}


@pytest.mark.parametrize("later", [False, True], ids=["plain", "async"])
async def test_an_error_may_have_files_too(later: bool, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"what happened")
    client = answering(lambda: Reply(files={0: File(tmp_path / "a.log")}, error="no"), later=later)
    got = await client.request("get", raise_on_error=False)
    assert (got.error, got.files[0].data) == ("no", b"what happened")


@pytest.mark.parametrize("later", [False, True], ids=["plain", "async"])
async def test_an_answer_whose_file_is_not_there_gives_nothing_away(
    later: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for wrong in (File(tmp_path / "gone"), tmp_path / "gone"):
        client = answering(lambda wrong=wrong: Reply(1, {0: wrong}), later=later)  # type: ignore[misc]
        got = await client.request("get", raise_on_error=False)
        assert got.error["code"] == "internal"
        assert "gone" not in got.error["message"]
    assert "FileNotFoundError" in caplog.text
    assert "want a framehub.File, not PosixPath" in caplog.text


async def test_an_answer_with_too_big_a_file_says_so_and_not_which(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes(2000))
    settings = Settings(max_frame_bytes=1000)
    client = answering(lambda: Reply(1, {0: File(tmp_path / "big")}), later=False, settings=settings)
    got = await client.request("get", raise_on_error=False)
    assert got.error["code"] == "limit"
    assert "stream" in got.error["message"]
    assert str(tmp_path) not in got.error["message"]


async def test_answers_have_their_files_read_one_after_the_other() -> None:
    files = [Slow(), Slow()]
    waiting = list(files)
    client = answering(lambda: Reply(None, {0: File(waiting.pop(0))}), later=True)
    asking = [asyncio.create_task(client.request("get")) for _ in files]
    await asyncio.to_thread(files[0].asked.wait, 10)
    await client.ping()
    assert not files[1].asked.is_set()
    for file in files:
        file.go.set()
    assert [(await task).files[0].data for task in asking] == [b"slow", b"slow"]


# --- streamed --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ack", [False, True], ids=["", "ack"])
async def test_every_source_is_streamed_as_its_bytes(make: Make, ack: bool, tmp_path: Path) -> None:
    content = os.urandom(2 * PIECE_BYTES + 70_000)
    (tmp_path / "a.bin").write_bytes(content)
    (tmp_path / "empty").touch()
    taker = Taker()
    client, _ = pair(theirs=taker.app)
    async with client.stream("up") as out:
        await out.write(make(tmp_path / "a.bin"), ack=ack)
        await out.write(make(tmp_path / "empty"), ack=ack)
        await out.write(b"after", key=9)
    await until(lambda: taker.ends)
    assert taker.data == content + b"after"
    assert [chunk.key for chunk in taker.chunks] == [*range(len(taker.chunks) - 1), 9]


async def test_what_comes_by_a_pipe_is_passed_on_as_it_comes() -> None:
    ours, theirs = os.pipe()
    taker = Taker()
    client, _ = pair(theirs=taker.app)
    with os.fdopen(ours, "rb") as reading, os.fdopen(theirs, "wb", buffering=0) as writing:

        async def send() -> None:
            async with client.stream("up") as out:
                await out.write(reading, key=5)

        sending = asyncio.create_task(send())
        for word in (b"one", b"two"):
            writing.write(word)
            await until(lambda word=word: taker.data.endswith(word))  # type: ignore[misc]
        writing.close()
        await sending
    await until(lambda: taker.ends)
    assert {chunk.key for chunk in taker.chunks} == {5}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (Path("/nowhere/x"), FileNotFoundError),
        (Path("/"), IsADirectoryError),
        ("x", TypeError),
        (7, TypeError),
    ],
    ids=["gone", "directory", "str", "int"],
)
async def test_what_cannot_be_streamed_aborts_the_stream(given: Any, error: type[Exception]) -> None:
    taker = Taker()
    client, _ = pair(theirs=taker.app)

    async def send() -> None:
        async with client.stream("up") as out:
            await out.write(b"begun")
            await out.write(given)

    with pytest.raises(error):
        await send()
    await until(lambda: taker.ends)
    assert taker.data == b"begun"
    assert taker.ends[0] is not None


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[io.BufferedReader]:
    """Every file that was opened to be sent."""
    found: list[io.BufferedReader] = []

    def remember(path: Path) -> io.BufferedReader:
        found.append(open_regular(path))
        return found[-1]

    monkeypatch.setattr(files, "open_regular", remember)
    return found


@pytest.mark.parametrize("how", ["cancelled", "aborted"])
async def test_a_file_that_is_not_sent_to_its_end_is_closed(
    how: str, tmp_path: Path, opened: list[io.BufferedReader]
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(8 * PIECE_BYTES))
    taker = Taker()
    taker.go.clear()
    client, _ = pair(theirs=taker.app)
    sending = asyncio.create_task(_stream(client, path))
    await until(lambda: taker.streams and opened)
    if how == "cancelled":
        sending.cancel()
    else:
        taker.streams[0].abort()
    with pytest.raises(asyncio.CancelledError if how == "cancelled" else StreamAborted):
        await sending
    assert [file.closed for file in opened] == [True]


async def test_a_file_whose_opening_was_cancelled_is_closed_all_the_same(
    tmp_path: Path, opened: list[io.BufferedReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"x")
    asked, go = threading.Event(), threading.Event()
    remember = files.open_regular

    def slowly(path: Path) -> io.BufferedReader:
        asked.set()
        go.wait(10)
        return remember(path)

    monkeypatch.setattr(files, "open_regular", slowly)
    client, _ = pair(theirs=Taker().app)
    sending = asyncio.create_task(_stream(client, path))
    await asyncio.to_thread(asked.wait, 10)
    sending.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert [file.closed for file in opened] == [True]


async def _stream(peer: Peer, path: Path) -> None:
    async with peer.stream("up") as out:
        await out.write(path)
