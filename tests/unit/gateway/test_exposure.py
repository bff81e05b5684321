"""What of a gateway is open to whom."""

from pathlib import Path
from typing import Any

import pytest

from framehub.gateway.exposure import exposed, warnings
from framehub.gateway.settings import AdminSettings, GatewaySettings

KEYS: dict[str, Any] = {
    "curve_key": Path("own"),
    "service_keys": Path("service.keys"),
    "client_keys": Path("client.keys"),
    "worker_keys": Path("worker.keys"),
}


def test_by_default_everything_is_for_this_machine_alone() -> None:
    settings = GatewaySettings(admin=AdminSettings())
    assert list(exposed(settings)) == [
        "WebSocket: 127.0.0.1:7400, this machine only, anybody",
        "services: 127.0.0.1:7401, this machine only, anybody",
        "clients: 127.0.0.1:7402, this machine only, anybody",
        "workers: 127.0.0.1:7403, this machine only, anybody",
        "admin: 127.0.0.1:7404, this machine only, anybody",
    ]
    assert list(warnings(settings)) == []


def test_tokens_and_keys_are_named_by_their_files() -> None:
    settings = GatewaySettings(
        listen="[::]:7400",
        services="0.0.0.0:7401",
        clients="10.0.0.1:7402",
        workers="hub.example:7403",
        tokens=Path("tokens"),
        admin=AdminSettings(listen="0.0.0.0:7404", tokens=Path("admin.tokens")),
        **KEYS,
    )
    assert list(exposed(settings)) == [
        "WebSocket: [::]:7400, reachable from elsewhere, tokens of tokens",
        "services: 0.0.0.0:7401, reachable from elsewhere, CURVE keys of service.keys",
        "clients: 10.0.0.1:7402, reachable from elsewhere, CURVE keys of client.keys",
        "workers: hub.example:7403, reachable from elsewhere, CURVE keys of worker.keys",
        "admin: 0.0.0.0:7404, reachable from elsewhere, tokens of admin.tokens",
    ]
    assert list(warnings(settings)) == []


def test_what_is_not_there_is_said_to_be_off() -> None:
    settings = GatewaySettings(services=None, clients=None, workers=None)
    assert list(exposed(settings))[1:] == ["services: off", "clients: off", "workers: off", "admin: off"]


@pytest.mark.parametrize("tokens", [None, Path("tokens")])
def test_a_websocket_that_anybody_may_open_is_a_warning(tokens: Path | None) -> None:
    settings = GatewaySettings(listen="0.0.0.0:7400", tokens=tokens, allow_anonymous=True)
    who = "anybody" if tokens is None else "anybody, and tokens of tokens"
    assert next(exposed(settings)) == f"WebSocket: 0.0.0.0:7400, reachable from elsewhere, {who}"
    assert list(warnings(settings)) == ["WebSocket: anybody who reaches 0.0.0.0:7400 may connect"]


@pytest.mark.parametrize("name", ["services", "clients", "workers"])
def test_a_plain_socket_is_a_warning(name: str) -> None:
    settings = GatewaySettings(**{name: "0.0.0.0:7409"}, allow_plain_zeromq=True)  # type: ignore[arg-type]
    assert f"{name}: 0.0.0.0:7409, reachable from elsewhere, anybody" in exposed(settings)
    assert list(warnings(settings)) == [f"{name}: anybody who reaches 0.0.0.0:7409 may connect"]


def test_files_for_browsers_need_no_token() -> None:
    settings = GatewaySettings(listen="0.0.0.0:7400", tokens=Path("tokens"), static=Path("site"))
    assert list(warnings(settings)) == ["static: anybody who reaches 0.0.0.0:7400 may read the files in site"]
    assert list(warnings(GatewaySettings(static=Path("site")))) == []
