"""What of a gateway is open to whom, as its settings have it: said before it listens."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from framehub.gateway.settings import GatewaySettings, split_address
from framehub.runtime.address import is_loopback


@dataclass(frozen=True, slots=True)
class _Listener:
    """One address of a gateway."""

    name: str
    address: str | None
    """None: it is off."""
    known: str
    """Who may connect, other than anybody."""
    anybody: bool

    @property
    def is_local(self) -> bool:
        """Whether nobody elsewhere can reach it."""
        return self.address is None or is_loopback(split_address(self.address)[0])

    def __str__(self) -> str:
        if self.address is None:
            return f"{self.name}: off"
        reach = "this machine only" if self.is_local else "reachable from elsewhere"
        who = [*(["anybody"] if self.anybody else []), *([self.known] if self.known else [])]
        return f"{self.name}: {self.address}, {reach}, {', and '.join(who)}"


def exposed(settings: GatewaySettings) -> Iterator[str]:
    """A line for each listener: where it is, who can reach it, who may connect."""
    return map(str, _listeners(settings))


def warnings(settings: GatewaySettings) -> Iterator[str]:
    """What anybody on another machine may use."""
    for one in _listeners(settings):
        if one.anybody and not one.is_local:
            yield f"{one.name}: anybody who reaches {one.address} may connect"
    websocket, *_ = _listeners(settings)
    if settings.static is not None and not websocket.is_local:
        yield f"static: anybody who reaches {websocket.address} may read the files in {settings.static}"


def _listeners(settings: GatewaySettings) -> list[_Listener]:
    admin = settings.admin
    return [
        _by_tokens("WebSocket", settings.listen, settings.tokens, anybody=settings.allow_anonymous),
        _by_keys("services", settings.services, settings.service_keys),
        _by_keys("clients", settings.clients, settings.client_keys),
        _by_keys("workers", settings.workers, settings.worker_keys),
        _by_tokens("admin", admin.listen, admin.tokens),
    ]


def _by_tokens(name: str, address: str | None, file: Path | None, *, anybody: bool = False) -> _Listener:
    return _Listener(name, address, f"tokens of {file}" if file else "", anybody or file is None)


def _by_keys(name: str, address: str | None, file: Path | None) -> _Listener:
    return _Listener(name, address, f"CURVE keys of {file}" if file else "", file is None)
