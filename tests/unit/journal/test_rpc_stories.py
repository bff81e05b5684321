"""What the stories put on the tape is what a proxy does and what its tap writes down."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import pytest

from framehub.journal import rpc_stories
from framehub.journal.columns import to_batch
from framehub.journal.record import Row
from framehub.journal.rpc_rows import split
from framehub.journal.rpc_samples import FUNCTIONS
from framehub.journal.rpc_traffic import KEY, Caller
from framehub.journal.stories import conversations
from framehub.journal.traffic import SECOND, Story, World
from framehub.rpc import placing, proxy, words
from framehub.rpc.proxy import Proxy
from framehub.rpc.registry import Function, Worker
from framehub.rpc.settings import ProxySettings
from framehub.rpc.texts import BUSY
from framehub.runtime.rpc_tap import RpcTap

FROM_CLIENTS = {words.QUERY, words.CODER_IDENTITY_QUERY, words.RESPONSE_RECEIVED, words.FUNCTIONS_QUERY,
                words.CANCEL, b"QUARY"}  # fmt: skip


class Tape:
    """Takes rows as a journal's tap does."""

    takes_brief = False

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def append(self, row: Row) -> None:
        self.rows.append(row)


class Replay:
    """A real proxy that hears what the stories' peers say, and chooses the workers that they chose."""

    def __init__(self) -> None:
        settings = ProxySettings(wait_start=0.001)
        self.proxy = Proxy(settings, key=KEY, now=0.0)
        self.proxy.registry.pick = self._pick  # type: ignore[method-assign]
        self.tape = Tape()
        self.tap = RpcTap(self.tape)  # type: ignore[arg-type]
        self.worker = b""

    def _pick(self, function: Function) -> Worker | None:
        return self.proxy.registry.workers.get(self.worker) if function.workers else None

    def hear(self, row: dict[str, Any], now: float) -> None:
        identity, *parts = split(row["raw"])
        side: Any = "client" if parts[0] in FROM_CLIENTS else "worker"
        link = row["link"] if identity.startswith(b"\0mfp") else None
        if side == "client":
            about = self.proxy.client_says(identity, parts, now, parent=row["parent"] or bytes(16))
        else:
            about = self.proxy.worker_says(identity, parts, now)
        self.tap.came(side, identity, parts, about, link)
        self.send()

    def send(self) -> None:
        """As the proxy's owner does: to workers first."""
        machine = self.proxy
        for identity, parts, job in machine.to_workers:
            self.tap.went("worker", identity, parts, job)
        machine.to_workers.clear()
        for identity, parts, job in machine.to_clients:
            link = identity[4:] if identity.startswith(b"\0mfp") else None
            self.tap.went("client", identity, parts, job, link)
        machine.to_clients.clear()


def groups(rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Each row in with the rows out that follow it; rows out that nobody caused stand alone."""
    group: list[dict[str, Any]] = []
    for row in rows:
        if group and (row["direction"] == "in" or row["time_ns"] != group[-1]["time_ns"]):
            yield group
            group = []
        group.append(row)


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for row in rows:
        plain = {name: value for name, value in row.items() if not name.endswith("_ns")}
        if plain["kind"] == "functions_list":  # it counts workers and says what they said: not ours to know
            for name in ("raw", "bytes", "payload_bytes"):
                del plain[name]
        found.append(plain)
    return found


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    made = list(islice(chain.from_iterable(conversations(7)), 40_000))
    return [row for row in to_batch(made).to_pylist() if row["protocol"] == "rpc"]


def test_a_real_proxy_would_have_written_the_same(
    rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "LATE", float("inf"))  # time goes in leaps here
    monkeypatch.setattr(placing, "LATE", float("inf"))
    busy = {row["query"] for row in rows if row["error"] == "busy" and row["exchange"] is None}
    replay = Replay()
    expected: list[dict[str, Any]] = []
    for group in groups(rows):
        now = group[0]["mono_ns"] / SECOND
        if _is_busy(group[0], busy):
            continue  # this proxy is not
        given = [split(row["raw"])[0] for row in group if (row["kind"], row["direction"]) == ("query", "out")]
        replay.worker = given[-1] if given else b""
        if group[0]["direction"] == "in":
            replay.hear(group[0], now)
        else:
            replay.proxy.tick(now)
            replay.send()
        expected += group
        assert len(replay.tape.rows) == len(expected), group
    real = to_batch(replay.tape.rows).to_pylist()
    for story, written in zip(without_times(expected), without_times(real), strict=True):
        assert story == written
    assert len(expected) > 0.95 * len(rows)


def _is_busy(row: dict[str, Any], ids: set[bytes]) -> bool:
    if row["kind"] == "refused":
        return (row["refused"] or "").startswith(BUSY.decode())
    return row["exchange"] is None and row["query"] in ids


def test_everything_that_can_happen_does(rows: list[dict[str, Any]]) -> None:
    kinds = Counter((row["kind"], row["direction"]) for row in rows)
    both = ("query", "query_received", "result", "exception", "unknown_function", "response_received",
            "cancel", "describe", "heart_beat")  # fmt: skip
    assert {(kind, way) for kind in both for way in ("in", "out")} <= set(kinds)
    one = {("query_returned", "in"), ("query_confirmed", "out"), ("coders_query", "in"),
           ("coders_found", "out"), ("coders_not_found", "out"), ("functions_query", "in"),
           ("functions_list", "out"), ("register", "in"), ("incompatible", "out"),
           ("refused", "in")}  # fmt: skip
    assert one <= set(kinds)
    assert {"busy", "cancelled", "timeout", "bad_request", "function_failed", "unknown_function"} <= {
        row["error"] for row in rows
    }
    assert {coder for function in FUNCTIONS for coder in (function.argument, function.result)} <= {
        row["coder"] for row in rows
    }
    assert any(row["parent"] for row in rows)


def test_every_query_of_a_story_is_answered_and_its_answer_acknowledged() -> None:
    world = World(3)
    rpc_stories.begin(world)
    while len(world.tape) < 8000:
        world.step()
    world.ending = True
    while not world.quiet:
        world.step()
    assert (world.visitors, world.workers) == (0, [])
    last: dict[bytes, tuple[str, str]] = {}
    for row in to_batch(world.tape).to_pylist():
        if row["exchange"] is not None:
            last[row["exchange"]] = (row["kind"], row["direction"])
    assert len(last) > 700
    assert set(last.values()) == {("response_received", "in")}


def test_a_request_to_a_function_is_the_parent_of_its_query(rows: list[dict[str, Any]]) -> None:
    asked = [row for row in rows if row["parent"] is not None]
    assert {(row["kind"], row["direction"]) for row in asked} == {("query", "in")}
    assert all(row["parent"][:8] == row["link"] for row in asked)
    of = {row["exchange"] for row in asked}
    at_clients = {"query": "in", "query_received": "out", "result": "out", "response_received": "in"}
    for row in rows:
        if row["exchange"] in of:
            at_client = at_clients.get(row["kind"]) == row["direction"]
            assert (split(row["raw"])[0][4:] == row["link"]) == at_client or row["kind"] not in at_clients


def test_stories_that_need_a_worker_wait_for_one() -> None:
    world = World(1)
    story: Story = rpc_stories.call(world, Caller(b"c" * 16))
    assert (next(story) > 0, world.tape) == (True, [])
