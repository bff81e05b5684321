"""Workers, functions and coders."""

import json
from typing import Any

import pytest

from framehub.rpc.jobs import Client, Job, wids
from framehub.rpc.messages import MAX_DESCRIPTION
from framehub.rpc.registry import (
    MAX_LEVELS,
    MAX_PENDING,
    MAX_PENDING_BYTES,
    Described,
    Description,
    Registry,
    Worker,
    read_description,
)

F, G = (b"f", b"Int", b"Int"), (b"g", b"Int", b"Int")


def described(**told: Any) -> Description:
    found = read_description(json.dumps(told).encode())
    assert isinstance(found, Description)
    return found


def load(worker: Worker, count: int) -> None:
    for number in range(count):
        wid = b"%d" % number
        worker.jobs[wid] = Job(Client(b"c", wids(b"k", b"c")), wid, wid, b"f", b"")


def test_a_description_is_read() -> None:
    """[RPC-5.3.1] What is left out has a default."""
    found = described(processes=2, window=8, functions={"f": {"doc": "Twice.", "max_runtime": 1}}, more=1)
    assert (found.version, found.processes, found.window, found.holds) == (1, 2, 8, [])
    function = found.functions["f"]
    assert (function.doc, function.redispatch, function.max_runtime) == ("Twice.", "always", 1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"window": "8"}',
        b'{"holds": [1]}',
        b'{"functions": {"f": {"redispatch": "never"}}}',
        b'{"functions": {"f": {"parameters": 1e999}}}',
        b'{"functions": {"f": {"parameters": "\\ud800"}}}',
        b'{"functions": {"f": {"parameters": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}}",
        b'{"more": ' + b"[" * 100_000,
    ],
)
def test_what_is_no_description_is_told_apart(data: bytes) -> None:
    assert isinstance(read_description(data), str)


def test_a_description_has_a_size() -> None:
    """[RPC-9.1] At the limit and one byte above it."""
    room = MAX_DESCRIPTION - len(b'{"more": ""}')
    assert isinstance(read_description(b'{"more": "%s"}' % (b"x" * room)), Description)
    assert "has at most" in str(read_description(b'{"more": "%s"}' % (b"x" * (room + 1))))


@pytest.mark.parametrize("field", ["parameters", "result"])
@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ('{"a":', "}")])
def test_a_schema_has_a_depth(field: str, opens: str, closes: str) -> None:
    """Whoever reads or lists it need not go deeper."""
    for levels, lawful in ((MAX_LEVELS, True), (MAX_LEVELS + 1, False)):
        schema = opens * levels + "1" * (opens != "[") + closes * levels
        data = json.dumps({"functions": {"f": {field: "schema"}}}).replace('"schema"', schema)
        assert isinstance(read_description(data.encode()), Description) is lawful


def test_coders_are_compared_with_those_of_other_workers() -> None:
    """[RPC-5.1.1] The first that differs, and the others' coders."""
    registry = Registry(window=64)
    registry.register(b"w", [F, G], 0.0)
    assert registry.conflict(b"x", [F, (b"h", b"", b"")]) is None
    assert registry.conflict(b"x", [F, (b"g", b"Int", b"Long"), (b"f", b"", b"")]) == G
    assert registry.conflict(b"x", [(b"f", b"Long", b"Int")]) == F
    assert registry.conflict(b"w", [(b"f", b"Long", b"Int")]) is None


def test_coders_are_forgotten_with_the_last_worker() -> None:
    """[RPC-5.1.5]"""
    registry = Registry(window=64)
    worker = registry.register(b"w", [F], 0.0)
    registry.remove(worker, 1.0)
    assert registry.conflict(b"x", [(b"f", b"Long", b"Long")]) is None
    assert registry.functions[b"f"].gone_at == 1.0
    assert registry.workers == {}


def test_registering_again_replaces() -> None:
    """[RPC-5.1.4] And ends a goodbye."""
    registry = Registry(window=64)
    worker = registry.register(b"w", [F, G], 0.0)
    worker.leaving = worker.stuck = True
    load(worker, 1)
    assert registry.register(b"w", [G], 2.0) is worker
    assert [function.name for function in worker.functions] == [b"g"]
    assert (worker.leaving, worker.stuck, len(worker.jobs)) == (False, False, 1)
    assert registry.functions[b"f"].gone_at == 2.0


