"""A token opens the hub as it opens MFP, and the service is told whose it is, by either way."""

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import framehub
from framehub.runtime import tokens

from .calling import Hub, Places, hub, read_line
from .conftest import PORTS, Cli

WHO = """
import framehub

service = framehub.Service(7, "who")


@service.function(1, name="am_i")
async def am_i(stream: framehub.ServiceStream) -> None:
    await stream.send(str(stream.user).encode())
    try:
        async for _ in stream:
            pass
        await stream.end()
    except Exception as exc:
        with open("ended", "a") as file:
            file.write(f"{exc}\\n")
        raise
"""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Hub]:
    (tmp_path / "who.py").write_text(WHO)
    with hub(tmp_path) as made:
        yield made


async def test_whose_token_it_is_reaches_the_service_and_the_journal(
    house: Hub, cli: Cli, tmp_path: Path
) -> None:
    """HINV-13: never what the client says."""
    file = tmp_path / "tokens"
    anna, _ = tokens.add(file, user=7, name="anna")
    bob, _ = tokens.add(file, user=8, name="bob")
    gateway = house.start("serve", *PORTS, "--tokens", "tokens", "-v")
    places = Places(await asyncio.to_thread(read_line, gateway))
    service = house.start("service", "who:service", "--connect", places["services"])
    Places(await asyncio.to_thread(read_line, service))
    for refused in (None, "wrong"):
        with pytest.raises(framehub.ConnectFailed) as caught:
            async with framehub.HubClient(places["hub"], token=refused):
                pass
        assert caught.value.status == 401
    async with asyncio.timeout(60):
        for version in (1, 2):
            for token, user in ((anna, b"7"), (bob, b"8")):
                async with framehub.HubClient(places["hub"], token=token, version=version) as client:
                    assert await client.call(7, 1) == user
        async with framehub.connect(places["mfp"], token=bob) as peer:
            assert (await peer.request("who.am_i")).data == [8]
        async with framehub.HubClient(places["hub"], token=anna) as client, client.open(7, 1) as stream:
            assert await anext(stream) == b"7"
            tokens.revoke(file, "anna")
            with pytest.raises(framehub.ConnectionClosed, match="token revoked"):
                await anext(stream)
        while not (tmp_path / "ended").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    for process in (service, gateway):
        process.send_signal(signal.SIGTERM)
        _, log = await asyncio.to_thread(process.communicate, None, 40)
        assert process.returncode == 0, log
        assert anna not in log
        assert bob not in log
    shown = cli("journal", "cat", "journal", "--json").stdout
    rows = [json.loads(line) for line in shown.splitlines()]
    assert {row["user"] for row in rows if row["protocol"] == "hub"} >= {7, 8}
    assert "token revoked" in shown
    for written in (tmp_path / "journal").rglob("*"):
        assert not written.is_file() or anna.encode() not in written.read_bytes()
