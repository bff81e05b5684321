"""The memory is what a test says it is; the connections are real."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from framehub.runtime import watchdog
from framehub.runtime.watchdog import ROOM, Watchdog, resident, trim
from framehub.runtime.zmq_connections import Connection, Connections
from framehub.runtime.zmq_setup import Options

MIB = 1024 * 1024
OPTIONS = Options(max_message_bytes=4 * MIB, max_queued_bytes=128 * MIB)


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
        self.connections = Connections(5.0)
        self.dog = Watchdog([self.connections, None], lambda: self.held, OPTIONS)

    def connected(self) -> "Line":
        here = socket.create_connection(self._server.getsockname())
        self._lines.append(Line(here, self._server.accept()[0]))
        self.connections.accepted(self._lines[-1].number, 0.0)
        return self._lines[-1]

    def takes(self, *sizes: tuple["Line", int], is_empty: bool = True) -> None:
        self.connections.took({line.number: size for line, size in sizes}, is_empty=is_empty)

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
    assert not dog.is_watching
    stage.memory += 1
    dog.look(0.1)
    assert dog.is_watching
    stage.memory -= 1
    dog.look(0.2)
    assert not dog.is_watching


def test_who_sends_small_parts_without_end_is_cut_off(stage: Stage) -> None:
    """[RPC-10.3] Others are not: neither who finished a message nor who sent next to nothing."""
    dog = stage.dog
    evil, busy, idle = [stage.connected() for _ in range(3)]
    stage.memory += ROOM + 1
    dog.look(0.0)
    for line in (evil, busy):
        line.sends(2 * MIB)
    stage.takes((busy, 2 * MIB))
    stage.memory += ROOM
    dog.look(10.0)
    assert dog.cut_off == 1
    assert evil.is_cut
    assert not busy.is_cut
    assert not idle.is_cut
    assert stage.trims == 1
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


def test_of_those_whose_messages_wait_who_sent_most_is_cut_off(stage: Stage) -> None:
    """What was taken of it does not count, nor does what is kept; whoever sends less stays."""
    dog = stage.dog
    much, more, most_taken = [stage.connected() for _ in range(3)]
    stage.memory += ROOM + 1
    stage.takes(is_empty=False)
    dog.look(0.0)
    dog.look(5.0)
    much.sends(9 * MIB)
    more.sends(10 * MIB)
    most_taken.sends(11 * MIB)
    stage.memory += 128 * MIB
    stage.held += MIB
    stage.takes((most_taken, 10 * MIB), (much, MIB), is_empty=False)
    dog.look(10.0)
    assert dog.cut_off == 0, "as much as may wait"
    stage.memory += MIB + 1
    dog.look(20.0)
    stage.memory += 64 * MIB
    assert (dog.cut_off, more.is_cut, much.is_cut, most_taken.is_cut) == (1, True, False, False)
    dog.look(30.0)
    assert dog.cut_off == 1, "the next one has as much time"


def test_a_socket_that_is_emptied_now_and_then_is_not_behind(stage: Stage) -> None:
    dog = stage.dog
    line = stage.connected()
    stage.memory += ROOM + 1
    stage.takes(is_empty=False)
    dog.look(0.0)
    for now in range(10, 100, 10):
        stage.memory += 64 * MIB
        stage.held += 64 * MIB
        line.sends(MIB)
        stage.takes((line, MIB), is_empty=True)
        stage.takes((line, 1), is_empty=False)
        dog.look(now)
    stage.held = 0
    stage.takes((line, 1), is_empty=True)
    dog.look(100)
    assert dog.cut_off == 0


def test_messages_of_a_socket_that_is_not_read_are_not_taken_for_endless_ones(stage: Stage) -> None:
    dog = stage.dog
    line = stage.connected()
    stage.memory += ROOM + 1
    stage.takes(is_empty=False)
    dog.look(0.0)
    line.sends(20 * MIB)
    stage.memory += 20 * MIB
    dog.look(10.0)
    assert dog.cut_off == 0


def test_memory_can_be_told_and_given_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert (resident() or 0) > MIB
    trim()
    monkeypatch.setattr(watchdog, "_MEMORY", tmp_path / "nothing")
    assert resident() is None


def test_without_descriptors_nobody_is_looked_at_and_all_goes_on_later(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    dog = stage.dog
    line = stage.connected()
    line.sends(9 * MIB)
    monkeypatch.setattr(watchdog, "resident", lambda: None)
    dog.look(0.0)
    monkeypatch.setattr(watchdog, "resident", lambda: stage.memory)
    dog.look(1.0)
    assert not dog.is_watching
    stage.memory += ROOM + 1
    dog.look(3.0)
    assert dog.is_watching
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


def test_a_connection_that_has_ended_is_passed_over(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    line = stage.connected()
    monkeypatch.setattr(Connection, "received", lambda _self: None)
    stage.memory += ROOM + 1
    stage.dog.look(0.0)
    line.sends(9 * MIB)
    stage.dog.look(10.0)
    assert stage.dog.cut_off == 0
