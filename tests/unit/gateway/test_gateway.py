import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from framehub.console import client
from framehub.errors import ConfigError, ConnectFailed, FramehubError, JournalError, JournalLocked
from framehub.gateway.gateway import Gateway
from framehub.gateway.recording import RecordingSettings
from framehub.gateway.settings import GatewaySettings
from framehub.journal.append import SegmentAppender
from framehub.journal.reader import read
from framehub.mfp import codec
from framehub.mfp.frames import RequestFrame
from framehub.runtime import read_buffers
from framehub.runtime.connect import connect
from framehub.runtime.curve import CurveClient, read_secret, write_keys
from framehub.runtime.functions import Functions
from framehub.runtime.read_buffers import buffers_of
from framehub.runtime.tokens import add
from framehub.runtime.worker import Worker
from tests.unit.gateway.asking import get
from tests.unit.runtime.hub_parts import INTERFACE, LAST, RawService, until
from tests.unit.runtime.raw import BINARY, FIN, RawClient, frame
from tests.unit.runtime.rpc_parts import serving

FREE = "127.0.0.1:0"
APP = "framehub.gateway.sample:endpoints"


def settings(journal: Path | None) -> GatewaySettings:
    return GatewaySettings(
        listen=FREE,
        services=FREE,
        clients=FREE,
        workers=FREE,
        app=APP,
        journal=journal,
        node="here",
        drain=1,
    )


async def test_a_gateway_serves_its_app_and_records_it(tmp_path: Path) -> None:
    async with Gateway(settings(tmp_path / "j")) as gateway:
        assert gateway.functions is not None
        assert gateway.hub is not None
        hub = f"hub={gateway.url.removesuffix('mfp')}hub services={gateway.hub.address}"
        places = f"clients={gateway.functions.clients_address} workers={gateway.functions.workers_address}"
        want = f"ready mfp={gateway.url} {hub} {places} journal={tmp_path / 'j'} node=here"
        assert gateway.ready_line == want
        async with connect(gateway.url) as peer:
            assert (await peer.request("stock.price", "apple")).data == {"item": "apple", "cents": 120}
    kinds = [row["kind"] for batch in read(tmp_path / "j") for row in batch.to_pylist()]
    assert kinds == ["link_opened", "message", "request", "response", "link_closed"]


async def test_a_gateway_serves_the_client_for_browsers_where_they_connect(tmp_path: Path) -> None:
    add(tmp_path / "tokens", user=1, name="page")
    async with Gateway(replace(settings(None), tokens=tmp_path / "tokens")) as gateway:
        web = gateway.url.replace("ws:", "http:").removesuffix("/mfp")
        status, headers, body = await get(f"{web}/framehub.js", {"Origin": "https://other.example"})
        assert (status, body) == (200, client.module().body)
        assert headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert headers["Access-Control-Allow-Origin"] == "*"
        assert (await get(f"{web}/framehub.js", {"If-None-Match": headers["ETag"]}))[::2] == (304, b"")
        assert (await get(f"{web}/"))[::2] == (404, b"nothing at /; want /mfp or /hub\n")
        assert (await get(f"{web}/framehub.js", {"Upgrade": "websocket"}))[0] == 404


