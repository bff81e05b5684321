"""Those who look on: slow ones lose frames and hold nobody up."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from framehub.console.frame_rows import Filter
from framehub.errors import ConnectionClosed
from framehub.gateway.gateway import Gateway
from framehub.gateway.live import MOST_ROWS, MOST_SHOWN, MOST_WAITING, Live, Watcher
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
