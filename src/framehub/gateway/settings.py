"""What one gateway is told: addresses, app, journal."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from framehub.errors import ConfigError
from framehub.gateway.app import split_name
from framehub.gateway.recording import RecordingSettings
from framehub.hub.settings import HubSettings
from framehub.journal.block import ROOM
from framehub.mfp.settings import Settings
from framehub.rpc.settings import ProxySettings
from framehub.runtime.accounts import LimitSettings
from framehub.runtime.address import is_loopback

DEFAULT_LISTEN = "127.0.0.1:7400"
DEFAULT_SERVICES = "127.0.0.1:7401"
DEFAULT_CLIENTS = "127.0.0.1:7402"
DEFAULT_WORKERS = "127.0.0.1:7403"
DEFAULT_ADMIN = "127.0.0.1:7404"
LARGEST_PORT: Final = 65_535
LONGEST_PORT: Final = 100
"""Digits, with zeros before it."""

_MOST_RECORDED: Final = (1 << 30) - ROOM
"""Bytes of a frame, in a journal."""
_NODE: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_ORIGIN: Final = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
_USUAL: Final = {"http": ":80", "https": ":443"}
"""Ports that browsers leave out of an origin."""


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
        host, _ = split_address(self.listen, "listen", f'like {DEFAULT_ADMIN}, or "off"')
        if self.tokens is None and not is_loopback(host):
            raise ConfigError(
                f"listen = {self.listen}: anybody who reaches this address could look on. Listen on"
                " 127.0.0.1, or give the tokens of those who may ([admin] tokens, --admin-tokens)"
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
    """This gateway's name in its journal: up to 100 letters, digits and . _ -; made up once if not given."""
    origins: tuple[str, ...] = ()
    """Origins of web pages that may connect, beside the gateway's own."""
    static: Path | None = None
    """Directory whose files the WebSocket listener serves to anybody who asks by HTTP; None: none."""
    tokens: Path | None = None
    """File with the tokens of those who may connect to the WebSocket listener; None: anybody may."""
    allow_anonymous: bool = False
    """Let anybody connect to the WebSocket listener: from other machines, and without a token."""
    allow_plain_zeromq: bool = False
    """Let anybody on other machines connect as a service, client or worker where there are no CURVE keys: for
    networks in which everybody is trusted."""
    max_buffered_bytes: int = 256 << 20
    """Bytes that may wait in the hub, the proxy and the journal, those held to read into counted; beyond it
    nobody new may come (HTTP 503)."""
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
        host, _ = split_address(self.listen, "listen")
        if self.tokens is None and not self.allow_anonymous and not is_loopback(host):
            raise ConfigError(
                f"listen = {self.listen}: anybody who reaches this address could connect. Listen on"
                " 127.0.0.1, or use tokens (--tokens), or say that this is meant (--allow-anonymous)"
            )
        if (self.clients is None) != (self.workers is None):
            raise ConfigError(
                'clients and workers of remote functions go together: give both, or have both "off"'
            )
        for name, address, keys, usual in (
            ("services", self.services, self.service_keys, DEFAULT_SERVICES),
            ("clients", self.clients, self.client_keys, DEFAULT_CLIENTS),
            ("workers", self.workers, self.worker_keys, DEFAULT_WORKERS),
        ):
            if address is not None:
                host, _ = split_address(address, name, f'like {usual}, or "off"')
                self._check_zeromq(name, address, keys, is_local=is_loopback(host))
        if self.max_buffered_bytes < 1:
            raise ConfigError(f"max_buffered_bytes must be above zero, not {self.max_buffered_bytes!r}")
        if not self.drain >= 0:
            raise ConfigError(f"drain must not be below zero, not {self.drain!r}")
        if self.app is not None:
            split_name(self.app, what="app =", example="myapp:endpoints")
        for origin in self.origins:
            _check_origin(origin)
        if self.node is not None and not _NODE.fullmatch(self.node):
            raise ConfigError(
                f"[journal] node = {self.node!r}: want 1 to 100 of the letters A-Z and a-z, digits and . _ -;"
                " a journal that has another name keeps it if none is said"
            )
        if self.journal is not None and self.mfp.max_frame_bytes > _MOST_RECORDED:
            raise ConfigError(
                f"[mfp] max_frame_bytes = {self.mfp.max_frame_bytes}: the journal takes frames of up to"
                f" {_MOST_RECORDED} bytes"
            )

    def _check_zeromq(self, name: str, address: str, allowed: Path | None, *, is_local: bool) -> None:
        if allowed is None and not self.allow_plain_zeromq and not is_local:
            raise ConfigError(
                f"{name} = {address}: anybody who reaches this address could connect. Use 127.0.0.1, or CURVE"
                f" keys (--curve-key, --{name.removesuffix('s')}-keys), or say that everybody there is"
                " trusted (--allow-plain-zeromq)"
            )
        if self.curve_key is None and allowed is not None:
            raise ConfigError(f"{name.removesuffix('s')}_keys go with curve_key: give both, or neither")
        if self.curve_key is not None and allowed is None and name != "services":
            raise ConfigError("curve_key, client_keys and worker_keys go together: give all of them, or none")


def split_address(
    address: str, name: str = "address", hint: str = f"like {DEFAULT_LISTEN}"
) -> tuple[str, int]:
    """HOST and PORT of ``HOST:PORT``; an IPv6 host stands in brackets."""
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not colon or not host or not (port.isascii() and port.isdigit()):
        raise ConfigError(f"{name} = {address!r}: want HOST:PORT, {hint}")
    if len(port) > LONGEST_PORT or int(port) > LARGEST_PORT:
        raise ConfigError(f"{name} = {address!r}: a port is 0 to {LARGEST_PORT}")
    return host, int(port)


def _check_origin(origin: str) -> None:
    """Browsers send it in one form, and it is compared letter by letter."""
    if origin in ("null", "file://"):
        return  # a page in a sandbox, and one that is a file
    found = _ORIGIN.fullmatch(origin)
    if found is None or (found[3] is not None and found[3] == _USUAL.get(found[1])):
        raise ConfigError(
            f"origins: no browser sends {origin!r}: want SCHEME://HOST or SCHEME://HOST:PORT in small"
            " letters, no path or slash after it, not the usual port, like https://shop.example"
        )
