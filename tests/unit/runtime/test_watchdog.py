"""The memory is what a test says it is; the connections are real."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from framehub.runtime import watchdog
from framehub.runtime.watchdog import ROOM, Watchdog, connections, copy, resident, trim
from framehub.runtime.zmq_setup import Options

MIB = 1024 * 1024
OPTIONS = Options(max_message_bytes=4 * MIB)


class Stage:
    """A listener, and connections to it that send."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.memory = 100 * MIB
        self.held = 0
        self.freed = 0
        self.trims = 0
        monkeypatch.setattr(watchdog, "resident", lambda: self.memory)
        monkeypatch.setattr(watchdog, "trim", self._trim)
        self._server = socket.create_server(("127.0.0.1", 0))
        self._lines: list[Line] = []
        addresses = (f"tcp://127.0.0.1:{self._server.getsockname()[1]}", "ipc:///tmp/nothing")
        self.dog = Watchdog(addresses, lambda: self.held, OPTIONS)

    def connected(self) -> "Line":
        here = socket.create_connection(self._server.getsockname())
        self._lines.append(Line(here, self._server.accept()[0]))
        return self._lines[-1]

    def close(self) -> None:
        self._server.close()
        for line in self._lines:
            line.here.close()
            line.there.close()

    def _trim(self) -> None:
        self.trims += 1
        self.memory -= self.freed


