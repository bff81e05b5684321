"""Why a request is not begun, and what whoever asked is told."""

from asyncio import CancelledError, current_task
from typing import Any, Final

from framehub.codes import ErrorCode
from framehub.errors import EndpointError, FramehubError, LimitExceeded
from framehub.mfp.envelope import BadEnvelope, library_error
from framehub.runtime.accounts import OverLimit

OVERLOADED: Final = "too many requests; this one was not begun, ask again later"


class UnknownEndpoint(FramehubError):
    """Nobody registered this name."""

    def __init__(self, endpoint: str, *, streamed: bool = False) -> None:
        super().__init__(f"no endpoint {endpoint!r} here{'; it takes streams' if streamed else ''}")


class Busy(FramehubError):
    """Nothing new is taken: this side is stopping, or has too much to do."""


REFUSALS: Final = (BadEnvelope, UnknownEndpoint, Busy, OverLimit)
_CODES: Final[dict[type[BaseException], ErrorCode]] = {
    BadEnvelope: ErrorCode.BAD_REQUEST,
    UnknownEndpoint: ErrorCode.UNKNOWN_ENDPOINT,
    Busy: ErrorCode.BUSY,
    OverLimit: ErrorCode.LIMIT,
}


def is_told(exc: BaseException) -> bool:
    """Whether whoever asked is told all of it: an error of the application's, or a refusal."""
    return isinstance(exc, EndpointError) or type(exc) in _CODES


def told(exc: BaseException, exchange: str) -> Any:
    """The error that answers for an exception; of a failure only where to look for it."""
    if isinstance(exc, EndpointError):
        return exc.value
    if (code := _CODES.get(type(exc))) is not None:
        return library_error(code, str(exc))
    if isinstance(exc, CancelledError):
        return library_error(ErrorCode.CANCELLED, f"the handler was cancelled; exchange {exchange}")
    if isinstance(exc, LimitExceeded):
        return library_error(ErrorCode.LIMIT, f"the answer is too big: {exc}")
    return library_error(ErrorCode.INTERNAL, f"the handler failed; exchange {exchange}")


def is_cancelled(exc: BaseException) -> bool:
    """Whether the running task was told to end, and not only something that it waited for."""
    task = current_task()
    return isinstance(exc, CancelledError) and task is not None and task.cancelling() > 0
