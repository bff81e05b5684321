"""What a payload says to an application. Most is in the vectors."""

from typing import Any

import pytest

from framehub.codes import ErrorCode
from framehub.errors import LocalProtocolError
from framehub.mfp import envelope
from framehub.mfp.envelope import BadEnvelope


@pytest.mark.parametrize("endpoint", ["", 7, None])
def test_an_endpoint_is_a_name(endpoint: Any) -> None:
    """[MFP-7.2]"""
    with pytest.raises(LocalProtocolError, match="an endpoint is a name"):
        envelope.encode(endpoint)


def circle() -> list[Any]:
    """A list that holds itself."""
    one: list[Any] = []
    one.append(one)
    return one


@pytest.mark.parametrize("data", [object(), "\ud800", circle()], ids=["object", "surrogate", "circle"])
def test_what_json_cannot_carry_is_not_sent(data: Any) -> None:
    with pytest.raises(LocalProtocolError, match="'chat' cannot be sent as JSON"):
        envelope.encode("chat", data)


def test_a_number_that_json_lacks_is_sent_as_null() -> None:
    assert envelope.encode("chat", float("nan")) == b'{"endpoint":"chat","data":null}'


@pytest.mark.parametrize("levels", [64, 100_000])
def test_deep_nesting_is_read_or_refused_and_nothing_else(levels: int) -> None:
    payload = b'{"endpoint":"a","data":' + b"[" * levels + b"]" * levels + b"}"
    if levels == 64:
        assert envelope.decode(payload).endpoint == "a"
        return
    with pytest.raises(BadEnvelope):
        envelope.decode(payload)


def test_files_can_be_named_before_they_come() -> None:
    """[MFP-7.4]"""
    payload = envelope.encode("album", names={3: ("me.png", "image/png")})
    assert envelope.decode_ahead(payload).names == {3: ("me.png", "image/png")}
    with pytest.raises(BadEnvelope, match="exactly the attached files"):
        envelope.decode(payload)


def test_a_file_without_a_name_has_an_empty_one() -> None:
    """[MFP-7.4] Announced files need not be named."""
    assert envelope.decode_ahead(b'{"endpoint":"a"}').names[7] == ("", "")


def test_no_names_make_no_filemap() -> None:
    assert envelope.encode("a", names={}) == b'{"endpoint":"a"}'


def test_an_error_of_the_library_has_a_code_of_the_list() -> None:
    """[MFP-7.6]"""
    error = envelope.library_error(ErrorCode.BUSY, "later")
    assert error == {"code": "busy", "message": "later"}
    assert envelope.error_name(error) == "busy"


@pytest.mark.parametrize(
    "error",
    [17, None, {"code": "busy"}, {"code": "mine", "message": ""}, {"code": ["busy"], "message": ""}],
)
def test_any_other_error_is_the_applications(error: Any) -> None:
    assert envelope.error_name(error) == "application"
