from typing import Any

import pytest

from framehub.journal import _notes
from framehub.journal.block import decode_rows
from framehub.journal.columns import encode
from framehub.journal.gathering import Gathering
from framehub.journal.notes import QUICKEST, Notes
from framehub.journal.record import NO_ID, Row
from framehub.journal.rpc_rows import IN, OUT
from framehub.journal.settings import WriterSettings
from framehub.rpc import words
from framehub.rpc.jobs import Client, Job
from framehub.rpc.registry import Function
from framehub.runtime.rpc_tap import RpcTap

WID = bytes(range(16))
PARENT = b"p" * 16


class Rows:
    """Stands where the journal's tap is, and its writer."""

    def __init__(self, kind: type[Notes] = QUICKEST, *, takes_brief: bool = True) -> None:
        self.takes_brief = takes_brief
        self.gathering = Gathering(WriterSettings(), 0, kind=kind)
        self.notes = self.gathering.notes
        self.writer = self
        self._last: dict[str, Any] = {}

    def append(self, row: Row) -> None:
        self.gathering.add(row)

    @property
    def all(self) -> list[dict[str, Any]]:
        self.gathering.turn()
        return [row for page in self.gathering.pages for row in encode(page).batch().to_pylist()]

    @property
    def last(self) -> dict[str, Any]:
        self.gathering.turn()
        while self.gathering.pages:
            body = encode(self.gathering.pages.popleft())
            self._last = decode_rows(body.front + bytes(body.back), rows=body.rows).to_pylist()[-1]
        return self._last


def tapped() -> tuple[RpcTap, Rows]:
    rows = Rows()
    return RpcTap(rows), rows  # type: ignore[arg-type]


def job(*, known: bool = True) -> Job:
    made = Job(Client(b"me", lambda id_: id_), b"1", WID, b"square", b"12")
    made.parent = PARENT
    if known:
        made.spec = Function(b"square", gone_at=0.0)
        made.spec.argument, made.spec.result = b"json", b"Int"
    return made


def test_a_query_has_its_exchange_its_parent_and_its_coder() -> None:
    """[RPC-11.2]"""
    tap, rows = tapped()
    tap.came("client", b"me", [words.QUERY, b"1", b"12", b"square"], job())
    row = rows.last
    assert (row["protocol"], row["kind"], row["direction"]) == ("rpc", "query", "in")
    assert (row["exchange"], row["parent"], row["coder"]) == (WID, PARENT, "json")
    assert (row["endpoint"], row["query"], row["error"]) == ("square", b"1", None)
    tap.went("worker", b"w", [words.QUERY, WID, b"12", b"square"], job())
    assert (rows.last["direction"], rows.last["parent"], rows.last["coder"]) == ("out", None, "json")


def test_a_result_has_the_results_coder_and_an_exception_a_code() -> None:
    tap, rows = tapped()
    tap.came("worker", b"w", [words.RESPONSE_RESULT, WID, b"144"], job())
    assert (rows.last["kind"], rows.last["coder"], rows.last["endpoint"]) == ("result", "Int", "square")
    tap.went("client", b"me", [words.RESPONSE_EXCEPTION, b"1", b"ValueError: no"], job())
    assert rows.last["error"] == "function_failed"
    tap.went("client", b"me", [words.RESPONSE_EXCEPTION, b"1", b"BUSY: later"], None)
    assert (rows.last["error"], rows.last["exchange"]) == ("busy", None)
    tap.went("client", b"me", [words.RESPONSE_UNKNOWN_FUNCTION, b"1", b"square"], job(known=False))
    assert (rows.last["error"], rows.last["coder"]) == ("unknown_function", None)
    tap.came("client", b"me", [words.QUERY, b"1", b"12", b"square"], job(known=False))
    assert rows.last["coder"] is None


def test_what_was_refused_is_recorded_with_its_reason() -> None:
    tap, rows = tapped()
    tap.came("client", b"me", [b"HELLO"], "type 'HELLO' is not sent by a client")
    assert (rows.last["kind"], rows.last["refused"]) == ("refused", "type 'HELLO' is not sent by a client")
    tap.flooded("worker", b"w")
    assert rows.last["refused"] == "too many parts or bytes"


def test_both_sides_and_callers_from_mfp_have_links_of_their_own() -> None:
    tap, rows = tapped()
    links = set()
    for side in ("client", "worker"):
        tap.went(side, b"x", [words.HEART_BEAT], None)
        links.add(rows.last["link"])
    tap.came("client", b"x", [words.RESPONSE_RECEIVED, b"1"], job(), b"mfp link")
    assert rows.last["link"] == b"mfp link"
    assert len(links) == 2
    assert NO_ID not in links


def test_names_are_not_remembered_without_end(monkeypatch: Any) -> None:
    monkeypatch.setattr("framehub.runtime.rpc_tap._MOST_NAMES", 2)
    tap, _ = tapped()
    assert [tap._text(name) for name in (b"a", b"b", b"c", b"\xff")] == ["a", "b", "c", "\ufffd"]
    assert len(tap._texts) == 2


@pytest.mark.parametrize("kind", [Notes, _notes.Notes], ids=["plain", "compiled"])
def test_brief_rows_say_what_whole_ones_do(kind: type[Notes]) -> None:
    brief, whole = Rows(kind), Rows(takes_brief=False)
    said = [
        ("client", IN, [words.QUERY, b"1", b"12", b"square"]),
        ("worker", OUT, [words.QUERY, WID, b"12", b"square"]),
        ("worker", IN, [words.QUERY_RECEIVED, WID]),
        ("client", OUT, [words.QUERY_RECEIVED, b"1"]),
        ("worker", IN, [words.RESPONSE_RESULT, WID, b"144"]),
        ("client", OUT, [words.RESPONSE_RESULT, b"1", b"144"]),
        ("client", OUT, [words.RESPONSE_RESULT, b"1", bytes(5_000)]),
        ("client", OUT, [words.RESPONSE_EXCEPTION, b"1", b"BUSY: later"]),
        ("client", OUT, [words.RESPONSE_UNKNOWN_FUNCTION, b"1"]),
        ("client", IN, [words.RESPONSE_RECEIVED, b"1"]),
        ("client", IN, [words.CANCEL, b"1"]),
    ]
    for rows in (brief, whole):
        tap = RpcTap(rows)  # type: ignore[arg-type]
        for known, parent in ((True, NO_ID), (False, NO_ID), (True, PARENT)):
            asked = job(known=known)
            asked.parent = parent
            for side, way, parts in said:
                note = tap.came if way == IN else tap.went
                note(side, b"peer" + side.encode(), parts, asked)  # type: ignore[arg-type]
    times = {"time_ns": 0, "mono_ns": 0}
    assert [row | times for row in brief.all] == [row | times for row in whole.all]
    # Those with a parent, and the long ones.
    assert sum(len(page.whole) for page in brief.gathering.pages) == 1 + 3


def test_an_ordinary_query_is_brief() -> None:
    made = Job(Client(b"me", lambda id_: id_), b"1", WID, b"square", b"12")
    assert made.parent is NO_ID
