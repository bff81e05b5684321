import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import JournalError
from framehub.journal import reader, sealer
from framehub.journal import seal_apart as module
from framehub.journal.seal import seal
from framehub.journal.seal_apart import Apart, Pace, seal_apart
from framehub.journal.sealer import Sealer
from framehub.journal.segments import NODE_FILE, Node, parquet_path


def idle() -> Pace:
    return "idle"


def test_another_process_seals_it(node: Node, segment: Callable[..., Path]) -> None:
    path = segment(node.directory, first_seq=1)
    before = [row for batch in reader.read(node.directory) for row in batch.to_pylist()]
    assert seal_apart(path, idle)
    assert not path.exists()
    assert parquet_path(node.directory, 1).exists()
    assert [row for batch in reader.read(node.directory) for row in batch.to_pylist()] == before


def test_it_can_hurry(node: Node, segment: Callable[..., Path]) -> None:
    path = segment(node.directory, first_seq=1)
    assert seal_apart(path, lambda: "hurry")
    assert parquet_path(node.directory, 1).exists()


def test_who_begins_slowly_begins_anew_when_it_has_to_hurry(
    node: Node, segment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.001)
    paces: list[Pace] = ["idle", "hurry"]
    path = segment(node.directory, first_seq=1)
    assert seal_apart(path, lambda: paces.pop(0) if len(paces) > 1 else paces[0])
    assert parquet_path(node.directory, 1).exists()


@pytest.mark.parametrize("then", ["hurry", "stop"])
def test_one_that_was_done_before_it_could_be_killed_is_done(
    node: Node, segment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, then: Pace
) -> None:
    path = segment(node.directory, first_seq=1)
    kill = subprocess.Popen.kill

    def late(process: "subprocess.Popen[str]") -> None:
        process.wait(60)
        kill(process)

    monkeypatch.setattr(subprocess.Popen, "kill", late)
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.001)
    paces: list[Pace] = ["idle", then]
    assert seal_apart(path, lambda: paces.pop(0))
    assert parquet_path(node.directory, 1).exists()


