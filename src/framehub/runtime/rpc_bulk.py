"""Many calls of one function, for code without an event loop: batches of arguments, a window under way.

    with BulkCalls(address, b"square", ids=ids) as calls:
        batch = calls.submit([b"1", b"2"], first=0)      returns at once
        batch.wait()                                     [b"1", b"4"], or a ``Failure`` in place of a result

``ids`` names each call by its row, argument and attempt; the same name means the same call (groups of
spec/rpc.md, section 3.5). The proxy's BUSY is waited out, with fewer calls under way for a while; so they are
where answers take long, lest those that wait for a slow function come to the end of their time.

All answers are kept, also that there was no worker. Whoever does again what another failed to do (``before``)
passes such answers of the other's by asking for the next attempt, so that no name ever means two calls.
"""

import asyncio
import math
import random
import threading
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeAlias

import uvloop

from framehub.errors import ConnectFailed, LimitExceeded
from framehub.rpc.client import Ending, Settled
from framehub.rpc.texts import BUSY, CANCELLED, OF_THE_MOMENT
from framehub.runtime.curve import CurveClient
from framehub.runtime.rpc_client import ClientLink

Ids: TypeAlias = Callable[[int, bytes, int], bytes]
"""From row, argument and attempt to a query's id."""
CONNECT_TIMEOUT: Final = 30.0
"""Seconds in which there must have been a connection, else nothing of it makes sense."""
_BACK_OFF: Final = (0.05, 2.0)
_CALM: Final = 0.2
"""Seconds for which one BUSY counts: those that come together mean one thing."""
_FEW: Final = 4
"""Calls under way, at least, however busy the proxy and slow the function is."""
_AT_FIRST: Final = 32
"""Calls under way before anything is known; as many more as are soon answered."""
_SOON: Final = 0.1
"""The part of a call's time in which an answer is soon: where they take longer, fewer are to wait."""


class Failure(NamedTuple):
    """Why a call has no result."""

    text: str


Outcome: TypeAlias = bytes | Failure | None


class Batch:
    """Calls that were submitted together; what was ``None`` or a ``Failure`` then is so at the end."""

    def __init__(self, outcomes: list[Outcome], left: int) -> None:
        self._outcomes = outcomes
        self._left = left
        self._error: Exception | None = None
        self._done = threading.Event()
        if not left:
            self._done.set()

    def wait(self) -> Sequence[Outcome]:
        """All results, once the last one is there.

        Raises:
            ConnectFailed: no proxy is there.
        """
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._outcomes

    def settle(self, index: int, outcome: Outcome) -> None:
        """One more is known."""
        self._outcomes[index] = outcome
        self._left -= 1
        if not self._left:
            self._done.set()

    def fail(self, error: Exception) -> None:
        """There will be none."""
        self._error = error
        self._done.set()


class _Call:
    __slots__ = ("argument", "attempt", "batch", "busy", "deadline", "failures", "index", "passed", "row")

    def __init__(self, batch: Batch, index: int, row: int, argument: bytes) -> None:
        self.batch = batch
        self.index = index
        self.row = row
        self.argument = argument
        self.attempt = 0
        self.busy = 0
        self.failures = 0
        self.passed = 0
        """Answers of the moment that may have been those of others."""
        self.deadline: float | None = None


class _Link(ClientLink):
    """A link whose queries are named by others, and whose answers go to one listener."""

    def __init__(self, address: str, on_settled: Callable[[list[Settled]], None], **others: Any) -> None:
        super().__init__(address, **others)
        self._on_settled = on_settled
        self._machine.extended = True  # a proxy that knows no CANCEL ignores it

    def ask(self, queries: list[tuple[bytes, bytes, float]], function: bytes, now: float) -> None:
        """Ask for the function with each id and argument, each with so many seconds."""
        for id_, argument, timeout in queries:
            self._machine.ask(id_, function, argument, now=now, timeout=timeout)
        self._begin()

    def tell(self, parts: list[bytes]) -> None:
        """Say something that has no answer."""
        self._machine.out.append(parts)
        self._begin()

    def _settle(self) -> None:
        if self._machine.settled:
            settled, self._machine.settled = self._machine.settled, []
            self._on_settled(settled)


