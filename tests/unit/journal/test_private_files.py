"""What a journal is made of is its owner's only, and nothing of it is anything but a file."""

import os
import pwd
import re
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from framehub.cli.main import run as framehub
from framehub.errors import JournalError
from framehub.journal import reader
from framehub.journal import writer as writing
from framehub.journal.generate import generate
from framehub.journal.mfp_rows import LinkRows
from framehub.journal.open_links import OpenLinks
from framehub.journal.record import Row
from framehub.journal.seal import seal
from framehub.journal.segments import load_node
from framehub.journal.writer import JournalWriter, WriterSettings

UNSEALED = WriterSettings(seal=False)
FIRST, SECOND = f"{1:020d}", f"{2:020d}"


@pytest.fixture(params=[0o022, 0o000])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(root: Path) -> dict[str, str]:
    every = [root, *root.rglob("*")]
    return {str(path.relative_to(root)): oct(stat.S_IMODE(path.stat().st_mode)) for path in every}


def wanted(root: Path) -> dict[str, str]:
    every = [root, *root.rglob("*")]
    return {str(path.relative_to(root)): "0o700" if path.is_dir() else "0o600" for path in every}


def one_row(path: Path, row: Row, *, seal: bool = False) -> None:
    writer = JournalWriter(path, node="n1", settings=UNSEALED)
    writer.append(row)
    writer.close(seal=seal)


@pytest.mark.usefixtures("umask")
def test_all_of_a_journal_is_its_owners_only(tmp_path: Path, row: Callable[..., Row]) -> None:
    place = tmp_path / "above" / "journals" / "n1"
    one_row(place, row(1), seal=True)
    writer = JournalWriter(place, settings=UNSEALED)
    links = OpenLinks(place)
    links.note(LinkRows(b"linklink", 0).opened((1, 1)), 2, 1)
    writer.append(row(2))
    writer.close(seal=False)
    with (place / f"{SECOND}.fhj").open("ab") as file:
        file.write(b"FHJ1torn")
    with JournalWriter(place, settings=UNSEALED) as again:
        assert again.append(row(3)) == 3
    names = {path.name.lstrip("0") for path in place.iterdir()}
    assert {"1.parquet", "node.json", "lock", "sums", "links"} <= names
    assert any(name.endswith(".torn") for name in names)
    assert modes(tmp_path / "above") == wanted(tmp_path / "above")


@pytest.mark.usefixtures("umask")
def test_all_of_a_made_up_journal_is_its_owners_only(tmp_path: Path) -> None:
    generate(tmp_path / "a" / "b", frames=3_100, seed=1, node="n1", faults=["all"])
    assert (tmp_path / "a" / "b" / "truth.json").exists()
    assert modes(tmp_path / "a") == wanted(tmp_path / "a")


@pytest.mark.parametrize("bits", [0o775, 0o757, 0o1777])
def test_nothing_is_written_where_others_can_write(
    tmp_path: Path, row: Callable[..., Row], bits: int
) -> None:
    place = tmp_path / "j"
    one_row(place, row(1), seal=True)
    place.chmod(bits)
    why = re.escape(f"{place}: others can write there: chmod go-w {place}")
    with pytest.raises(JournalError, match=why):
        JournalWriter(place)
    with pytest.raises(JournalError, match=why):
        generate(place, frames=3_000)
    assert sum(batch.num_rows for batch in reader.read(place)) == 1
    place.chmod(0o755)
    one_row(place, row(2))