def test_what_was_said_of_a_function_goes_with_its_last_worker() -> None:
    registry = Registry(window=64)
    registry.announce(b"w", described(functions={"f": {"redispatch": "unacknowledged"}}), 10)
    worker = registry.register(b"w", [F], 0.0)
    assert registry.functions[b"f"].keeps_acknowledged
    other = registry.register(b"x", [F], 0.0)
    registry.remove(worker, 0.0)
    assert registry.functions[b"f"].keeps_acknowledged
    registry.remove(other, 0.0)
    registry.register(b"x", [F], 0.0)
    assert not registry.functions[b"f"].keeps_acknowledged


@pytest.mark.parametrize(("told", "window"), [(8, 8), (64, 64), (65, 64), (0, 1), (-5, 1), (1 << 60, 64)])
def test_the_smaller_window_counts(told: int, window: int) -> None:
    """[RPC-5.3.3]"""
    registry = Registry(window=64)
    worker = registry.register(b"w", [F], 0.0)
    registry.describe(worker, described(window=told))
    assert worker.window == window


def test_held_ids_are_read_and_others_left_out() -> None:
    registry = Registry(window=64)
    worker = registry.register(b"w", [F], 0.0)
    registry.describe(worker, described(holds=["00" * 16, "ab" * 15, "ab" * 17, "xyz", "é", ""]))
    assert [*worker.holds] == [bytes(16)]


def test_announced_descriptions_are_bounded() -> None:
    """[RPC-9.1] At the limit and one above it: who comes too late says it again when it is registered."""
    registry = Registry(window=64)
    for number in range(MAX_PENDING + 1):
        registry.announce(b"%d" % number, described(window=2), 10)
    registry.announce(b"1", described(window=3), 10)
    assert registry.register(b"0", [F], 0.0).window == 2
    assert registry.register(b"1", [F], 0.0).window == 3
    assert registry.register(b"%d" % MAX_PENDING, [F], 0.0).description is None


