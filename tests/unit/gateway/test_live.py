"""Those who look on: slow ones lose frames and hold nobody up."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from framehub.console import past
from framehub.console.frame_rows import Filter
from framehub.errors import ConnectionClosed, RequestTimeout
from framehub.gateway.gateway import Gateway
from framehub.gateway.live import MOST_ROWS, MOST_SHOWN, MOST_WAITING, Live, Watcher
from framehub.journal.append import SegmentAppender
from framehub.journal.columns import to_batch
from framehub.runtime.connect import connect
from tests.unit.console.rows import Script
from tests.unit.gateway.test_admin import settings


class SlowPeer:
    """Takes what it is told when it is let."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.told: list[tuple[str, Any]] = []
        self.error: Exception | None = None

    async def send(self, endpoint: str, data: Any) -> None:
        await self.gate.wait()
        if self.error:
            raise self.error
        self.told.append((endpoint, data))


async def turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_slow_watcher_gets_the_newest_and_is_told_how_many_it_missed() -> None:
    peer = SlowPeer()
    watcher = Watcher(peer)  # type: ignore[arg-type]
    watcher.show([{"seq": 0}], 0)
    await turn()  # the first is on its way, and waits there
    for seq in range(1, MOST_WAITING + 11):
        watcher.show([{"seq": seq}], 0)
    watcher.tell({"at": 1})
    watcher.tell({"at": 2})
    peer.gate.set()
    await turn()
    assert peer.told[0] == ("frames", {"rows": [{"seq": 0}], "dropped": 0})
    assert peer.told[1] == ("state", {"at": 2}), "an old state is of no use"
    name, told = peer.told[2]
    assert (name, len(told["rows"]), told["dropped"]) == ("frames", MOST_WAITING, 10)
    assert told["rows"][-1] == {"seq": MOST_WAITING + 10}


async def test_a_watcher_whose_connection_goes_is_no_fault() -> None:
    peer = SlowPeer()
    peer.error = ConnectionClosed(1006, "")
    watcher = Watcher(peer)  # type: ignore[arg-type]
    watcher.tell({"at": 1})
    peer.gate.set()
    await turn()
    assert peer.told == []


def rows(count: int) -> Any:
    script = Script()
    script.request(0)
    return to_batch(script.rows * count)


async def test_nothing_is_handed_over_unless_somebody_looks_on(tmp_path: Path) -> None:
    async with Gateway(settings(tmp_path)) as gateway:
        assert gateway.writer is not None
        assert gateway.writer.on_rows is None
        assert gateway.admin_url is not None
        async with connect(gateway.admin_url.replace("http", "ws") + "/mfp") as looking:
            await looking.request("watch")
            assert gateway.writer.on_rows is not None
        async with asyncio.timeout(10):
            while gateway.writer.on_rows is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def test_a_disk_that_hangs_keeps_nobody_from_looking_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("framehub.console.past.LONGEST", 0.05)
    go_on = threading.Event()
    sync = SegmentAppender.sync

    def hang(appender: SegmentAppender) -> None:
        go_on.wait(20)
        sync(appender)

    async with Gateway(settings(tmp_path)) as gateway, connect(at(gateway)) as looking:
        monkeypatch.setattr(SegmentAppender, "sync", hang)
        async with connect(gateway.url) as client:
            await client.request("chat", {"text": "hello"})
            assert (await looking.request("watch", timeout=10)).data["named"] == []
            go_on.set()


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), ValueError("a fault of ours")])
async def test_without_the_past_there_is_the_present(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("framehub.console.past.recent", fail)
    async with Gateway(settings(tmp_path)) as gateway, connect(gateway.url) as client:
        await client.request("chat", {"text": "unseen"})
        assert gateway.writer is not None
        await asyncio.to_thread(gateway.writer.flush)
        async with connect(at(gateway)) as looking:
            assert (await looking.request("watch")).data["named"] == []
            assert (await looking.request("frames.watch", {})).data["before"] > 1
            await client.request("chat", {"text": "seen"})
            async with asyncio.timeout(10):
                while not (named := (await looking.request("watch")).data["named"]):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
    assert named[0]["calls"] == 1
    assert "the console does without what was before" in caplog.text
    assert ("Traceback" in caplog.text) is isinstance(error, ValueError)


async def test_who_leaves_while_it_is_looked_back_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    monkeypatch.setattr("framehub.console.past.recent", slowly(past.recent, go_on))
    async with Gateway(settings(tmp_path)) as gateway:
        assert gateway.writer is not None
        async with connect(at(gateway)) as looking:
            with pytest.raises(RequestTimeout):
                await looking.request("watch", timeout=0.1)
        async with connect(at(gateway)) as another, connect(gateway.url) as client:
            asking = asyncio.create_task(another.request("watch"))
            await asyncio.sleep(0.1)
            for _ in range(3):
                await client.request("chat", {"text": "meanwhile"})
            await asyncio.to_thread(gateway.writer.flush)
            go_on.set()
            assert (await asking).data["named"][0]["calls"] == 3
        async with asyncio.timeout(10):
            while gateway.writer.on_rows is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def test_where_there_is_too_much_to_read_a_reload_forgets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("framehub.console.past.MOST_ROWS", 1)
    monkeypatch.setattr("framehub.journal.backwards.PIECE_ROWS", 1)
    async with Gateway(settings(tmp_path)) as gateway, connect(gateway.url) as client:
        assert gateway.writer is not None
        async with connect(at(gateway)) as looking:
            await looking.request("watch")
            await client.request("chat", {"text": "hello"})
            async with asyncio.timeout(10):
                while not (await looking.request("watch")).data["named"]:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        await client.send("chat", "hello")
        await asyncio.to_thread(gateway.writer.flush)
        async with connect(at(gateway)) as looking:
            assert (await looking.request("watch")).data["named"][0]["calls"] == 1


def slowly(work: Callable[..., Any], go_on: threading.Event) -> Callable[..., Any]:
    def wait(*args: Any, **options: Any) -> Any:
        go_on.wait(20)
        return work(*args, **options)

    return wait


def at(gateway: Gateway) -> str:
    assert gateway.admin_url is not None
    return gateway.admin_url.replace("http", "ws") + "/mfp"


async def test_what_comes_too_fast_is_left_out_and_counted(tmp_path: Path) -> None:
    async with Gateway(settings(tmp_path)) as gateway:
        live = Live(gateway, inside=True)
        peer = SlowPeer()
        watcher = live.watchers[peer] = Watcher(peer)  # type: ignore[index, arg-type]
        watcher.watch(Filter())
        batch = rows(MOST_ROWS)
        live._rows_written(1, batch)
        live._rows_written(1 + MOST_ROWS, rows(7))
        assert live.figures.skipped == 7
        live._pump()
        assert len(live.recent) == MOST_SHOWN
        assert live.figures.tick(0)["frames"] == MOST_ROWS
        peer.gate.set()
        await turn()
        (told,) = peer.told
        assert (len(told[1]["rows"]), told[1]["dropped"]) == (MOST_SHOWN, MOST_ROWS - MOST_SHOWN)
        live.watchers.clear()
        live.close()


@pytest.mark.parametrize("size", [1, 9])
async def test_frames_kept_to_be_explained_are_bounded_in_bytes(tmp_path: Path, size: int) -> None:
    async with Gateway(settings(tmp_path)) as gateway:
        live = Live(gateway, inside=True)
        for seq in range(size):
            live._remember({"seq": seq, "raw": bytes(4 << 20)})
        assert len(live.recent) == min(size, 4)
