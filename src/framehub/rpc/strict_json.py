"""What a fast JSON library lets pass and a ``json`` argument or result may not have (spec/rpc.md). Pure."""

import re
from collections.abc import Iterable
from math import isfinite
from typing import Any, Final

import jiter
import msgspec

MAX_DEPTH: Final = 64
"""Arrays and objects inside each other."""

BINARY: Final = (bytes, bytearray, memoryview)
SCALARS: Final = frozenset((str, int, bool, type(None)))
"""Types whose values need no second look."""

CONTAINERS: Final = frozenset((dict, list, tuple))
_MANY: Final = 32
"""Items that are looked at all at once."""
_NO_MARKS: Final = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_SQUARE: Final = bytes.maketrans(b"{}", b"[]")
_STRING: Final = re.compile(rb'"[^"]*"')
_LONGEST: Final = 100


def fault(data: bytes, most: int = MAX_DEPTH) -> str | None:
    """Why JSON that was decoded already is not strict, or nothing: a key that stands twice, or too deep."""
    opened = data.count(b"{")
    if opened and (why := _repeated(data)) is not None:
        return why
    if opened + data.count(b"[") > most and _is_deeper(data, most):
        return f"nested deeper than {most} levels"
    return None


def _repeated(data: bytes) -> str | None:
    try:
        jiter.from_json(data, catch_duplicate_keys=True, allow_inf_nan=False, cache_mode="none")
    except ValueError as exc:
        return cut(str(exc))
    return None


def cut(why: str) -> str:
    """A reason of bearable length: it may quote what a peer sent."""
    return why if len(why) <= _LONGEST else f"{why[:_LONGEST]}..."


def _is_deeper(data: bytes, most: int) -> bool:
    if b"\\" in data:
        data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    marks = data.translate(None, _NO_MARKS).replace(b'""', b"")
    if b'"' in marks:  # a text with brackets in it
        marks = _STRING.sub(b"", data.translate(None, _NO_MARKS))
    marks = marks.translate(_SQUARE)
    for _ in range(most):  # each round takes away the innermost level
        marks = marks.replace(b"[]", b"")
    return marks != b""


def is_plain(value: dict[Any, Any] | list[Any] | tuple[Any, ...], levels: int = MAX_DEPTH) -> bool:
    """Whether JSON can carry ``value`` for sure: a quick look; ``misfit`` says why not, or knows better."""
    items: Any = value
    if type(value) is dict:
        items = value.values()
        for key in value:
            if type(key) is not str:
                return False
    if len(items) > _MANY:
        kinds = set(map(type, items))
        if kinds <= SCALARS:
            return True
        if kinds == {float}:
            return all(map(isfinite, items))
    for item in items:
        kind = type(item)
        if kind in SCALARS:
            continue
        if kind is float:
            if not isfinite(item):
                return False
        elif kind not in CONTAINERS or levels == 1 or not is_plain(item, levels - 1):
            return False
    return True


def misfit(value: Any, depth: int = 0) -> str | None:
    """Why JSON cannot carry ``value``, with the place, or nothing."""
    kind = type(value)
    if kind in SCALARS:
        return None
    if kind is float:
        return None if isfinite(value) else f"expected a finite number, got {value}: JSON has no such number"
    if isinstance(value, BINARY):
        return "bytes are no JSON: attach a File, or use the coder msgpack or bytes"
    if kind is dict:
        return _misfit_in(value.items(), depth) or _key_misfit(value)
    if kind is list or kind is tuple:
        return _misfit_in(enumerate(value), depth)
    try:
        plain = as_plain(value)
    except (TypeError, ValueError, RecursionError, OverflowError) as exc:
        return cut(str(exc))
    return misfit(plain, depth)


def as_plain(value: Any) -> Any:
    """A value in the types JSON has; bytes stay bytes. Raise as msgspec does for what it cannot write."""
    return msgspec.to_builtins(value, builtin_types=BINARY, enc_hook=foreign)


def foreign(value: Any) -> Any:
    """What msgspec does not know: numpy's numbers and arrays are written as Python's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"cannot write {type(value).__name__}")


def _misfit_in(items: Iterable[tuple[Any, Any]], depth: int) -> str | None:
    if depth == MAX_DEPTH:
        return f"nested deeper than {MAX_DEPTH} levels"
    for place, item in items:
        if (why := misfit(item, depth + 1)) is not None:
            return within(place, why)
    return None


def within(place: object, why: str) -> str:
    """A reason with the place it applies to in front: ``[3]: why``, ``[0][3]: why``."""
    return f"[{place!r}]{why}" if why.startswith("[") else f"[{place!r}]: {why}"


def _key_misfit(value: dict[Any, Any]) -> str | None:
    if set(map(type, value)) <= {str}:
        return None
    try:
        written = msgspec.to_builtins(dict.fromkeys(value), str_keys=True)
    except (TypeError, ValueError) as exc:
        return f"a key: {exc}"
    return None if len(written) == len(value) else "two keys are written alike"
