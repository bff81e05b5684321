"""What one gateway is told: addresses, app, journal."""

from dataclasses import dataclass, field
from pathlib import Path

from framehub.errors import ConfigError
from framehub.gateway.recording import RecordingSettings
from framehub.hub.settings import HubSettings
from framehub.mfp.settings import Settings
from framehub.rpc.settings import ProxySettings
from framehub.runtime.accounts import LimitSettings
from framehub.runtime.address import is_loopback

DEFAULT_LISTEN = "127.0.0.1:7400"
DEFAULT_SERVICES = "127.0.0.1:7401"
DEFAULT_CLIENTS = "127.0.0.1:7402"
DEFAULT_WORKERS = "127.0.0.1:7403"
DEFAULT_ADMIN = "127.0.0.1:7404"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminSettings:
    """The admin port. Checked when made; ``ConfigError`` names what is wrong."""

    listen: str | None = DEFAULT_ADMIN
    """HOST:PORT of the console, health, metrics and state over HTTP; None: there is no such port."""
    tokens: Path | None = None
    """File with the tokens of those who may look and call there; None: anybody on this machine may."""

    def __post_init__(self) -> None:
        if self.listen is None:
            return
        host, _ = split_address(self.listen)
        if self.tokens is None and not is_loopback(host):
            raise ConfigError(
                f"listen = {self.listen}: anybody who reaches this address could look on. Listen on"
                " 127.0.0.1, or give the tokens of those who may (--admin-tokens)"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """Checked when made; ``ConfigError`` names what is wrong."""

    listen: str = DEFAULT_LISTEN
    """HOST:PORT of the WebSocket listener; port 0 picks a free one."""
    services: str | None = DEFAULT_SERVICES
    """HOST:PORT for services of the hub; None: there is no hub."""
    clients: str | None = DEFAULT_CLIENTS
    """HOST:PORT for clients of remote functions; None: there are no remote functions."""
    workers: str | None = DEFAULT_WORKERS
    """HOST:PORT for workers; None: there are no remote functions."""
    app: str | None = None
    """MODULE:NAME of an ``Endpoints`` object."""
    journal: Path | None = Path("journal")
    """Directory of this node's journal; None records nothing."""
    node: str | None = None
    """This gateway's name in its journal; made up once if not given."""
    origins: tuple[str, ...] = ()
    """Origins of web pages that may connect, beside the gateway's own."""
    static: Path | None = None
    """Directory whose files the WebSocket listener serves to anybody who asks by HTTP; None: none."""
    tokens: Path | None = None
    """File with the tokens of those who may connect to the WebSocket listener; None: anybody may."""
    allow_anonymous: bool = False
    """Let anybody connect: from other machines, and without a token."""
    max_buffered_bytes: int = 256 << 20
    """Bytes that may wait in the hub, the proxy and the journal; beyond it nobody new may come (HTTP 503)."""
    drain: float = 10.0
    """Seconds that running requests have to finish when the gateway stops."""
    curve_key: Path | None = None
    """File with the secret CURVE key of the sockets for services, clients and workers."""
    service_keys: Path | None = None
    """File with the public keys of services that may connect, one a line."""
    client_keys: Path | None = None
    """File with the public keys of clients that may connect, one a line."""
    worker_keys: Path | None = None
    """File with the public keys of workers that may connect, one a line."""
    hub: HubSettings = field(default_factory=HubSettings)
    """Limits and times of the hub."""
    rpc: ProxySettings = field(default_factory=ProxySettings)
    """Limits and times of remote functions."""
    mfp: Settings = field(default_factory=Settings)
    """Limits and times of each MFP connection."""
    admin: AdminSettings = field(default_factory=lambda: AdminSettings(listen=None))
    """The admin port; a gateway made in code has none unless it is asked for."""
    limits: LimitSettings = field(default_factory=LimitSettings)
    """What each user may take."""
    recording: RecordingSettings = field(default_factory=RecordingSettings)
    """How the journal is written."""

    def __post_init__(self) -> None:
        host, _ = split_address(self.listen)
        if self.tokens is None and not self.allow_anonymous and not is_loopback(host):
            raise ConfigError(
                f"listen = {self.listen}: anybody who reaches this address could connect. Listen on"
                " 127.0.0.1, or use tokens (--tokens), or say that this is meant (--allow-anonymous)"
            )
        if (self.clients is None) != (self.workers is None):
            raise ConfigError("clients and workers of remote functions go together: give both, or none")
        for name, address, keys in (
            ("services", self.services, self.service_keys),
            ("clients", self.clients, self.client_keys),
            ("workers", self.workers, self.worker_keys),
        ):
            if address is not None:
                self._check_zeromq(name, address, keys)
        if self.max_buffered_bytes < 1:
            raise ConfigError(f"max_buffered_bytes must be above zero, not {self.max_buffered_bytes!r}")
        if self.drain < 0:
            raise ConfigError(f"drain must not be below zero, not {self.drain!r}")

    def _check_zeromq(self, name: str, address: str, allowed: Path | None) -> None:
        host, _ = split_address(address)
        if allowed is None and not self.allow_anonymous and not is_loopback(host):
            raise ConfigError(
                f"{name} = {address}: anybody who reaches this address could connect. Use 127.0.0.1, or CURVE"
                f" keys (--curve-key, --{name.removesuffix('s')}-keys), or say that this is meant"
                " (--allow-anonymous)"
            )
        if self.curve_key is None and allowed is not None:
            raise ConfigError(f"{name.removesuffix('s')}_keys go with curve_key: give both, or neither")
        if self.curve_key is not None and allowed is None and name != "services":
            raise ConfigError("curve_key, client_keys and worker_keys go together: give all of them, or none")


def split_address(address: str) -> tuple[str, int]:
    """HOST and PORT of ``HOST:PORT``; an IPv6 host stands in brackets."""
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise ConfigError(f"address {address!r}: want HOST:PORT, like {DEFAULT_LISTEN}")
    return host, int(port)
