"""What passes through a gateway, for those who look on: figures each second, frames as they come.

The journal's writer hands over rows once they are durable, and only while somebody looks on; until then a
frame costs what it always did. Those who look on never hold traffic up: what comes too fast for them is left
out and counted.
"""

import asyncio
import logging
import threading
from collections import OrderedDict, deque
from math import inf
from time import monotonic, time
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from framehub.console import frame_rows, past
from framehub.console.figures import COLUMNS, SECONDS, Figures
from framehub.console.frame_rows import Filter
from framehub.errors import FramehubError
from framehub.gateway import state
from framehub.gateway.callables import service_names
from framehub.journal.writer import JournalWriter
from framehub.runtime.alarm import Alarm
from framehub.runtime.peer import Peer

if TYPE_CHECKING:
    from framehub.gateway.gateway import Gateway

log = logging.getLogger("framehub.gateway")

PUMP_SECONDS: Final = 0.1
MOST_ROWS: Final = 20_000
MOST_BYTES: Final = 16 << 20
"""What may wait to be looked at; beyond it batches are left out."""
MOST_FOLLOWED: Final = 1_000
"""Rows looked at one by one in a turn of the pump."""
MOST_SHOWN: Final = 200
"""Rows for one watcher in a turn of the pump."""
MOST_WAITING: Final = 1_000
"""Rows that wait for a watcher that is slow."""
MOST_RECENT: Final = 4_000
RECENT_BYTES: Final = 16 << 20
"""Frames that were shown and are kept to be explained."""
QUIET_SECONDS: Final = 10.0
"""After a longer gap, what figures there were is no better than what can be read of the journal."""
MOST_TURNS: Final = 5
"""In which what came while the journal was read is followed."""


