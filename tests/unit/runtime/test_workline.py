import os
import socket
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from framehub.runtime.workframes import FRAME, Inbox
from framehub.runtime.workline import Line

from .working import until


class Ends:
    """A line, and the child's end of it."""

    def __init__(self) -> None:
        self.heard: list[tuple[int, int, bytes]] = []
        self.ends = 0
        self.line = Line(lambda *frame: self.heard.append(frame), self._ended)
        self.child = socket.socket(fileno=os.dup(self.line.far))
        self.child.setblocking(False)
        self.line.hand_over()

    def _ended(self) -> None:
        self.ends += 1


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    made = Ends()
    yield made
    made.line.close()
    made.line.close()
    made.child.close()


async def test_frames_both_ways(ends: Ends) -> None:
    ends.child.sendall(FRAME.pack(2, 6, 1) + b"ab" + FRAME.pack(0, 7, 2))
    await until(lambda: len(ends.heard) == 2)
    assert ends.heard == [(6, 1, b"ab"), (7, 2, b"")]
    ends.line.send(1, 5, b"x")
    ends.line.send(3, 6)
    await until(lambda: not ends.line._parts)
    assert ends.child.recv(1000) == FRAME.pack(1, 1, 5) + b"x" + FRAME.pack(0, 3, 6)


async def test_what_a_child_does_not_read_is_kept(ends: Ends) -> None:
    bodies = [bytes([number]) * 300_000 for number in range(100)]
    for number, body in enumerate(bodies):
        ends.line.send(1, number, body)
    inbox = Inbox()
    heard: list[tuple[int, int, bytes]] = []

    def read() -> bool:
        with suppress(BlockingIOError):
            heard.extend(inbox.feed(ends.child.recv(1 << 20)))
        return len(heard) == 100

    await until(read)
    assert heard == [(1, number, body) for number, body in enumerate(bodies)]


async def test_the_end_of_a_child_is_told_after_all_it_said(ends: Ends) -> None:
    for number in range(100):
        ends.child.sendall(FRAME.pack(2000, 6, number) + bytes(2000))
    ends.child.close()
    ends.line.read_rest()
    assert len(ends.heard) == 100
    assert ends.ends == 1
    ends.line.send(1, 1, b"to nobody")
    await until(lambda: not ends.line._parts)


async def test_a_closed_line_says_nothing_more(ends: Ends) -> None:
    ends.line.send(1, 1, b"x")
    ends.line.close()
    ends.line.send(1, 1, b"x")
    await until(lambda: not ends.line._scheduled)
    ends.line.read_rest()
    assert ends.heard == []
