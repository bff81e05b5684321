"""Run one function on one argument: from bytes to bytes, or to the text of what went wrong."""

import logging
from collections.abc import Callable
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Struct

from framehub.errors import RemoteCallError
from framehub.runtime.failuretext import failure_text, plain
from framehub.runtime.functionset import Function

log = logging.getLogger("framehub.worker")

_QUIET: Final = 10.0
"""Seconds between two tracebacks of one function."""


class Outcome(Struct, frozen=True, gc=False):
    """How a query ended: a result, or the text of an exception."""

    result: bytes | None = None
    error: str = ""


CANCELLED: Final = Outcome(error="cancelled")


class Leftover(NamedTuple):
    """What a workshop that stops has not done."""

    waiting: list[bytes]
    """Never begun."""
    cut_off: list[bytes]
    """Begun, and not ended in time."""


class Named(Protocol):
    """A function, to the log."""

    @property
    def name(self) -> str:
        """What it is called."""


class Doing:
    """Runs functions, and tells the log why they fail: the whole traceback, though not every time."""

    def __init__(
        self,
        max_bytes: int,
        *,
        clock: Callable[[], float] = monotonic,
        setting: str = "max_message_bytes",
        log: logging.Logger = log,
    ) -> None:
        """``setting`` is where ``max_bytes`` comes from."""
        self._max_bytes = max_bytes
        self._setting = setting
        self._log = log
        self._clock = clock
        self._told: dict[str, float] = {}
        self._untold: dict[str, int] = {}

    def run(self, function: Function, argument: bytes) -> Outcome:
        """Call a plain function. Whatever it raises is an outcome."""
        try:
            args, kwargs = function.read(argument)
        except BaseException as exc:
            return self.refused("bad argument", function, exc)
        try:
            value = function.function(*args, **kwargs)
        except BaseException as exc:  # a function ends its own work, never ours
            return self.failed(function, exc)
        return self.written(function, value)

    async def run_async(self, function: Function, argument: bytes) -> Outcome:
        """Await a coroutine function.

        Raises:
            asyncio.CancelledError: the task was cancelled.
        """
        try:
            args, kwargs = function.read(argument)
        except BaseException as exc:
            return self.refused("bad argument", function, exc)
        try:
            value = await function.function(*args, **kwargs)
        except Exception as exc:
            return self.failed(function, exc)
        except (SystemExit, KeyboardInterrupt) as exc:
            return self.failed(function, exc)
        return self.written(function, value)

    def written(self, function: Function, value: Any) -> Outcome:
        """What it gave, as bytes."""
        try:
            result = function.write(value)
        except BaseException as exc:
            return self.refused("bad result", function, exc)
        if len(result) > self._max_bytes:
            return Outcome(
                error=f"bad result: {len(result)} bytes are over the limit of {self._max_bytes}"
                f" (setting {self._setting})"
            )
        return Outcome(result)

    def refused(self, what: str, function: Function, exc: BaseException) -> Outcome:
        """What came or what goes is not what the function's coder can carry."""
        if isinstance(exc, RemoteCallError):
            return Outcome(error=plain(f"{what}: {exc.message}"))
        self._tell(function, exc)
        return Outcome(error=plain(f"{what}: {failure_text(exc)}"))

    def failed(self, function: Named, exc: BaseException) -> Outcome:
        """It raised something."""
        self._tell(function, exc)
        return Outcome(error=failure_text(exc))

    def _tell(self, function: Named, exc: BaseException) -> None:
        now = self._clock()
        if now - self._told.get(function.name, -_QUIET) < _QUIET:
            self._untold[function.name] = self._untold.get(function.name, 0) + 1
            return
        self._told[function.name] = now
        others = self._untold.pop(function.name, 0)
        also = f" ({others} more failures since the last report)" if others else ""
        self._log.error("function %s failed%s", function.name, also, exc_info=exc)


def call(callback: Callable[..., None], *args: Any) -> None:
    """What a listener does wrong is its own affair."""
    try:
        callback(*args)
    except Exception:
        log.exception("a callback of the workshop failed")


def too_long(function: Function) -> str:
    """What is said of a call that was ended for its length."""
    return f"timeout: took longer than its max_runtime of {function.max_runtime:g} s"