class BulkCalls:
    """A thread with an event loop and one link; ``close`` it in the end."""

    def __init__(
        self,
        address: str,
        function: bytes,
        *,
        ids: Ids,
        window: int = 256,
        timeout: float = 300.0,
        retries: int = 0,
        before: int = 0,
        curve: CurveClient | None = None,
    ) -> None:
        """``timeout`` is for each call; one that fails is tried ``retries`` times more, under other ids.

        ``before`` says how many others may have tried to do the same, and met that there was no worker.
        """
        self.address = address
        self._function = function
        self._ids = ids
        self._window = window
        self._timeout = timeout
        self._retries = retries
        self._before = before
        self._allowed = float(min(window, _AT_FIRST))
        self._was_busy = False
        self._calm_at = 0.0
        self._waiting: deque[_Call] = deque()
        self._under_way: dict[bytes, _Call] = {}
        self._later = 0
        self._broken: Exception | None = None
        self._closed = False
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="framehub-calls", daemon=True)
        self._thread.start()
        self._link = self._do(self._open, curve)

    def submit(self, arguments: Sequence[Outcome], *, first: int) -> Batch:
        """Call the function with each argument that is bytes; rows are counted from ``first``."""
        own = list(arguments)
        calls = sum(isinstance(argument, bytes) for argument in own)
        batch = Batch(own, calls)
        if calls:
            self._loop.call_soon_threadsafe(self._add, batch, list(own), first)
        return batch

    def tell(self, *parts: bytes) -> None:
        """Send a message that is not answered."""
        self._do(self._link.tell, list(parts))

    def reach(self, timeout: float) -> None:
        """Until there is a connection.

        Raises:
            ConnectFailed: there was none in so many seconds.
        """
        waiting = asyncio.wait_for(self._link.reached.wait(), timeout)
        try:
            asyncio.run_coroutine_threadsafe(waiting, self._loop).result()
        except TimeoutError:
            raise ConnectFailed(self.address, self._absence()) from None

    def close(self) -> None:
        """End the link and the thread. What is under way runs on: whoever asks the same again gets it."""
        if not self._closed:
            self._closed = True
            self._do(self._link.close)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- in the thread ---------------------------------------------------------------------------------

    def _do(self, what: Callable[..., Any], *args: Any) -> Any:
        async def done() -> Any:
            return what(*args)

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result()

    def _open(self, curve: CurveClient | None) -> _Link:
        self._loop.call_later(CONNECT_TIMEOUT, self._look)
        return _Link(self.address, self._settled, curve=curve)

    def _add(self, batch: Batch, arguments: list[Outcome], first: int) -> None:
        if self._broken is not None:
            batch.fail(self._broken)
            return
        for index, argument in enumerate(arguments):
            if isinstance(argument, bytes):
                try:
                    self._link.check_size(self._function, argument)
                except LimitExceeded as exc:
                    batch.settle(index, Failure(str(exc)))
                    continue
                self._waiting.append(_Call(batch, index, first + index, argument))
        self._pump()

    def _pump(self) -> None:
        waiting, under_way = self._waiting, self._under_way
        room = math.ceil(self._allowed) - len(under_way) - self._later
        if not waiting or room <= 0:
            return
        now = monotonic()
        queries = []
        for _ in range(min(room, len(waiting))):
            call = waiting.popleft()
            if call.deadline is None:
                call.deadline = now + self._timeout
            id_ = self._ids(call.row, call.argument, call.attempt)
            under_way[id_] = call
            queries.append((id_, call.argument, max(0.001, call.deadline - now)))
        self._link.ask(queries, self._function, now)

    def _settled(self, settled: list[Settled]) -> None:
        now = monotonic()
        for one in settled:
            call = self._under_way.pop(one.id, None)
            if call is None:
                continue
            if one.ending is Ending.RESULT:
                call.batch.settle(call.index, one.body[0])
                self._adapt(call, now)
            elif one.ending is Ending.EXCEPTION and _is_to_wait(one.body[0]):
                self._wait_out(call, one.body[0])
            elif call.passed < self._before and _is_of_the_moment(one):
                call.passed += 1
                call.attempt += 1
                self._waiting.appendleft(call)
            else:
                self._failed(call, _text(one, self._absence()))
        self._pump()

    def _adapt(self, call: _Call, now: float) -> None:
        """More calls under way where answers come soon, fewer where they do not."""
        left = (call.deadline or now) - now
        if left < (1 - _SOON) * self._timeout:
            self._allowed = max(self._allowed - 1, min(_FEW, self._window))
        elif self._allowed < self._window:
            more = 1 / self._allowed if self._was_busy else 1.0
            self._allowed = min(self._allowed + more, self._window)

    def _wait_out(self, call: _Call, text: bytes) -> None:
        """The proxy has too much to do: ask again. Another asker gave this up: ask for the next attempt."""
        now = monotonic()
        if call.deadline is not None and now >= call.deadline:
            self._failed(call, text.decode(errors="replace"))
            return
        if text == CANCELLED:
            call.attempt += 1
        elif now >= self._calm_at:
            self._calm_at = now + _CALM
            self._was_busy = True
            self._allowed = max(self._allowed / 2, min(_FEW, self._window))
        call.busy += 1
        self._again_later(call, min(_BACK_OFF[0] * 2**call.busy, _BACK_OFF[1]))

    def _failed(self, call: _Call, text: str) -> None:
        if call.failures >= self._retries:
            call.batch.settle(call.index, Failure(text))
            return
        call.failures += 1
        call.attempt += 1
        call.deadline = None
        self._again_later(call, min(_BACK_OFF[0] * 2**call.failures, _BACK_OFF[1]))

    def _again_later(self, call: _Call, seconds: float) -> None:
        self._later += 1
        self._loop.call_later(seconds * (0.5 + 0.5 * random.random()), self._again, call)  # noqa: S311

    def _again(self, call: _Call) -> None:
        self._later -= 1
        self._waiting.appendleft(call)
        self._pump()

    def _look(self) -> None:
        """Whether anybody was ever there."""
        if self._link.reached.is_set() or self._closed:
            return
        self._broken = ConnectFailed(self.address, self._absence())
        for call in (*self._waiting, *self._under_way.values()):
            call.batch.fail(self._broken)
        self._waiting.clear()
        self._under_way.clear()

    def _absence(self) -> str:
        if self._link.reached.is_set():
            return f"no answer from {self.address} in time"
        if self._link.refused:
            return "we are not let in there: wrong keys, or not a proxy of functions"
        return "no proxy is there; `framehub serve` starts one"


def _is_to_wait(text: bytes) -> bool:
    return text.startswith(BUSY) or text == CANCELLED


def _is_of_the_moment(settled: Settled) -> bool:
    if settled.ending is Ending.EXCEPTION:
        return settled.body[0] in OF_THE_MOMENT
    return settled.ending is Ending.UNKNOWN_FUNCTION


def _text(settled: Settled, absence: str) -> str:
    if settled.ending is Ending.EXCEPTION:
        return settled.body[0].decode(errors="replace") or "it does not say why"
    if settled.ending is Ending.UNKNOWN_FUNCTION:
        return "no worker offers it any more"
    return f"timeout: {absence}"
