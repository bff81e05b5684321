import asyncio
import logging
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import ConfigError, JournalError
from framehub.rpc import words
from framehub.rpc.messages import MAX_DESCRIPTION
from framehub.rpc.settings import ProxySettings
from framehub.runtime.curve import CurveClient, CurveServer, new_keys, public_of
from framehub.runtime.rpc_proxy import RpcProxy
from framehub.runtime.rpc_state import ProxyState
from framehub.runtime.rpc_tap import RpcTap
from framehub.runtime.watchdog import CUT_OFF
from framehub.runtime.zmq_socket import MessageSocket
from tests.unit.runtime.rpc_parts import FREE, RawPeer, proxy, until
from tests.unit.runtime.test_rpc_tap import Rows

REGISTER = (words.WORKER_REGISTER, b"\0\0\0\1", b"square", b"Int", b"Int")


async def test_a_query_goes_to_a_worker_and_its_answer_comes_back() -> None:
    """[RPC-3.1.1] [RPC-3.1.2] [RPC-5.4.4]"""
    async with proxy() as ours:
        worker, client = RawPeer(ours.workers_address), RawPeer(ours.clients_address, b"me")
        worker.says(*REGISTER)
        client.says(words.QUERY, b"1", b"12", b"square")
        assert await client.hears() == [[words.QUERY_RECEIVED, b"1"]]
        [[type_, wid, argument, name]] = await worker.hears()
        assert (type_, len(wid), argument, name) == (words.QUERY, 16, b"12", b"square")
        assert ours.pending == 1
        worker.says(words.QUERY_RECEIVED, wid)
        worker.says(words.RESPONSE_RESULT, wid, b"144")
        assert await client.hears() == [[words.RESPONSE_RESULT, b"1", b"144"]]
        assert await worker.hears() == [[words.RESPONSE_RECEIVED, wid]]
        client.says(words.RESPONSE_RECEIVED, b"1")
        await until(lambda: not ours.machine.keeping.kept_bytes)
        assert ours.pending == 0
        worker.close()
        client.close()


async def test_a_worker_that_left_is_noticed_and_its_query_goes_on() -> None:
    """[RPC-5.2.3] [RPC-10.1]"""
    async with proxy() as ours:
        first, client = RawPeer(ours.workers_address), RawPeer(ours.clients_address)
        first.says(*REGISTER)
        client.says(words.QUERY, b"1", b"12", b"square")
        await first.hears()
        second = RawPeer(ours.workers_address)
        second.says(*REGISTER)
        await until(lambda: len(ours.machine.registry.workers) == 2)
        first.close()
        while (message := (await second.hears())[0])[0] != words.QUERY:
            assert message[0] == words.RESPONSE_RECEIVED  # is it still there?
        second.says(words.RESPONSE_RESULT, message[1], b"144")
        assert [words.RESPONSE_RESULT, b"1", b"144"] in await client.hears(2)
        second.close()
        client.close()


async def test_an_address_that_is_taken_leaves_nothing_behind(tmp_path: Path) -> None:
    async with proxy() as ours:
        for clients, workers in ((ours.clients_address, FREE), (FREE, ours.workers_address)):
            state = ProxyState(tmp_path)
            with pytest.raises(ConfigError):
                await RpcProxy(clients=clients, workers=workers, state=state).start()
    ProxyState(tmp_path).close()


async def test_nothing_is_read_while_paused() -> None:
    async with proxy() as ours:
        client = RawPeer(ours.clients_address)
        client.says(words.FUNCTIONS_QUERY, b"1")
        await client.hears()
        ours.pause()
        ours.pause()
        client.says(words.FUNCTIONS_QUERY, b"2")
        await asyncio.sleep(0.4)
        assert client.heard == []
        ours.resume()
        ours.resume()
        [[_, id_, _]] = await client.hears()
        assert id_ == b"2"
        client.close()


async def test_a_message_of_too_many_parts_is_dropped_and_counted() -> None:
    """[RPC-10.3]"""
    async with proxy() as ours:
        client = RawPeer(ours.clients_address)
        client.says(*[b"x"] * 4_000)
        client.says(words.FUNCTIONS_QUERY, b"1")
        await client.hears()
        assert ours.machine.counts["too many parts or bytes from a client"] == 1
        client.close()


async def test_what_was_refused_is_told_in_one_line_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "framehub.rpc"):
        async with proxy() as ours:
            client = RawPeer(ours.clients_address)
            for _ in range(5):
                client.says(b"HELLO")
            await until(lambda: "malformed: " in caplog.text)
            client.close()


