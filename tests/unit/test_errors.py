"""The error tree: drawn as it is, and with texts made from fields."""

import inspect
import re

import pytest

from framehub import errors
from framehub.errors import (
    ChecksumFailed,
    ConnectFailed,
    ConnectionClosed,
    EndpointError,
    FramehubError,
    LimitExceeded,
    LocalProtocolError,
    MalformedFrame,
    RemoteProtocolError,
)


def drawn_parents() -> dict[str, str]:
    """Child and parent as the drawing in the docstring has them."""
    parents: dict[str, str] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"((?:[│ ]   |├── |└── )*)([A-Z][A-Za-z]+)\b", line):
            depth = len(found[1]) // 4
            above = [*above[:depth], found[2]]
            if depth:
                parents[found[2]] = above[depth - 1]
    return parents


def test_the_drawing_is_the_tree() -> None:
    classes = {
        name: value.__bases__[0].__name__
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, FramehubError) and value is not FramehubError
    }
    assert drawn_parents() == classes


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (LimitExceeded("files", allowed=2, got=3), "files: 3 is over the limit of 2"),
        (
            LimitExceeded("files", allowed=2, got=3, hint="max_files"),
            "files: 3 is over the limit of 2 (max_files)",
        ),
        (MalformedFrame("id 0 is not used", offset=1), "id 0 is not used at byte 1"),
        (ConnectFailed("ws://x", "nobody there"), "cannot connect to ws://x: nobody there"),
        (ConnectionClosed(), "connection closed (1006)"),
        (ConnectionClosed(1000, "bye"), "connection closed (1000: bye)"),
        (EndpointError({"code": "busy", "message": "later"}), "busy: later"),
        (EndpointError({"message": "later"}), "later"),
        (EndpointError({"reason": "x"}), "{'reason': 'x'}"),
        (EndpointError(17), "17"),
    ],
)
def test_a_text_says_what_the_fields_say(error: FramehubError, text: str) -> None:
    assert str(error) == text


def test_whose_fault_it_was_is_in_the_class() -> None:
    assert issubclass(LimitExceeded, LocalProtocolError)
    assert issubclass(ChecksumFailed, RemoteProtocolError)
    assert not issubclass(LocalProtocolError, RemoteProtocolError)
