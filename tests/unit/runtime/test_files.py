"""Files to send: what they are made of, how they are named, limited and read."""

import asyncio
import io
import os
import resource
import socket
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import LimitExceeded, RequestTimeout
from framehub.mfp.outbox import FRAME_OVERHEAD
from framehub.mfp.settings import Settings
from framehub.runtime.files import PIECE_BYTES, File

from .sources import Make, Slow, keeper, make
from .streaming import until

__all__ = ["make"]


def test_bytes_have_no_name_of_their_own() -> None:
    assert File(b"x") == File(bytearray(b"x")) == File(memoryview(b"x"), "", "")
    assert (File(b"x", "a.png").name, File(b"x", "a.png").type) == ("a.png", "")
    assert File(b"x", "a") != File(b"x", "b")
    assert hash(File(b"x", "a")) == hash(File(b"x", "a"))
    assert repr(File(b"secret", "a", "b/c")) == "File(6 bytes, name='a', type='b/c')"


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("me.png", "image/png"),
        ("notes.txt", "text/plain"),
        ("all.tar.gz", "application/gzip"),
        ("all.tar.xz", "application/x-xz"),
        ("README", ""),
    ],
)
def test_a_path_gives_name_and_type(tmp_path: Path, name: str, media_type: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"x")
    assert (File(path).name, File(path).type) == (name, media_type)
    with path.open("rb") as file:
        assert (File(file).name, File(file).type) == (name, media_type)
    assert (File(path, "other", "x/y").name, File(path, "other", "x/y").type) == ("other", "x/y")
    assert (File(path, "", "").name, File(path, "", "").type) == ("", "")


def test_a_name_that_is_no_text_can_be_told() -> None:
    assert File(Path(os.fsdecode(b"\xff.txt"))).name == "\ufffd.txt"


def test_what_has_no_name_has_none() -> None:
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb") as reading, os.fdopen(theirs, "wb"):
        assert File(reading).name == ""
    assert File(io.BytesIO(b"x")).name == ""


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("me.png", "a str is no file: give a Path"),
        (io.StringIO("x"), "open it with 'rb'"),
        (7, "not int"),
        (None, "not NoneType"),
    ],
)
def test_what_is_no_file_is_an_error_where_it_is_made(given: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        File(given)


def test_bytes_of_what_is_not_read_yet_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is read when it is sent"):
        _ = File(tmp_path).data


# --- sent ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 3 * PIECE_BYTES + 7], ids=["empty", "one", "big"])
async def test_every_source_is_sent_as_its_bytes(make: Make, size: int, tmp_path: Path) -> None:
    content = os.urandom(size)
    (tmp_path / "a.bin").write_bytes(content)
    client, calls = keeper()
    file = File(make(tmp_path / "a.bin"), "a.bin", "x/y")
    reply = await client.request("keep", 1, files={3: file, 4: File(b"beside")})
    assert reply.data == {"3": size, "4": 6}
    assert calls[0].files == {3: File(content, "a.bin", "x/y"), 4: File(b"beside")}


async def test_a_path_is_read_again_for_each_send_and_an_open_file_from_where_it_stands(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"one")
    client, calls = keeper()
    file = File(path)
    await client.send("keep", files={0: file}, ack=True)
    path.write_bytes(b"three")
    await client.send("keep", files={0: file}, ack=True)
    with path.open("rb") as stands:
        stands.read(2)
        await client.send("keep", files={0: File(stands)}, ack=True)
        assert not stands.closed
    await until(lambda: len(calls) == 3)
    assert [call.files[0].data for call in calls] == [b"one", b"three", b"ree"]


async def test_a_frame_takes_files_up_to_its_limit_and_not_one_byte_more(make: Make, tmp_path: Path) -> None:
    payload = len('{"endpoint":"keep","data":1,"filemap":[[0,"",""]]}')
    room = 1000 - FRAME_OVERHEAD - payload - 8
    client, calls = keeper(Settings(max_frame_bytes=1000))
    (tmp_path / "fits").write_bytes(bytes(room))
    await client.request("keep", 1, files={0: File(make(tmp_path / "fits"), "", "")})
    (tmp_path / "over").write_bytes(bytes(room + 1))
    for send in (client.request, client.send):
        with pytest.raises(LimitExceeded, match=r"1001 is over the limit of 1000 \(max_frame_bytes.*stream"):
            await send("keep", 1, files={0: File(make(tmp_path / "over"), "", "")})
    await client.ping()
    assert len(calls) == 1


async def test_what_is_too_big_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    client, calls = keeper()
    with path.open("rb") as stands:
        for source in (path, stands):
            with pytest.raises(LimitExceeded, match="1099511"):
                await client.request("keep", files={0: File(source)})
            with pytest.raises(LimitExceeded):
                await client.announce("keep", None, {0: File(b""), 1: File(source)})
        assert stands.tell() == 0
    await client.ping()
    assert calls == []


async def test_what_does_not_say_its_size_is_read_no_further_than_the_limit() -> None:
    class Endless(io.RawIOBase):
        given = 0

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            size = min(size, 1000)
            self.given += size
            return bytes(size)

    endless = Endless()
    client, _ = keeper(Settings(max_frame_bytes=5000))
    with pytest.raises(LimitExceeded):
        await client.request("keep", files={0: File(endless)})
    assert endless.given == 5001


async def test_a_file_that_says_nothing_of_its_size_is_read_to_its_end() -> None:
    client, calls = keeper()
    await client.request("keep", files={0: File(Path("/proc/self/status"))})
    assert b"VmRSS" in calls[0].files[0].data


async def test_what_cannot_be_read_is_the_usual_error_and_nothing_is_sent(tmp_path: Path) -> None:
    fifo, gone, listening = tmp_path / "fifo", tmp_path / "gone", tmp_path / "socket"
    os.mkfifo(fifo)
    client, calls = keeper()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(listening))
        for path, error in (
            (gone, FileNotFoundError),
            (tmp_path, IsADirectoryError),
            (fifo, OSError),
            (listening, OSError),
            (Path("/dev/zero"), OSError),
        ):
            file = File(path)
            for attempt in (
                client.request("keep", files={0: file}),
                client.send("keep", files={0: File(b"x"), 1: file}),
                client.announce("keep", None, {0: File(b"x"), 1: file}),
            ):
                with pytest.raises(error) as caught:
                    await attempt
                assert isinstance(caught.value, OSError)
                assert caught.value.filename == str(path)
    await client.ping()
    assert calls == []
    assert client.pending == 0


