"""What one gateway is told: addresses, app, journal."""

from dataclasses import dataclass, field
from pathlib import Path

from framehub.errors import ConfigError
from framehub.mfp.settings import Settings
from framehub.runtime.address import is_loopback

DEFAULT_LISTEN = "127.0.0.1:7400"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """Checked when made; ``ConfigError`` names what is wrong."""

    listen: str = DEFAULT_LISTEN
    """HOST:PORT of the WebSocket listener; port 0 picks a free one."""
    app: str | None = None
    """MODULE:NAME of an ``Endpoints`` object."""
    journal: Path | None = Path("journal")
    """Directory of this node's journal; None records nothing."""
    node: str | None = None
    """This gateway's name in its journal; made up once if not given."""
    origins: tuple[str, ...] = ()
    """Origins of web pages that may connect, beside the gateway's own."""
    allow_anonymous: bool = False
    """Let anybody connect from other machines."""
    drain: float = 10.0
    """Seconds that running requests have to finish when the gateway stops."""
    mfp: Settings = field(default_factory=Settings)
    """Limits and times of each MFP connection."""

    def __post_init__(self) -> None:
        host, _ = split_address(self.listen)
        if not self.allow_anonymous and not is_loopback(host):
            raise ConfigError(
                f"listen = {self.listen}: anybody who reaches this address could connect. Listen on"
                " 127.0.0.1, or say that this is meant (--allow-anonymous)"
            )
        if self.drain < 0:
            raise ConfigError(f"drain must not be below zero, not {self.drain!r}")


def split_address(address: str) -> tuple[str, int]:
    """HOST and PORT of ``HOST:PORT``; an IPv6 host stands in brackets."""
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise ConfigError(f"address {address!r}: want HOST:PORT, like {DEFAULT_LISTEN}")
    return host, int(port)
