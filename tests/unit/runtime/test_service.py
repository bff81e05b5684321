import asyncio
import json
import logging
import signal
import threading
from typing import Any

import pytest

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import ConfigError
from framehub.hub.headers import HubFrame, Settings
from framehub.hub.served import ServiceSettings
from framehub.runtime import functionset
from framehub.runtime.curve import CurveClient, CurveServer, new_keys
from framehub.runtime.service import Service
from framehub.runtime.service_stream import ServiceStream
from framehub.runtime.worksource import ChildHasSeenEnough
from tests.unit.runtime.raw_hub import RawHub, attended, raw_hub
from tests.unit.runtime.rpc_parts import until

LAST, COMMAND, SERVICE_ERROR = HubState.LAST, HubState.COMMAND, HubState.SERVICE_ERROR


def quotes(**others: Any) -> Service:
    made = Service(7, "quotes", doc="Prices.", **others)

    @made.function(1)
    async def ticks(stream: ServiceStream) -> None:
        """Prices as they change."""
        async for body in stream:
            await stream.send(body)
        await stream.end(b"bye")

    @made.function(2, name="last")
    def last_price(symbol: str) -> float:
        return 1.0

    return made


@pytest.mark.parametrize("version", [1, 2])
async def test_it_tells_the_hub_who_it_is(version: int) -> None:
    made = quotes(version=version, timeout=2.5)
    async with raw_hub(version=version) as hub, attended(made, hub.address):
        (told,) = hub.registered
        assert told.settings == Settings(version, 2_500, 7)
        interface = json.loads(told.body)
        assert (interface["name"], interface["doc"]) == ("quotes", "Prices.")
        assert [(one["number"], one["name"]) for one in interface["functions"]] == [
            (1, "ticks"),
            (2, "last"),
        ]
        hub.opens(9, 0)
        assert await hub.hears_bodies() == [(9, LAST, told.body)]


async def test_without_a_timeout_the_hub_has_the_say() -> None:
    async with raw_hub() as hub, attended(quotes(), hub.address):
        assert hub.registered[0].settings == Settings(2, 0, 7)


async def test_open_streams_are_finished_when_it_stops() -> None:
    made = quotes()
    told: list[int] = []
    async with raw_hub() as hub:
        ready = asyncio.Event()
        task = asyncio.ensure_future(
            made.serve(hub.address, on_ready=lambda _a: ready.set(), on_stopping=told.append)
        )
        await ready.wait()
        hub.opens(9)
        hub.tells(9, b"one")
        await hub.hears()
        made.stop()
        assert await hub.hears() == [HubFrame(0, COMMAND, HubCommand.CLOSE)]
        hub.opens(10)  # given before the goodbye was heard
        hub.tells(9, b"two")
        assert await hub.hears_bodies() == [(9, HubState.MESSAGE, b"two")]
        assert not task.done()
        hub.tells(9, b"", LAST)
        hub.tells(10, b"", LAST)
        assert sorted(await hub.hears_bodies(2)) == [(9, LAST, b"bye"), (10, LAST, b"bye")]
        await asyncio.wait_for(task, 20)
        assert told == [1]


@pytest.mark.parametrize("how", ["drain", "twice"])
async def test_streams_that_do_not_finish_are_told(how: str) -> None:
    made = quotes(drain=0.2 if how == "drain" else 60.0)
    async with raw_hub() as hub, attended(made, hub.address) as task:
        hub.opens(9)
        hub.tells(9, b"one")
        await hub.hears()
        made.stop()
        await hub.hears()
        if how == "twice":
            made.stop()
        await asyncio.wait_for(asyncio.shield(task), 20)
        assert await hub.hears_bodies() == [(9, SERVICE_ERROR, b"the service has stopped")]


async def test_a_service_that_nobody_hears_stops_at_once() -> None:
    made = quotes()
    made.stop()  # before it began: nothing to stop
    task = asyncio.ensure_future(made.serve("tcp://127.0.0.1:1"))
    await asyncio.sleep(0.1)
    made.stop()
    await asyncio.wait_for(task, 20)


async def test_after_a_restart_of_the_hub_it_is_there_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    hub = RawHub()
    async with attended(quotes(), hub.address):
        hub.opens(9)
        hub.tells(9, b"one")
        await hub.hears()
        hub.close()
        async with raw_hub(address=hub.address) as again:
            await until(lambda: "has us again" in caplog.text)
            again.opens(9)
            again.tells(9, b"two")
            assert await again.hears_bodies() == [(9, HubState.MESSAGE, b"two")]
    assert f"lost the hub at {hub.address}" in caplog.text