def test_announced_descriptions_are_bounded_by_bytes() -> None:
    """[RPC-9.1] At the limit and one above it."""
    registry = Registry(window=64)
    for name in (b"1", b"2", b"2"):
        registry.announce(name, described(window=2), MAX_PENDING_BYTES // 2)
    assert registry.announced_bytes == MAX_PENDING_BYTES
    registry.announce(b"3", described(window=2), 1)
    assert registry.announced_bytes == MAX_PENDING_BYTES
    assert registry.register(b"3", [F], 0.0).description is None
    assert registry.register(b"2", [F], 0.0).described
    assert registry.announced_bytes == MAX_PENDING_BYTES // 2


def test_where_one_worker_says_that_a_function_may_not_run_twice_it_may_not() -> None:
    """[RPC-4.5] Whatever others say of it, and whoever says it last."""
    registry = Registry(window=64)
    once, always = (
        described(functions={"f": {"redispatch": "unacknowledged"}}),
        described(functions={"f": {}}),
    )
    worker, other = registry.register(b"w", [F], 0.0), registry.register(b"x", [F], 0.0)
    registry.describe(worker, once)
    registry.describe(other, always)
    assert registry.functions[b"f"].keeps_acknowledged
    assert (worker.once, other.once) == ({b"f"}, set())
    registry.remove(worker, 0.0)
    registry.describe(other, always)
    assert not registry.functions[b"f"].keeps_acknowledged


def test_a_description_outlives_a_registration() -> None:
    registry = Registry(window=64)
    registry.announce(b"w", described(window=2), 10)
    worker = registry.register(b"w", [F], 0.0)
    assert (worker.described, worker.window) == (True, 2)
    registry.register(b"w", [G], 0.0)
    assert (worker.described, worker.window) == (True, 2)


def test_the_least_loaded_worker_with_room_is_picked() -> None:
    """[RPC-4.2]"""
    registry = Registry(window=3)
    busy, idle, full = (registry.register(name, [F], 0.0) for name in (b"busy", b"idle", b"full"))
    function = registry.functions[b"f"]
    load(busy, 2)
    load(full, 3)
    assert registry.pick(function) is idle
    idle.leaving = True
    assert registry.pick(function) is busy
    busy.stuck = True
    assert registry.pick(function) is None
    assert not any(worker.has_room for worker in (busy, idle, full))
    busy.stuck = False
    assert busy.has_room


def test_functions_that_are_waited_for_come_in_turn() -> None:
    """[RPC-4.3]"""
    registry = Registry(window=64)
    worker = registry.register(b"w", [F, G, (b"h", b"", b"")], 0.0)
    assert worker.next_waiting() is None
    client = Client(b"c", wids(b"k", b"c"))
    for number, name in enumerate((b"f", b"f", b"g", b"g")):
        id_ = b"%d" % number
        registry.functions[name].waiting.push(Job(client, id_, id_, name, b""))
    found = [each for _ in range(5) if (each := worker.next_waiting())]
    assert [(function.name, job.id) for function, job in found] == [
        (b"g", b"2"),
        (b"f", b"0"),
        (b"g", b"3"),
        (b"f", b"1"),
    ]


def test_names_that_nobody_offers_or_waits_for_are_forgotten() -> None:
    registry = Registry(window=64)
    worker = registry.register(b"w", [F, G], 0.0)
    waited = registry.function(b"waited", gone_at=0.0)
    waited.waiting.push(Job(Client(b"c", wids(b"k", b"c")), b"1", b"1", b"waited", b""))
    registry.function(b"idle", gone_at=0.0)
    registry.register(b"w", [F], 1.0)
    registry.forget(1.0)
    assert set(registry.functions) == {b"f", b"g", b"waited"}
    registry.forget(1.1)
    assert set(registry.functions) == {b"f", b"waited"}
    assert worker.functions == [registry.functions[b"f"]]


def test_the_list_follows_what_is_there() -> None:
    """[RPC-3.3.2]"""
    registry = Registry(window=64)

    def names() -> list[tuple[str, int]]:
        listed = json.loads(registry.listed)
        assert listed["version"] == 1
        return [(entry["name"], entry["workers"]) for entry in listed["functions"]]

    assert names() == []
    worker = registry.register(b"w", [G, F], 0.0)
    assert names() == [("f", 1), ("g", 1)]
    assert registry.listed is registry.listed
    other = registry.register(b"x", [F], 0.0)
    assert names() == [("f", 2), ("g", 1)]
    registry.describe(other, described(functions={"f": {"doc": "é"}}))
    assert json.loads(registry.listed)["functions"][0]["doc"] == "é"
    registry.remove(worker, 0.0)
    assert names() == [("f", 1)]


def test_a_list_that_would_be_too_long_leaves_out_what_is_for_people(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry(window=4)
    worker = registry.register(b"w", [(b"f", b"json", b"json")], 0.0)
    registry.describe(
        worker, Description(functions={"f": Described(doc="x" * 100, redispatch="unacknowledged")})
    )
    monkeypatch.setattr("framehub.rpc.registry.MAX_LIST", len(registry.listed))
    assert json.loads(registry.listed)["functions"][0]["doc"] == "x" * 100
    registry.describe(
        worker, Description(functions={"f": Described(doc="x" * 101, redispatch="unacknowledged")})
    )
    [entry] = json.loads(registry.listed)["functions"]
    assert (entry["doc"], entry["redispatch"]) == ("", "unacknowledged")


def test_a_function_that_a_leaving_worker_has_is_not_forgotten() -> None:
    """[RPC-5.1.1] Or others could offer it with other coders while it still answers."""
    registry = Registry(window=64)
    worker = registry.register(b"w", [F], 0.0)
    registry.leave(worker, 1.0)
    registry.forget(100.0)
    assert registry.conflict(b"x", [(b"f", b"Double", b"Int")]) == F
    registry.remove(worker, 2.0)
    registry.forget(100.0)
    assert registry.functions == {}