class Watcher:
    """One page that looks on."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.wanted: Filter | None = None
        """Frames it wants to see; None: none."""
        self.dropped = 0
        """Frames that fitted and were left out, since it was last told."""
        self._rows: deque[dict[str, Any]] = deque()
        self._watches = 0
        self._state: dict[str, Any] | None = None
        self._sending: asyncio.Task[None] | None = None

    def watch(self, wanted: Filter | None) -> None:
        """From now on these frames."""
        self.wanted = wanted
        self.dropped = 0
        self._rows.clear()
        self._watches += 1

    def show(self, rows: list[dict[str, Any]], left_out: int) -> None:
        """More frames; the oldest that wait make room."""
        self._rows.extend(rows)
        self.dropped += left_out
        while len(self._rows) > MOST_WAITING:
            self._rows.popleft()
            self.dropped += 1
        self._flush()

    def tell(self, state: dict[str, Any]) -> None:
        """How things are; one that could not be sent yet is replaced."""
        self._state = state
        self._flush()

    def _flush(self) -> None:
        if self._sending is None and (self._rows or self._state is not None):
            self._sending = asyncio.get_running_loop().create_task(self._send())
            self._sending.add_done_callback(self._sent)

    async def _send(self) -> None:
        while self._rows or self._state is not None:
            told, self._state = self._state, None
            rows, dropped, watches = list(self._rows), self.dropped, self._watches
            self._rows.clear()
            self.dropped = 0
            if told is not None:
                await self.peer.send("state", told)
            if rows and watches == self._watches:  # else it wants others by now
                await self.peer.send("frames", {"rows": rows, "dropped": dropped})

    def _sent(self, task: "asyncio.Task[None]") -> None:
        self._sending = None
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, FramehubError):  # else the connection has gone
            raise error


class Live:
    """Watchers ``join`` and leave with their connection."""

    def __init__(self, gateway: "Gateway", *, inside: bool) -> None:
        """``inside``: whether what frames carry may be seen."""
        self.figures = Figures()
        self.watchers: dict[Peer, Watcher] = {}
        self.recent: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self._gateway = gateway
        self._inside = inside
        self._recent_bytes = 0
        self._inbox: deque[tuple[int, pa.RecordBatch]] = deque()
        self._inbox_rows = 0
        self._inbox_bytes = 0
        self._lock = threading.Lock()  # of the inbox: the writer's thread fills it
        self._seen = 0
        """The last row that was looked at, or left out."""
        self._catching_up: asyncio.Task[None] | None = None
        self._closed = False
        self._left_at = -inf
        self._since = time()
        """From when on calls are known; seconds of the clock."""
        self._ticks = 0
        self._appended = 0
        self._pump_alarm = Alarm(self._pump)
        self._second_alarm = Alarm(self._second)

    def start(self) -> None:
        """Begin to count seconds: a second costs nothing to speak of, frames nothing at all."""
        writer = self._gateway.writer
        self._appended = writer.appended if writer else 0
        self._second_alarm.set(monotonic() + 1.0)

    def close(self) -> None:
        """Look no more."""
        self._closed = True
        self._pump_alarm.cancel()
        self._second_alarm.cancel()
        self._listen(on=False)

    async def join(self, peer: Peer) -> Watcher:
        """Somebody looks on: the first one waits until the figures know what was before."""
        watcher = self.watchers.get(peer)
        if watcher is None:
            watcher = self.watchers[peer] = Watcher(peer)
            peer.closed.add_done_callback(lambda _closed: self._left(peer))  # at once, if it is closed by now
            if len(self.watchers) == 1 and self._catching_up is None:
                self._listen(on=True)
                self._catching_up = asyncio.get_running_loop().create_task(self._catch_up())
        if self._catching_up is not None:
            await asyncio.shield(self._catching_up)
        return watcher

    @property
    def upto(self) -> int:
        """The row of the journal that a watcher is shown next, if it fits."""
        return self._seen + 1

    def now(self) -> dict[str, Any]:
        """What every watcher is told each second."""
        gateway, figures = self._gateway, self.figures
        names = service_names(gateway)
        return {
            **state.everything(gateway),
            "at": time() * 1000,
            "named": [named(one, names) for one in figures.told()],
            "failures": [named(one, names) for one in figures.failures],
            "minute": figures.minute(),
            "since": self._since * 1000,
            "skipped": figures.skipped,
            "watchers": len(self.watchers),
        }

    # --- inside ----------------------------------------------------------------------------------------

    async def _catch_up(self) -> None:
        """Until this is done, what comes waits; what the journal had by then is not counted again."""
        writer = self._gateway.writer
        if writer is not None:
            durable = writer.durable
            try:
                await self._look_back(writer)
            except (FramehubError, OSError, pa.ArrowException) as exc:
                log.warning("the console does without what was before: %s", exc)
                self._since = time()
            except Exception:
                log.exception("the console does without what was before")
                self._since = time()
            self._seen = max(self._seen, durable)
        self._catching_up = None
        if self.watchers and not self._closed:
            self._pump_alarm.set(monotonic())
        else:
            self._listen(on=False)

    async def _look_back(self, writer: JournalWriter) -> None:
        now, known, ticks = time(), self.figures, self._ticks
        found, figures = await asyncio.to_thread(_looked_back, writer, list(known.points), now)
        self._seen = max(self._seen, found.last_seq)
        if found.since > now - SECONDS and monotonic() - self._left_at < QUIET_SECONDS:
            return  # somebody looked on until a moment ago: that is more than there is time to read
        self._since = found.since
        for _ in range(MOST_TURNS):
            if not (waiting := self._waiting()):
                break
            rows = _joined([batch.select(COLUMNS) for _, batch in waiting])
            await asyncio.to_thread(figures.take, rows, MOST_ROWS)
        for point in list(known.points)[len(known.points) - (self._ticks - ticks) :]:  # told meanwhile
            figures.tick(point["t"], **{name: point[name] for name in past.COUNTED}, watched=True)
        figures.remember([one for one in known.failures if one["at"] < found.since * 1000])
        figures.skipped += known.skipped
        self.figures = figures

    def _left(self, peer: Peer) -> None:
        del self.watchers[peer]
        if not self.watchers:
            if self._catching_up is None:
                self._listen(on=False)
            self._pump_alarm.cancel()
            self._left_at = monotonic()
            self.recent.clear()
            self._recent_bytes = 0

    def _listen(self, *, on: bool) -> None:
        writer = self._gateway.writer
        if writer is not None:
            writer.on_rows = self._rows_written if on else None
        if not on:
            self._waiting()

    def _rows_written(self, first_seq: int, batch: pa.RecordBatch) -> None:
        """On the writer's thread: leave them, or leave them out."""
        size = batch.nbytes
        with self._lock:
            if self._inbox_rows + batch.num_rows > MOST_ROWS or self._inbox_bytes + size > MOST_BYTES:
                self.figures.skipped += batch.num_rows
                return
            self._inbox_rows += batch.num_rows
            self._inbox_bytes += size
            self._inbox.append((first_seq, batch))

    def _pump(self) -> None:
        if self.watchers:
            self._pump_alarm.set(monotonic() + PUMP_SECONDS)
        taken = self._waiting()
        if taken:
            # All at once: most batches are small, and each costs much beside its rows.
            self.figures.take(_joined([batch.select(COLUMNS) for _, batch in taken]), MOST_FOLLOWED)
            watching = [watcher for watcher in self.watchers.values() if watcher.wanted is not None]
            numbered = _joined([_numbered(*one) for one in taken]) if watching else None
            for watcher in watching:
                self._show(watcher, numbered)

    def _waiting(self) -> list[tuple[int, pa.RecordBatch]]:
        """What was handed over and was not seen in the journal already; from now on it is seen."""
        with self._lock:
            waiting = list(self._inbox)
            self._inbox.clear()
            self._inbox_rows = self._inbox_bytes = 0
        taken = [self._new(*one) for one in waiting if one[0] + one[1].num_rows > self.upto]
        if taken:
            self._seen = taken[-1][0] + taken[-1][1].num_rows - 1
        return taken

    def _new(self, first_seq: int, batch: pa.RecordBatch) -> tuple[int, pa.RecordBatch]:
        """The same without rows that were seen in the journal already."""
        old = max(0, self.upto - first_seq)
        return first_seq + old, batch.slice(old)

    def _show(self, watcher: Watcher, batch: pa.RecordBatch) -> None:
        assert watcher.wanted is not None
        fitting = frame_rows.chosen(batch, watcher.wanted)
        some = fitting.slice(0, MOST_SHOWN)
        node = self._gateway.writer.node.name if self._gateway.writer else ""
        rows = [{"node": node, **row} for row in some.to_pylist()]
        for row in rows:
            self._remember(row)
        names = service_names(self._gateway)
        lines = [named(frame_rows.line(row, inside=self._inside), names) for row in rows]
        watcher.show(lines, fitting.num_rows - some.num_rows)

    def _remember(self, row: dict[str, Any]) -> None:
        if row["seq"] in self.recent:
            return
        self.recent[row["seq"]] = row
        self._recent_bytes += len(row["raw"] or b"")
        while len(self.recent) > MOST_RECENT or self._recent_bytes > RECENT_BYTES:
            _, old = self.recent.popitem(last=False)
            self._recent_bytes -= len(old["raw"] or b"")

    def _second(self) -> None:
        self._second_alarm.set(monotonic() + 1.0)
        gateway = self._gateway
        writer, listener = gateway.writer, gateway.listener
        appended = writer.appended if writer else 0
        rows, self._appended = appended - self._appended, appended
        hub = gateway.hub
        self._ticks += 1
        point = self.figures.tick(
            time(),
            rows=rows,
            open=len(listener.peers) if listener else 0,
            hub=len(hub.switch.clients) if hub and hub.is_up else 0,
            watched=bool(self.watchers),
        )
        if self.watchers:
            told = {**self.now(), "point": point}
            for watcher in self.watchers.values():
                watcher.tell(told)


def _looked_back(
    writer: JournalWriter, points: list[dict[str, Any]], now: float
) -> tuple[past.Past, Figures]:
    """What there is of the past minutes. Who is handed rows from now on misses none."""
    writer.flush(past.LONGEST)  # a commit that is under way may not know yet that its rows are wanted
    found = past.recent(writer.node, now)
    return found, past.figures_of(found, points, now)


def named(told: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """A line or figures with a function's name, where rows have its number."""
    name = names.get(told["name"])
    return told if name is None else {**told, "name": name}


def _numbered(first_seq: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    seqs = pa.array(range(first_seq, first_seq + batch.num_rows), pa.int64())
    return batch.append_column("seq", seqs)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
