"""What whoever asks is told when nothing is begun."""

import pytest

from framehub.codes import ErrorCode
from framehub.mfp.envelope import BadEnvelope
from framehub.runtime.accounts import OverLimit
from framehub.runtime.refusals import REFUSALS, Busy, UnknownEndpoint, refusal_code


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
    assert refusal_code(refusal) is code
    assert isinstance(refusal, REFUSALS)


def test_all_else_has_none() -> None:
    assert refusal_code(ValueError("a handler's own")) is None