@pytest.mark.parametrize("broken", ["text", "nothing"])
async def test_a_reader_that_gives_no_bytes_is_told_so(broken: str) -> None:
    class Reader:
        def read(self, size: int) -> Any:
            return "text" if broken == "text" else None

    client, _ = keeper()
    with pytest.raises(TypeError, match="not bytes"):
        await client.request("keep", files={0: File(Reader())})


async def test_a_path_beside_a_file_is_an_error_that_says_what_is_wanted(tmp_path: Path) -> None:
    client, _ = keeper()
    wrong: Any = {0: tmp_path}
    for attempt in (
        client.request("keep", files=wrong),
        client.send("keep", files=wrong),
        client.announce("keep", None, wrong),
    ):
        with pytest.raises(TypeError, match=r"file 0: want a framehub\.File, not PosixPath"):
            await attempt


async def test_reading_does_not_hold_up_the_loop_and_a_timeout_counts_it() -> None:
    slow = Slow()
    client, calls = keeper()
    asking = asyncio.create_task(client.request("keep", files={0: File(slow)}))
    await asyncio.to_thread(slow.asked.wait, 10)
    assert (await client.request("keep")).data == {}
    slow.go.set()
    assert (await asking).data == {"0": 4}
    slow = Slow()
    for attempt in (client.request, client.send):
        with pytest.raises(RequestTimeout):
            await attempt("keep", files={0: File(slow)}, timeout=0.02)
    slow.go.set()
    await client.ping()
    assert len(calls) == 2


async def test_a_file_systems_own_timeout_is_not_ours() -> None:
    class Hung:
        def read(self, size: int) -> bytes:
            raise TimeoutError(110, "Connection timed out")

    client, _ = keeper()
    for attempt in (client.request, client.send):
        with pytest.raises(TimeoutError, match="Connection timed out"):
            await attempt("keep", files={0: File(Hung())})


# --- saved -----------------------------------------------------------------------------------------------


async def test_a_file_that_came_can_be_saved_where_nothing_is(tmp_path: Path) -> None:
    file = File(b"came", "../../etc/passwd")
    await file.save(tmp_path / "mine")
    assert (tmp_path / "mine").read_bytes() == b"came"
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for taken in ("mine", "link", "."):
        with pytest.raises(OSError, match="exist"):
            await File(b"other").save(str(tmp_path / taken))
    assert (tmp_path / "mine").read_bytes() == b"came"
    assert not (tmp_path / "elsewhere").exists()


async def test_a_file_that_was_saved_is_its_owners_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        await File(b"came").save(tmp_path / "mine")
    finally:
        os.umask(before)
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o600


async def test_half_a_file_is_not_left_behind(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            await File(bytes(1000)).save(tmp_path / "a")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not (tmp_path / "a").exists()
