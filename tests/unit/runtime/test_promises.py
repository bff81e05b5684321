"""Acknowledgements that wait for the journal (spec/journal.md, section 7.6)."""

import asyncio
import threading
from pathlib import Path

import pytest

from framehub.errors import JournalError, RequestTimeout
from framehub.journal import reader
from framehub.journal.append import SegmentAppender
from framehub.journal.writer import JournalWriter
from framehub.runtime.calls import Call
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.memory import pair
from framehub.runtime.promises import Promises
from framehub.runtime.tap import Tap


class Disk:
    """One that waits to be let go, then maybe fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go = threading.Event()
        self.error: OSError | None = None
        sync = SegmentAppender.sync

        def wait(appender: SegmentAppender) -> None:
            assert self.go.wait(20)
            if self.error is not None:
                raise self.error
            sync(appender)

        monkeypatch.setattr(SegmentAppender, "sync", wait)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def app() -> Endpoints:
    endpoints = Endpoints()

    @endpoints.on("note")
    def note(call: Call) -> str:
        return str(call.data)

    return endpoints


async def test_an_acknowledgement_waits_until_its_row_is_durable(tmp_path: Path, disk: Disk) -> None:
    with JournalWriter(tmp_path, node="n") as writer:
        promises = Promises(writer)
        client, _ = pair(theirs=app(), tap=Tap(writer, promises=promises))
        told = [asyncio.create_task(client.send("note", number, ack=True)) for number in range(5)]
        assert (await client.request("note", "answers do not wait")).data == "answers do not wait"
        assert promises.waiting == 5
        assert not any(task.done() for task in told)
        assert writer.durable == 0
        disk.go.set()
        await asyncio.gather(*told)
        assert writer.durable >= 6  # the link, and the five
        assert promises.waiting == 0
        await client.close()
    kinds = [row["kind"] for batch in reader.read(tmp_path) for row in batch.to_pylist()]
    assert kinds.count("service") == 5
    assert kinds.index("service") > kinds.index("response")


async def test_without_it_an_acknowledgement_promises_nothing(tmp_path: Path, disk: Disk) -> None:
    with JournalWriter(tmp_path) as writer:
        client, _ = pair(theirs=app(), tap=Tap(writer))
        await asyncio.wait_for(client.send("note", 1, ack=True), 10)
        assert writer.durable == 0
        disk.go.set()
        await client.close()


async def test_a_failed_journal_acknowledges_nothing(tmp_path: Path, disk: Disk) -> None:
    writer = JournalWriter(tmp_path)
    promises = Promises(writer)
    client, _ = pair(theirs=app(), tap=Tap(writer, promises=promises))
    before = asyncio.create_task(client.send("note", 1, ack=True, timeout=1.0))
    await asyncio.sleep(0.05)
    disk.error = OSError(5, "Input/output error")
    disk.go.set()
    with pytest.raises(RequestTimeout):
        await before
    with pytest.raises(RequestTimeout):
        await client.send("note", 2, ack=True, timeout=0.1)
    assert promises.waiting == 0
    await client.close()
    with pytest.raises(JournalError):
        writer.close()


async def test_a_connection_that_is_gone_is_told_nothing(tmp_path: Path, disk: Disk) -> None:
    with JournalWriter(tmp_path) as writer:
        promises = Promises(writer)
        client, _ = pair(theirs=app(), tap=Tap(writer, promises=promises))
        waiting = asyncio.create_task(client.send("note", 1, ack=True))
        await asyncio.sleep(0.05)
        await client.close()
        with pytest.raises(Exception, match="1000"):
            await waiting
        disk.go.set()
        await writer.synced(writer.appended)
        while promises.waiting:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    kinds = [row["kind"] for batch in reader.read(tmp_path) for row in batch.to_pylist()]
    assert kinds == ["link_opened", "message", "link_closed"]
