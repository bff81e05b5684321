"""Addresses of gateways: one, or several."""

import pytest

from framehub.errors import ConfigError
from framehub.runtime.addresses import Addresses, several


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ((None, None, "tcp://a:1"), ("tcp://a:1",)),
        (("tcp://b:1", "tcp://a:1"), ("tcp://b:1",)),
        (([], "tcp://a:1, tcp://b:2,"), ("tcp://a:1", "tcp://b:2")),
        ((["tcp://a:1", "tcp://b:2"],), ("tcp://a:1", "tcp://b:2")),
    ],
)
def test_the_first_that_says_anything_counts(
    told: tuple[Addresses | None, ...], found: tuple[str, ...]
) -> None:
    assert several(*told) == found


@pytest.mark.parametrize("told", ["tcp://a:1,tcp://a:1", ["tcp://a:1", "tcp://a:1"]])
def test_no_address_is_there_twice(told: Addresses) -> None:
    with pytest.raises(ConfigError, match="connect to each address once: tcp://a:1 is there twice"):
        several(told)


def test_nothing_is_no_address() -> None:
    with pytest.raises(ConfigError, match="no address in ' , '"):
        several(" , ")
