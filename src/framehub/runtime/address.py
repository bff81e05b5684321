"""Where a listener is: what its URL says, and what it may not say. Pure."""

from dataclasses import dataclass, replace
from ipaddress import ip_address
from math import isfinite
from typing import Final
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from framehub.errors import ConfigError
from framehub.mfp.checksum import OFF, Checksums
from framehub.mfp.negotiation import SUBPROTOCOLS, subprotocol
from framehub.mfp.settings import Settings

WEBSOCKET_PORT: Final = 7400
FORMS: Final = "ws://HOST:PORT/PATH, wss://HOST:PORT/PATH, tcp://HOST:PORT or unix:///PATH"
QUERY_KEYS: Final = ("checksum", "timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A URL that was understood."""

    scheme: str
    host: str = ""
    port: int = 0
    path: str = ""
    query: str = ""
    """As it was written; only byte streams have one."""
    checksum: str | None = None
    """What the query says of checksums: ``off``, or what ``connect(checksum=...)`` takes."""
    timeout: float | None = None
    """Seconds a request may take, if the query says so."""

    @property
    def is_websocket(self) -> bool:
        """Or else a byte stream."""
        return self.scheme in {"ws", "wss"}

    @property
    def place(self) -> str:
        """The URL without its query."""
        if self.scheme == "unix":
            return f"unix://{quote(self.path)}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"

    @property
    def url(self) -> str:
        """What to write to get here again."""
        return f"{self.place}?{self.query}" if self.query else self.place

    def settings(self, base: Settings, checksum: str | None = None) -> tuple[Settings, bool]:
        """``base`` with what this byte stream's URL changes; whether our frames are to carry checksums.

        ``checksum`` is what our own caller asked for beside the URL.

        Raises:
            ConfigError: no such checksum, or the two disagree.
        """
        if checksum is not None:
            subprotocol(checksum)
            if self.checksum not in {None, checksum}:
                raise ConfigError(f"{self.url}: its checksum and checksum={checksum!r} disagree")
        name = self.checksum or checksum
        if name is not None:
            base = replace(base, checksums=_checksums(name))
        if self.timeout is not None:
            base = replace(base, request_timeout=self.timeout)
        return base, name is not None and base.checksums.mode != "off"


def parse(url: str) -> Address:
    """Understand a URL.

    Raises:
        ConfigError: it is none that a listener can have.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as exc:
        raise ConfigError(f"address {_shown(url)!r}: {exc}") from exc
    at = "@" in parts.netloc
    if parts.scheme not in {"ws", "wss", "tcp", "unix"} or parts.fragment or at:
        raise ConfigError(f"address {_shown(url)!r}: want {FORMS}")
    if parts.scheme in {"ws", "wss"}:
        return _websocket(parts, port)
    checksum, timeout = _options(parts.query)
    address = Address(scheme=parts.scheme, query=parts.query, checksum=checksum, timeout=timeout)
    if parts.scheme == "tcp":
        if not parts.hostname or port is None or parts.path not in {"", "/"}:
            raise ConfigError(f"address {_shown(url)!r}: want tcp://HOST:PORT")
        return replace(address, host=parts.hostname, port=port)
    path = unquote(parts.path)
    if parts.netloc or not path.startswith("/") or path.endswith("/") or "\0" in path:
        raise ConfigError(f"address {_shown(url)!r}: want unix:///PATH, with a whole path to a socket")
    return replace(address, path=path)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _websocket(parts: SplitResult, port: int | None) -> Address:
    shown = _shown(parts.geturl())
    if parts.query:
        raise ConfigError(f"address {shown!r}: want ws://HOST:PORT/PATH without a query")
    if not parts.hostname:
        raise ConfigError(f"address {shown!r}: want ws://HOST:PORT/PATH")
    return Address(
        scheme=parts.scheme,
        host=parts.hostname,
        port=WEBSOCKET_PORT if port is None else port,
        path=parts.path or "/",
    )


def _options(query: str) -> tuple[str | None, float | None]:
    known = " and ".join(QUERY_KEYS)
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError as exc:
        raise ConfigError(f"query {query!r}: want KEY=VALUE&KEY=VALUE of {known}") from exc
    options = dict(pairs)
    for key in options:
        if key not in QUERY_KEYS:
            raise ConfigError(f"query {query!r}: {key!r} is none of {known}")
    if len(options) < len(pairs):
        raise ConfigError(f"query {query!r}: something is said twice")
    checksum = options.get("checksum")
    if checksum is not None:
        _checksums(checksum)
    return checksum, _seconds(options["timeout"]) if "timeout" in options else None


def _checksums(name: str) -> Checksums:
    if name == "off":
        return OFF
    if f"mfp.{name}" not in SUBPROTOCOLS:
        known = ", ".join(known.removeprefix("mfp.") for known in SUBPROTOCOLS if "." in known)
        raise ConfigError(f"checksum {name!r} is none of off, {known}")
    return SUBPROTOCOLS[f"mfp.{name}"]


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not (isfinite(seconds) and seconds > 0):
        raise ConfigError(f"timeout {text!r}: want seconds above zero")
    return seconds


def _shown(url: str) -> str:
    """For messages: without what could be a secret."""
    head, mark, _ = url.partition("?")
    before, at, after = head.rpartition("@")
    if at:
        head = f"{before.partition('://')[0]}://...@{after}"
    return f"{head}?..." if mark else head
