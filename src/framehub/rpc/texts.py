"""What a proxy says in RESPONSE_EXCEPTION of its own (spec/rpc.md, section 8). Pure.

The first word is for programs, the rest for people.
"""

from typing import Final

from framehub.codes import ErrorCode
from framehub.rpc.messages import MAX_TEXT

BUSY_QUEUE: Final = b"BUSY: too many queries are waiting; it was not run, ask again later"
BUSY_BYTES: Final = (
    b"BUSY: the arguments of waiting queries fill the memory allowed; it was not run, ask again later"
)
BUSY_WAIT: Final = b"BUSY: it would wait too long for a worker; it was not run, ask again later"
BUSY_QUESTIONS: Final = b"BUSY: too many questions in a second"
BUSY_STOPPING: Final = b"BUSY: the proxy is stopping; it was not run, ask again later"
BUSY: Final = b"BUSY"
BUSY_GROUPS: Final = b"BUSY: too many groups of queries; it was not run, ask again later"
BUSY_TEXTS: Final = frozenset((BUSY_QUEUE, BUSY_BYTES, BUSY_WAIT, BUSY_STOPPING, BUSY_GROUPS))
"""What a proxy says to queries that it does not take."""
ID_REUSED: Final = b"id reused: another query of this client had the same id"
CANCELLED: Final = b"cancelled"
GROUP_ENDED: Final = b"cancelled: its group was ended"
NO_WORKER: Final = b"no worker: its worker died and no other offers the function"
UNKNOWN_OUTCOME: Final = b"outcome unknown: its worker died after it had begun, and it may not be run twice"
UNKNOWN_ANSWER: Final = (
    b"outcome unknown: it was begun before, its answer is lost, and it may not be run twice"
)
CODERS_CHANGED: Final = b"bad request: the function's coders changed while the query waited; ask again"
POISON: Final = b"poison: every process or worker that got it died; it is not run again"
BAD_REQUEST: Final = b"bad request: "
OF_THE_MOMENT: Final = frozenset((NO_WORKER, CODERS_CHANGED))
"""What says nothing about another time that the same is asked."""

_CONTROL: Final = dict.fromkeys(code for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n")
_CODES: Final = (
    (BUSY, ErrorCode.BUSY),
    (CANCELLED, ErrorCode.CANCELLED),
    (b"timeout", ErrorCode.TIMEOUT),
    (b"bad argument", ErrorCode.BAD_REQUEST),
    (BAD_REQUEST, ErrorCode.BAD_REQUEST),
    (ID_REUSED, ErrorCode.BAD_REQUEST),
)


def bad_request(reason: str) -> bytes:
    """What the sender of a malformed message is told, if it left an id."""
    return tidy(BAD_REQUEST + reason.encode())


def tidy(text: bytes) -> bytes:
    """A text that any terminal can show: UTF-8, no control characters but tabs and line ends, bounded."""
    return text[:MAX_TEXT].decode(errors="ignore").translate(_CONTROL).encode()


def error_code(text: bytes) -> ErrorCode:
    """How the journal and MFP call an exception with this text."""
    for beginning, code in _CODES:
        if text.startswith(beginning):
            return code
    return ErrorCode.FUNCTION_FAILED
