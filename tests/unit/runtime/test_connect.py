"""Reaching a listener, and being told why not."""

import pytest

from framehub.errors import ConfigError, ConnectFailed
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import listen


async def test_nobody_there_is_said_so() -> None:
    with pytest.raises(ConnectFailed, match="/mfp: Connection refused"):
        async with connect("ws://127.0.0.1:1/mfp"):
            pass


async def test_a_refusal_says_what_the_listener_said() -> None:
    async with listen("ws://127.0.0.1:0/mfp", Endpoints()) as server:
        with pytest.raises(ConnectFailed, match="HTTP 404 nothing at /other; want /mfp"):
            async with connect(server.url.replace("/mfp", "/other")):
                pass


async def test_only_websocket_urls() -> None:
    with pytest.raises(ConfigError, match="want ws://"):
        async with connect("http://127.0.0.1:1/mfp"):
            pass


async def test_an_unknown_checksum_is_refused() -> None:
    with pytest.raises(ConfigError, match="checksum 'md5' is none of None, 'crc32', 'xor8'"):
        async with connect("ws://127.0.0.1:1/mfp", checksum="md5"):
            pass


@pytest.mark.parametrize("checksum", [None, "crc32", "xor8", "crc32.always", "xor8.always"])
async def test_every_checksum_works_both_ways(checksum: str | None) -> None:
    app = Endpoints()
    app.on("echo")(lambda call: call.data)
    async with (
        listen("ws://127.0.0.1:0/mfp", app) as server,
        connect(server.url, checksum=checksum, token="t") as peer,
    ):
        assert (await peer.request("echo", "x")).data == "x"


async def test_leaving_closes_the_connection() -> None:
    async with listen("ws://127.0.0.1:0/mfp", Endpoints()) as server:
        async with connect(server.url) as peer:
            await peer.ping()
        assert peer.closed.done()
        assert (await peer.closed).code == 1000
