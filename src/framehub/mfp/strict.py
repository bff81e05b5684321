"""What a fast JSON decoder lets pass and an envelope may not have (spec/mfp.md, section 7). Pure.

Both functions take JSON that was decoded already: that its numbers, strings and brackets are right is known.
"""

from typing import Final

import jiter
import numpy as np

MAX_DEPTH: Final = 64
"""Arrays and objects inside each other, inside the envelope's own object."""

_QUOTE: Final = ord('"')
_NO_MARKS: Final = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_STEP: Final = np.zeros(256, np.int32)
_STEP[[ord("["), ord("{")]] = 1
_STEP[[ord("]"), ord("}")]] = -1


def fault(payload: bytes) -> str | None:
    """Why ``payload`` is not strict JSON, or nothing: a key that stands twice, bytes that are not UTF-8."""
    try:
        jiter.from_json(payload, catch_duplicate_keys=True, allow_inf_nan=False)
    except ValueError as exc:
        why = str(exc)
        return why if len(why) <= 100 else f"{why[:100]}..."  # it may quote a key of any length
    return None


def is_too_deep(payload: bytes) -> bool:
    """Whether something in ``payload`` is nested deeper than ``MAX_DEPTH`` in its outermost object."""
    if payload.count(91) + payload.count(123) <= MAX_DEPTH + 1:  # [ and {
        return False
    if b"\\" in payload:
        payload = payload.replace(rb"\\", b"").replace(rb"\"", b"")
    marks = np.frombuffer(payload.translate(None, _NO_MARKS), np.uint8)
    steps = _STEP[marks]
    in_string = np.cumsum(marks == _QUOTE) & 1
    steps[in_string == 1] = 0
    return int(np.cumsum(steps).max()) > MAX_DEPTH + 1
