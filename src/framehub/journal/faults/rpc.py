"""Faults of remote functions: one story for each rule of spec/audit.md, section 3."""

from typing import Final

from framehub.journal.faults.fault import Fault, FaultStory, Told
from framehub.journal.rpc_traffic import Caller, Function, Query, Worker
from framehub.journal.traffic import MS, SECOND, World
from framehub.rpc.texts import BUSY_QUEUE

_ADD: Final = Function("sum.add", "json", "json", median_ms=5.0)
_SUBTRACT: Final = Function("sum.subtract", "json", "json", median_ms=5.0)
_RESULT: Final = b"42"
_RUN: Final = 5 * MS


def _identity(world: World) -> bytes:
    return b"\1" + world.dice.randbytes(15)


def _worker(world: World, *, registered: bool = True) -> Worker:
    worker = Worker(_identity(world), (_ADD, _SUBTRACT))
    if registered:
        worker.come(world)
    return worker


def _query(world: World) -> Query:
    return Query(world, Caller(_identity(world)), _ADD, b"[40, 2]")


def _given(query: Query, worker: Worker) -> int:
    """Asked, given, acknowledged by both sides; the row that gives it to the worker."""
    query.asked()
    given = query.given(worker)
    query.received()
    query.taken(worker)
    return given


def _done(query: Query, worker: Worker) -> int:
    """The worker's result, acknowledged and passed on; the row at the client."""
    query.result_of(worker, _RESULT)
    query.settled(worker)
    answer = query.result(_RESULT)
    query.acknowledged()
    return answer


def answer_unasked(world: World) -> FaultStory:
    """A result for somebody who did not ask."""
    worker, query = _worker(world), _query(world)
    yield _RUN
    query.result_of(worker, _RESULT)
    query.settled(worker)
    answer = query.result(_RESULT)
    return Fault("rpc-answer-unasked", (answer,))


def wrong_client(world: World) -> FaultStory:
    """The result goes to another client than the one that asked."""
    worker, query = _worker(world), _query(world)
    asked = query.asked()
    query.given(worker)
    query.received()
    query.taken(worker)
    yield _RUN
    query.result_of(worker, _RESULT)
    query.settled(worker)
    query.caller = Caller(_identity(world))
    answer = query.result(_RESULT)
    return Fault("rpc-wrong-client", (asked, answer))


def result_changed(world: World) -> FaultStory:
    """The client gets another result than the worker gave."""
    worker, query = _worker(world), _query(world)
    _given(query, worker)
    yield _RUN
    told = query.result_of(worker, _RESULT)
    query.settled(worker)
    answer = query.result(_RESULT + b"00")
    query.acknowledged()
    return Fault("rpc-result-changed", (told, answer))


def answer_before_receipt(world: World) -> FaultStory:
    """A query is acknowledged after it was answered."""
    worker, query = _worker(world), _query(world)
    query.asked()
    query.given(worker)
    query.taken(worker)
    yield _RUN
    answer = _done(query, worker)
    received = query.received()
    return Fault("rpc-answer-before-receipt", (answer, received))


def too_many_workers(world: World) -> FaultStory:
    """Worker after worker falls silent, and a fourth gets the query; one that gave it back does not count."""
    gives_back = world.dice.random() < 0.5
    workers = [_worker(world) for _ in range(5 if gives_back else 4)]
    query = _query(world)
    given = [_given(query, workers[0])]
    if gives_back:
        query.returned(workers[0])
    for worker in workers[1:]:
        yield 5 * SECOND
        given.append(query.given(worker))
        query.taken(worker)
    yield _RUN
    _done(query, workers[-1])
    return Fault("rpc-too-many-workers", tuple(given))


def unregistered_worker(world: World) -> FaultStory:
    """A query is given to somebody who never registered."""
    worker, query = _worker(world, registered=False), _query(world)
    given = _given(query, worker)
    yield _RUN
    _done(query, worker)
    return Fault("rpc-unregistered-worker", (given,))


def receipt_early(world: World) -> FaultStory:
    """The worker's answer is acknowledged before it came."""
    worker, query = _worker(world), _query(world)
    _given(query, worker)
    yield MS
    receipt = query.settled(worker)
    yield _RUN
    query.result_of(worker, _RESULT)
    query.result(_RESULT)
    query.acknowledged()
    return Fault("rpc-receipt-early", (receipt,))


def unknown_though_given(world: World) -> FaultStory:
    """The client is told that nobody knows the function that a worker has begun."""
    worker, query = _worker(world), _query(world)
    given = _given(query, worker)
    yield _RUN
    unknown = query.unknown()
    query.acknowledged()
    return Fault("rpc-unknown-though-given", (given, unknown))


def two_answers(world: World) -> FaultStory:
    """A result, and then an exception."""
    worker, query = _worker(world), _query(world)
    _given(query, worker)
    yield _RUN
    first = _done(query, worker)
    yield _RUN
    second = query.exception(b"ValueError: too late")
    return Fault("rpc-two-answers", (first, second))


def run_again(world: World) -> FaultStory:
    """A query that was answered is given to a worker once more."""
    worker, query = _worker(world), _query(world)
    _given(query, worker)
    yield _RUN
    answer = _done(query, worker)
    yield 10 * SECOND
    again = query.given(worker)
    query.taken(worker)
    yield _RUN
    query.result_of(worker, _RESULT)
    query.settled(worker)
    return Fault("rpc-run-again", (answer, again))


def given_after_cancel(world: World) -> FaultStory:
    """A query is given to a worker after its client cancelled it."""
    worker, query = _worker(world), _query(world)
    query.asked()
    query.received()
    yield MS
    cancel = query.cancelled()
    yield MS
    given = query.given(worker)
    query.taken(worker)
    yield _RUN
    query.result_of(worker, _RESULT)
    query.settled(worker)
    return Fault("rpc-given-after-cancel", (cancel, given))


def busy_received(world: World) -> FaultStory:
    """A query is acknowledged and then refused as busy."""
    query = _query(world)
    query.asked()
    received = query.received()
    yield MS
    busy = query.exception(BUSY_QUEUE)
    return Fault("rpc-busy-received", (received, busy))


def function_changed(world: World) -> FaultStory:
    """The worker is asked for another function than the client wanted."""
    worker, query = _worker(world), _query(world)
    asked = query.asked()
    query.function = _SUBTRACT
    given = query.given(worker)
    query.function = _ADD
    query.received()
    query.taken(worker)
    yield _RUN
    _done(query, worker)
    return Fault("rpc-function-changed", (asked, given))


def overdue(world: World) -> FaultStory:
    """A query that is never answered."""
    worker, query = _worker(world), _query(world)
    asked = query.asked()
    if world.dice.random() < 0.5:
        query.given(worker)
        query.received()
        query.taken(worker)
    yield from ()
    return Fault("rpc-overdue", (asked,))


FAULTS: Final[dict[str, Told]] = {
    "rpc-answer-unasked": answer_unasked,
    "rpc-wrong-client": wrong_client,
    "rpc-result-changed": result_changed,
    "rpc-answer-before-receipt": answer_before_receipt,
    "rpc-too-many-workers": too_many_workers,
    "rpc-unregistered-worker": unregistered_worker,
    "rpc-receipt-early": receipt_early,
    "rpc-unknown-though-given": unknown_though_given,
    "rpc-two-answers": two_answers,
    "rpc-run-again": run_again,
    "rpc-given-after-cancel": given_after_cancel,
    "rpc-busy-received": busy_received,
    "rpc-function-changed": function_changed,
    "rpc-overdue": overdue,
}
