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


WHERE = {
    "data": b'{"endpoint":"a","data":%b}',
    "error": b'{"endpoint":"a","error":%b}',
    "beside": b'{"endpoint":"a","other":%b}',
    "beside brackets in strings": b'{"endpoint":"a","b":"]]]]]}}}}\\"}]","data":%b,"c":"\\\\"}',
}


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"k":', b"}")])
@pytest.mark.parametrize("levels", [64, 65, 150, 250, 990, 100_000])
def test_nesting_is_read_up_to_64_levels(where: str, opening: bytes, closing: bytes, levels: int) -> None:
    """[MFP-7.7]"""
    payload = WHERE[where] % (opening * levels + b"1" + closing * levels)
    if levels == 64:
        assert envelope.decode(payload).endpoint == "a"
        return
    with pytest.raises(BadEnvelope):
        envelope.decode(payload)


def test_nesting_that_never_ends_is_refused() -> None:
    """[MFP-7.7]"""
    for opening in (b"[", b'{"k":', b'{"endpoint":"a","data":['):
        with pytest.raises(BadEnvelope):
            envelope.decode(opening * 100_000)


def test_many_brackets_side_by_side_are_not_deep() -> None:
    """[MFP-7.7]"""
    wide = b'{"endpoint":"a","data":[' + b'[{"k":[1]}],' * 500 + b'"[[[["]}'
    assert len(envelope.decode(wide).data) == 501


@pytest.mark.parametrize(
    "payload",
    [
        b'{"endpoint":"a","endpoint":"a"}',
        b'{"endpoint":"a","data":1,"data":1}',
        b'{"endpoint":"a","error":1,"error":1}',
        b'{"endpoint":"a","error":{"a":1,"a":1}}',
        b'{"endpoint":"a","filemap":[],"filemap":[]}',
        b'{"endpoint":"a","other":1,"other":1}',
        b'{"endpoint":"a","data":{"k":1,"k":2}}',
        b'{"endpoint":"a","data":{"k":1,"\\u006b":2}}',
        b'{"endpoint":"a","data":[{"k":{"l":1,"l":2}}]}',
        b'{"endpoint":"a","other":{"k":1,"k":2}}',
        b'{"endpoint":"a","data":{"k":{"a":1,"b":2},"k":{}}}',
        b'{"endpoint":"a","data":"' + b"long " * 50 + b'","other":{"k":1,"k":2}}',
    ],
)
def test_a_key_that_stands_twice_is_refused_wherever_it_is(payload: bytes) -> None:
    """[MFP-7.7]"""
    with pytest.raises(BadEnvelope, match="duplicate key"):
        envelope.decode(payload)


@pytest.mark.parametrize(
    "payload",
    [
        b'{"endpoint":"a:b:c"}',
        b'{"endpoint":"a","data":"10:30","other":":"}',
        b'{"endpoint":"a","data":{"k":{"k":{"k":1}},"l":[{"k":1},{"k":1}]}}',
        b'{"endpoint":"a","data":{},"error":{"code":"busy","message":":"}}',
        b'{"endpoint":"a","error":{"code":"busy","message":""}}',
        b'{"other":{"endpoint":"b"},"endpoint":"a"}',
    ],
)
def test_the_same_key_in_different_places_is_read(payload: bytes) -> None:
    """[MFP-7.7]"""
    assert envelope.decode(payload).endpoint.startswith("a")


@pytest.mark.parametrize("where", ["data", "error", "beside"])
@pytest.mark.parametrize(
    "value",
    [
        *(b"NaN", b"Infinity", b"-Infinity", b"1" * 4301, b"-" + b"1" * 4301, b"1" * 100_000, b"01"),
        *(b'"\\ud800"', b'"\\udc00x"', b'"\xed\xa0\x80"', b'"\xff"', b'"\x01"', b"'a'"),
        *(b"[1,]", b'{"a":1,}', b"", b"/**/1"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_what_is_no_json_is_refused_wherever_it_is(where: str, value: bytes) -> None:
    """[MFP-7.1] [MFP-7.7]"""
    with pytest.raises(BadEnvelope):
        envelope.decode(WHERE[where] % value)


@pytest.mark.parametrize("where", ["data", "error", "beside"])
@pytest.mark.parametrize(
    "value",
    [b"1" * 4300, b"-" + b"1" * 4299, b'"\\ud83d\\ude00"', b"1e300"],
    ids=lambda value: repr(value[:20]),
)
def test_what_is_just_allowed_is_read(where: str, value: bytes) -> None:
    """[MFP-7.7]"""
    assert envelope.decode(WHERE[where] % value).endpoint == "a"


@pytest.mark.parametrize("where", ["data", "error"])
def test_a_number_too_large_for_a_double_is_refused(where: str) -> None:
    with pytest.raises(BadEnvelope, match="out of range"):
        envelope.decode(WHERE[where] % b"1e400")


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00"])
def test_a_byte_order_mark_is_refused(mark: bytes) -> None:
    """[MFP-7.1]"""
    with pytest.raises(BadEnvelope):
        envelope.decode(mark + b'{"endpoint":"a"}')


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


@pytest.mark.parametrize("data", [b"x", bytearray(b"x"), memoryview(b"x")])
def test_bytes_are_sent_as_files_not_as_text_that_stands_for_them(data: Any) -> None:
    with pytest.raises(LocalProtocolError, match="bytes are no JSON; attach a File"):
        envelope.encode("chat", data)
