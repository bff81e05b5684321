"""``Endpoints``: names and the Python functions behind them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from framehub.errors import ConfigError
from framehub.mfp.negotiation import RESERVED
from framehub.runtime.calls import Call, RawCall
from framehub.runtime.streams import InStream
from framehub.runtime.tally import Tally

Handler: TypeAlias = Callable[[Call], Any | Awaitable[Any]]
RawHandler: TypeAlias = Callable[[RawCall], bytes | Awaitable[bytes | None] | None]
StreamHandler: TypeAlias = Callable[[InStream], Awaitable[None]]
_H = TypeVar("_H", bound=Handler)
_R = TypeVar("_R", bound=RawHandler)
_S = TypeVar("_S", bound=StreamHandler)


class Endpoints:
    """A registry of handlers, served by ``listen``, ``connect`` or ``framehub serve --app``.

    A handler is a plain or an async function of one ``Call``. What it returns answers a request; a plain
    function runs on the event loop itself, so it should be quick.
    """

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        self._streams: dict[str, StreamHandler] = {}
        self._raw: RawHandler | None = None
        self.tally: Tally | None = None
        """Where requests to them are counted, if at all."""

    def on(self, endpoint: str) -> Callable[[_H], _H]:
        """Register the decorated function for messages and requests to ``endpoint``."""
        _check_free(endpoint, self._handlers)

        def register(handler: _H) -> _H:
            self._handlers[endpoint] = handler
            return handler

        return register

    def on_stream(self, endpoint: str) -> Callable[[_S], _S]:
        """Register the decorated async function for streams to ``endpoint``."""
        _check_free(endpoint, self._streams)

        def register(handler: _S) -> _S:
            self._streams[endpoint] = handler
            return handler

        return register

    def on_raw(self, handler: _R) -> _R:
        """Register the decorated function for payloads that are no envelope."""
        if self._raw is not None:
            raise ConfigError("there is a raw handler already")
        self._raw = handler
        return handler

    def find(self, endpoint: str) -> Handler | None:
        """The handler of ``endpoint``."""
        return self._handlers.get(endpoint)

    def find_stream(self, endpoint: str) -> StreamHandler | None:
        """The handler of streams to ``endpoint``."""
        return self._streams.get(endpoint)

    @property
    def raw(self) -> RawHandler | None:
        """The handler of bare payloads."""
        return self._raw

    @property
    def names(self) -> list[str]:
        """Every endpoint with a handler, sorted."""
        return sorted({*self._handlers, *self._streams})


def _check_free(endpoint: str, taken: Mapping[str, object]) -> None:
    if not endpoint or not isinstance(endpoint, str):
        raise ConfigError(f"an endpoint is a name, not {endpoint!r}")
    if endpoint.startswith(RESERVED):
        raise ConfigError(f"endpoint {endpoint!r}: names beginning with {RESERVED!r} are the library's own")
    if endpoint in taken:
        raise ConfigError(f"endpoint {endpoint!r} has a handler already")