async def test_workers_are_known_after_a_restart_unless_nothing_was_under_way(tmp_path: Path) -> None:
    """[RPC-4.1.2]"""
    async with proxy(state=ProxyState(tmp_path)) as ours:
        worker, client = RawPeer(ours.workers_address, b"w"), RawPeer(ours.clients_address)
        worker.says(words.WORKER_DESCRIBE, b'{"functions": {}}')
        worker.says(*REGISTER)
        [[welcome, _]] = await worker.hears()
        assert welcome == words.WORKER_DESCRIBE
        client.says(words.QUERY, b"1", b"12", b"square")
        [[_, wid, *_]] = await worker.hears()
        roster = (tmp_path / "roster").read_text()
        assert roster == f"{b'w'.hex()}\n"
    again = ProxyState(tmp_path)
    assert again.roster == [b"w"]
    async with proxy(state=again) as ours:
        assert ours.machine.placing.recovering
    assert ProxyState(tmp_path).roster == []
    worker.close()
    client.close()
    assert wid


async def test_what_may_not_run_twice_is_written_down_before_it_is_given(tmp_path: Path) -> None:
    """[RPC-4.1.3]"""
    async with proxy(state=ProxyState(tmp_path)) as ours:
        worker, client = RawPeer(ours.workers_address, b"w"), RawPeer(ours.clients_address)
        worker.says(words.WORKER_DESCRIBE, b'{"functions": {"square": {"redispatch": "unacknowledged"}}}')
        worker.says(*REGISTER)
        await worker.hears()
        client.says(words.QUERY, b"1", b"12", b"square")
        [[_, wid, *_]] = await worker.hears()
        assert (tmp_path / "begun-0").read_bytes() == wid
        worker.close()
        client.close()


async def test_what_cannot_be_written_down_is_a_failure_told_once(tmp_path: Path) -> None:
    failures: list[JournalError] = []
    state = ProxyState(tmp_path / "rpc")
    async with proxy(state=state, on_failure=failures.append) as ours:
        (tmp_path / "rpc" / "roster.new").mkdir()
        worker = RawPeer(ours.workers_address)
        worker.says(*REGISTER)
        await until(lambda: failures)
        worker.says(*REGISTER)
        await until(lambda: not ours.machine.working.roster_changed)
        worker.close()
    assert len(failures) == 1


