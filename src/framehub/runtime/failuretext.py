"""What the caller of a function is told when it fails: the kind of exception and its message, nothing else.

No traceback, no place in the server's file system, nothing that a terminal would obey, and not too long.
"""

import re
from functools import cache
from pathlib import Path
from typing import Final

MAX_TEXT_BYTES: Final = 64 * 1024
_CUT: Final = " ... (cut)"
_ESCAPES: Final = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-_]")
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_PATH: Final = re.compile(
    r"(?:file://|(?<![\w.:/~-]))/(?P<top>[\w.+@-]+)/(?:[^\s'\"`<>|:;,()\[\]{}/]*/)*(?P<name>[^\s'\"`<>|:;,()\[\]{}/]*)"
)


def failure_text(exc: BaseException) -> str:
    """``ValueError: the message``."""
    try:
        message = str(exc)
    except Exception:  # an exception of the user's may fail at anything
        message = ""
    name = type(exc).__name__
    return plain(f"{name}: {message}" if message else name)


def plain(text: str) -> str:
    """The same without control characters and places of this machine, cut to ``MAX_TEXT_BYTES``."""
    text = text[: 2 * MAX_TEXT_BYTES].encode(errors="replace").decode()
    text = _CONTROL.sub("", _ESCAPES.sub("", text))
    text = _PATH.sub(_last_name, text)
    data = text.encode()
    if len(data) <= MAX_TEXT_BYTES:
        return text
    return data[: MAX_TEXT_BYTES - len(_CUT)].decode(errors="ignore") + _CUT


def _last_name(found: "re.Match[str]") -> str:
    """A path of this machine becomes its last name; what only looks like one is left alone."""
    if found["top"] not in _top_names():
        return found[0]
    return found["name"] or found[0].rstrip("/").rpartition("/")[2]


@cache
def _top_names() -> frozenset[str]:
    return frozenset(entry.name for entry in Path("/").iterdir())
