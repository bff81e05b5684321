import json
from typing import Any

import pytest

from framehub.journal.columns import to_batch
from framehub.journal.rpc_rows import split
from framehub.journal.rpc_traffic import HOP, INSIDE, KEY, Caller, Function, Query, Worker
from framehub.journal.traffic import World
from framehub.rpc import texts, words
from framehub.rpc.jobs import wids
from framehub.rpc.messages import Way, fault
from framehub.rpc.registry import read_description

ADD = Function("add", "json", "Int", median_ms=5)
PAY = Function("pay", "json", "json", once=True)


def setting() -> tuple[World, Caller, Worker]:
    return World(1), Caller(b"c" * 16), Worker(b"w" * 16, (ADD, PAY))


def shown(world: World, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in to_batch(world.tape).to_pylist()]


def test_a_worker_describes_itself_registers_and_is_welcomed() -> None:
    world, _, worker = setting()
    assert worker.come(world) == 2
    assert worker.beats(world) == 4
    assert worker.register(world, goodbye=True) == 5
    assert shown(world, "kind", "direction") == [
        ("describe", "in"), ("register", "in"), ("describe", "out"), ("heart_beat", "in"), ("register", "in"),
    ]  # fmt: skip
    told = [split(raw)[1:] for (raw,) in shown(world, "raw")]
    for parts, (direction,) in zip(told, shown(world, "direction"), strict=True):
        assert fault(Way.WORKER_TO_PROXY if direction == "in" else Way.PROXY_TO_WORKER, parts) is None
    description = read_description(told[0][1])
    assert not isinstance(description, str)
    assert {name: about.redispatch for name, about in description.functions.items()} == {
        "add": "always",
        "pay": "unacknowledged",
    }
    assert json.loads(told[2][1]) == {"version": 1, "functions": 2}
    assert told[4] == [words.WORKER_REGISTER, bytes(4)]


def test_every_row_of_a_query() -> None:
    world, caller, worker = setting()
    query = Query(world, caller, ADD, b"[1,2]", id_=b"7", parent=b"p" * 16)
    assert query.wid == wids(KEY, b"c" * 16)(b"7")
    made = [
        (query.asked(), "query", "in", b"7", "json", None),
        (query.received(), "query_received", "out", b"7", None, None),
        (query.result(b"3"), "result", "out", b"7", "Int", None),
        (query.exception(b"BUSY: no"), "exception", "out", b"7", None, "busy"),
        (query.unknown(), "unknown_function", "out", b"7", None, "unknown_function"),
        (query.acknowledged(), "response_received", "in", b"7", None, None),
        (query.cancelled(), "cancel", "in", b"7", None, None),
        (query.given(worker), "query", "out", query.wid, "json", None),
        (query.taken(worker), "query_received", "in", query.wid, None, None),
        (query.confirmed(worker), "query_confirmed", "out", query.wid, None, None),
        (query.result_of(worker, b"3"), "result", "in", query.wid, "Int", None),
        (query.exception_of(worker, b"no"), "exception", "in", query.wid, None, "function_failed"),
        (query.unknown_to(worker), "unknown_function", "in", query.wid, None, "unknown_function"),
        (query.returned(worker), "query_returned", "in", query.wid, None, None),
        (query.settled(worker), "response_received", "out", query.wid, None, None),
        (query.stopped(worker), "cancel", "out", query.wid, None, None),
    ]
    assert [row[0] for row in made] == list(range(1, 17))
    assert shown(world, "kind", "direction", "query", "coder", "error") == [row[1:] for row in made]
    assert set(shown(world, "exchange", "endpoint")) == {(query.wid, "add")}
    assert [parent for (parent,) in shown(world, "parent")] == [b"p" * 16] + [None] * 15
    peers = [split(raw)[0] for (raw,) in shown(world, "raw")]
    assert peers == [caller.identity] * 7 + [worker.identity] * 9
    assert len(set(shown(world, "link"))) == 2


def test_a_function_that_nobody_offers_has_no_coders() -> None:
    world, caller, _ = setting()
    Query(world, caller, ADD, b"1", known=False).asked()
    assert shown(world, "coder") == [(None,)]


def test_an_mfp_connection_asks_under_its_own_link() -> None:
    world, _, worker = setting()
    query = Query(world, Caller(INSIDE + b"linklink", link=b"linklink"), ADD, b"1")
    query.asked()
    query.given(worker)
    (asked,), (given,) = shown(world, "link")
    assert (asked, given != asked) == (b"linklink", True)


def test_ids_are_random_or_counted() -> None:
    world = World(1)
    counting, other = Caller(b"a" * 16, counts=True), Caller(b"b" * 16)
    assert [counting.next_id(world) for _ in range(2)] == [b"1", b"2"]
    assert len({other.next_id(world) for _ in range(9)}) == 9


def test_a_query_goes_to_the_worker_that_has_the_fewest() -> None:
    world, caller, worker = setting()
    other = Worker(b"v" * 16, (ADD,))
    world.workers += [worker, other]
    worker.running = 1
    query = Query(world, caller, PAY, b"1")
    with pytest.raises(StopIteration) as done:
        next(query.ask())
    assert done.value.value is other
    assert other.running == 1
    assert list(query.take(other)) == [HOP]
    assert len(list(query.run(other, b"1"))) == 2
    assert other.running == 0
    assert list(query.end()) == [HOP]
    kinds = [kind for (kind,) in shown(world, "kind")]
    assert kinds[:5] == ["query", "query", "query_received", "query_received", "query_confirmed"]
    assert kinds[-4:] == ["result", "response_received", "result", "response_received"]


def test_a_cancelled_query_is_answered_so() -> None:
    world, caller, worker = setting()
    world.workers.append(worker)
    query = Query(world, caller, ADD, b"1")
    list(query.ask())
    list(query.cancel(worker))
    assert shown(world, "kind", "direction")[3:] == [
        ("cancel", "in"), ("cancel", "out"), ("exception", "in"), ("response_received", "out"),
        ("exception", "out"), ("response_received", "in"),
    ]  # fmt: skip
    assert texts.error_code(texts.CANCELLED) in {error for (error,) in shown(world, "error")}
