from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from framehub.report.received import SHOWN, TYPES, files, messages

Snapshot = Callable[..., Path]
Make = Callable[..., Any]
At = Callable[[float], datetime]


def test_files_are_counted_by_type_and_way(snapshot: Snapshot, file: Make, at: At) -> None:
    rows = [file(f"f{n}", n * 100, time=at(n)) for n in range(20)]
    rows += [file("late", 7, how="streamed", type="image/png", complete=False, time=at(50))]
    rows += [file("never", 0, how="announced", type=None, complete=False, frames=0, time=at(60))]
    told = files(snapshot(files=rows, rows_per_file=6) / "files")
    assert (told["count"], told["bytes"], told["incomplete"]) == (22, 19_007, 2)
    assert told["by_how"][0] == {"how": "attached", "count": 20, "bytes": 19_000, "incomplete": 0}
    assert {row["type"]: row["incomplete"] for row in told["by_type"]} == {
        "text/plain": 0, "image/png": 1, "(no type)": 1
    }  # fmt: skip
    assert [row["name"] for row in told["biggest"]] == [f"f{n}" for n in range(19, 19 - SHOWN, -1)]
    assert [row["name"] for row in told["latest_incomplete"]] == ["never", "late"]


def test_types_beyond_the_first_are_one(snapshot: Snapshot, file: Make) -> None:
    told = files(snapshot(files=[file("f", 1, type=f"t/{n}") for n in range(50)]) / "files")
    assert len(told["by_type"]) == TYPES + 1
    assert told["by_type"][-1] == {"type": "(all others)", "count": 40, "bytes": 40, "incomplete": 0}


def test_sizes_and_types_may_be_unknown(snapshot: Snapshot, file: Make) -> None:
    rows = [file("f", 1, bytes=None, type=None, name=None, complete=False)]
    told = files(snapshot(files=rows) / "files")
    assert (told["count"], told["bytes"], told["biggest"]) == (1, 0, [])


def test_no_files(snapshot: Snapshot) -> None:
    told = files(snapshot() / "files")
    assert (told["count"], told["bytes"], told["by_type"], told["biggest"]) == (0, 0, [], [])


def test_the_latest_messages_with_their_data_cut(snapshot: Snapshot, at: At) -> None:
    usual = {"user": 1, "protocol": "mfp", "kind": "message", "direction": "in", "readable": True}
    rows = [usual | {"time": at(n), "json": str(n) * 1000} for n in range(30)]
    named = [{"key": n, "name": "n" * 999, "type": "t", "bytes": 1} for n in range(40)]
    rows += [usual | {"time": at(99), "files": named}]
    told = messages(snapshot(messages=rows, rows_per_file=7) / "messages")
    assert [row["time"] for row in told] == [at(n).isoformat() for n in (99, *range(29, 30 - SHOWN, -1))]
    assert len(told[1]["json"]) == 401
    assert (len(told[0]["files"]), told[0]["files_count"]) == (5, 40)
    assert len(told[0]["files"][0]["name"]) == 121