async def test_a_gateway_serves_the_files_of_a_folder_if_told_to(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>here")
    told = replace(settings(None), static=tmp_path, origins=("https://our.example",))
    async with Gateway(told) as gateway:
        web = gateway.url.replace("ws:", "http:").removesuffix("/mfp")
        status, headers, body = await get(f"{web}/")
        assert (status, headers["Content-Type"], body) == (200, "text/html; charset=utf-8", b"<p>here")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert (await get(f"{web}/", {"Host": "our.example"}))[0] == 200
        assert (await get(f"{web}/", {"Host": "other.example"}))[0] == 403
        assert (await get(f"{web}/", method="POST"))[0] == 405
        assert (await get(f"{web}/x"))[::2] == (404, b"nothing at /x; want /mfp or /hub\n")
        assert (await get(f"{web}/framehub.js"))[2] == client.module().body
        async with connect(gateway.url) as peer:
            await peer.ping()
    with pytest.raises(ConfigError, match="static = "):
        await Gateway(replace(told, static=tmp_path / "nowhere")).start()


async def test_a_gateway_can_record_nothing() -> None:
    async with Gateway(settings(None)) as gateway:
        assert gateway.ready_line.endswith("journal=off")
        async with connect(gateway.url) as peer:
            await peer.ping()


async def test_a_gateway_can_do_without_hub_and_remote_functions() -> None:
    async with Gateway(replace(settings(None), services=None, clients=None, workers=None)) as gateway:
        assert (gateway.functions, gateway.hub) == (None, None)
        assert gateway.ready_line == f"ready mfp={gateway.url} journal=off"


async def test_keys_are_read_from_files(tmp_path: Path) -> None:
    """[RPC-10.4] [RPC-10.5]"""
    public = write_keys(tmp_path / "server")
    (tmp_path / "friends").write_text(f"{public}\n")
    friends = tmp_path / "friends"
    keyed = replace(
        settings(None),
        curve_key=tmp_path / "server",
        service_keys=friends,
        client_keys=friends,
        worker_keys=friends,
    )
    async with (
        Gateway(keyed) as gateway,
        connect(gateway.url) as peer,
    ):
        await peer.ping()
        assert gateway.functions is not None
        curve = CurveClient(public, read_secret(tmp_path / "server"))
        async with Functions(gateway.functions.clients_address, curve=curve, timeout=20) as functions:
            assert await functions.list() == []


async def test_two_gateways_cannot_share_a_journal(tmp_path: Path) -> None:
    async with Gateway(settings(tmp_path)):
        with pytest.raises(JournalLocked):
            await Gateway(settings(tmp_path)).start()


async def test_a_gateway_that_cannot_listen_leaves_its_journal_free(tmp_path: Path) -> None:
    async with Gateway(settings(None)) as first:
        taken = replace(settings(tmp_path), listen=first.url.split("/")[2])
        with pytest.raises(ConfigError, match="cannot listen"):
            await Gateway(taken).start()
        assert first.functions is not None
        taken = replace(settings(tmp_path), workers=first.functions.workers_address.removeprefix("tcp://"))
        with pytest.raises(ConfigError, match="cannot listen"):
            await Gateway(taken).start()
    async with Gateway(settings(tmp_path)):
        pass


async def test_a_failed_journal_stops_the_gateway(tmp_path: Path) -> None:
    gateway = Gateway(settings(tmp_path))
    await gateway.start()
    assert gateway._writer is not None
    gateway._writer._fail(OSError(28, "No space left on device"))
    await asyncio.wait_for(gateway.wait(), 5)
    await gateway.close()
    assert "No space left on device" in str(gateway.failure)


@pytest.mark.parametrize("on_failure", ["stop", "continue"])
async def test_links_that_a_failed_journal_leaves_open_are_ended_by_the_next_gateway(
    tmp_path: Path, on_failure: Literal["stop", "continue"]
) -> None:
    told = replace(settings(tmp_path), recording=RecordingSettings(on_failure=on_failure))
    gateway = Gateway(told)
    await gateway.start()
    async with connect(gateway.url) as peer, connect(gateway.url) as other:
        await peer.ping()
        await other.ping()
        assert gateway.writer is not None
        await asyncio.to_thread(gateway.writer.flush)
        gateway.writer._fail(OSError(28, "No space left on device"))
    await asyncio.sleep(0)
    await gateway.close()
    async with Gateway(told):
        pass
    rows = [row for batch in read(tmp_path) for row in batch.to_pylist() if "link_" in row["kind"]]
    links = [row["link"] for row in rows if row["kind"] == "link_opened"]
    assert len(links) == 2
    assert {row["link"]: row["code"] for row in rows if row["kind"] == "link_closed"} == dict.fromkeys(
        links, 1006
    )


@pytest.mark.parametrize("when", ["a link ends", "all ends"])
async def test_links_whose_end_could_not_be_written_are_ended_by_the_next_gateway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    gateway = Gateway(settings(tmp_path))
    await gateway.start()
    assert gateway.writer is not None

    def full(_segment: SegmentAppender, *_pieces: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        async with connect(gateway.url) as peer:
            await peer.ping()
            await asyncio.to_thread(gateway.writer.flush)
            broken.setattr(SegmentAppender, "write", full)
            if when == "all ends":
                await gateway.close()
        await gateway.close()
    assert "No space left on device" in str(gateway.failure)
    async with Gateway(settings(tmp_path)):
        pass
    rows = [row for batch in read(tmp_path) for row in batch.to_pylist() if "link_" in row["kind"]]
    (opened,) = (row["link"] for row in rows if row["kind"] == "link_opened")
    assert opened in [row["link"] for row in rows if row["kind"] == "link_closed"]


async def test_the_first_failure_is_why_it_stops(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway(settings(tmp_path / "j"))
    await gateway.start()
    (tmp_path / "j").rename(tmp_path / "elsewhere")
    async with connect(gateway.url) as peer:
        with suppress(FramehubError):  # that it stops may come first
            await peer.request("stock.price", "apple")
        await asyncio.wait_for(gateway.wait(), 5)
    await gateway.close()
    assert "the journal stopped at row 0: lock was removed" in str(gateway.failure)
    assert [record.levelname for record in caplog.records] == ["CRITICAL", "WARNING"]
    assert f"{tmp_path / 'j' / 'rpc'}: cannot be written" in caplog.text


async def test_what_the_proxy_cannot_write_down_is_not_said_of_the_journal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told = replace(settings(tmp_path), recording=RecordingSettings(on_failure="continue"))
    async with Gateway(told):
        (tmp_path / "rpc").rename(tmp_path / "elsewhere")
    assert "cannot be written" in caplog.text
    assert "going on, and the next one will not know workers and queries of now" in caplog.text


async def test_a_full_journal_holds_peers_back_and_room_lets_them_go(tmp_path: Path) -> None:
    async with Gateway(settings(tmp_path)) as gateway, connect(gateway.url) as peer:
        await peer.ping()
        gateway._pause()
        asking = asyncio.create_task(peer.request("stock.price", "pear"))
        await asyncio.sleep(0.05)
        assert not asking.done()
        gateway._resume()
        assert (await asking).data["cents"] == 95


async def test_what_could_not_be_sealed_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Gateway(settings(tmp_path)) as gateway:
        assert gateway._writer is not None
        gateway._writer.sealer.errors.append(JournalError("no room for the Parquet"))
    assert "not sealed, still readable as blocks: no room for the Parquet" in caplog.text


async def test_what_an_endpoint_is_told_can_stay_out_of_the_journal(tmp_path: Path) -> None:
    recording = RecordingSettings(record={"stock": "head", "note": "off"}, keep_days=1)
    told = replace(settings(tmp_path / "j"), recording=recording)
    async with Gateway(told) as gateway, connect(gateway.url) as peer:
        await peer.request("stock.price", "apple")
    rows = [row for batch in read(tmp_path / "j") for row in batch.to_pylist()]
    asked, answered = (row for row in rows if row["endpoint"] == "stock.price")
    assert (asked["recorded"], answered["recorded"]) == ("head", "head")
    assert asked["raw"] == asked["raw"][: asked["payload_at"]]
    assert not any(b"apple" in (row["raw"] or b"") for row in rows)


async def test_what_a_mistyped_name_is_sent_stays_out_of_a_journal_that_leaves_fields_out(
    tmp_path: Path,
) -> None:
    recording = RecordingSettings(redact={"login": ("password",)})
    worker = Worker(threads=1, drain=1)

    @worker.function
    def square(x: int) -> int:
        return x * x

    async with Gateway(replace(settings(tmp_path / "j"), recording=recording)) as gateway:
        assert gateway.hub is not None
        assert gateway.functions is not None
        service = await RawService(gateway.hub).registers(interface=INTERFACE)
        async with (
            connect(gateway.url) as peer,
            serving(worker, gateway.functions.workers_address),
            Functions(gateway.functions.clients_address, timeout=20) as functions,
        ):
            await until(lambda: gateway.endpoints is not None and gateway.endpoints.offers("square"))
            assert (await peer.request("stock.price", "apple")).data["cents"] == 120
            assert (await peer.request("square", 12)).data == 144
            assert await functions.call("square", 13) == 169
            adding = asyncio.ensure_future(peer.request("calc.add", 3))
            first, _last = await service.hears(2)
            service.answers(first, b"7", LAST)
            assert (await adding).data == 7
            keep = gateway.functions._state.quarantine
            kept, left_out = keep(b"1", "square", b"[12]", 3), keep(b"2", "login", b"secret", 3)
            assert kept is not None
            assert left_out is not None
            assert [one.with_suffix(".bin").exists() for one in (kept, left_out)] == [True, False]
            with pytest.raises(FramehubError):
                await peer.request("logni", {"password": "secret"})
        service.close()
    asked = [
        (row["endpoint"], row["recorded"])
        for batch in read(tmp_path / "j")
        for row in batch.to_pylist()
        if row["kind"] in ("request", "query", "first", "last") and row["direction"] == "in"
    ]
    assert [name for name, recorded in asked if recorded != "full"] == ["logni"]
    names = Counter(name for name, _ in asked)
    assert names["square"] == 3, "a request, its query, and one from elsewhere"
    assert names["calc.add"] == 1
    assert names["calc"] == 4, "the service itself, and its stream: first and last, and last of the service"


async def test_who_holds_large_buffers_keeps_others_out_until_they_are_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_buffers, "QUIET_SECONDS", 0.02)
    async with Gateway(replace(settings(None), max_buffered_bytes=4_000_000)) as gateway:
        buffers = buffers_of(asyncio.get_running_loop())
        raw = await RawClient.open(int(gateway.url.rpartition(":")[2].removesuffix("/mfp")))
        idle = gateway.buffered_bytes
        assert 0 < idle == buffers.bytes
        asked = RequestFrame(1, b'{"endpoint":"nowhere"}', ((1, bytes(5_000_000)),))
        large = frame(FIN | BINARY, codec.encode(asked))
        raw.writer.write(large[:-1])
        await until(lambda: gateway.buffered_bytes > 5_000_000)
        with pytest.raises(ConnectFailed, match="HTTP 503 too much is waiting"):
            await connect(gateway.url).__aenter__()
        raw.writer.write(large[-1:])
        assert (await raw.receive())[0] == BINARY
        await until(lambda: gateway.buffered_bytes <= idle)
        async with connect(gateway.url) as peer:
            assert await peer.ping() > 0
        await raw.end()
