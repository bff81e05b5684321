"""Stories of remote functions in made-up traffic (spec/journal.md, section 9; spec/rpc.md)."""

import json
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from framehub.codes import Service
from framehub.journal.rpc_samples import FUNCTIONS, NAMES, chosen, repeatable
from framehub.journal.rpc_traffic import HOP, INSIDE, Caller, Function, Query, Worker
from framehub.journal.traffic import IN, MS, OUT, SECOND, Link, Story, World, counted, pick
from framehub.mfp import envelope
from framehub.mfp.frames import Files, RequestFrame, ResponseFrame, ServiceFrame
from framehub.rpc import texts, words
from framehub.rpc.messages import Way, fault

Asked: TypeAlias = Callable[[World, Caller], Story]

WORKERS: Final = 4
CALLERS: Final = 6
_BEAT: Final = 4 * SECOND
_FAILURES: Final = (
    b"ZeroDivisionError: division by zero",
    b"KeyError: 'no such item'",
    b"bad argument: expected integer, got string",
    b"timeout: it ran for longer than 30 s",
)
_NOBODYS: Final = Function("stock.guess", "json", "json")
_BROKEN: Final = (
    [words.QUERY, b"x"],
    [words.QUERY, b"y", b"1", b"\xff"],
    [words.CODER_IDENTITY_QUERY, b"z", b""],
    [b"QUARY", b"q", b"1", b"square"],
)


def begin(world: World) -> None:
    """Workers come, and callers."""
    for _ in range(WORKERS):
        world.tell(serving(world))
    for _ in range(CALLERS):
        world.tell(calling(world), after=world.dice.randrange(SECOND, 3 * SECOND))


def serving(world: World) -> Story:
    """A worker comes, shows now and then that it lives, and goes when nobody is left who could ask."""
    worker = Worker(_identity(world), FUNCTIONS)
    worker.come(world)
    world.workers.append(worker)
    while not world.ending or world.visitors or worker.running:
        worker.beats(world)
        yield _BEAT
    world.workers.remove(worker)
    worker.register(world, goodbye=True)


def calling(world: World) -> Story:
    """A program calls functions for a while; another takes its place."""
    dice = world.dice
    caller = Caller(_identity(world), counts=dice.random() < 0.2)
    world.visitors += 1
    for _ in range(dice.randint(40, 400)):
        yield int(dice.expovariate(0.5) * SECOND)
        if world.ending:
            break
        story = pick(dice, _STORIES, _STORY_WEIGHTS)
        world.tell(counted(story(world, caller), caller))
    while caller.running:
        yield 250 * MS
    world.visitors -= 1
    if not world.ending:
        world.tell(calling(world), after=dice.randrange(SECOND))


# --- stories of a caller -------------------------------------------------------------------------------


def call(world: World, caller: Caller) -> Story:
    """A query and its result."""
    function, sample = chosen(world.dice)
    query = Query(world, caller, function, sample.argument)
    worker = yield from query.ask()
    yield from query.run(worker, sample.result)
    yield from query.end()


def failing_call(world: World, caller: Caller) -> Story:
    """The function raises."""
    function, sample = chosen(world.dice)
    query = Query(world, caller, function, sample.argument)
    worker = yield from query.ask()
    yield from query.begin(worker)
    text = world.dice.choice(_FAILURES)
    query.exception_of(worker, text)
    query.finish(worker)
    query.exception(text)
    yield from query.end()


def unknown_function(world: World, caller: Caller) -> Story:
    """Nobody offers it; or the worker does not any more."""
    if world.dice.random() < 0.8:
        query = Query(world, caller, _NOBODYS, b"1", known=False)
        query.asked()
        query.received()
    else:
        function, sample = chosen(world.dice)
        query = Query(world, caller, function, sample.argument)
        worker = yield from query.ask()
        yield from query.begin(worker)
        query.unknown_to(worker)
        query.finish(worker)
    query.unknown()
    yield from query.end()


def cancelled_call(world: World, caller: Caller) -> Story:
    """The caller wants it no more; the worker stops."""
    function, sample = repeatable(world.dice)
    query = Query(world, caller, function, sample.argument)
    worker = yield from query.ask()
    yield from query.take(worker)
    yield 500 * MS
    yield from query.cancel(worker)


def asked_again(world: World, caller: Caller) -> Story:
    """It takes so long that the caller asks again; it is not run again."""
    function, sample = repeatable(world.dice)
    query = Query(world, caller, function, sample.argument)
    worker = yield from query.ask()
    yield from query.take(worker)
    yield 15 * SECOND
    query.asked()
    query.received()
    yield 2 * SECOND
    query.answer(worker, sample.result)
    yield from query.end()


