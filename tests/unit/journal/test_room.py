"""Both ways to note rows give the same journal: also where the disk does not keep up, and where it fails."""

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from framehub.errors import JournalError
from framehub.journal import _fold, _notes, columns, reader
from framehub.journal.append import SegmentAppender
from framehub.journal.gathering import LIGHT_BYTES
from framehub.journal.labels import TEXT_BYTES
from framehub.journal.mfp_rows import OUT, LinkRows
from framehub.journal.notes import Label, Notes, Shape
from framehub.journal.page import ROW_BYTES
from framehub.journal.record import Row
from framehub.journal.writer import JournalWriter, WriterSettings
from framehub.mfp.envelope import Envelope

WAYS = [pytest.param(Notes, None, id="plain"), pytest.param(_notes.Notes, _fold, id="compiled")]
CONSTANTS = LinkRows(b"linklink", 7).constants
REQUEST = bytes.fromhex("61 00000009 00000002") + b"{}"
SETTINGS = WriterSettings(backlog_bytes=60_000, gather_bytes=8_000, overflow="drop", seal=False)


class Disk:
    """One that stops in the middle of a sync until it is let go, then maybe fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_held = self.fails = False
        self.reached, self.go = threading.Event(), threading.Event()
        sync = SegmentAppender.sync

        def wait(appender: SegmentAppender) -> None:
            if self.is_held:
                self.reached.set()
                assert self.go.wait(20)
            if self.fails:
                raise OSError(5, "Input/output error")
            sync(appender)

        monkeypatch.setattr(SegmentAppender, "sync", wait)

    def hold(self) -> None:
        self.reached.clear()
        self.go.clear()
        self.is_held = True

    def let_go(self, *, fail: bool = False) -> None:
        self.fails, self.is_held = fail, False
        self.go.set()


class Act(NamedTuple):
    how: str
    number: int
    size: int
    endpoint: str


def acts(seed: int, count: int) -> list[Act]:
    """Mostly small rows noted in brief; some large, some whole, some with texts that fill a page."""
    dice = random.Random(seed)
    ways = ["took"] * 6 + ["gave"] * 6 + ["note"] * 3 + ["message"] * 3 + ["frame"] * 3 + ["take", "append"]
    sizes = [0, 1, 40, 300, LIGHT_BYTES - len(REQUEST) - 40, 9_000]
    weights = [9, 9, 9, 5, 1, 1]
    found = []
    for number in range(count):
        endpoint = f"to.{dice.randrange(40)}"
        if dice.random() < 0.002:
            endpoint += "x" * (TEXT_BYTES // 4)
        (size,) = dice.choices(sizes, weights)
        found.append(Act(dice.choice(ways), number, size, endpoint))
    return found


def label_of(shape: Shape) -> Label:
    return CONSTANTS[OUT], shape[0], None, "json"


class Player:
    """Notes rows as the gateway does, and writes down what can be seen of the writer after each."""

    def __init__(self, directory: Path, kind: type[Notes], make: Callable[..., Row]) -> None:
        self.waited: list[tuple[int, str | None]] = []
        self.writer = JournalWriter(directory, node="n", settings=SETTINGS, kind=kind)
        self._make = make
        self._took, self._gave = self.writer.notes.link(1, CONSTANTS, LIGHT_BYTES)
        self._shapes = self.writer.notes.shapes(label_of)

    def play(self, act: Act) -> tuple[object, ...]:
        raw = REQUEST + bytes(act.size)
        whole = self._make(act.number, raw=raw, endpoint=act.endpoint)
        said: object = None
        try:
            if act.how == "took":
                said = self._took(raw, act.number, Envelope(act.endpoint), 1.0)
            elif act.how == "gave":
                said = self._gave(raw, act.number, act.endpoint)
            elif act.how == "message":
                name = act.number.to_bytes(16, "big")
                said = self._shapes.message((act.endpoint,), name, b"peer", [b"QUERY", raw])
            elif act.how == "append":
                said = self.writer.append(whole)
            elif act.how == "note" and act.size < LIGHT_BYTES:
                texts = (act.endpoint, None, None)
                self.writer.notes.note(1.0, (1, act.number), CONSTANTS[OUT], texts, memoryview(raw))
            elif act.how == "frame" and act.size < LIGHT_BYTES:
                self._shapes.frame((act.endpoint,), b"linklink", act.number, raw)
            else:
                said = False
            if said is False:
                self.writer.take(whole)
        except JournalError as exc:
            said = _text(exc)
        if act.number % 7 == 0:
            seq = self.writer.appended
            self.writer.add_waiter(seq, lambda error: self.waited.append((seq, _text(error))))
        return act, said, self.writer.appended, self.writer.dropped, self.writer.backlog, self.writer.full


def _text(error: JournalError | None) -> str | None:
    return None if error is None else str(error).rpartition(": ")[2]


def rows_of(path: Path) -> list[dict[str, Any]]:
    clocks = ("time_ns", "mono_ns")
    return [
        {name: value for name, value in row.items() if name not in clocks}
        for batch in reader.read(path)
        for row in batch.to_pylist()
    ]


def played(
    path: Path, disk: Disk, player: Player, row: Callable[..., Row], *, rounds: int, fail: bool = False
) -> list[Any]:
    """Rows come while the disk stands still: first with room for them, then without; then it goes on."""
    seen: list[Any] = []
    writer = player.writer
    for number in range(rounds):
        last = number == rounds - 1
        disk.hold()
        seen.append(writer.append(row(0)))
        assert disk.reached.wait(20)
        seen += [player.play(act) for act in acts(number, 900)]
        disk.let_go(fail=fail and last)
        if fail and last:
            with pytest.raises(JournalError, match="Input/output error"):
                writer.flush(20)
            seen += [player.play(act)[1:4] for act in acts(99, 100)]
        else:
            assert writer.flush(20) == writer.appended
            assert writer.backlog == 0
        assert not writer.notes.behind
        seen.append((writer.appended, writer.durable, writer.dropped))
    return seen


@pytest.mark.parametrize("fail", [False, True])
def test_both_take_and_drop_the_same_rows(
    tmp_path: Path, row: Callable[..., Row], monkeypatch: pytest.MonkeyPatch, fail: bool
) -> None:
    outcomes = []
    for kind, folding in ((Notes, None), (_notes.Notes, _fold)):
        with monkeypatch.context() as patching:
            patching.setattr(columns, "folding", folding)
            disk = Disk(patching)
            path = tmp_path / kind.__module__
            player = Player(path, kind, row)
            seen = played(path, disk, player, row, rounds=3, fail=fail)
            dropped, durable = player.writer.dropped, player.writer.durable
            if fail:
                with pytest.raises(JournalError):
                    player.writer.close()
            else:
                player.writer.close()
            outcomes.append((seen, dropped, durable, player.waited, rows_of(path)))
    plain, compiled = outcomes
    for ours, theirs in zip(plain[0], compiled[0], strict=True):
        assert ours == theirs
    assert plain[1:4] == compiled[1:4]
    assert plain[4] == compiled[4]
    assert plain[1] > 300
    assert [one["seq"] for one in plain[4]] == list(range(1, len(plain[4]) + 1))
    found, durable = len(plain[4]), plain[2]
    assert found >= durable if fail else found == durable  # what was written and not synced may be there
    assert (None in {error for _, error in plain[3]}, len(plain[3]) >= 3 * 900 // 7) == (True, True)


@pytest.mark.parametrize(("kind", "folding"), WAYS)
@pytest.mark.parametrize("how", ["took", "gave", "note", "message", "frame", "take", "append"])
def test_a_writer_that_is_behind_drops_and_counts_and_never_renumbers(
    tmp_path: Path,
    row: Callable[..., Row],
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Notes],
    folding: Any,
    how: str,
) -> None:
    monkeypatch.setattr(columns, "folding", folding)
    disk = Disk(monkeypatch)
    player = Player(tmp_path, kind, row)
    writer = player.writer
    disk.hold()
    writer.append(row(0))
    assert disk.reached.wait(20)
    before, most = 1, 0
    for number in range(2_000):
        player.play(Act(how, number, 100, "a"))
        assert writer.appended >= before  # what was taken keeps its number
        before, most = writer.appended, max(most, writer.backlog)
    assert writer.dropped > 1_000
    assert writer.appended + writer.dropped == 2_001
    a_page = (SETTINGS.gather_bytes // 100 + 1) * (ROW_BYTES + 200)
    assert most <= SETTINGS.backlog_bytes + a_page
    disk.let_go()
    taken = writer.flush(20)
    assert taken == before
    player.play(Act(how, 7, 100, "b"))
    assert writer.appended == taken + 1
    dropped = writer.dropped
    writer.close()
    found = rows_of(tmp_path)
    assert (len(found), found[-1]["endpoint"], writer.dropped) == (taken + 1, "b", dropped)
    assert all(error is None for _, error in player.waited)


@pytest.mark.parametrize(("kind", "folding"), WAYS)
def test_peers_are_not_held_back_where_rows_are_dropped(
    tmp_path: Path,
    row: Callable[..., Row],
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Notes],
    folding: Any,
) -> None:
    monkeypatch.setattr(columns, "folding", folding)
    disk = Disk(monkeypatch)
    player = Player(tmp_path, kind, row)
    told: list[str] = []
    player.writer.on_full = lambda: told.append("full")
    disk.hold()
    player.writer.append(row(0))
    assert disk.reached.wait(20)
    for act in acts(1, 600):
        player.play(act)
    assert player.writer.dropped > 0
    disk.let_go()
    player.writer.close()
    assert told == []
