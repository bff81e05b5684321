"""Fields of JSON that are not to be written down, replaced in place (spec/journal.md, 3.10). Pure.

A path names fields: ``password``, ``user.card``, ``items[].secret``, ``[1]``; ``$names`` are the names of
the files that an envelope has. What it names is written over, in as many bytes as it had, so that every
length and place in a frame stays what it was: a text becomes ``"***"``, a number 0, an object ``{}``, and
spaces follow.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from framehub.errors import ConfigError

Step: TypeAlias = str | int | None
"""A field's name, a place in a list, or every place."""
Path: TypeAlias = tuple[Step, ...]
Span: TypeAlias = tuple[int, int]

NAMES: Final = "$names"
_FILE_NAMES: Final[Path] = ("filemap", None, 1)
_STEP: Final = re.compile(r"([^.\[\]$\s][^.\[\]]*)?((?:\[\d{0,9}\])*)")
_PLACE: Final = re.compile(r"\[(\d*)\]")
_SPACE: Final = re.compile(rb"[ \t\n\r]*")
_TEXT: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_PLAIN: Final = re.compile(rb"-?\d[\d.eE+-]*|true|false|null")
_MARKS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


class NotJson(ValueError):
    """It cannot be found out where the fields are."""


def parse(text: str) -> Path:
    """A path as a person writes it.

    Raises:
        ConfigError: that is none, and what one looks like.
    """
    if text == NAMES:
        return _FILE_NAMES
    path: list[Step] = []
    for number, step in enumerate(text.split(".")):
        found = _STEP.fullmatch(step)
        name, places = found.groups() if found else (None, "")
        if not found or (name is None and (number or not places)):
            form = 'password, user.card, items[].secret, [1], or "$names" for the names of files'
            raise ConfigError(f"{text!r} is no path to a field: want one like {form}")
        path += [] if name is None else [name]
        path += [int(place) if place else None for place in _PLACE.findall(places)]
    return tuple(path)


def in_value(data: bytes, paths: Iterable[Path], *, strict: bool) -> list[Span]:
    """Where the fields are in one JSON value.

    ``strict``: where a path begins with a name and the value is no object, all of it is meant. Arguments of a
    function may stand in a list, or alone.

    Raises:
        NotJson: it is none.
    """
    return list(_found(data, [path for path in paths if path != _FILE_NAMES], strict=strict))


def in_envelope(data: bytes, paths: Iterable[Path], *, strict: bool) -> list[Span]:
    """Where they are in an envelope of MFP: in its data, its error, and the names of its files.

    Texts of errors may repeat what was sent: they are left out too.

    Raises:
        NotJson: it is none.
    """
    mine = [path for path in paths if path != _FILE_NAMES]
    spans: list[Span] = []
    for name, begin, end in _members(data, _skip_space(data, 0)):
        value = data[begin:end]
        if name == "data":
            inside = in_value(value, mine, strict=strict)
        elif name == "error":
            told = [path for path in mine if path != ("code",)]  # the journal has it as a column
            inside = in_value(value, [*told, ("message",)], strict=True)
        elif name == "filemap" and _FILE_NAMES in paths:
            inside = list(_walk(value, 0, [_FILE_NAMES[1:]])[1])
        else:
            continue
        spans += [(begin + one, begin + other) for one, other in inside]
    return spans


def written_over(data: bytes, spans: Iterable[Span]) -> bytes:
    """The same with these values replaced; as long as before."""
    changed = bytearray(data)
    for begin, end in spans:
        first = data[begin : begin + 1]
        if first == b'"':
            instead = b'"' + b"***"[: end - begin - 2] + b'"'
        elif first == b"{":
            instead = b"{}"
        elif first == b"[":
            instead = b"[]"
        else:
            instead = b"null" if first in b"tfn" else b"0"
        changed[begin:end] = instead.ljust(end - begin)
    return bytes(changed)


# --- inside --------------------------------------------------------------------------------------------


def _found(data: bytes, paths: list[Path], *, strict: bool) -> Iterator[Span]:
    begin = _skip_space(data, 0)
    named = any(path and isinstance(path[0], str) for path in paths)
    if strict and named and data[begin : begin + 1] != b"{":
        end = _skip(data, begin)
        spans = [(begin, end)]
    else:
        end, spans = _walk(data, begin, paths)
    if _skip_space(data, end) != len(data):
        raise NotJson("something follows the value")
    yield from spans


def _walk(data: bytes, at: int, paths: list[Path]) -> tuple[int, list[Span]]:
    """The end of the value that begins here, and where these paths lead in it."""
    if not paths:
        return _skip(data, at), []
    if () in paths:
        end = _skip(data, at)
        return end, [(at, end)]
    first = data[at : at + 1]
    end = _skip(data, at)
    spans: list[Span] = []
    if first == b"{":
        for name, begin, _ in _members(data, at):
            onward = [path[1:] for path in paths if path[0] == name]
            spans += _walk(data, begin, onward)[1] if onward else ()
    elif first == b"[":
        for number, begin in enumerate(_items(data, at)):
            onward = [path[1:] for path in paths if path[0] is None or path[0] == number]
            spans += _walk(data, begin, onward)[1] if onward else ()
    return end, spans


def _members(data: bytes, at: int) -> Iterator[tuple[str, int, int]]:
    """Name, begin and end of each member of the object that begins here."""
    if data[at : at + 1] != b"{":
        raise NotJson("no object")
    at = _skip_space(data, at + 1)
    while data[at : at + 1] != b"}":
        key = _TEXT.match(data, at)
        if key is None:
            raise NotJson("no name of a member")
        colon = _skip_space(data, key.end())
        if data[colon : colon + 1] != b":":
            raise NotJson("no colon after a name")
        begin = _skip_space(data, colon + 1)
        end = _skip(data, begin)
        yield _name(key.group()), begin, end
        at = _next(data, end, b"}")


def _items(data: bytes, at: int) -> Iterator[int]:
    """Where each item of the array that begins here begins."""
    at = _skip_space(data, at + 1)
    while data[at : at + 1] != b"]":
        yield at
        at = _next(data, _skip(data, at), b"]")


def _next(data: bytes, at: int, last: bytes) -> int:
    """Behind the comma, or at the end."""
    at = _skip_space(data, at)
    if data[at : at + 1] == b",":
        return _skip_space(data, at + 1)
    if data[at : at + 1] != last:
        raise NotJson("no comma")
    return at


def _skip(data: bytes, at: int) -> int:
    """The end of the value that begins here."""
    first = data[at : at + 1]
    if first in (b"{", b"["):
        depth = 0
        for mark in _MARKS.finditer(data, at):
            sign = mark.group()
            depth += (sign in b"[{") - (sign in b"]}") if len(sign) == 1 else 0
            if not depth:
                return mark.end()
        raise NotJson("an object or array without an end")
    found = (_TEXT if first == b'"' else _PLAIN).match(data, at)
    if found is None:
        raise NotJson("no value")
    return found.end()


def _skip_space(data: bytes, at: int) -> int:
    space = _SPACE.match(data, at)
    assert space is not None
    return space.end()


def _name(key: bytes) -> str:
    try:
        return str(json.loads(key))
    except ValueError as exc:
        raise NotJson("a name that is no text") from exc