def answer_again(world: World, caller: Caller) -> Story:
    """The answer is lost on its way; the caller asks again and gets the one that was kept."""
    function, sample = repeatable(world.dice)
    query = Query(world, caller, function, sample.argument)
    worker = yield from query.ask()
    yield from query.run(worker, sample.result)
    yield SECOND
    query.asked()
    query.received()
    query.result(sample.result)
    yield from query.end()


def dying_worker(world: World, caller: Caller) -> Story:
    """A worker dies of a query, or just so; the next one has it. If three die, it is given up."""
    function, sample = repeatable(world.dice)
    query = Query(world, caller, function, sample.argument)
    is_poison = world.dice.random() < 0.2
    mortals = [Worker(_identity(world), FUNCTIONS) for _ in range(3 if is_poison else 1)]
    for mortal in mortals:
        mortal.come(world)
        mortal.beats(world)
    yield 20 * MS
    query.asked()
    query.given(mortals[0])
    query.received()
    for number, mortal in enumerate(mortals):
        if number:
            query.given(mortal)
        yield HOP
        query.taken(mortal)
        for _ in range(2):
            yield 2 * SECOND
            for other in mortals[number + 1 :]:
                other.beats(world)
        yield SECOND + world.dice.randrange(MS, 250 * MS)
    if is_poison:
        query.exception(texts.POISON)
    else:
        worker = query.place()
        yield from query.run(worker, sample.result)
    yield from query.end()


def returned_query(world: World, caller: Caller) -> Story:
    """A worker that is about to leave gives the query back unbegun; another has it."""
    function, sample = repeatable(world.dice)
    query = Query(world, caller, function, sample.argument)
    leaver = Worker(_identity(world), FUNCTIONS)
    leaver.come(world)
    yield 20 * MS
    query.asked()
    query.given(leaver)
    query.received()
    yield HOP
    query.taken(leaver)
    yield 10 * MS
    query.returned(leaver)
    query.settled(leaver)
    worker = query.place()
    yield HOP
    leaver.register(world, goodbye=True)
    yield from query.run(worker, sample.result)
    yield from query.end()


def busy(world: World, caller: Caller) -> Story:
    """Too much is waiting: the query is not taken. Asked again, it is run."""
    function, sample = repeatable(world.dice)
    query = Query(world, caller, function, sample.argument)
    identity = caller.identity
    parts = [words.QUERY, query.id, query.argument, function.key]
    world.rpc_refused("client", identity, parts, texts.BUSY_QUEUE.decode())
    world.rpc(OUT, "client", identity, [words.RESPONSE_EXCEPTION, query.id, texts.BUSY_QUEUE])
    yield HOP
    world.rpc(IN, "client", identity, [words.RESPONSE_RECEIVED, query.id])
    yield 2 * SECOND
    query = Query(world, caller, function, sample.argument, id_=query.id if caller.counts else None)
    worker = yield from query.ask()
    yield from query.run(worker, sample.result)
    yield from query.end()


def questions(world: World, caller: Caller) -> Story:
    """Which coders has a function? Which functions are there?"""
    id_ = caller.next_id(world)
    identity = caller.identity
    number = world.dice.randrange(10)
    if number == 0:
        world.rpc(IN, "client", identity, [words.FUNCTIONS_QUERY, id_])
        world.rpc(OUT, "client", identity, [words.FUNCTIONS_LIST, id_, _listed(len(world.workers))])
    elif number == 1 or not world.workers:
        world.rpc(IN, "client", identity, [words.CODER_IDENTITY_QUERY, id_, _NOBODYS.key])
        world.rpc(OUT, "client", identity, [words.CODER_IDENTITY_NOT_FOUND, id_])
    else:
        function = world.dice.choice(FUNCTIONS)
        found = [words.CODER_IDENTITY_FOUND, id_, function.argument.encode(), function.result.encode()]
        world.rpc(IN, "client", identity, [words.CODER_IDENTITY_QUERY, id_, function.key])
        world.rpc(OUT, "client", identity, found)
    yield from ()


def refused(world: World, caller: Caller) -> Story:
    """Parts that are no message; its sender is told if it left an id."""
    parts = world.dice.choice(_BROKEN)
    reason = fault(Way.CLIENT_TO_PROXY, parts) or ""
    world.rpc_refused("client", caller.identity, parts, reason)
    answer = [words.RESPONSE_EXCEPTION, parts[1], texts.bad_request(reason)]
    world.rpc(OUT, "client", caller.identity, answer)
    yield HOP
    world.rpc(IN, "client", caller.identity, [words.RESPONSE_RECEIVED, parts[1]])


