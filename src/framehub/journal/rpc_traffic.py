"""Who calls functions in made-up traffic, who runs them, and each row of a query (spec/journal.md, 3.4)."""

import json
from collections.abc import Generator
from typing import Final

from framehub.journal.record import NO_ID
from framehub.journal.traffic import IN, MS, OUT, Story, World
from framehub.rpc import texts, words
from framehub.rpc.jobs import wids
from framehub.rpc.messages import registration

KEY: Final = b"made-up traffic"
"""Of the proxy's hash that makes its ids."""
HOP: Final = 150_000
"""From one machine of the house to another, in nanoseconds."""
INSIDE: Final = b"\0mfp"
"""How identities of MFP clients begin at the proxy."""


class Function:
    """What a worker offers."""

    def __init__(
        self, name: str, argument: str, result: str, *, median_ms: float = 10.0, once: bool = False
    ) -> None:
        self.name = name
        self.key = name.encode()
        self.argument = argument
        self.result = result
        self.median_ms = median_ms
        self.once = once
        """It may not be run twice: a worker waits for a word before it begins."""


class Caller:
    """A client of the proxy: with a socket of its own, or an MFP connection (``link`` is that one's)."""

    def __init__(self, identity: bytes, *, link: bytes | None = None, counts: bool = False) -> None:
        self.identity = identity
        self.link = link
        self.counts = counts
        """Its ids are small numbers as text, as those of some foreign clients."""
        self.running = 0
        self.asked = 0
        self.wid = wids(KEY, identity)
        """Turns an id of this client's into the proxy's, the query's exchange."""

    def next_id(self, world: World) -> bytes:
        """An id for a query or a question."""
        self.asked += 1
        return b"%d" % self.asked if self.counts else world.dice.randbytes(16)


class Worker:
    """A worker at the proxy."""

    def __init__(self, identity: bytes, functions: tuple[Function, ...]) -> None:
        self.identity = identity
        self.functions = functions
        self.running = 0
        """Queries that it has."""

    def describe(self, world: World) -> int:
        """WORKER_DESCRIBE in."""
        about = {
            function.name: {"doc": "", "redispatch": "unacknowledged" if function.once else "always"}
            for function in self.functions
        }
        told = {"version": 1, "processes": 2, "window": 64, "functions": about, "holds": [], "leaving": False}
        return self._says(world, [words.WORKER_DESCRIBE, json.dumps(told).encode()])

    def register(self, world: World, *, goodbye: bool = False) -> int:
        """WORKER_REGISTER in; of no functions, it says goodbye."""
        offered = () if goodbye else self.functions
        return self._says(world, registration([(f.name, f.argument, f.result) for f in offered]))

    def welcomed(self, world: World) -> int:
        """WORKER_DESCRIBE out."""
        told = json.dumps({"version": 1, "functions": len(self.functions)}).encode()
        return world.rpc(OUT, "worker", self.identity, [words.WORKER_DESCRIBE, told])

    def beats(self, world: World) -> int:
        """HEART_BEAT in."""
        return self._says(world, [words.HEART_BEAT])

    def come(self, world: World) -> int:
        """All that a worker says and hears at its start; the number of its registration."""
        self.describe(world)
        seq = self.register(world)
        self.welcomed(world)
        return seq

    def _says(self, world: World, parts: list[bytes]) -> int:
        return world.rpc(IN, "worker", self.identity, parts)


