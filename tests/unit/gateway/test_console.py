"""What the admin port's page asks for, over its own connection."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from framehub.console.past import Older
from framehub.errors import ConnectFailed, EndpointError, RequestTimeout
from framehub.gateway import state
from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import AdminSettings, GatewaySettings
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.hub_client import HubClient
from framehub.runtime.peer import Peer
from framehub.runtime.tokens import add
from tests.unit.gateway.test_admin import FREE, settings


class Page:
    """A page that looks on, without a browser."""

    def __init__(self) -> None:
        self.states: list[dict[str, Any]] = []
        self.frames: list[dict[str, Any]] = []
        self.endpoints = Endpoints()
        self.endpoints.on("state")(lambda call: self.states.append(call.data))
        self.endpoints.on("frames")(lambda call: self.frames.extend(call.data["rows"]))

    async def until(self, there: Callable[[], Any]) -> Any:
        async with asyncio.timeout(20):
            while not (found := there()):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return found


def at(gateway: Gateway, path: str) -> str:
    assert gateway.admin_url is not None
    return gateway.admin_url.replace("http", "ws", 1) + path


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    async with Gateway(settings(tmp_path)) as made:
        yield made


@pytest.fixture
def page() -> Page:
    return Page()


@pytest.fixture
async def looking(gateway: Gateway, page: Page) -> AsyncIterator[Peer]:
    async with connect(at(gateway, "/mfp"), endpoints=page.endpoints) as peer:
        yield peer


async def test_it_is_told_the_state_each_second_with_figures_by_name(
    gateway: Gateway, page: Page, looking: Peer
) -> None:
    welcome = (await looking.request("watch")).data
    assert (welcome["ready"], welcome["inside"], welcome["journal"]["node"]) == (True, True, "here")
    assert welcome["addresses"] == state.addresses(gateway)
    async with connect(gateway.url) as client:
        await client.request("stock.price", "apple")
        with pytest.raises(EndpointError):
            await client.request("stock.price", "unicorn")

        def told() -> Any:
            return next((one for one in page.states if one["named"]), None)

        (named,) = (await page.until(told))["named"]
    assert (named["name"], named["calls"], named["outcomes"]) == ("stock.price", 2, {"ok": 1, "error": 1})
    (failure,) = page.states[-1]["failures"]
    assert (failure["outcome"], failure["name"]) == ("error", "stock.price")
    assert sum(one["point"]["calls"] for one in page.states) == 2
    assert page.states[-1]["minute"]["p95"] >= failure["ms"] * 0.9


async def test_the_hubs_clients_are_counted_each_second(gateway: Gateway, page: Page, looking: Peer) -> None:
    await looking.request("watch")
    async with HubClient(gateway.url.replace("/mfp", "/hub")):
        await page.until(lambda: [one for one in page.states if one["point"]["hub"] == 1])
        assert page.states[-1]["point"]["open"] == 0


async def test_frames_are_told_while_they_are_wanted_and_only_those(
    gateway: Gateway, page: Page, looking: Peer
) -> None:
    watching = (await looking.request("frames.watch", {"kinds": ["request"]})).data
    assert watching == {"watching": True, "before": 1}
    async with connect(gateway.url) as client:
        await client.request("chat", {"text": "hello"})
        (row,) = await page.until(lambda: page.frames)
        assert (row["name"], row["link"]) == ("chat", client.link)
        assert row["preview"] == '{"text":"hello"}'
        told = (await looking.request("frame", row["seq"])).data
        assert {"head", "id", "payload"} <= {field["name"] for field in told["fields"]}
        await looking.request("frames.watch", None)
        await client.request("chat", {"text": "unseen"})
        assert gateway.writer is not None
        await asyncio.to_thread(gateway.writer.flush)
        await asyncio.sleep(0.3)
    assert len(page.frames) == 1


async def test_what_was_before_anybody_looked_on_is_known_and_counts_once(
    gateway: Gateway, page: Page, looking: Peer
) -> None:
    assert gateway.writer is not None
    async with connect(gateway.url) as client:
        await client.request("stock.price", "apple")
        with pytest.raises(EndpointError):
            await client.request("stock.price", "unicorn")
        welcome = (await looking.request("watch")).data
        (named,) = welcome["named"]
        assert (named["name"], named["outcomes"]) == ("stock.price", {"ok": 1, "error": 1})
        (failure,) = welcome["failures"]
        assert (failure["outcome"], failure["name"]) == ("error", "stock.price")
        watching = (await looking.request("frames.watch", {"kinds": ["request"]})).data
        await client.request("stock.price", "pear")
        (row,) = await page.until(lambda: page.frames)
        asked = {"wanted": {"kinds": ["request"]}, "before": watching["before"]}
        found = (await looking.request("frames.past", asked)).data
        before = [line["seq"] for line in found["lines"]]
        assert (len(before), found["more"]) == (2, False)
        assert row["seq"] > before[0] > before[1] >= found["before"] >= 1
        everything = (await looking.request("frames.past", {"wanted": {"kinds": ["request"]}})).data
        assert [line["seq"] for line in everything["lines"]] == [row["seq"], *before]
        await page.until(lambda: any(one["named"][0]["calls"] == 3 for one in page.states if one["named"]))
    async with connect(at(gateway, "/mfp")) as another:
        assert (await another.request("watch")).data["named"][0]["calls"] == 3


async def test_what_failed_before_a_restart_is_known(tmp_path: Path) -> None:
    async with Gateway(settings(tmp_path)) as before, connect(before.url) as client:
        with pytest.raises(EndpointError):
            await client.request("stock.price", "unicorn")
    async with Gateway(settings(tmp_path)) as after, connect(at(after, "/mfp")) as looking:
        welcome = (await looking.request("watch")).data
        assert [failure["name"] for failure in welcome["failures"]] == ["stock.price"]


async def test_one_reads_the_journal_at_a_time_also_for_those_who_give_up(
    gateway: Gateway, looking: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most = 0, 0

    def slow(*_: object, **__: object) -> Older:
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(0.1)
        running -= 1
        return Older([], 1, None, more=False)

    monkeypatch.setattr("framehub.gateway.console.older", slow)
    asked = [looking.request("frames.past", {"wanted": {}}, timeout=0.02) for _ in range(4)]
    assert all(
        isinstance(one, RequestTimeout) for one in await asyncio.gather(*asked, return_exceptions=True)
    )
    assert (await looking.request("frames.past", {"wanted": {}})).data["lines"] == []
    assert most == 1


@pytest.mark.parametrize(
    ("endpoint", "data", "reason"),
    [
        ("frames.past", {"wanted": {"colour": "red"}}, "unknown field"),
        ("frames.past", {"wanted": {}, "before": 0}, ">= 1"),
        ("frames.watch", {"protocols": ["http"]}, "protocols: 'http' is none of mfp, hub, rpc"),
        ("frames.watch", {"colour": "red"}, "unknown field"),
        ("frames.watch", {"user": 2**63}, "<= 65535"),
        ("frames.watch", {"user": -1}, ">= 0"),
        ("frames.watch", {"name": "x" * 257}, "length <= 256"),
        ("frames.past", {"wanted": {"link": "0" * 66}}, "length <= 64"),
        ("frames.watch", 3, "Expected `object`"),
        ("frame", "seven", "by its number in the journal"),
        ("frame", 10**9, "is not in the journal"),
        ("story", "xyzxyz", "want hex digits"),
        ("story", 3, "32 hex digits"),
        ("story", "00" * 16, "no exchange"),
    ],
)
async def test_what_cannot_be_told_is_refused_with_the_reason(
    gateway: Gateway, looking: Peer, endpoint: str, data: Any, reason: str
) -> None:
    assert gateway.writer is not None
    async with connect(gateway.url) as client:
        await client.ping()
    await asyncio.to_thread(gateway.writer.flush)
    with pytest.raises(EndpointError, match=reason):
        await looking.request(endpoint, data)


async def test_a_frame_that_was_not_shown_is_read_from_the_journal(gateway: Gateway, looking: Peer) -> None:
    assert gateway.writer is not None
    async with connect(gateway.url) as client:
        await client.request("stock.price", "pear")
    await asyncio.to_thread(gateway.writer.flush)
    kinds = [(await looking.request("frame", seq)).data["kind"] for seq in (1, 3, 4)]
    assert kinds == ["link_opened", "request", "response"]


async def test_a_call_from_the_page_is_a_clients_and_its_story_is_told(
    gateway: Gateway, looking: Peer
) -> None:
    assert gateway.writer is not None
    async with connect(at(gateway, "/call")) as caller:
        await caller.ping()
        with pytest.raises(RequestTimeout):
            await caller.request("report.build", {"seconds": 20}, timeout=0.2)
        await caller.ping()  # the gateway has heard of it then
        await asyncio.to_thread(gateway.writer.flush)
        story = (await looking.request("story", f"{caller.link}:2")).data
    assert [part["outcome"] for part in story["parts"]] == ["timeout"]
    assert [lane["party"] for lane in story["lanes"]] == ["client", "gateway"]
    assert "gave up" in story["sentences"][-1]["text"]
    whole = (await looking.request("story", story["exchange"])).data
    assert whole["events"] == story["events"]


async def test_the_pages_own_connection_is_not_recorded(gateway: Gateway, looking: Peer) -> None:
    assert gateway.writer is not None
    await looking.request("watch")
    assert gateway.writer.appended == 0
    assert (await looking.request("connections")).data["mfp_open"] == 0
    assert (await looking.request("functions")).data["is_on"] is True
    assert (await looking.request("services")).data["instances"] == []


async def test_without_a_journal_there_are_figures_and_a_hint(tmp_path: Path) -> None:
    async with Gateway(settings(None)) as gateway, connect(at(gateway, "/mfp")) as looking:
        assert (await looking.request("watch")).data["journal"] == {"is_on": False}
        with pytest.raises(EndpointError, match="--journal"):
            await looking.request("story", "00" * 16)


def guarded(folder: Path, *, admin: bool) -> tuple[GatewaySettings, str, str]:
    """A gateway whose clients need tokens; with ``admin``, its admin port does too."""
    user = add(folder / "users", user=5, name="somebody")[0]
    operator = add(folder / "admins", user=5, name="operator")[0]
    tokens = folder / "admins" if admin else None
    made = replace(settings(folder), tokens=folder / "users", admin=AdminSettings(listen=FREE, tokens=tokens))
    return made, user, operator


async def test_where_clients_need_tokens_and_the_port_has_none_nobody_calls_or_looks_inside(
    tmp_path: Path, page: Page
) -> None:
    made, user, _ = guarded(tmp_path, admin=False)
    async with Gateway(made) as gateway:
        with pytest.raises(ConnectFailed, match="404"):
            async with connect(at(gateway, "/call")):
                pass
        async with (
            connect(at(gateway, "/mfp"), endpoints=page.endpoints) as looking,
            connect(gateway.url, token=user) as client,
        ):
            assert (await looking.request("watch")).data["inside"] is False
            await looking.request("frames.watch", {"kinds": ["request"]})
            await client.request("chat", {"text": "secret"})
            (row,) = await page.until(lambda: page.frames)
            told = [row, (await looking.request("frame", row["seq"])).data]
            told.append((await looking.request("story", row["exchange"])).data)
            assert (row["name"], row["user"]) == ("chat", 5)
            assert "secret" not in str(told)


async def test_with_tokens_of_its_own_it_may_and_calls_as_nobody_in_particular(tmp_path: Path) -> None:
    made, user, operator = guarded(tmp_path, admin=True)
    async with Gateway(made) as gateway:
        for path in ("/mfp", "/call"):
            for token in (None, user):
                with pytest.raises(ConnectFailed, match="401"):
                    async with connect(at(gateway, path), token=token):
                        pass
        async with connect(at(gateway, "/call"), token=operator) as caller:
            await caller.request("stock.price", "apple")
            assert gateway.listener is not None
            assert [peer.user for peer in gateway.listener.peers] == [0]
        async with connect(at(gateway, "/mfp"), token=operator) as looking:
            assert (await looking.request("watch")).data["inside"] is True
