"""What is true, whatever the machines believe: every query, every run, every answer; and the rules."""

from collections import Counter
from typing import Final

from framehub.rpc import texts
from framehub.rpc.client import Ending
from tests.simulation.rpc import functions
from tests.simulation.rpc.plan import Plan
from tests.simulation.rpc.process import Process

SLACK: Final = 3.0
"""Seconds that an answer or a timeout may come after its deadline: ticks are not exact."""
ATTEMPTS: Final = 3
UNSTAFFED: Final = frozenset(("conflicting worker", "half-open worker", "stop a worker"))
"""Troubles that can leave a function without workers for as long as anybody waits for one."""


class Broken(Exception):
    """A rule did not hold."""

    def __init__(self, rule: str, told: str) -> None:
        super().__init__(f"{rule}: {told}")
        self.rule = rule


def must(holds: bool, rule: str, told: str, *about: object) -> None:
    """Raises Broken if it does not."""
    if not holds:
        raise Broken(rule, told.format(*about))


class Run:
    """One run of a query."""

    __slots__ = ("began", "process_died", "worker")

    def __init__(self, worker: Process, began: float) -> None:
        self.worker = worker
        self.began = began
        self.process_died = False

    def __repr__(self) -> str:
        return f"run of {self.worker} at {self.began:.3f}"


class Query:
    """One query, from its asker's mouth."""

    __slots__ = (
        "ample", "argument", "asked", "client", "copies", "deadline", "function", "given_up", "grouped", "id",
        "runs", "settled",
    )  # fmt: skip

    def __init__(
        self, client: Process, id_: bytes, function: str, argument: bytes, asked: float, deadline: float
    ) -> None:
        self.client = client
        self.id = id_
        self.function = function
        self.argument = argument
        self.asked = asked
        self.deadline = deadline
        self.ample = False
        """It has time until everything is well again: it must not end in a timeout."""
        self.given_up = False
        self.grouped = False
        """It is a group's: others may ask it too, and cancel it before."""
        self.settled = 0
        self.copies = 1
        """How often a foreign client sent it."""
        self.runs: list[Run] = []

    def __repr__(self) -> str:
        return f"{self.function}({self.argument!r}) of {self.client} at {self.asked:.3f}"