def refused_worker(world: World, caller: Caller) -> Story:  # noqa: ARG001  (a story of the workers' side)
    """A worker offers a function with other coders than the rest; or speaks before it has registered."""
    identity = _identity(world)
    if world.dice.random() < 0.5:
        stranger = Worker(identity, (Function("square", "Long", "Long"),))
        stranger.describe(world)
        parts = [words.WORKER_REGISTER, (1).to_bytes(4, "big"), b"square", b"Long", b"Long"]
        world.rpc_refused("worker", identity, parts, "function 'square' is offered with other coders")
        told = [words.INCOMPATIBLE_SPECS_FAILURE, b"square", b"Int", b"Int"]
        world.rpc(OUT, "worker", identity, told)
    else:
        parts = [words.RESPONSE_RESULT, world.dice.randbytes(16), b"1"]
        world.rpc_refused("worker", identity, parts, "not registered")
        yield SECOND
        world.rpc(IN, "worker", identity, [words.HEART_BEAT])
        world.rpc(OUT, "worker", identity, [words.HEART_BEAT])


# --- a story of a browser ------------------------------------------------------------------------------


def function_request(world: World, link: Link) -> Story:
    """A browser's request becomes a query, the query's answer the response."""
    dice = world.dice
    function, sample = chosen(dice)
    id_, exchange = link.next_id(IN), link.open_exchange()
    payload = envelope.encode(function.name, sample.data, names=_named(sample.files))
    request = RequestFrame(id=id_, payload=payload, files=sample.files)
    world.record(link, IN, request, exchange, endpoint=function.name)
    caller = Caller(INSIDE + link.link, link=link.link)
    number = next(world.mfp_calls).to_bytes(8, "big")
    query = Query(world, caller, function, sample.argument, id_=number, parent=exchange)
    worker = yield from query.ask()
    ending = dice.random()
    if ending < 0.02:
        yield from query.take(worker)
        yield 2 * SECOND
        frame = ServiceFrame(id=link.next_id(IN), code=Service.ABORT, ref=id_, own=True)
        world.record(link, IN, frame, exchange)
        yield from query.cancel(worker)
        return
    if ending < 0.06:
        text = dice.choice(_FAILURES)
        yield from query.begin(worker)
        query.exception_of(worker, text)
        query.finish(worker)
        query.exception(text)
        code = texts.error_code(text)
        failure: Any = envelope.library_error(code, text.decode())
        answer, error = envelope.encode(function.name, error=failure), str(code)
        files: Files = ()
    else:
        yield from query.run(worker, sample.result)
        files, error = sample.answer_files, ""
        answer = envelope.encode(function.name, sample.answer, names=_named(files))
    query.acknowledged()
    response = ResponseFrame(id=link.next_id(OUT), ref=id_, payload=answer, files=files)
    world.record(link, OUT, response, exchange, endpoint=function.name, error=error or None)


def _named(files: Files) -> dict[int, tuple[str, str]] | None:
    return dict.fromkeys((key for key, _ in files), NAMES) if files else None


# --- parts of stories ----------------------------------------------------------------------------------


def _identity(world: World) -> bytes:
    """Of a peer with a socket; the first byte is not zero."""
    return b"\x7f" + world.dice.randbytes(15)


def _listed(workers: int) -> bytes:
    """FUNCTIONS_LIST."""
    functions = [
        {
            "name": function.name, "argument": function.argument, "result": function.result, "doc": "",
            "parameters": None, "result_schema": None,
            "redispatch": "unacknowledged" if function.once else "always", "max_runtime": None,
            "workers": workers,
        }
        for function in sorted(FUNCTIONS, key=lambda function: function.name)
    ]  # fmt: skip
    return json.dumps({"version": 1, "functions": functions}).encode()


_WOVEN: Final[tuple[tuple[Asked, int], ...]] = (
    (call, 800),
    (questions, 60),
    (failing_call, 40),
    (unknown_function, 20),
    (cancelled_call, 15),
    (answer_again, 12),
    (asked_again, 10),
    (returned_query, 10),
    (dying_worker, 10),
    (busy, 10),
    (refused, 8),
    (refused_worker, 5),
)
_STORIES: Final = [story for story, _ in _WOVEN]
_STORY_WEIGHTS: Final = [sum(weight for _, weight in _WOVEN[: n + 1]) for n in range(len(_WOVEN))]
