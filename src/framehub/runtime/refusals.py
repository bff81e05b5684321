"""Why a request is not begun, and what whoever asked is told."""

from typing import Final

from framehub.codes import ErrorCode
from framehub.errors import FramehubError
from framehub.mfp.envelope import BadEnvelope
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


def refusal_code(exc: BaseException) -> ErrorCode | None:
    """How a refusal is called; None if it is something else."""
    return _CODES.get(type(exc))