def test_nothing_is_written_for_somebody_else(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by root either: what it made there, the owner could not read."""
    place = tmp_path / "j"
    one_row(place, row(1), seal=True)
    one_row(place, row(2))
    owner = pwd.getpwuid(os.getuid()).pw_name
    before = modes(place), {path.name: path.read_bytes() for path in place.iterdir()}
    with monkeypatch.context() as patching:
        patching.setattr(os, "geteuid", lambda: os.getuid() + 1)
        why = f"{place}: it is the directory of {owner}: run this as that user"
        for write in (start, partial(generate, frames=3_000)):
            with pytest.raises(JournalError, match=f"^{re.escape(why)}$"):
                write(place)
        result = CliRunner().invoke(framehub, ["journal", "compact", str(place)])
        assert (result.exit_code, result.output) == (1, f"Error: {why}\n")
        check(place)
        read(place)
    assert before == (modes(place), {path.name: path.read_bytes() for path in place.iterdir()})
    one_row(place, row(3))


def test_an_owner_without_a_name_is_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(JournalError, match=f"it is the directory of user {os.getuid()}: run this"):
        JournalWriter(tmp_path)


def start(place: Path) -> None:
    """As a gateway does."""
    with JournalWriter(place, settings=UNSEALED) as writer:
        OpenLinks(writer.node.directory)


def sealed(place: Path) -> None:
    node = load_node(place)
    assert node is not None
    seal(place / f"{SECOND}.fhj", node=node.name, salt=node.salt)


def read(place: Path) -> None:
    assert list(reader.read(place))


def check(place: Path) -> None:
    reader.check(place)


OPENED = [
    ("lock", start),
    ("node.json", start),
    ("node.json", check),
    ("node.json", read),
    ("links", start),
    ("sums", start),
    ("sums", sealed),
    ("sums", check),
    (f"{FIRST}.parquet", start),
    (f"{FIRST}.parquet", check),
    (f"{FIRST}.parquet", read),
    (f"{SECOND}.fhj", start),
    (f"{SECOND}.fhj", sealed),
    (f"{SECOND}.fhj", check),
    (f"{SECOND}.fhj", read),
    (f"{9:020d}.fhj", start),
    (f"{9:020d}.parquet", check),
]


@pytest.mark.parametrize(("name", "act"), OPENED)
@pytest.mark.parametrize("what", ["pipe", "link"])
def test_what_is_no_file_is_named_and_waited_for_by_nobody(
    tmp_path: Path, row: Callable[..., Row], name: str, act: Callable[[Path], None], what: str
) -> None:
    place = tmp_path / "j"
    one_row(place, row(1), seal=True)
    one_row(place, row(2))
    old = tmp_path / "old"
    if (place / name).exists():
        (place / name).rename(old)
    else:
        old.touch()
    os.mkfifo(place / name) if what == "pipe" else (place / name).symlink_to(old)
    before = old.read_bytes()
    failed: list[BaseException] = []

    def run() -> None:
        try:
            act(place)
        except BaseException as exc:
            failed.append(exc)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive(), "it waits"
    (told,) = failed
    assert isinstance(told, JournalError)
    assert f"{place / name}" in str(told)
    assert "no regular file" in str(told)
    assert old.read_bytes() == before


@pytest.mark.parametrize("what", ["pipe", "link"])
@pytest.mark.parametrize(
    "name", ["node.json.tmp", f"{SECOND}.parquet.tmp", "links.tmp", f"{SECOND}.{{}}.torn"]
)
def test_what_stands_where_a_file_is_to_be_made_goes(
    tmp_path: Path, row: Callable[..., Row], name: str, what: str
) -> None:
    place = tmp_path / "j"
    one_row(place, row(1), seal=True)
    one_row(place, row(2))
    segment = place / f"{SECOND}.fhj"
    name = name.format(segment.stat().st_size)
    with segment.open("ab") as file:
        file.write(b"FHJ1torn")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"another's")
    os.mkfifo(place / name) if what == "pipe" else (place / name).symlink_to(elsewhere)
    with JournalWriter(place) as writer:
        links = OpenLinks(place)
        assert writer.append(row(3)) == 3
        links.close()
    assert [part.kind for part in reader.snapshot(place)] == ["parquet"] * 3
    assert elsewhere.read_bytes() == b"another's"
    assert modes(place) == wanted(place)


@pytest.mark.parametrize("name", ["lock", "node.json", f"{FIRST}.fhj", "links", "sums"])
def test_a_writer_ends_though_a_pipe_came_in_the_place_of_a_file(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(writing, "_REST_SECONDS", 3600)
    place = tmp_path / "j"
    writer = JournalWriter(place)
    links = OpenLinks(place)
    writer.append(row(1))
    writer.flush(20)
    (place / name).unlink(missing_ok=True)
    os.mkfifo(place / name)
    ended: list[str] = []

    def close() -> None:
        try:
            writer.close()
        except JournalError as exc:
            ended.append(str(exc))
        links.close()
        ended.append("ended")

    thread = threading.Thread(target=close, daemon=True)
    thread.start()
    thread.join(30)
    assert ended[-1:] == ["ended"]
    if name in ("lock", "node.json", f"{FIRST}.fhj"):
        assert f"{name} was replaced" in ended[0]
    elif name == "sums":
        assert "no regular file" in str(writer.sealer.errors[0])


@pytest.mark.parametrize("name", ["lock", "node.json", "links", "sums", f"{FIRST}.parquet", f"{SECOND}.fhj"])
def test_a_gateway_says_which_it_is_and_ends(tmp_path: Path, row: Callable[..., Row], name: str) -> None:
    place = tmp_path / "j"
    one_row(place, row(1), seal=True)
    one_row(place, row(2))
    (place / name).unlink(missing_ok=True)
    os.mkfifo(place / name)
    listen = ["--listen", "127.0.0.1:0", "--admin", "off", "--clients", "off", "--workers", "off"]
    command = [sys.executable, "-m", "framehub", "serve", "--journal", str(place), *listen]
    process = subprocess.Popen(
        [*command, "--services", "off"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert "Traceback" not in said
    assert process.returncode not in (0, -signal.SIGKILL)
    assert str(place / name) in said
