"""The admin port of a gateway."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from framehub.errors import ConfigError, ConnectFailed
from framehub.gateway.gateway import Gateway
from framehub.gateway.recording import RecordingSettings
from framehub.gateway.settings import DEFAULT_ADMIN, AdminSettings, GatewaySettings
from framehub.runtime.connect import connect
from tests.unit.gateway.asking import get

FREE = "127.0.0.1:0"
APP = "framehub.gateway.sample:endpoints"


def settings(folder: Path | None) -> GatewaySettings:
    return GatewaySettings(
        listen=FREE,
        services=FREE,
        clients=FREE,
        workers=FREE,
        app=APP,
        journal=folder / "j" if folder else None,
        node="here",
        drain=5,
        admin=AdminSettings(listen=FREE),
    )


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    async with Gateway(settings(tmp_path)) as made:
        yield made


async def read(gateway: Gateway, path: str) -> tuple[int, str]:
    status, _, body = await get(f"{gateway.admin_url}{path}")
    return status, body.decode()


async def test_it_is_alive_and_ready(gateway: Gateway) -> None:
    assert f" admin={gateway.admin_url} journal=" in gateway.ready_line
    assert await read(gateway, "/healthz") == (200, "alive\n")
    assert await read(gateway, "/readyz") == (200, "ready\n")
    status, text = await read(gateway, "/api")
    assert status == 200
    assert "/api/figures" in text.split()
    for path in text.split():
        assert (await read(gateway, path))[0] == 200


async def test_state_tells_what_goes_on(gateway: Gateway) -> None:
    async with connect(gateway.url) as peer:
        await peer.request("stock.price", "apple")
        status, text = await read(gateway, "/api/state")
        told = json.loads(text)
        assert (status, told["ready"], told["connections"]["mfp_open"]) == (200, True, 1)
        assert told["journal"]["appended"] >= 4
        assert told["rates"].keys() == {"journal_rows", "mfp_opened"}
        (one,) = json.loads((await read(gateway, "/api/connections"))[1])["mfp"]
        assert (one["link"], one["user"]) == (peer.link, 0)


async def test_it_is_not_ready_while_it_drains(tmp_path: Path) -> None:
    gateway = Gateway(settings(tmp_path))
    await gateway.start()
    async with connect(gateway.url) as peer:
        asking = asyncio.create_task(peer.request("report.build", {"seconds": 1}))
        while not gateway.pending:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        gateway.stop()
        assert await read(gateway, "/readyz") == (503, "stopping\n")
        closing = asyncio.create_task(gateway.close())
        await asyncio.sleep(0)
        assert await read(gateway, "/readyz") == (503, "stopping\n")
        assert (await read(gateway, "/healthz"))[0] == 200
        await asking
        await closing
    with pytest.raises(ConnectionRefusedError):
        await get(f"{gateway.admin_url}/healthz")


async def test_a_journal_that_fails_makes_it_unready(tmp_path: Path) -> None:
    async with Gateway(settings(tmp_path)) as gateway:
        assert gateway.writer is not None
        gateway.writer._fail(OSError(28, "No space left on device"))
        status, text = await read(gateway, "/readyz")
        assert status == 503
        assert "No space left on device" in text


async def test_it_may_go_on_unrecorded_but_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    told = replace(settings(tmp_path), recording=RecordingSettings(on_failure="continue"))
    async with Gateway(told) as gateway:
        assert gateway.writer is not None
        async with connect(gateway.url) as peer:
            gateway.writer._fail(OSError(28, "No space left on device"))
            await asyncio.sleep(0)
            assert (await peer.request("stock.price", "apple")).data["cents"] == 120
        assert not gateway.is_stopping
        assert "NOTHING is recorded" in caplog.text
        assert (await read(gateway, "/readyz"))[0] == 503
        assert "framehub_journal_failed 1.0" in (await read(gateway, "/metrics"))[1]
    assert gateway.failure is not None


async def test_when_too_much_waits_nobody_new_comes_in(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect(gateway.url) as before:
        monkeypatch.setattr(Gateway, "buffered_bytes", gateway.settings.max_buffered_bytes + 1)
        with pytest.raises(ConnectFailed) as caught:
            await connect(gateway.url).__aenter__()
        assert caught.value.status == 503
        monkeypatch.setattr(Gateway, "buffered_bytes", gateway.settings.max_buffered_bytes)
        async with connect(gateway.url):
            await before.ping()
    assert 'framehub_upgrades_refused_total{status="503"} 1.0' in (await read(gateway, "/metrics"))[1]


async def test_a_port_that_nobody_asked_for_may_be_taken(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    taken = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    address = f"127.0.0.1:{taken.sockets[0].getsockname()[1]}"
    with pytest.raises(ConfigError, match=r"\[admin\] listen \(--admin\): cannot listen on http://127"):
        await Gateway(replace(settings(None), admin=AdminSettings(listen=address))).start()
    monkeypatch.setattr("framehub.gateway.gateway.AdminSettings", lambda: AdminSettings(listen=address))
    async with Gateway(replace(settings(None), admin=AdminSettings(listen=address))) as gateway:
        assert gateway.admin_url is None
        assert "there is no admin port" in caplog.text
    taken.close()
    await taken.wait_closed()


def test_beyond_this_machine_it_needs_tokens() -> None:
    assert AdminSettings().listen == DEFAULT_ADMIN
    with pytest.raises(ConfigError, match="--admin-tokens"):
        AdminSettings(listen="0.0.0.0:7404")
    assert AdminSettings(listen="0.0.0.0:7404", tokens=Path("tokens"))
    with pytest.raises(ConfigError, match="HOST:PORT"):
        AdminSettings(listen="here")
