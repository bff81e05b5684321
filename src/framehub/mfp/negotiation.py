"""What two peers agree on when a connection opens (spec/mfp.md, section 9). Pure.

A WebSocket sub-protocol names the checksums: ``mfp`` (off), ``mfp.crc32``, ``mfp.xor8`` (by flag), and either
of the last two with ``.always``. A peer that offered one is told the rest in a first message, the hello.
"""

import re
from collections.abc import Sequence
from math import inf
from typing import Any, Final

from msgspec import Struct

from framehub.errors import ConfigError
from framehub.mfp.checksum import ALGORITHMS, OFF, Checksums
from framehub.mfp.limits import Limits
from framehub.mfp.settings import Settings

HELLO: Final = "framehub.hello"
RESERVED: Final = "framehub."
VERSION: Final = 1
_LINK: Final = re.compile("[0-9a-f]{16}")

SUBPROTOCOLS: Final[dict[str, Checksums]] = {
    "mfp": OFF,
    **{f"mfp.{name}": Checksums("flag", name) for name in ALGORITHMS},  # type: ignore[arg-type]
    **{f"mfp.{name}.always": Checksums("always", name) for name in ALGORITHMS},  # type: ignore[arg-type]
}


def choose(offered: Sequence[str], *, summed: bool = False) -> str | None:
    """The first sub-protocol offered that we speak; ``summed``: only one with checksums will do."""
    known = [name for name in offered if name in SUBPROTOCOLS]
    return next((name for name in known if not summed or SUBPROTOCOLS[name].mode != "off"), None)


def subprotocol(checksum: str | None) -> str:
    """The sub-protocol for ``connect(checksum=...)``: None, ``crc32``, ``xor8``, or one + ``.always``.

    Raises:
        ConfigError: no such checksum.
    """
    name = f"mfp.{checksum}" if checksum else "mfp"
    if name not in SUBPROTOCOLS:
        known = ", ".join(repr(known.removeprefix("mfp.")) for known in SUBPROTOCOLS if "." in known)
        raise ConfigError(f"checksum {checksum!r} is none of None, {known}")
    return name


def hello(settings: Settings, *, link: str) -> dict[str, Any]:
    """What a listener tells a peer that offered a sub-protocol."""
    return {
        "version": VERSION,
        "checksum": {"mode": settings.checksums.mode, "algorithm": settings.checksums.algorithm},
        "request_timeout": settings.request_timeout,
        "limits": Limits.of(settings).plain(),
        "link": link,
    }


class Told(Struct, frozen=True):
    """What a hello says that can be used; nonsense counts as not said."""

    request_timeout: float = inf
    limits: Limits = Limits()
    link: str = ""


NOTHING_TOLD: Final = Told()


def understand(data: Any) -> Told:
    """Read the ``data`` of a hello: a client uses what makes sense of it and does without the rest."""
    if not isinstance(data, dict):
        return NOTHING_TOLD
    seconds: Any = data.get("request_timeout")
    link: Any = data.get("link")
    return Told(
        request_timeout=seconds if type(seconds) in (int, float) and seconds > 0 else inf,
        limits=Limits.understood(data.get("limits")),
        link=link if isinstance(link, str) and _LINK.fullmatch(link) else "",
    )
