"""One child process, as its worker's process sees it: start it, give it queries, take them back, end it."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from time import monotonic
from typing import Final, Protocol

from framehub.runtime.chute import Chute
from framehub.runtime.functionset import Function
from framehub.runtime.workframes import INLINE_BYTES, Kind
from framehub.runtime.workline import Line

MOST_AHEAD: Final = 8
"""Plain queries that a child may have: one that runs, the others so that it need not wait for us."""
MOST_COROUTINES: Final = 100
"""Coroutines that one child runs at a time."""
_LAST_SECONDS: Final = 2.0
"""Between the end of a child's line and its own."""
QUICK: Final = 0.002
"""Seconds: calls that take less are worth sending ahead."""


class Query:
    """One query on its way."""

    __slots__ = (
        "argument",
        "end_at",
        "function",
        "given_up",
        "hand",
        "index",
        "number",
        "reason",
        "since",
        "told",
        "wid",
    )

    def __init__(self, wid: bytes, function: Function, index: int, number: int, argument: bytes) -> None:
        self.wid = wid
        self.function = function
        self.index = index
        self.number = number
        self.argument = argument
        self.hand: Hand | None = None
        """Who has it; None while it waits."""
        self.since = 0.0
        """When it was given."""
        self.reason = ""
        """Why we end it, once we do."""
        self.end_at = 0.0
        """When its child is killed, if it has not ended by then."""
        self.told = False
        """Its event loop has cancelled it."""
        self.given_up = False
        """Its outcome was told; what still comes is thrown away."""


class Owner(Protocol):
    """Who is told what becomes of a child."""

    def ready(self, hand: "Hand") -> None:
        """It has found the functions."""

    def broken(self, hand: "Hand", text: str) -> None:
        """It has not, and is about to end."""

    def answered(self, query: Query, kind: int, body: bytes) -> None:
        """It has run this."""

    def gone(self, hand: "Hand", code: int) -> None:
        """It is dead. What it has not begun can be taken back, for the last time."""


class Hand:
    """A child process and what it has to do."""

    def __init__(self, owner: Owner, setup: bytes, slot: int) -> None:
        """Starts it.

        Raises:
            OSError: no process or descriptor to be had; nothing is left of it.
        """
        self.slot = slot
        self.is_ready = False
        self.is_ending = False
        """It is being killed, or about to leave: it gets nothing more."""
        self.on_purpose = False
        """It is us who end it."""
        self.ready_at = 0.0
        self.plain: dict[int, Query] = {}
        """What it has of plain functions, oldest first: that one runs, unless it is still in the chute."""
        self.coroutines: dict[int, Query] = {}
        self.since = 0.0
        """When the oldest plain query came to be the oldest."""
        self.ahead = 1
        """How many plain queries it may have at present."""
        self.deaf_until = 0.0
        """Until then its event loop gets nothing: it does not take what it is given."""
        self._hanging: asyncio.TimerHandle | None = None
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        with ExitStack() as undo:
            self._start(setup, undo)
            undo.pop_all()

    def _start(self, setup: bytes, undo: ExitStack) -> None:
        self._plain_chute = Chute()
        undo.callback(self._plain_chute.close)
        self._coroutine_chute = Chute()
        undo.callback(self._coroutine_chute.close)
        self._line = Line(self._heard, self._hung_up)
        undo.callback(self._line.close)
        self._line.send(Kind.SETUP, 0, setup)
        far = (self._line.far, self._plain_chute.far, self._coroutine_chute.far)
        # In a group of its own: Ctrl-C is for the parent, and what functions start can be ended with it.
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "framehub.runtime.workchild", *map(str, far), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=2,  # ours is for data
            pass_fds=far,
            process_group=0,
        )
        undo.callback(self._process.wait)
        undo.callback(self.kill)
        self._line.hand_over()
        self._exit = os.pidfd_open(self._process.pid)
        undo.callback(os.close, self._exit)
        self._loop.add_reader(self._exit, self._ended)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def give(self, query: Query) -> bool:
        """Whether it could be given."""
        chute = self._coroutine_chute if query.function.is_async else self._plain_chute
        if not chute.put(query.number, query.index, query.argument):
            return False
        if len(query.argument) > INLINE_BYTES:
            self._line.send(Kind.PAYLOAD, query.number, query.argument)
        query.hand = self
        query.since = monotonic()
        if query.function.is_async:
            self.coroutines[query.number] = query
            return True
        if not self.plain:
            self.since = query.since
        self.plain[query.number] = query
        return True

    def take_back(self) -> list[Query]:
        """All plain queries that it has not begun, and now will not."""
        return list(self._taken(self._plain_chute, self.plain))

    def take_back_coroutines(self) -> list[Query]:
        """The same of coroutines."""
        return list(self._taken(self._coroutine_chute, self.coroutines))

    def cancel(self, query: Query) -> None:
        """Ask a coroutine to end."""
        self._line.send(Kind.CANCEL, query.number)

    def leave(self) -> None:
        """It has nothing to do: let it end in its own way."""
        self.is_ending = self.on_purpose = True
        self._plain_chute.say_leave()

    def kill(self) -> None:
        """End it, and what it has started."""
        self.is_ending = True
        if self._process.returncode is None:
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _taken(self, chute: Chute, kept: dict[int, Query]) -> Iterator[Query]:
        for number in chute.take_back():
            query = kept.pop(number, None)
            if query is None:  # the word to leave
                continue
            if len(query.argument) > INLINE_BYTES:
                self._line.send(Kind.FORGET, number)
            query.hand = None
            yield query

    def _heard(self, kind: int, number: int, body: bytes) -> None:
        if kind >= Kind.RESULT:
            self._answer(kind, number, body)
        elif kind == Kind.READY:
            self.is_ready, self.ready_at = True, monotonic()
            self._owner.ready(self)
        elif kind == Kind.BROKEN:
            self._owner.broken(self, body.decode(errors="replace"))

    def _answer(self, kind: int, number: int, body: bytes) -> None:
        if (query := self.plain.pop(number, None)) is not None:
            now = monotonic()
            self.ahead = min(2 * self.ahead, MOST_AHEAD) if now - self.since < QUICK else 1
            self.since = now
        elif (query := self.coroutines.get(number)) is not None:
            self.deaf_until = 0.0
            if kind == Kind.TOLD:
                query.told = True
                return
            del self.coroutines[number]
        else:
            return
        self._owner.answered(query, kind, body)

    def _hung_up(self) -> None:
        """It is ending, or has closed what is not its own: then it is of no use."""
        self.is_ending = True
        if self._hanging is None:
            self._hanging = self._loop.call_later(_LAST_SECONDS, self.kill)

    def _ended(self) -> None:
        self._loop.remove_reader(self._exit)
        os.close(self._exit)
        self._line.read_rest()
        if self._hanging is not None:
            self._hanging.cancel()
        self.kill()  # before it is reaped, so that its number is still its own
        code = self._process.wait()
        self._owner.gone(self, code)
        self._line.close()
        self._plain_chute.close()
        self._coroutine_chute.close()