class Query:
    """One query: methods that put one row on the tape and give its number, and parts of stories."""

    def __init__(
        self,
        world: World,
        caller: Caller,
        function: Function,
        argument: bytes,
        *,
        id_: bytes | None = None,
        parent: bytes = NO_ID,
        known: bool = True,
    ) -> None:
        """``known`` says whether anybody offers the function."""
        self.world = world
        self.caller = caller
        self.function = function
        self.argument = argument
        self.id = id_ if id_ is not None else caller.next_id(world)
        self.wid = caller.wid(self.id)
        self.parent = parent
        self.argument_coder = function.argument if known else None
        self.result_coder = function.result if known else None

    # --- at the client ---------------------------------------------------------------------------------

    def asked(self) -> int:
        """QUERY in."""
        parts = [words.QUERY, self.id, self.argument, self.function.key]
        return self._client(IN, parts, self.argument_coder, self.parent)

    def received(self) -> int:
        """QUERY_RECEIVED out."""
        return self._client(OUT, [words.QUERY_RECEIVED, self.id])

    def result(self, body: bytes) -> int:
        """RESPONSE_RESULT out."""
        return self._client(OUT, [words.RESPONSE_RESULT, self.id, body], self.result_coder)

    def exception(self, text: bytes) -> int:
        """RESPONSE_EXCEPTION out; ``error`` comes from the text's first words."""
        return self._client(OUT, [words.RESPONSE_EXCEPTION, self.id, text])

    def unknown(self) -> int:
        """RESPONSE_UNKNOWN_FUNCTION out."""
        return self._client(OUT, [words.RESPONSE_UNKNOWN_FUNCTION, self.id, self.function.key])

    def acknowledged(self) -> int:
        """RESPONSE_RECEIVED in."""
        return self._client(IN, [words.RESPONSE_RECEIVED, self.id])

    def cancelled(self) -> int:
        """CANCEL in."""
        return self._client(IN, [words.CANCEL, self.id])

    # --- at a worker -----------------------------------------------------------------------------------

    def given(self, worker: Worker) -> int:
        """QUERY out."""
        parts = [words.QUERY, self.wid, self.argument, self.function.key]
        return self._worker(OUT, worker, parts, self.argument_coder)

    def taken(self, worker: Worker) -> int:
        """QUERY_RECEIVED in."""
        return self._worker(IN, worker, [words.QUERY_RECEIVED, self.wid])

    def confirmed(self, worker: Worker) -> int:
        """QUERY_CONFIRMED out."""
        return self._worker(OUT, worker, [words.QUERY_CONFIRMED, self.wid])

    def result_of(self, worker: Worker, body: bytes) -> int:
        """RESPONSE_RESULT in."""
        return self._worker(IN, worker, [words.RESPONSE_RESULT, self.wid, body], self.result_coder)

    def exception_of(self, worker: Worker, text: bytes) -> int:
        """RESPONSE_EXCEPTION in."""
        return self._worker(IN, worker, [words.RESPONSE_EXCEPTION, self.wid, text])

    def unknown_to(self, worker: Worker) -> int:
        """RESPONSE_UNKNOWN_FUNCTION in."""
        return self._worker(IN, worker, [words.RESPONSE_UNKNOWN_FUNCTION, self.wid, self.function.key])

    def returned(self, worker: Worker, reason: bytes = words.UNSTARTED) -> int:
        """QUERY_RETURNED in."""
        return self._worker(IN, worker, [words.QUERY_RETURNED, self.wid, reason])

    def settled(self, worker: Worker) -> int:
        """RESPONSE_RECEIVED out."""
        return self._worker(OUT, worker, [words.RESPONSE_RECEIVED, self.wid])

    def stopped(self, worker: Worker) -> int:
        """CANCEL out."""
        return self._worker(OUT, worker, [words.CANCEL, self.wid])

    # --- parts of stories ------------------------------------------------------------------------------

    def ask(self) -> Generator[int, None, Worker]:
        """Ask, once there is a worker; the worker that gets it."""
        while not self.world.workers:
            yield 100 * MS
        self.asked()
        worker = self.place()
        self.received()
        return worker

    def place(self) -> Worker:
        """Give it to the worker that has the fewest."""
        worker = min(self.world.workers, key=_load)
        worker.running += 1
        self.given(worker)
        return worker

    def take(self, worker: Worker) -> Story:
        """The worker has it."""
        yield HOP
        self.taken(worker)
        if self.function.once:
            self.confirmed(worker)

    def begin(self, worker: Worker) -> Story:
        """The worker has it, and takes its time."""
        yield from self.take(worker)
        yield int(self.function.median_ms * MS * self.world.dice.lognormvariate(0.0, 0.5))

    def finish(self, worker: Worker) -> None:
        """The proxy has the worker's answer."""
        self.settled(worker)
        worker.running -= 1

    def answer(self, worker: Worker, result: bytes) -> None:
        """The result, from the worker and to the caller."""
        self.result_of(worker, result)
        self.finish(worker)
        self.result(result)

    def run(self, worker: Worker, result: bytes) -> Story:
        """From the worker's receipt to the result."""
        yield from self.begin(worker)
        self.answer(worker, result)

    def cancel(self, worker: Worker) -> Story:
        """The caller wants it no more, the worker stops."""
        self.cancelled()
        self.stopped(worker)
        yield HOP
        self.exception_of(worker, texts.CANCELLED)
        self.finish(worker)
        self.exception(texts.CANCELLED)
        yield from self.end()

    def end(self) -> Story:
        """The caller has its answer."""
        yield HOP
        self.acknowledged()

    # --- inside ----------------------------------------------------------------------------------------

    def _client(
        self, direction: int, parts: list[bytes], coder: str | None = None, parent: bytes = NO_ID
    ) -> int:
        caller = self.caller
        # fmt: off
        return self.world.rpc(
            direction, "client", caller.identity, parts, link=caller.link, exchange=self.wid,
            function=self.function.name, coder=coder, parent=parent,
        )
        # fmt: on

    def _worker(self, direction: int, worker: Worker, parts: list[bytes], coder: str | None = None) -> int:
        # fmt: off
        return self.world.rpc(
            direction, "worker", worker.identity, parts, exchange=self.wid, function=self.function.name,
            coder=coder,
        )
        # fmt: on


def _load(worker: Worker) -> int:
    return worker.running
