"""What a proxy says in exceptions of its own, and what it makes of others'."""

import pytest

from framehub.codes import ErrorCode
from framehub.rpc import texts
from framehub.rpc.messages import MAX_TEXT


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        (b"", b""),
        (b"plain", b"plain"),
        (b"line\n\ttab", b"line\n\ttab"),
        (b"\x1b[2J\x00\x07\x08\r\x7f", b"[2J"),
        ("bell \x9b31m \x85".encode(), b"bell 31m "),
        (b"\xc2\x01\x9b", b""),
        ("деление".encode(), "деление".encode()),
        (b"half \xd0", b"half "),
        (b"\xed\xa0\x80 surrogate", b" surrogate"),
    ],
)
def test_a_text_becomes_utf_8_without_control_characters(text: bytes, tidied: bytes) -> None:
    """[RPC-2.6] Also of those beyond ASCII, and of pieces that would become one."""
    assert texts.tidy(text) == tidied


@pytest.mark.parametrize("size", [MAX_TEXT - 1, MAX_TEXT, MAX_TEXT + 1, 10 * MAX_TEXT])
def test_a_text_is_cut(size: int) -> None:
    """[RPC-2.6]"""
    assert texts.tidy(b"x" * size) == b"x" * min(size, MAX_TEXT)


def test_a_cut_text_ends_with_a_whole_character() -> None:
    assert texts.tidy("€".encode() * MAX_TEXT) == "€".encode() * (MAX_TEXT // 3)


def test_the_reason_of_a_bad_request_is_tidied_too() -> None:
    assert texts.bad_request("type '\x1b' is none") == b"bad request: type '' is none"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (texts.BUSY_QUEUE, ErrorCode.BUSY),
        (texts.BUSY_BYTES, ErrorCode.BUSY),
        (texts.BUSY_QUESTIONS, ErrorCode.BUSY),
        (texts.BUSY_STOPPING, ErrorCode.BUSY),
        (texts.CANCELLED, ErrorCode.CANCELLED),
        (b"timeout", ErrorCode.TIMEOUT),
        (b"bad argument: no number", ErrorCode.BAD_REQUEST),
        (texts.bad_request("why"), ErrorCode.BAD_REQUEST),
        (texts.ID_REUSED, ErrorCode.BAD_REQUEST),
        (texts.POISON, ErrorCode.FUNCTION_FAILED),
        (texts.UNKNOWN_OUTCOME, ErrorCode.FUNCTION_FAILED),
        (b"division by zero", ErrorCode.FUNCTION_FAILED),
        (b"", ErrorCode.FUNCTION_FAILED),
    ],
)
def test_a_text_has_a_code(text: bytes, code: ErrorCode) -> None:
    assert texts.error_code(text) is code
