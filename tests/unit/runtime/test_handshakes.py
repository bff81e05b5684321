"""Broken TLS openings leave no traceback, on neither side."""

import asyncio
import logging

import pytest

from framehub import ConnectFailed, Endpoints, connect, listen
from framehub.runtime.handshakes import hush

from .certificates import make_tls
from .streaming import until


async def test_who_connects_to_a_tls_listener_and_leaves_is_a_line_in_its_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tls = make_tls("127.0.0.1")
    async with listen("wss://127.0.0.1:0/mfp", Endpoints(), ssl=tls.server) as server:
        port = int(server.url.split(":")[2].partition("/")[0])
        with caplog.at_level(logging.INFO):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            await until(lambda: "failed while opening" in caplog.text)
    assert not [record for record in caplog.records if record.name == "asyncio"]


async def test_tls_to_a_listener_without_it_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async def leave(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(leave, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConnectFailed) as caught:
            async with connect(f"wss://127.0.0.1:{port}/mfp"):
                pass
    assert caught.value.reason == "it ended the connection before TLS was agreed; is it a ws:// address?"
    assert not [record for record in caplog.records if record.name == "asyncio"]


def test_other_errors_of_asyncio_are_still_logged(caplog: pytest.LogCaptureFixture) -> None:
    hush()
    hush()
    logging.getLogger("asyncio").error("seen", exc_info=ValueError("why"))
    logging.getLogger("asyncio").error("seen too")
    assert [record.message for record in caplog.records] == ["seen", "seen too"]
