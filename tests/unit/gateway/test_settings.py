from pathlib import Path
from typing import Any

import pytest

from framehub.errors import ConfigError
from framehub.gateway.settings import GatewaySettings, split_address
from framehub.mfp.settings import Settings
from framehub.runtime.address import is_loopback


@pytest.mark.parametrize(
    ("address", "want"),
    [
        ("127.0.0.1:7400", ("127.0.0.1", 7400)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_an_address_is_host_and_port(address: str, want: tuple[str, int]) -> None:
    assert split_address(address) == want


@pytest.mark.parametrize("address", ["", "7400", "127.0.0.1", "127.0.0.1:", ":7400", "h:-1", "h:x", "h:²"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="want HOST:PORT"):
        split_address(address)


@pytest.mark.parametrize("port", ["65536", "99999", "9" * 5_000])
def test_a_port_has_16_bits(port: str) -> None:
    with pytest.raises(ConfigError, match=r"a port is 0 to 65535$"):
        split_address(f"h:{port}")


def test_loopback_is_known() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "192.168.1.1", "::", "example.com")))


def test_listening_beyond_this_machine_must_be_meant() -> None:
    with pytest.raises(ConfigError, match="--allow-anonymous"):
        GatewaySettings(listen="0.0.0.0:7400")
    assert GatewaySettings(listen="0.0.0.0:7400", allow_anonymous=True)
    assert GatewaySettings(listen="0.0.0.0:7400", tokens=Path("tokens"))
    with pytest.raises(ConfigError, match="--allow-anonymous"):  # plain ZeroMQ is another matter
        GatewaySettings(listen="0.0.0.0:7400", allow_plain_zeromq=True)
    with pytest.raises(ConfigError, match="--curve-key"):  # tokens are for the WebSocket
        GatewaySettings(clients="0.0.0.0:7402", tokens=Path("tokens"))


@pytest.mark.parametrize("name", ["services", "clients", "workers"])
def test_sockets_beyond_this_machine_need_keys(name: str, tmp_path: Path) -> None:
    """[RPC-10.5]"""
    beyond: dict[str, Any] = {name: "0.0.0.0:7402"}
    with pytest.raises(ConfigError, match="--curve-key"):
        GatewaySettings(**beyond)
    with pytest.raises(ConfigError, match="--allow-plain-zeromq"):  # anonymous is a word of the WebSocket's
        GatewaySettings(**beyond, allow_anonymous=True)
    assert GatewaySettings(**beyond, allow_plain_zeromq=True)
    names = ("curve_key", "service_keys", "client_keys", "worker_keys")
    keys: dict[str, Any] = dict.fromkeys(names, tmp_path)
    assert GatewaySettings(**beyond, **keys)
    with pytest.raises(ConfigError, match=r"--curve-key|go together"):
        GatewaySettings(**beyond, **keys | {f"{name.removesuffix('s')}_keys": None})


def test_services_on_this_machine_need_no_keys_where_functions_have_some(tmp_path: Path) -> None:
    keys: dict[str, Any] = dict.fromkeys(("curve_key", "client_keys", "worker_keys"), tmp_path)
    assert GatewaySettings(**keys)
    assert GatewaySettings(**keys, services=None)
    with pytest.raises(ConfigError, match="--service-keys"):
        GatewaySettings(**keys, services="0.0.0.0:7401")


@pytest.mark.parametrize(
    "wrong",
    [
        {"drain": -1.0},
        {"listen": "nowhere"},
        {"clients": None},
        {"workers": None},
        {"clients": "x"},
        {"services": "x"},
        {"service_keys": Path("k")},
        {"curve_key": Path("k")},
        {"client_keys": Path("k")},
        {"app": "foo"},
        {"app": "foo.py:app"},
        {"node": ""},
        {"node": "a b"},
        {"node": "a\n"},
        {"node": "a\x1b[1m"},
        {"node": "a" * 101},
        {"mfp": Settings(max_frame_bytes=1 << 30)},
    ],
)
def test_a_setting_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        GatewaySettings(**wrong)


@pytest.mark.parametrize(
    "origin",
    [
        *("example.com", "*", "", "http://good.example/", "http://good.example/page", "http://"),
        *(
            "http://Good.example",
            "https://good.example:443",
            "http://good.example:80",
            "http://a?b",
        ),
    ],
)
def test_an_origin_that_no_browser_sends_is_refused(origin: str) -> None:
    with pytest.raises(ConfigError, match="origins: no browser sends"):
        GatewaySettings(origins=("https://right.example", origin))


@pytest.mark.parametrize(
    "origin",
    [
        *("https://good.example", "http://localhost:3000", "http://[::1]:8080", "https://good.example:80"),
        *(
            "null",
            "file://",
            "capacitor://localhost",
            "chrome-extension://abcdef",
            "https://xn--bcher-kva.example",
        ),
    ],
)
def test_an_origin_that_browsers_send_is_right(origin: str) -> None:
    assert GatewaySettings(origins=(origin,), node="north-1.example_x")


def test_a_bad_address_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^workers = 'off': want HOST:PORT"):
        GatewaySettings(workers="off")