async def test_a_query_that_kills_every_worker_is_put_into_quarantine(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """[RPC-4.6]"""
    async with proxy(ProxySettings(attempts=1), state=ProxyState(tmp_path)) as ours:
        worker, client = RawPeer(ours.workers_address), RawPeer(ours.clients_address)
        worker.says(*REGISTER)
        client.says(words.QUERY, b"1", b"12", b"square")
        [[_, wid, *_]] = await worker.hears()
        worker.says(words.QUERY_RETURNED, wid, words.DIED)
        heard = await client.hears(2)
        assert heard[1][2].startswith(b"poison")
        assert (tmp_path / "quarantine" / f"{wid.hex()}.bin").read_bytes() == b"12"
        assert "killed 1 processes or workers" in caplog.text
        worker.close()
        client.close()


async def test_a_caller_inside_the_process_needs_no_socket() -> None:
    heard: list[list[bytes]] = []
    identity = b"\0mfp" + bytes(8)
    async with proxy() as ours:
        ours.admit(identity, b"12345678", lambda parts, _job: heard.append(parts))
        ours.tell(identity, [words.FUNCTIONS_QUERY, b"1"])
        assert heard[0][:2] == [words.FUNCTIONS_LIST, b"1"]
        ours.dismiss(identity)
        ours.machine.client_says(identity, [words.FUNCTIONS_QUERY, b"2"], 0.0)
        ours._flush()
        assert len(heard) == 1


async def test_keys_decide_who_is_heard_and_clients_are_no_workers() -> None:
    """[RPC-10.4]"""
    server, friend, worker_key = new_keys(), new_keys(), new_keys()
    keys: dict[str, Any] = {
        "client_keys": CurveServer(server[1], [friend[0]]),
        "worker_keys": CurveServer(server[1], [worker_key[0]]),
    }
    async with proxy(**keys) as ours:
        heard: list[list[bytes]] = []
        mine = MessageSocket("dealer", heard.extend, identity=b"me", curve=CurveClient(server[0], friend[1]))
        mine.connect(ours.clients_address)
        mine.send([words.FUNCTIONS_QUERY, b"1"])
        await until(lambda: heard)
        rogue = MessageSocket("dealer", heard.extend, curve=CurveClient(server[0], friend[1]))
        rogue.connect(ours.workers_address)
        rogue.send(list(REGISTER))
        await until(lambda: ours._workers.refused)
        assert ours.machine.registry.workers == {}
        assert public_of(friend[1]) == friend[0]
        mine.close()
        rogue.close()


async def test_an_identity_under_another_key_is_counted() -> None:
    """[RPC-10.4]"""
    server, friend, other, worker_key = new_keys(), new_keys(), new_keys(), new_keys()
    keys: dict[str, Any] = {
        "client_keys": CurveServer(server[1], [friend[0], other[0]]),
        "worker_keys": CurveServer(server[1], [worker_key[0]]),
    }
    async with proxy(**keys) as ours:
        heard: list[list[bytes]] = []
        mine = MessageSocket("dealer", heard.extend, identity=b"me", curve=CurveClient(server[0], friend[1]))
        mine.connect(ours.clients_address)
        mine.send([words.FUNCTIONS_QUERY, b"1"])
        await until(lambda: heard)
        mine.close()
        while not ours.machine.counts["under another client's identity"]:  # the other one's end is noticed
            thief = MessageSocket(
                "dealer", heard.extend, identity=b"me", curve=CurveClient(server[0], other[1])
            )
            thief.connect(ours.clients_address)
            thief.send([words.FUNCTIONS_QUERY, b"1"])
            await asyncio.sleep(0.1)
            thief.close()
        assert len(heard) == 1


async def test_who_sends_a_message_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """[RPC-10.3] The memory is what the test says; an honest client beside it is served."""
    memory = 100 << 20
    monkeypatch.setattr("framehub.runtime.watchdog.resident", lambda: memory)
    part = b"\x01\xff" + bytes(255)
    async with proxy() as ours:
        honest = RawPeer(ours.clients_address)
        _, port = ours.clients_address.rsplit(":", 1)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
        writer.write(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
        ready = b"\x05READY" + b"\x0bSocket-Type" + (6).to_bytes(4, "big") + b"DEALER"
        writer.write(bytes((4, len(ready))) + ready)
        memory += 65 << 20
        await until(lambda: ours.watchdog.is_watching)
        writer.write(part * 12_288)
        honest.says(words.FUNCTIONS_QUERY, b"1")
        await honest.hears()
        while not ours.machine.counts[CUT_OFF]:
            memory += 20 << 20
            honest.says(words.FUNCTIONS_QUERY, b"2")
            await honest.hears()
        assert ours.watchdog.cut_off == 1
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        honest.close()


LARGE = b"x" * (16 << 20)


@pytest.mark.parametrize(
    ("says", "hears"),
    [
        ((words.WORKER_REGISTER, b"\0\0\0\1", LARGE, b"Int", b"Int"), [LARGE[:255], b"", b""]),
        ((words.WORKER_REGISTER, b"\0\0\0\1", b"square", LARGE, b"Int"), [b"square", b"", b""]),
        ((words.WORKER_REGISTER, LARGE, b"square", b"Int", b"Int"), [b"square", b"", b""]),
    ],
    ids=["name", "coder", "count"],
)
async def test_a_registration_with_a_part_of_16_mib_is_refused_without_a_copy(
    says: tuple[bytes, ...], hears: list[bytes]
) -> None:
    """[RPC-5.1.2] [RPC-9.1] Nor is it written down whole."""
    rows = Rows()
    async with proxy(tap=RpcTap(rows)) as ours:  # type: ignore[arg-type]
        worker = RawPeer(ours.workers_address)
        tracemalloc.start()
        try:
            worker.says(*says)
            assert await worker.hears() == [[words.INCOMPATIBLE_SPECS_FAILURE, *hears]]
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        worker.close()
    assert most < 2 << 20, "half of it is a page of the journal"
    refused, _ = rows.all
    assert (refused["kind"], len(refused["raw"]) < 4_096) == ("refused", True)


@pytest.mark.parametrize(
    ("says", "hears"),
    [
        (
            (words.QUERY, b"1", b"12", LARGE),
            b"QUERY: a function has 1 to 255 bytes, not over 1024",
        ),
        ((words.CODER_IDENTITY_QUERY, b"1", LARGE), None),
        ((words.CANCEL, LARGE), None),
        ((LARGE, b"1"), None),
    ],
    ids=["query", "coders", "id", "type"],
)
async def test_a_part_of_16_mib_of_a_client_is_refused_without_a_copy(
    says: tuple[bytes, ...], hears: bytes | None
) -> None:
    """[RPC-8.1] [RPC-9.1]"""
    async with proxy() as ours:
        client = RawPeer(ours.clients_address)
        tracemalloc.start()
        try:
            client.says(*says)
            await until(lambda: ours.machine.counts["malformed"])
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        if hears is not None:
            assert await client.hears() == [[words.RESPONSE_EXCEPTION, b"1", b"bad request: " + hears]]
        client.close()
    assert most < 1 << 20


async def test_a_description_that_is_too_long_is_refused_without_a_copy_of_its_rest() -> None:
    """[RPC-9.1]"""
    async with proxy() as ours:
        worker = RawPeer(ours.workers_address)
        tracemalloc.start()
        try:
            worker.says(words.WORKER_DESCRIBE, LARGE)
            await until(lambda: ours.machine.counts["malformed"])
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        worker.close()
    assert most < 3 * MAX_DESCRIPTION  # it is decoded too
