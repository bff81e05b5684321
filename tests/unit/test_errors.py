"""The error tree: drawn as it is, and with texts made from fields."""

import inspect
import re

import pytest

from framehub import errors
from framehub.codes import HubError
from framehub.errors import (
    ChecksumFailed,
    ConnectFailed,
    ConnectionClosed,
    EndpointError,
    FramehubError,
    HubStreamError,
    IncompatibleSpecs,
    LimitExceeded,
    LocalProtocolError,
    MalformedFrame,
    PeerMisbehaved,
    RemoteCallError,
    RemoteFunctionError,
    RemoteProtocolError,
    ServiceFailed,
    UnsupportedFunctionName,
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
        (HubStreamError(HubError.TIMEOUT, "no answer for 5 s"), "TIMEOUT: no answer for 5 s"),
        (HubStreamError(HubError.BUSY), "BUSY"),
        (ServiceFailed(b"no \xff"), "no \ufffd"),
        (ServiceFailed(), "the service failed and does not say why"),
        (RemoteCallError("f", "why"), "f: why"),
        (RemoteCallError("f"), "f"),
        (RemoteFunctionError("f", "ValueError: no"), "f failed: ValueError: no"),
        (RemoteFunctionError("f"), "f failed: it does not say why"),
        (UnsupportedFunctionName("f"), "no worker offers a function 'f'"),
        (IncompatibleSpecs("f", "Int", "json"), "function 'f': other workers offer it as Int -> json"),
        (
            IncompatibleSpecs("f", "", ""),
            "function 'f' cannot be registered: its name or its coders are not lawful",
        ),
    ],
)
def test_a_text_says_what_the_fields_say(error: FramehubError, text: str) -> None:
    assert str(error) == text


def test_whose_fault_it_was_is_in_the_class() -> None:
    assert issubclass(LimitExceeded, LocalProtocolError)
    assert issubclass(ChecksumFailed, RemoteProtocolError)
    assert not issubclass(LocalProtocolError, RemoteProtocolError)


def test_every_fault_of_the_peer_says_how_the_connection_is_closed() -> None:
    """[MFP-9.2.1]"""
    codes: dict[type[RemoteProtocolError], int] = {
        RemoteProtocolError: 1002,
        MalformedFrame: 1002,
        ChecksumFailed: 1007,
        PeerMisbehaved: 1008,
    }
    assert {kind: int(kind.close_code) for kind in codes} == codes


def test_misbehaviour_says_what_and_how_much() -> None:
    error = PeerMisbehaved("pings", most=100, seconds=1.0)
    assert str(error) == "more than 100 pings in 1 s"
    assert (error.what, error.most, error.seconds, error.why) == ("pings", 100, 1.0, "")


@pytest.mark.parametrize(
    "error",
    [
        ConnectionClosed(1001, "bye"),
        ConnectFailed("ws://here", "nobody there", status=503),
        HubStreamError(HubError.TIMEOUT, "no answer"),
        ServiceFailed(b"why"),
    ],
)
def test_an_error_is_the_same_again_without_its_traceback(error: FramehubError) -> None:
    with pytest.raises(type(error)) as raised:
        raise error
    assert raised.value.__traceback__ is not None
    again = error.again()
    assert again is not error
    assert (type(again), vars(again), str(again)) == (type(error), vars(error), str(error))
    assert again.__traceback__ is None
