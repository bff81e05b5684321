"""What two peers agree on when a connection opens."""

from math import inf, nan
from typing import Any

import pytest

from framehub.errors import ConfigError
from framehub.mfp.checksum import Checksums
from framehub.mfp.limits import Limits
from framehub.mfp.negotiation import (
    HELLO,
    RESERVED,
    SUBPROTOCOLS,
    Told,
    choose,
    hello,
    subprotocol,
    understand,
)
from framehub.mfp.settings import Settings


def test_each_name_stands_for_a_mode_and_an_algorithm() -> None:
    assert {name: (agreed.mode, agreed.algorithm) for name, agreed in SUBPROTOCOLS.items()} == {
        "mfp": ("off", "crc32"),
        "mfp.crc32": ("flag", "crc32"),
        "mfp.xor8": ("flag", "xor8"),
        "mfp.crc32.always": ("always", "crc32"),
        "mfp.xor8.always": ("always", "xor8"),
    }


@pytest.mark.parametrize(
    ("offered", "taken"),
    [([], None), (["soap"], None), (["soap", "mfp.xor8", "mfp"], "mfp.xor8"), (["MFP"], None)],
)
def test_the_first_known_name_is_taken(offered: list[str], taken: str | None) -> None:
    assert choose(offered) == taken


def test_where_everything_is_verified_a_name_without_checksums_is_passed_over() -> None:
    """[MFP-3.8]"""
    assert choose(["mfp", "mfp.xor8"], summed=True) == "mfp.xor8"
    assert choose(["mfp"], summed=True) is None


@pytest.mark.parametrize(
    ("checksum", "name"), [(None, "mfp"), ("crc32", "mfp.crc32"), ("xor8.always", "mfp.xor8.always")]
)
def test_a_checksum_names_its_subprotocol(checksum: str | None, name: str) -> None:
    assert subprotocol(checksum) == name


@pytest.mark.parametrize("checksum", ["md5", "always", "crc32.never"])
def test_a_checksum_that_is_none_is_refused_with_those_that_are(checksum: str) -> None:
    with pytest.raises(
        ConfigError, match=r"is none of None, 'crc32', 'xor8', 'crc32\.always', 'xor8\.always'"
    ):
        subprotocol(checksum)


def test_the_hello_tells_version_checksums_time_limits_and_link() -> None:
    settings = Settings(checksums=Checksums("always", "xor8"), request_timeout=2.5, max_files=3)
    assert hello(settings, link="ab") == {
        "version": 1,
        "checksum": {"mode": "always", "algorithm": "xor8"},
        "request_timeout": 2.5,
        "limits": {
            "frame_bytes": 2**24,
            "payload_bytes": 2**24,
            "files": 3,
            "requests": 1024,
            "announced": 64,
            "streams": 64,
            "waiting_bytes": 2**24,
        },
        "link": "ab",
    }


def test_the_hello_goes_to_an_endpoint_of_the_library() -> None:
    assert HELLO.startswith(RESERVED)


def test_a_hello_is_understood_as_it_was_meant() -> None:
    """[MFP-9.4]"""
    settings = Settings(request_timeout=2.5, max_files=3)
    told = understand(hello(settings, link="00ff00ff00ff00ff"))
    assert told == Told(2.5, Limits.of(settings), "00ff00ff00ff00ff")


@pytest.mark.parametrize("data", [None, "hello", 7, [], {}, {"version": 1}])
def test_a_hello_that_says_nothing_changes_nothing(data: Any) -> None:
    """[MFP-9.4]"""
    assert understand(data) == Told(inf, Limits(), "")


@pytest.mark.parametrize("seconds", [0, -1, -0.5, nan, True, "30", None, [30]])
def test_a_time_that_makes_no_sense_is_ignored(seconds: Any) -> None:
    """[MFP-9.4]"""
    assert understand({"request_timeout": seconds, "link": 5}) == Told()
    assert understand({"request_timeout": 7}).request_timeout == 7


@pytest.mark.parametrize("link", ["", "00FF00FF00FF00FF", "00ff00ff00ff00f", "00ff00ff00ff00ff\n", 5, None])
def test_a_link_without_a_proper_name_is_ignored(link: Any) -> None:
    """[MFP-9.4]"""
    assert understand({"link": link}).link == ""
