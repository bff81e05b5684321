"""How calls of functions and streams of services ended: counted as they end, for metrics."""

from collections.abc import Mapping
from typing import Final

from framehub.codes import ErrorCode, HubError, HubState
from framehub.hub.switch import Switch
from framehub.rpc import words
from framehub.rpc.keeping import Ended
from framehub.rpc.proxy import Proxy
from framehub.rpc.texts import error_code
from framehub.runtime.tally import ABORTED, BUSY, ERROR, OK, TIMEOUT, Tally

_CALLS: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.BUSY: BUSY,
    ErrorCode.CANCELLED: ABORTED,
    ErrorCode.TIMEOUT: TIMEOUT,
}
_STREAMS: Final[Mapping[str, str]] = {
    HubState.LAST.name: OK,
    HubState.COMMAND.name: ABORTED,  # CLOSE
    HubError.CLIENT_DISCONNECT.name: ABORTED,
    HubError.BUSY.name: BUSY,
    HubError.TIMEOUT.name: TIMEOUT,
}


class CallEndings:
    """Counts what comes to an end at a proxy, by function; ``take`` it in after each batch."""

    def __init__(self, machine: Proxy) -> None:
        self.tally = Tally(self._is_offered)
        self._functions = machine.registry.functions
        self._ended: list[Ended] = []
        machine.keeping.ended = self._ended

    def take(self) -> None:
        """Count what has ended since."""
        for function, answer, seconds in self._ended:
            self.tally.ended(function.decode(errors="replace"), call_outcome(answer), seconds)
        self._ended.clear()

    def _is_offered(self, name: str) -> bool:
        function = self._functions.get(name.encode())
        return function is not None and bool(function.workers)


class StreamEndings:
    """Counts streams that end at a hub, by ``service.function``."""

    def __init__(self, switch: Switch) -> None:
        self.tally = Tally(lambda _name: True)  # only services that are there have streams
        self._ended = switch.endings()

    def take(self) -> None:
        """Count what has ended since."""
        for name, how, seconds in self._ended:
            self.tally.ended(name, _STREAMS.get(how, ERROR), seconds)
        self._ended.clear()


def call_outcome(answer: list[bytes]) -> str:
    """What this answer of a proxy says of a call."""
    if answer[0] == words.RESPONSE_RESULT:
        return OK
    if answer[0] == words.RESPONSE_EXCEPTION:
        return _CALLS.get(error_code(answer[2]), ERROR)
    return ERROR
