import asyncio

from prometheus_client.parser import text_string_to_metric_families

from framehub.codes import HubState
from framehub.gateway.gateway import Gateway
from framehub.gateway.metrics import Metrics
from framehub.gateway.settings import AdminSettings, GatewaySettings
from framehub.rpc import words
from framehub.runtime.connect import connect
from framehub.runtime.peer import Peer
from tests.unit.gateway.conftest import INTERFACE
from tests.unit.runtime.hub_parts import RawService
from tests.unit.runtime.rpc_parts import RawPeer, until

FREE = "127.0.0.1:0"


def samples(gateway: Gateway) -> dict[str, float]:
    text = Metrics(gateway).text().decode()
    return {
        sample.name + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_what_goes_on_is_measured(gateway: Gateway, peer: Peer) -> None:
    await peer.ping()
    found = samples(gateway)
    assert found["framehub_ready"] == 1
    assert found["framehub_mfp_connections"] == 1
    assert found["framehub_mfp_connections_opened_total"] == 1
    assert found["framehub_mfp_exchanges_total"] >= 2
    assert any(name.startswith("framehub_hub_instances ") and "far.calc" in name for name in found)
    assert found["framehub_journal_rows_total"] >= 3
    assert found["framehub_journal_failed"] == 0
    assert "framehub_rpc_workers" not in found
    assert "process_resident_memory_bytes" in found


async def test_requests_are_measured_by_endpoint_and_outcome() -> None:
    settings = GatewaySettings(
        app="framehub.gateway.sample:endpoints",
        listen=FREE,
        services=None,
        clients=None,
        workers=None,
        journal=None,
        admin=AdminSettings(listen=FREE),
    )
    async with Gateway(settings) as gateway, connect(gateway.url) as peer:
        await peer.request("chat", {"room": "r", "text": "nobody wants to know yet"})
        samples(gateway)
        for name in ("chat", "chat", "nobody.home"):
            await peer.request(name, {"room": "r", "text": "hi"}, raise_on_error=False)
        found = samples(gateway)
    assert found["framehub_requests_total chat ok"] == 2
    assert found["framehub_requests_total (unknown) error"] == 1
    assert found["framehub_request_seconds_count chat"] == 2
    assert found["framehub_request_seconds_bucket chat +Inf"] == 2
    assert 0 < found["framehub_request_seconds_sum chat"] < 2 * 30


async def test_exchanges_of_those_who_left_still_count(gateway: Gateway, peer: Peer) -> None:
    await peer.ping()
    await peer.close()
    assert gateway.listener is not None
    while gateway.listener.peers:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    assert samples(gateway)["framehub_mfp_exchanges_total"] >= 2


async def test_calls_and_streams_are_measured_by_name_and_outcome_whoever_asks() -> None:
    settings = GatewaySettings(listen=FREE, services=FREE, clients=FREE, workers=FREE, journal=None)
    async with Gateway(settings) as gateway, connect(gateway.url) as peer:
        assert gateway.functions is not None
        assert gateway.hub is not None
        samples(gateway)
        worker = RawPeer(gateway.functions.workers_address)
        caller = RawPeer(gateway.functions.clients_address)
        worker.says(words.WORKER_REGISTER, b"\0\0\0\1", b"square", b"json", b"json")
        await until(lambda: gateway.functions and gateway.functions.machine.registry.workers)
        caller.says(words.QUERY, b"1", b"12", b"square")
        asked = asyncio.ensure_future(peer.request("square", 12))
        answered = 0
        while answered < 2:
            [message] = await worker.hears()
            if message[0] == words.QUERY:
                worker.says(words.RESPONSE_RESULT, message[1], b"144")
                answered += 1
        assert (await asked).data == 144
        service = await RawService(gateway.hub).registers(interface=INTERFACE)
        asked = asyncio.ensure_future(peer.request("far.calc.add", [1, 2]))
        service.answers((await service.hears())[0], b"3", HubState.LAST)
        assert (await asked).data == 3
        found = samples(gateway)
        for one in (worker, caller, service):
            one.close()
    assert found["framehub_calls_total square ok"] == 2
    assert found["framehub_call_seconds_count square"] == 2
    assert found["framehub_requests_total square ok"] == 1
    assert found["framehub_service_streams_total ok far.calc.add"] == 1
    assert found["framehub_service_stream_seconds_bucket +Inf far.calc.add"] == 1
    assert found["framehub_hub_streams"] == 0


async def test_functions_are_measured_by_name() -> None:
    settings = GatewaySettings(listen=FREE, services=None, clients=FREE, workers=FREE, journal=None)
    async with Gateway(settings) as gateway:
        assert gateway.functions is not None
        gateway.functions.machine.registry.register(b"w1", [(b"square", b"Int", b"Int")], 0.0)
        found = samples(gateway)
    assert found["framehub_rpc_function_workers square"] == 1
    assert found["framehub_journal_on"] == 0
    assert "framehub_hub_streams" not in found
