"""What a URL says, and what it may not."""

import pytest

from framehub.errors import ConfigError
from framehub.mfp.checksum import BY_FLAG, OFF, Checksums
from framehub.mfp.settings import Settings
from framehub.runtime.address import Address, is_loopback, parse


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("ws://127.0.0.1:7/mfp", Address(scheme="ws", host="127.0.0.1", port=7, path="/mfp")),
        ("wss://example.com", Address(scheme="wss", host="example.com", port=7400, path="/")),
        ("tcp://127.0.0.1:7405", Address(scheme="tcp", host="127.0.0.1", port=7405)),
        ("tcp://[::1]:0/", Address(scheme="tcp", host="::1", port=0)),
        ("unix:///run/my%20hub.sock", Address(scheme="unix", path="/run/my hub.sock")),
        (
            "unix:///run/hub?checksum=xor8.always&timeout=2.5",
            Address(
                scheme="unix",
                path="/run/hub",
                query="checksum=xor8.always&timeout=2.5",
                checksum="xor8.always",
                timeout=2.5,
            ),
        ),
    ],
)
def test_an_address_is_understood(url: str, address: Address) -> None:
    assert parse(url) == address
    assert parse(address.url) == address


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("http://127.0.0.1:1/mfp", "want ws://HOST:PORT/PATH, wss://.*, tcp://HOST:PORT or unix:///PATH"),
        ("127.0.0.1:7400", "want ws://"),
        ("ws:///mfp", "want ws://HOST:PORT/PATH"),
        ("ws://127.0.0.1:1/mfp?x=1", "without a query"),
        ("ws://127.0.0.1:1/mfp#x", "want ws://"),
        ("ws://127.0.0.1:99999/mfp", "[Pp]ort"),
        ("ws://[::1/mfp", "IPv6"),
        ("tcp://127.0.0.1", "want tcp://HOST:PORT"),
        ("tcp://:7405", "want tcp://HOST:PORT"),
        ("tcp://127.0.0.1:7405/mfp", "want tcp://HOST:PORT"),
        ("unix://run/hub.sock", "want unix:///PATH"),
        ("unix:///run/", "want unix:///PATH"),
        ("unix:///run/%00", "want unix:///PATH"),
        ("tcp://127.0.0.1:1?checksums=crc32", "'checksums' is none of checksum and timeout"),
        ("tcp://127.0.0.1:1?checksum", "want KEY=VALUE&KEY=VALUE of checksum and timeout"),
        ("tcp://127.0.0.1:1?timeout=1&timeout=2", "said twice"),
        ("tcp://127.0.0.1:1?checksum=md5", "checksum 'md5' is none of off, crc32, xor8, crc32.always"),
        ("tcp://127.0.0.1:1?checksum=", "checksum '' is none of off"),
        *[(f"tcp://127.0.0.1:1?timeout={bad}", "seconds above zero") for bad in ("0", "-1", "soon", "inf")],
    ],
)
def test_an_address_that_cannot_be_is_refused(url: str, text: str) -> None:
    """[MFP-9.4.5]"""
    with pytest.raises(ConfigError, match=text):
        parse(url)


@pytest.mark.parametrize(
    "url", ["ws://host:1/?token=secret", "ws://me:secret@host:1/", "tcp://secret@host:1"]
)
def test_a_refusal_repeats_no_secret(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(url)
    assert "secret" not in str(caught.value)
    assert "host:1" in str(caught.value)


@pytest.mark.parametrize(
    ("query", "asked", "checksums", "carried"),
    [
        ("", None, BY_FLAG, False),
        ("", "crc32", BY_FLAG, True),
        ("?checksum=crc32", None, BY_FLAG, True),
        ("?checksum=xor8", "xor8", Checksums("flag", "xor8"), True),
        ("?checksum=xor8.always", None, Checksums("always", "xor8"), True),
        ("?checksum=off", None, OFF, False),
    ],
)
def test_a_byte_streams_checksums_come_from_its_url(
    query: str, asked: str | None, checksums: Checksums, carried: bool
) -> None:
    """[MFP-9.4.4]"""
    settings, carries = parse(f"tcp://127.0.0.1:1{query}").settings(Settings(), asked)
    assert (settings, carries) == (Settings(checksums=checksums), carried)


def test_a_byte_streams_timeout_comes_from_its_url() -> None:
    settings, _ = parse("tcp://127.0.0.1:1?timeout=7").settings(Settings(max_files=3))
    assert settings == Settings(max_files=3, request_timeout=7.0)


def test_a_url_and_an_argument_may_not_disagree() -> None:
    address = parse("tcp://127.0.0.1:1?checksum=crc32")
    with pytest.raises(ConfigError, match="disagree"):
        address.settings(Settings(), "xor8")
    with pytest.raises(ConfigError, match="none of None"):
        address.settings(Settings(), "md5")


def test_only_this_machine_reaches_a_loopback_address() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "192.168.1.1", "::", "example.com")))