async def test_no_answer_for_a_while_is_worth_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framehub.runtime.service_desk.PATIENCE", 0.1)
    told: list[str] = []
    made = quotes()
    task = asyncio.ensure_future(made.serve("tcp://127.0.0.1:1", on_alone=told.append))
    await until(lambda: told)
    made.stop()
    await task
    assert told[0].startswith("no answer from a hub at tcp://127.0.0.1:1 yet: is `framehub serve` up")


async def test_a_hub_that_refuses_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framehub.runtime.service_desk.PATIENCE", 0.3)
    told: list[str] = []
    made = quotes()
    async with raw_hub(is_polite=False) as hub:
        task = asyncio.ensure_future(made.serve(hub.address, on_alone=told.append))
        await until(lambda: hub.registered)
        hub.says(HubFrame(0, HubState.STREAM_ERROR, HubError.LIMIT, b"too many services"))
        await until(lambda: told)
        made.stop()
        await task
    assert told == [
        f"the hub at {hub.address} does not take this service: LIMIT too many services. Still trying"
    ]


async def test_keys_are_used() -> None:
    public, secret = new_keys()
    own_public, own_secret = new_keys()
    made = quotes(curve=CurveClient(public, own_secret))
    async with raw_hub(curve=CurveServer(secret, [own_public])) as hub, attended(made, hub.address):
        assert len(hub.registered) == 1


async def test_the_address_is_the_argument_or_its_own_or_the_environments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with raw_hub() as hub:
        monkeypatch.setenv("FRAMEHUB_SERVICES", hub.address)
        async with attended(quotes(), ""):
            pass
        monkeypatch.setenv("FRAMEHUB_SERVICES", "nowhere")
        async with attended(quotes(address=hub.address), ""):
            pass
        with pytest.raises(ConfigError, match="cannot connect to nowhere"):
            await quotes().serve()
        assert len(hub.registered) == 2


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"number": 0}, "1 to 65535, not 0"),
        ({"number": 65_536}, "1 to 65535"),
        ({"number": "7"}, "1 to 65535"),
        ({"name": "a b"}, "a service's name has no spaces"),
        ({"version": 3}, "version is 1 or 2"),
        ({"timeout": 0}, "timeout must be above zero"),
        ({"timeout": float("nan")}, "timeout must be above zero"),
        ({"timeout": 5e6}, "at most 49 days"),
        ({"threads": 0}, "threads must be at least 1"),
    ],
)
def test_what_cannot_be(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        Service(**{"number": 7, **wrong})


def test_a_function_has_a_number() -> None:
    with pytest.raises(ConfigError, match=r"write @service.function\(1\)"):

        @Service(7).function  # type: ignore[arg-type]
        def forgotten() -> None: ...


async def test_there_has_to_be_something_to_offer() -> None:
    with pytest.raises(ConfigError, match="this service has no functions"):
        await Service(7).serve()


def test_the_line_that_says_it_is_ready() -> None:
    assert (
        quotes().ready_line("tcp://x:1")
        == "ready services=tcp://x:1 service=7 name=quotes functions=ticks,last"
    )
    nameless = Service(8)
    nameless.function(1)(lambda: None)
    nameless.functions[1].name = "f"
    assert nameless.ready_line("tcp://x:1") == "ready services=tcp://x:1 service=8 functions=f"


def test_run_ends_with_one_line_where_it_cannot_begin() -> None:
    with pytest.raises(SystemExit, match="Error: this service has no functions"):
        Service(7).run()


def test_run_serves_until_a_signal() -> None:
    made = quotes()

    def end() -> None:
        signal.raise_signal(signal.SIGTERM)

    timer = threading.Timer(0.5, end)
    timer.start()
    made.run("tcp://127.0.0.1:1")
    timer.join()


def test_nothing_starts_in_the_child_of_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functionset, "collected", [])
    with pytest.raises(ChildHasSeenEnough):
        quotes().run()


async def test_settings_reach_the_machine() -> None:
    async with raw_hub() as hub, attended(quotes(settings=ServiceSettings(max_streams=1)), hub.address):
        hub.opens(1)
        hub.opens(2)
        assert await hub.hears_bodies() == [(2, SERVICE_ERROR, b"busy: 1 streams are open")]
