"""What whoever asks is told when nothing is begun."""

from asyncio import CancelledError

import pytest

from framehub.codes import ErrorCode
from framehub.errors import EndpointError, LimitExceeded
from framehub.mfp.envelope import BadEnvelope
from framehub.runtime.accounts import OverLimit
from framehub.runtime.refusals import REFUSALS, Busy, UnknownEndpoint, is_told, told


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (BadEnvelope("no JSON"), ErrorCode.BAD_REQUEST),
        (UnknownEndpoint("it"), ErrorCode.UNKNOWN_ENDPOINT),
        (Busy("stopping"), ErrorCode.BUSY),
        (OverLimit("over 5"), ErrorCode.LIMIT),
    ],
)
def test_each_has_a_code(refusal: Exception, code: ErrorCode) -> None:
    assert is_told(refusal)
    assert told(refusal, "e1")["code"] == code
    assert isinstance(refusal, REFUSALS)


def test_an_application_says_what_it_wants() -> None:
    assert is_told(EndpointError({"why": 1}))
    assert told(EndpointError({"why": 1}), "e1") == {"why": 1}


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (ValueError("secret"), ErrorCode.INTERNAL),
        (CancelledError("secret"), ErrorCode.CANCELLED),
        (LimitExceeded("bytes", allowed=1, got=2), ErrorCode.LIMIT),
    ],
)
def test_of_a_failure_nothing_is_told_but_where_to_look(failure: BaseException, code: ErrorCode) -> None:
    assert not is_told(failure)
    error = told(failure, "e1")
    assert error["code"] == code
    assert "secret" not in error["message"]
    assert "e1" in error["message"] or code is ErrorCode.LIMIT