def test_one_that_somebody_removes_is_not_sealed(
    node: Node, segment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = segment(node.directory, first_seq=1)

    def pace() -> Pace:
        path.unlink(missing_ok=True)
        return "idle"

    with pytest.raises(JournalError, match="No such file"):
        seal_apart(path, pace)
    again = segment(node.directory, first_seq=1)
    monkeypatch.setattr(sys, "executable", "/bin/true")
    monkeypatch.setattr(module, "_start", removing(again))
    with pytest.raises(Apart, match="ended with 0"):
        seal_apart(again, idle)


def removing(path: Path) -> Callable[..., "subprocess.Popen[str]"]:
    def start(*_: object) -> "subprocess.Popen[str]":
        path.unlink()
        return subprocess.Popen(["true"], stderr=subprocess.PIPE, text=True)

    return start


def test_it_can_be_stopped(node: Node, segment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.001)
    paces: list[Pace] = ["idle", "stop"]
    path = segment(node.directory, first_seq=1)
    assert not seal_apart(path, lambda: paces.pop(0))
    assert not seal_apart(path, lambda: "stop")
    assert path.exists()


def test_many_that_wait_or_the_end_are_a_reason_to_hurry(
    node: Node, segment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Pace] = []
    begun, go_on = threading.Event(), threading.Event()

    def note(path: Path, pace: Callable[[], Pace]) -> bool:
        asked.append(pace())
        begun.set()
        go_on.wait(10)
        asked.append(pace())
        return True

    monkeypatch.setattr(sealer, "seal_apart", note)
    monkeypatch.setattr(sealer, "APART_BYTES", 1)
    sealing = Sealer(node)
    sealing.submit(segment(node.directory, first_seq=1))
    begun.wait(10)
    for number in range(sealer.MANY):
        sealing.submit(segment(node.directory, first_seq=13 + 12 * number))
    go_on.set()
    sealing.close(finish=True)
    assert asked[:2] == ["idle", "hurry"]
    assert set(asked[2:]) == {"hurry"}
    assert sealing.sealed == 1 + sealer.MANY


def test_who_is_closed_without_finishing_stops(
    node: Node, segment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealer, "APART_BYTES", 1)
    path = segment(node.directory, first_seq=1)
    sealing = Sealer(node)
    sealing._stopping = True
    assert not sealing._seal(path)
    assert path.exists()


def test_it_says_why_not_and_leaves_the_segment(node: Node, segment: Callable[..., Path]) -> None:
    path = segment(node.directory, first_seq=1)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(JournalError, match="not sealed") as caught:
        seal_apart(path, idle)
    assert "Traceback" not in str(caught.value)
    assert path.exists()


def test_a_segment_without_its_node_is_not_sealed(node: Node, segment: Callable[..., Path]) -> None:
    path = segment(node.directory, first_seq=1)
    (node.directory / NODE_FILE).unlink()
    with pytest.raises(JournalError, match="no journal around it"):
        seal_apart(path, idle)


def test_one_that_was_killed_is_told(
    node: Node, segment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = segment(node.directory, first_seq=1)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(Apart, match="ended with 1"):
        seal_apart(path, idle)
    monkeypatch.setattr(sys, "executable", "/bin/true")  # as where children cannot be waited for
    with pytest.raises(Apart, match="ended with 0"):
        seal_apart(path, idle)


def test_whatever_is_on_the_path_of_modules(
    node: Node, segment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", ["", Path("/nowhere"), *sys.path])
    assert seal_apart(segment(node.directory, first_seq=1), idle)


def test_it_ends_with_whoever_asked_for_it(node: Node, segment: Callable[..., Path]) -> None:
    path = segment(node.directory, first_seq=1)
    asking = f"apart.seal_apart(pathlib.Path({str(path)!r}), lambda: 'idle')"
    code = f"import pathlib, {module.__name__} as apart; {asking}"
    parent = subprocess.Popen([sys.executable, "-c", code])
    child = eventually(lambda: children_of(parent.pid))[0]
    parent.kill()
    parent.wait()
    eventually(lambda: not is_alive(child))
    assert path.exists() or parquet_path(node.directory, 1).exists()  # it may have been quicker


def eventually(found: Callable[[], Any]) -> Any:
    until = time.monotonic() + 30
    while not (seen := found()):
        assert time.monotonic() < until
        time.sleep(0.005)
    return seen


def children_of(pid: int) -> list[int]:
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in told.split()]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_nobody_seals_for_a_writer_that_is_gone(node: Node, segment: Callable[..., Path]) -> None:
    path = segment(node.directory, first_seq=1)
    env = {**os.environ, "FRAMEHUB_SEALS_FOR": str(os.getppid())}  # not its parent, which is this process
    done = subprocess.run([sys.executable, "-m", module.__name__, str(path), "idle"], env=env, check=False)
    assert done.returncode == 1
    assert path.exists()


def test_large_segments_are_sealed_apart_and_where_nobody_can_be_started_here(
    node: Node, segment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refuse(path: Path, pace: Callable[[], Pace]) -> bool:
        asked.append(path)
        raise Apart("killed")

    monkeypatch.setattr(sealer, "seal_apart", refuse)
    small = segment(node.directory, first_seq=1)
    monkeypatch.setattr(sealer, "APART_BYTES", small.stat().st_size + 1)
    sealing = Sealer(node)
    sealing.submit(small)
    sealing.close(finish=True)
    assert (asked, small.exists(), sealing.sealed) == ([], False, 1)
    large = segment(node.directory, first_seq=13)
    monkeypatch.setattr(sealer, "APART_BYTES", large.stat().st_size)
    sealing = Sealer(node)
    sealing.submit(large)
    sealing.close(finish=True)
    assert (asked, large.exists(), sealing.sealed) == ([large] * sealer.TRIES, False, 1)


def test_nothing_ends_the_sealing_of_others(
    node: Node, segment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:

    def fail(path: Path, **told: Any) -> Path:
        if path.stem.endswith("1"):
            raise RuntimeError("a fault of ours")
        return seal(path, **told)

    monkeypatch.setattr(sealer, "seal", fail)
    sealing = Sealer(node)
    for first in (1, 13):
        sealing.submit(segment(node.directory, first_seq=first))
    sealing.close(finish=True)
    assert sealing.sealed == 1
    assert "a fault of ours" in str(sealing.errors[0])


def test_without_an_interpreter_none_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(Apart, match="no interpreter"):
        seal_apart(tmp_path / "x", idle)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pytest.raises(Apart, match="No such file"):
        seal_apart(tmp_path / "x", idle)