class Ledger:
    """Everything that was asked, run and answered."""

    def __init__(self, counts: Counter[str], plan: Plan) -> None:
        self.counts = counts
        self.queries: dict[bytes, Query] = {}
        """By argument."""
        self.by_id: dict[tuple[Process, bytes], Query] = {}
        self.twins: list[Query] = []
        """What was asked by another client of the group before."""
        self.open = 0
        """Queries of living clients that keep asking and have no answer yet."""
        self.restarts: list[float] = []
        """When the proxy was started again."""
        self._acknowledged: dict[bytes, set[bytes]] = {}
        """Who acknowledged what may not be run twice, by argument."""
        self._given: dict[bytes, set[bytes]] = {}
        self._tight = plan.tight
        self._calm = not plan.troubles
        self._unwelcomed = ATTEMPTS - 1 if "block a worker" in plan.troubles else 0
        """A worker whose welcome was lost counts deaths for itself."""
        self._staffed = not {*plan.troubles} & UNSTAFFED
        """At every time there is a worker for everything but ``rare``, or one soon."""

    def asked(self, query: Query, *, foreign: bool = False) -> None:
        self.queries[query.argument] = query
        self.by_id[query.client, query.id] = query
        self.open += not foreign
        self.counts["queries"] += 1

    def asked_again(self, twin: Query) -> None:
        """Another client of the group asks what one has asked before."""
        first = self.queries[twin.argument]
        twin.runs = first.runs
        twin.asked = first.asked
        self.twins.append(twin)
        self.by_id[twin.client, twin.id] = twin
        self.open += 1
        self.counts["asked again in a group"] += 1

    # --- runs ------------------------------------------------------------------------------------------

    def began(self, name: str, argument: bytes, worker: Process, now: float) -> Run:
        """A process begins to run a query."""
        query = self.queries.get(argument)
        must(query is not None, "RINV-2", "{} runs {}({!r}), which nobody asked", worker, name, argument)
        assert query is not None
        must(query.function == name, "RINV-2", "{} runs {} as {}", worker, query, name)
        run = Run(worker, now)
        query.runs.append(run)
        self.counts["runs"] += 1
        if len(query.runs) > 1:
            self._again(query, run)
        return run

    def _again(self, query: Query, run: Run) -> None:
        self.counts["runs again"] += 1
        before = query.runs[:-1]
        for other in before:
            if other.worker is run.worker and not getattr(run.worker, "foreign", False):
                must(other.process_died, "RINV-4", "{} runs {} twice", run.worker, query)
        if functions.FUNCTIONS[query.function].once:
            raise Broken("RINV-4", f"{query} may run once: {self._story(query)}")
        if self._tight or (query.grouped and (self._restarted(query) or self._ended_early(query))):
            return
        lives = 1 + self._restarted(query)
        many, most = len(query.runs), ATTEMPTS * lives + self._unwelcomed
        must(many <= most, "RINV-4", "{} is run for the {}th time", query, many)
        if lives > 1 and any(getattr(one.worker, "foreign", False) for one in query.runs):
            return  # a foreign worker does not say what it holds
        why = any(one.process_died or one.worker.was_troubled_since(query.asked) for one in query.runs)
        must(why, "RINV-4", "{} is run again though nobody died: {}", query, self._story(query))

    def given(self, identity: bytes, argument: bytes) -> None:
        """The proxy gives a query to a worker."""
        had = self._given.setdefault(argument, set())
        others = self._acknowledged.get(argument)
        if others and others != {identity} and identity not in had:
            query = self.queries[argument]
            raise Broken("RINV-4", f"{query} may run once; {identity!r} gets it, {others} acknowledged it")
        had.add(identity)

    def acknowledged(self, identity: bytes, name: str, argument: bytes) -> None:
        """The proxy hears that a worker has a query."""
        if functions.FUNCTIONS[name].once:
            self._acknowledged.setdefault(argument, set()).add(identity)

    def returned(self, identity: bytes, argument: bytes) -> None:
        """The proxy hears that a worker has not begun a query and will not."""
        self._acknowledged.get(argument, set()).discard(identity)

    def _restarted(self, query: Query) -> int:
        """How often the proxy was, while the query was open."""
        return sum(restart >= query.asked for restart in self.restarts)

    def _ended_early(self, query: Query) -> bool:
        """Whether one of those who asked it cancelled it."""
        first = self.queries[query.argument]
        asked = (first, *(twin for twin in self.twins if twin.argument == query.argument))
        return any(one.given_up or not one.ample for one in asked)

    def _story(self, query: Query) -> str:
        return ", ".join(f"{run.worker} at {run.began:.3f}" for run in query.runs)

    # --- answers ---------------------------------------------------------------------------------------

    def settled(
        self, client: Process, id_: bytes, ending: Ending, body: tuple[bytes, ...], now: float
    ) -> None:
        """The application is told how its query ended."""
        query = self.by_id.get((client, id_))
        must(query is not None, "RINV-3", "{} is told of {!r}, which it did not ask", client, id_)
        assert query is not None
        query.settled += 1
        must(query.settled == 1, "RINV-3", "{} was answered twice", query)
        must(not query.given_up, "RINV-3", "{} was answered though it was given up", query)
        self.open -= 1
        late = max(query.deadline, client.troubled) + SLACK
        must(now <= late, "RINV-1", "{} ended at {:.3f}, too late", query, now)
        if ending is Ending.TIMEOUT:
            self.counts["ended: timeout"] += 1
            must(not query.ample, "RINV-1", "{} ended in a timeout: {}", query, self._story(query))
            return
        self.judge(query, ending, body[0])

    def judge(self, query: Query, ending: Ending, body: bytes) -> None:
        """Whether this may be the answer."""
        if ending is Ending.RESULT:
            right = functions.result(query.function, query.argument)
            must(body == right, "RINV-2", "{} was answered {!r}", query, body)
            must(bool(query.runs), "RINV-2", "{} has a result and was not run", query)
            self.counts["ended: result"] += 1
        elif ending is Ending.UNKNOWN_FUNCTION:
            must(body == query.function.encode(), "RINV-2", "{}: unknown function {!r}", query, body)
            unknown = query.function in (functions.NOBODY, "rare") or not self._staffed
            must(unknown, "RINV-1", "{}: its function is offered", query)
            self.counts["ended: unknown function"] += 1
        else:
            must(ending is Ending.EXCEPTION, "RINV-2", "{} ended in {}", query, ending)
            self._failed(query, body)

    def _failed(self, query: Query, text: bytes) -> None:
        known = functions.FUNCTIONS.get(query.function)
        deadly = functions.is_deadly(query.function, query.argument)
        died = any(run.process_died for run in query.runs)
        if text == functions.failure(query.argument).encode():
            must(query.function == "fails", "RINV-2", "{} failed", query)
            what = "exception"
        elif text.startswith(texts.BUSY):
            what = "busy"
        elif text in (texts.UNKNOWN_OUTCOME, texts.UNKNOWN_ANSWER):
            must(known is not None and known.once, "RINV-1", "{}: {!r}", query, text)
            why = died or self._tight or self._restarted(query) or (not query.runs and not self._calm)
            why = why or any(run.worker.was_troubled_since(query.asked) for run in query.runs)
            why = why or (query.grouped and self._ended_early(query))  # begun, cancelled, and asked again
            must(bool(why), "RINV-1", "{}: {!r}, and nobody died", query, text)
            what = "outcome unknown"
        elif text == texts.POISON:
            must(deadly or not self._calm, "RINV-1", "{} is no poison", query)
            what = "poison"
        elif text == texts.NO_WORKER:
            must(not self._staffed or query.function == "rare", "RINV-1", "{}: there are workers", query)
            what = "no worker"
        elif text == texts.CODERS_CHANGED:
            must(not self._staffed, "RINV-9", "{}: nobody came with other coders", query)
            what = "coders changed"
        elif text == texts.CANCELLED:
            early = query.grouped and self._ended_early(query)
            must(query.given_up or early, "RINV-1", "{} was cancelled by nobody", query)
            what = "cancelled"
        else:
            raise Broken("RINV-2", f"{query} failed: {text!r}")
        self.counts[f"ended: {what}"] += 1

    def gave_up(self, query: Query) -> None:
        """The application cancelled it."""
        if not query.settled and not query.given_up:
            query.given_up = True
            self.open -= 1
            self.counts["cancelled"] += 1

    def client_died(self, client: Process) -> None:
        for query in (*self.queries.values(), *self.twins):
            if query.client is client and not query.settled and not query.given_up:
                query.given_up = True
                self.open -= not getattr(client, "foreign", False)

    def all_told(self, client: Process) -> None:
        """A client that asks only once, and was never cut off, has all its answers."""
        for query in self.queries.values():
            if query.client is client:
                must(query.settled > 0, "RINV-1", "{} has no answer: {}", query, self._story(query))

    def all_settled(self) -> None:
        """Everything is well again: nobody may be left without an answer."""
        for query in (*self.queries.values(), *self.twins):
            if not getattr(query.client, "foreign", False) and not query.given_up:
                must(query.settled == 1, "RINV-1", "{} has no answer: {}", query, self._story(query))
