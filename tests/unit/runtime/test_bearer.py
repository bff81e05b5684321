"""A token in a header or in a sub-protocol, and what is none."""

from base64 import urlsafe_b64encode
from typing import Any

import pytest
from picows import WSUpgradeRequest

from framehub.errors import ConfigError
from framehub.runtime import bearer
from framehub.runtime.entrance import Refused

BEARER = "Authorization: Bearer {}"
OFFER = "Sec-WebSocket-Protocol: {}"


def asked(*lines: str) -> WSUpgradeRequest:
    request = WSUpgradeRequest()
    request.headers = type(_headers())()
    for line in lines:
        name, _, value = line.partition(": ")
        request.headers.add(name, value)
    return request


def _headers() -> Any:
    from picows import WSUpgradeResponse

    return WSUpgradeResponse.create_101_response().headers


def encoded(token: bytes) -> str:
    return "token." + urlsafe_b64encode(token).decode().rstrip("=")


@pytest.mark.parametrize(
    ("lines", "token", "offered"),
    [
        ([], None, []),
        ([BEARER.format("abc")], "abc", []),
        (["authorization: bearer   a.b-c_d~e+f/g=="], "a.b-c_d~e+f/g==", []),
        (["Authorization: Basic dTpw"], None, []),
        ([OFFER.format(f"mfp, {encoded(b'abc')}")], "abc", ["mfp"]),
        ([OFFER.format(encoded(b"a")), OFFER.format("hub.v2,hub.v1")], "a", ["hub.v2", "hub.v1"]),
        ([OFFER.format(encoded(b"abcd"))], "abcd", []),
        ([OFFER.format(encoded(b"ab")), BEARER.format("ab")], "ab", []),
        ([BEARER.format("x" * 4089)], "x" * 4089, []),
        ([OFFER.format(encoded(b"x" * 3067))], "x" * 3067, []),
    ],
)
def test_a_token_is_read_from_either_place(lines: list[str], token: str | None, offered: list[str]) -> None:
    """[MFP-9.7.1]"""
    assert bearer.read(asked(*lines)) == (token, offered)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([BEARER.format("a"), BEARER.format("a")], "more than one Authorization"),
        ([BEARER.format("a"), "Authorization: Basic dTpw"], "more than one Authorization"),
        ([BEARER.format("")], "want Authorization: Bearer TOKEN"),
        ([BEARER.format("two words")], "want Authorization: Bearer TOKEN"),
        ([BEARER.format("\u00fc")], "want Authorization: Bearer TOKEN"),
        ([BEARER.format("x" * 4090)], "over 4096 bytes"),
        ([OFFER.format(f"{encoded(b'a')}, {encoded(b'a')}")], "more than one token"),
        ([OFFER.format(encoded(b"a")), BEARER.format("b")], "differ"),
        ([OFFER.format("token.")], "base64url"),
        ([OFFER.format("token.YQ==")], "base64url"),
        ([OFFER.format("token.YR")], "base64url"),
        ([OFFER.format("token.Y")], "base64url"),
        ([OFFER.format("token.YW$j")], "base64url"),
        ([OFFER.format(encoded(b"two words"))], "base64url"),
        ([OFFER.format(encoded("\u00fc".encode()))], "base64url"),
        ([OFFER.format(encoded(b"x" * 3068))], "base64url"),
    ],
)
def test_what_cannot_be_a_token_is_refused_and_not_repeated(lines: list[str], text: str) -> None:
    """[MFP-9.7.2]"""
    with pytest.raises(Refused) as caught:
        bearer.read(asked(*lines))
    assert caught.value.status == 400
    assert text in caught.value.text
    assert "YW" not in caught.value.text


def test_what_one_side_writes_the_other_reads() -> None:
    for token in ("a", "abc~", "x" * 100):
        assert bearer.read(asked(*(f"{k}: {v}" for k, v in bearer.header(token).items())))[0] == token
        assert bearer.read(asked(OFFER.format(bearer.subprotocol(token))))[0] == token


@pytest.mark.parametrize("token", ["", "two words", "a\r\nX-Evil: 1", "secr\u00e9t", "x" * 4090])
def test_a_client_sends_nothing_that_could_be_read_as_something_else(token: str) -> None:
    with pytest.raises(ConfigError, match="want up to 4089 ASCII letters") as caught:
        bearer.header(token)
    assert not token or token not in str(caught.value)
