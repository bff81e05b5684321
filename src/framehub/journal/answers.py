"""What came of asking, so that two answers can be compared: recorded ones with today's. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

EXCERPT: Final = 300
"""Characters of an answer that are shown."""
ANY: Final = "*"

Path = tuple[str, ...]
"""Where something stands in an answer: ``data``, then keys; ``*`` is every one of them."""


class Attached(NamedTuple):
    """A file of an answer."""

    data: bytes
    name: str
    type: str


class Answer(Struct, frozen=True):
    """What came: two are the same if both fields are, and ``text`` is for people."""

    kind: str
    digest: bytes = b""
    text: str = ""

    def is_as(self, other: "Answer") -> bool:
        """Whether the same came."""
        return (self.kind, self.digest) == (other.kind, other.digest)


def of_reply(said: Mapping[str, Any], files: Mapping[int, Attached], ignored: Iterable[Path] = ()) -> Answer:
    """An answer of MFP: ``said`` is its data or its error, by that name."""
    told: dict[str, Any] = {
        **said,
        "files": {
            str(key): {"name": file.name, "type": file.type, "sha256": sha256(file.data).hexdigest()}
            for key, file in files.items()
        },
    }
    told = _left(told, ignored)
    if not told.get("files"):
        told.pop("files", None)
    return _answer("error" if "error" in said else "answer", told)


def of_result(payload: bytes, coder: str | None, ignored: Iterable[Path] = ()) -> Answer:
    """A function's result: JSON by what it says, everything else by its bytes."""
    told: dict[str, Any] = {"bytes": len(payload), "sha256": sha256(payload).hexdigest()}
    if coder == "json":
        with suppress(msgspec.DecodeError, RecursionError):  # else it is bytes
            return _answer("answer", _left({"data": msgspec.json.decode(payload)}, ignored))
    return _answer("answer", told)


def of_exception(text: str, ignored: Iterable[Path] = ()) -> Answer:
    """A function that failed, and what it said."""
    return _answer("error", _left({"error": {"message": text}}, ignored))


def of_failure(kind: str, text: str = "") -> Answer:
    """No answer, and in words why."""
    return Answer(kind, text.encode(errors="backslashreplace"), text[:EXCERPT])


def without(value: Any, path: Sequence[str]) -> Any:
    """The same value without what stands there, if anything does; of a list, null is left there."""
    key, *rest = path
    if isinstance(value, dict):
        hit = [one for one in value if key in (ANY, one)]
        if rest:
            return value | {one: without(value[one], rest) for one in hit}
        return {one: held for one, held in value.items() if one not in hit}
    if isinstance(value, list):
        return [
            (without(one, rest) if rest else None) if key in (ANY, str(at)) else one
            for at, one in enumerate(value)
        ]
    return value


def _left(told: dict[str, Any], ignored: Iterable[Path]) -> dict[str, Any]:
    for path in ignored:
        told = without(told, path)
    return told


def _answer(kind: str, told: dict[str, Any]) -> Answer:
    text = msgspec.json.encode(told, order="deterministic")
    shown = text.decode()
    return Answer(kind, sha256(text).digest(), shown if len(shown) <= EXCERPT else shown[:EXCERPT] + "...")
