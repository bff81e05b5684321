import json
from pathlib import Path

from framehub.gateway import state
from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import GatewaySettings
from framehub.runtime.hub_client import HubClient
from framehub.runtime.peer import Peer
from tests.unit.runtime.hub_parts import RawService

FREE = "127.0.0.1:0"


async def test_what_is_off_is_said_to_be() -> None:
    gateway = Gateway(GatewaySettings(listen=FREE, services=None, clients=None, workers=None, journal=None))
    assert state.readiness(gateway) == state.Readiness(False, "starting")
    assert not state.services(gateway)["is_on"]
    assert not state.functions(gateway)["is_on"]
    assert state.journal(gateway) == {"is_on": False}
    assert state.connections(gateway)["mfp_open"] == 0
    async with gateway:
        off = {"services": None, "clients": None, "workers": None, "journal": None}
        assert state.addresses(gateway) == {**off, "mfp": gateway.url}
        assert state.everything(gateway)["ready"] is True


async def test_services_and_clients_of_the_hub(gateway: Gateway, service: RawService, peer: Peer) -> None:
    async with HubClient(gateway.url.replace("/mfp", "/hub")):
        told = state.services(gateway)
        (one,) = told["instances"]
        assert (one["name"], one["streams"], one["is_leaving"]) == ("far.calc", 0, False)
        found = state.connections(gateway)
        assert (found["mfp_open"], found["hub_open"], len(found["hub"])) == (1, 1, 1)
        assert "mfp" not in state.everything(gateway)["connections"]
        json.dumps(state.everything(gateway))
        assert gateway.hub is not None
        assert state.addresses(gateway)["services"] == gateway.hub.address


async def test_functions_and_workers(tmp_path: Path) -> None:
    settings = GatewaySettings(listen=FREE, services=None, clients=FREE, workers=FREE, journal=tmp_path)
    async with Gateway(settings) as gateway:
        assert gateway.functions is not None
        machine = gateway.functions.machine
        machine.registry.register(b"w1", [(b"square", b"Int", b"Int")], 0.0)
        told = state.functions(gateway)
        assert told["functions"] == [{"name": "square", "workers": 1, "waiting": 0}]
        (worker,) = told["workers"]
        assert (worker["functions"], worker["queries"], worker["is_leaving"]) == (1, 0, False)
        assert state.journal(gateway)["failed"] is None
        told = state.addresses(gateway)
        assert told["workers"] == gateway.functions.workers_address
        assert told["journal"] == str(tmp_path)