class Line:
    """One connection, both ends."""

    def __init__(self, here: socket.socket, there: socket.socket) -> None:
        self.here = here
        self.there = there
        self.number = there.fileno()

    def sends(self, size: int) -> None:
        """So many bytes, and they are there."""
        while size:
            piece = min(size, 16_384)
            self.here.sendall(bytes(piece))
            assert len(self.there.recv(piece, socket.MSG_WAITALL)) == piece
            size -= piece

    @property
    def is_cut(self) -> bool:
        try:
            return self.there.recv(1, socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    stage = Stage(monkeypatch)
    yield stage
    stage.close()


def test_nobody_is_watched_while_there_is_room(stage: Stage) -> None:
    dog = stage.dog
    stage.memory += ROOM
    dog.look(0.0)
    assert dog.finishers is None
    stage.memory += 1
    dog.look(0.1)
    assert dog.finishers == set()
    stage.memory -= 1
    dog.look(0.2)
    assert dog.finishers is None


def test_who_sends_small_parts_without_end_is_cut_off(stage: Stage) -> None:
    """[RPC-10.3] Others are not: neither who finished a message nor who sent next to nothing."""
    dog = stage.dog
    evil, busy, idle = [stage.connected() for _ in range(3)]
    stage.memory += ROOM + 1
    dog.look(0.0)
    assert dog.finishers is not None
    for line in (evil, busy):
        line.sends(2 * MIB)
    dog.finishers.add(busy.number)
    stage.memory += ROOM
    dog.look(10.0)
    assert dog.cut_off == 1
    assert evil.is_cut
    assert not busy.is_cut
    assert not idle.is_cut
    assert (dog.finishers, stage.trims) == (set(), 1)
    for now, trims in ((10.05, 1), (10.1, 2), (10.2, 2), (10.3, 3), (11.0, 4), (50.0, 4)):
        dog.look(now)
        for thread in threading.enumerate():
            if thread.name == "framehub-trim":
                thread.join()
        assert stage.trims == trims
    assert dog.cut_off == 1


def test_memory_that_is_explained_is_nobodys_fault(stage: Stage) -> None:
    """By what is kept, by what came of large messages, or because it is free already."""
    dog = stage.dog
    line = stage.connected()
    stage.memory += ROOM + 1
    dog.look(0.0)
    line.sends(2 * MIB)
    stage.memory += ROOM
    stage.held += ROOM
    dog.look(10.0)
    assert dog.cut_off == 0
    stage.held -= ROOM
    stage.freed = ROOM // 2
    dog.look(20.0)
    assert (dog.cut_off, stage.trims) == (0, 1)


def test_who_sends_more_than_two_messages_may_have_is_cut_off(stage: Stage) -> None:
    """Also if it came after the first look, and however much memory that explains."""
    dog = stage.dog
    stage.memory += ROOM + 1
    dog.look(0.0)
    line = stage.connected()
    line.sends(8 * MIB)
    dog.look(10.0)
    assert dog.cut_off == 0
    line.sends(1)
    dog.look(10.0)  # looking takes its time, and most of the time is others'
    assert dog.cut_off == 0
    dog.look(20.0)
    assert dog.cut_off == 1
    assert line.is_cut


def test_who_comes_when_the_memory_has_been_given_back_has_no_more_room_than_others(stage: Stage) -> None:
    """What one had whom we cut off is no allowance of the next."""
    dog = stage.dog
    stage.memory += ROOM + 1
    dog.look(0.0)
    stage.memory += 10 * ROOM
    dog.look(10.0)
    line = stage.connected()
    dog.look(20.0)
    stage.memory -= 10 * ROOM
    dog.look(30.0)
    line.sends(2 * MIB)
    stage.memory += ROOM
    dog.look(40.0)
    assert dog.cut_off == 1


def test_a_place_that_is_anothers_by_now_is_left_alone(stage: Stage) -> None:
    dog = stage.dog
    line = stage.connected()
    dog._cut((line.number, ("127.0.0.1", 1)), 1, 0.0)
    dog._cut((1_000_000, ("127.0.0.1", 1)), 1, 0.0)
    assert (dog.cut_off, line.is_cut) == (0, False)


def test_only_sockets_can_be_copied(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file:
        assert copy(file.fileno()) is None
    assert copy(1_000_000) is None
    left, right = socket.socketpair()
    with left, right:
        copied = copy(left.fileno())
        assert copied is not None
        with copied:
            assert copied.fileno() != left.fileno()
        assert dict(connections(frozenset((0,)))) == {}


def test_memory_can_be_told_and_given_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert (resident() or 0) > MIB
    trim()
    monkeypatch.setattr(watchdog, "_MEMORY", tmp_path / "nothing")
    assert resident() is None


def test_without_descriptors_nobody_is_looked_at_and_all_goes_on_later(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither is the memory taken for nothing, nor does who was not seen for a while count as new."""
    dog = stage.dog
    line = stage.connected()
    line.sends(9 * MIB)
    monkeypatch.setattr(watchdog, "resident", lambda: None)
    dog.look(0.0)
    monkeypatch.setattr(watchdog, "resident", lambda: stage.memory)
    dog.look(1.0)
    assert dog.finishers is None
    stage.memory += ROOM + 1
    with monkeypatch.context() as patch:
        patch.setattr(watchdog, "_OPEN", tmp_path / "nothing")
        dog.look(2.0)
    assert dog.finishers is None
    dog.look(3.0)
    assert dog.finishers == set()
    with monkeypatch.context() as patch:
        patch.setattr(watchdog, "_OPEN", tmp_path / "nothing")
        dog.look(10.0)
    dog.look(20.0)
    assert dog.cut_off == 0
    line.sends(9 * MIB)
    known = iter([stage.memory])
    monkeypatch.setattr(watchdog, "resident", lambda: next(known, None))
    dog.look(30.0)
    assert (dog.cut_off, stage.trims) == (0, 1)
    monkeypatch.setattr(watchdog, "resident", lambda: stage.memory)
    dog.look(40.0)
    assert dog.cut_off == 1


def test_a_look_at_connections_leaves_them_open(stage: Stage) -> None:
    line = stage.connected()
    line.sends(1000)
    port = line.there.getsockname()[1]
    for _ in range(2):
        assert dict(connections(frozenset((port,)))) == {(line.number, line.here.getsockname()): 1000}
    line.sends(1)
