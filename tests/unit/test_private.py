import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from framehub.private import NotAFile, make_directory, new_file, open_file, read_file, shared


@pytest.fixture(params=[0o022, 0o000])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def put(path: Path, what: str) -> None:
    """Something that is no file."""
    if what == "pipe":
        os.mkfifo(path)
    elif what == "link":
        path.with_name("elsewhere").write_bytes(b"elsewhere")
        path.symlink_to("elsewhere")
    elif what == "nowhere":
        path.symlink_to("nowhere")
    elif what == "directory":
        path.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(os.path.relpath(path))


@pytest.mark.usefixtures("umask")
def test_what_is_made_is_its_owners_only(tmp_path: Path) -> None:
    make_directory(tmp_path / "a" / "b" / "c")
    make_directory(tmp_path / "a" / "b" / "c")
    with new_file(tmp_path / "a" / "new") as file:
        file.write(b"one")
    os.close(open_file(tmp_path / "a" / "more", os.O_RDWR | os.O_CREAT))
    assert {mode(path) for path in tmp_path.rglob("*") if path.is_dir()} == {0o700}
    assert {mode(path) for path in tmp_path.rglob("*") if path.is_file()} == {0o600}
    assert read_file(tmp_path / "a" / "new") == b"one"


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_APPEND])
@pytest.mark.parametrize("what", ["pipe", "link", "nowhere", "directory", "socket"])
def test_nothing_but_a_file_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, flags: int
) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "one", what)
    with pytest.raises(NotAFile, match=r"no regular file; remove it: '.*/one'"):
        open_file(tmp_path / "one", flags)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("what", ["pipe", "link", "nowhere", "socket"])
def test_a_new_file_takes_the_name_and_leaves_what_it_led_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "one", what)
    with new_file(tmp_path / "one") as file:
        file.write(b"mine")
    assert read_file(tmp_path / "one") == b"mine"
    assert not (tmp_path / "nowhere").exists()
    assert what != "link" or (tmp_path / "elsewhere").read_bytes() == b"elsewhere"


def test_other_errors_are_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_directory(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        make_directory(tmp_path / "file" / "below")
    (tmp_path / "loose").symlink_to("none")
    with pytest.raises(FileExistsError):
        make_directory(tmp_path / "loose")
    with pytest.raises(FileNotFoundError):
        shared(tmp_path / "none")


@pytest.mark.parametrize(("bits", "why"), [(0o755, False), (0o775, True), (0o757, True), (0o1777, True)])
def test_a_directory_that_others_can_write_to_is_shared(tmp_path: Path, bits: int, why: bool) -> None:
    place = tmp_path / "d"
    place.mkdir()
    place.chmod(bits)
    told = f"{place}: others can write there: chmod go-w {place}"
    assert shared(place) == (told if why else None)
