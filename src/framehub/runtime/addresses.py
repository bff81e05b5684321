"""One gateway, or several: the addresses that a worker or a service connects to."""

from collections.abc import Sequence
from typing import TypeAlias

from framehub.errors import ConfigError

Addresses: TypeAlias = str | Sequence[str]
"""An address, several, or several in one text with commas between them, as in the environment."""


def several(*told: Addresses | None) -> tuple[str, ...]:
    """The first that says anything.

    Raises:
        ConfigError: an address is there twice.
    """
    given = next(one for one in told if one)
    texts = given.split(",") if isinstance(given, str) else given
    found = tuple(text.strip() for text in texts if text.strip())
    twice = [address for address in found if found.count(address) > 1]
    if twice:
        raise ConfigError(f"connect to each address once: {twice[0]} is there twice")
    if not found:
        raise ConfigError(f"no address in {given!r}")
    return found
