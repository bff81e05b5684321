"""``Functions`` for code without an event loop: one runs in a thread of its own."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import uvloop

from framehub.errors import ConnectionClosed

if TYPE_CHECKING:
    from framehub.runtime.functions import Functions

_T = TypeVar("_T")


class BlockingFunctions:
    """What ``Functions`` does, each call waiting for its end; any number of threads may call at once."""

    def __init__(self, make: "Callable[[], Functions]") -> None:
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="framehub-functions", daemon=True)
        self._thread.start()
        self._closed = False
        self._functions = make()
        try:
            self._run(self._functions.__aenter__())
        except BaseException:
            self.close()
            raise

    def call(self, name: str, /, *args: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        """Call a function by its name and give its result; see ``Functions.call``."""
        return self._run(self._functions.call(name, *args, timeout=timeout, **kwargs))

    def call_bytes(self, name: str, argument: bytes, *, timeout: float | None = None) -> bytes:
        """Call a function with an argument that is bytes already, and give the result's bytes."""
        return self._run(self._functions.call_bytes(name, argument, timeout=timeout))

    def coders(self, name: str, *, timeout: float | None = None) -> tuple[str, str]:
        """The identities of a function's coders."""
        return self._run(self._functions.coders(name, timeout=timeout))

    def list(self, *, timeout: float | None = None) -> list[dict[str, Any]]:
        """All functions that are offered now."""
        return self._run(self._functions.list(timeout=timeout))

    def describe(self, name: str, *, timeout: float | None = None) -> dict[str, Any]:
        """One function as in ``list``."""
        return self._run(self._functions.describe(name, timeout=timeout))

    def reach(self, timeout: float) -> None:
        """Until a connection has been made; see ``Functions.reach``."""
        self._run(self._functions.reach(timeout))

    def close(self) -> None:
        """End the connection and the thread."""
        if self._closed:
            return
        self._run(self._functions.close())
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        if self._closed:
            coroutine.close()
            raise ConnectionClosed(1000, "closed by its owner")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl-C here is a cancellation there
            raise
