"""Who offers what: workers, functions and their coders (spec/rpc.md, section 5). Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from framehub.rpc.jobs import Conduct, Job
from framehub.rpc.messages import MAX_DESCRIPTION
from framehub.rpc.pace import Pace, Patience
from framehub.rpc.waiting import Waiting

ALWAYS: Final = "always"
UNACKNOWLEDGED: Final = "unacknowledged"
MAX_LEVELS: Final = 64
"""How deep a schema may be nested."""
MAX_LIST: Final = 8 << 20
"""Of a list of functions; where it would be longer, docs and schemas are left out."""
MAX_PENDING: Final = 1_024
"""Descriptions of workers that have not registered yet."""
MAX_PENDING_BYTES: Final = 8 << 20
"""What these may have together; read, they take several times as much."""


class Described(Struct, frozen=True):
    """What a worker says of one function."""

    doc: str = ""
    parameters: Any = None
    result: Any = None
    redispatch: str = ALWAYS
    max_runtime: float | None = None
    coroutine: bool = False
    """Whether many of it run at once in one process."""


class Description(Struct, frozen=True):
    """WORKER_DESCRIBE: what a worker says of itself."""

    version: int = 1
    processes: int = 1
    window: int = 64
    slots: int | None = None
    """Queries that it runs at the same time, if that is another number than ``processes``."""
    functions: dict[str, Described] = {}
    holds: list[str] = []
    """Ids, in hex, of queries that it is running or has the answer of."""
    leaving: bool = False
    """It finishes what it has and is to get nothing new."""


_decoder: Final = msgspec.json.Decoder(Description)


def read_description(data: bytes) -> Description | str:
    """The description, or why it is none."""
    if len(data) > MAX_DESCRIPTION:
        return f"a description has at most {MAX_DESCRIPTION} bytes"
    try:
        described = _decoder.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as exc:
        return f"not a description: {exc}"
    for name, function in described.functions.items():
        if function.redispatch not in (ALWAYS, UNACKNOWLEDGED):
            return f"function {name!r}: redispatch is {ALWAYS} or {UNACKNOWLEDGED}"
        if _is_deeper(function.parameters, MAX_LEVELS) or _is_deeper(function.result, MAX_LEVELS):
            return f"function {name!r}: a schema has at most {MAX_LEVELS} levels"
    return described


class Function:
    """One name: its coders while somebody offers it, its workers, and who waits for one."""

    __slots__ = (
        "argument", "aside_at", "described", "gone_at", "name", "patience", "result", "waiting", "workers",
    )  # fmt: skip

    def __init__(self, name: bytes, *, gone_at: float) -> None:
        self.name = name
        self.argument = b""
        self.result = b""
        self.workers: list[Worker] = []
        self.waiting = Waiting()
        self.patience = Patience()
        self.described = Described()
        self.gone_at = gone_at
        """When its last worker went."""
        self.aside_at = 0.0
        """When it was looked for queries that have waited too long."""

    @property
    def keeps_acknowledged(self) -> bool:
        """Whether a query that a dead worker had acknowledged may not be run by another."""
        return self.described.redispatch == UNACKNOWLEDGED


class Worker:
    """One registered worker."""

    __slots__ = (
        "beats", "description", "functions", "grouped", "heard", "holds", "identity", "jobs", "leaving",
        "once", "owed", "pace", "runs", "share", "slots", "stuck", "turn", "window",
    )  # fmt: skip

    def __init__(self, identity: bytes, *, window: int, now: float) -> None:
        self.identity = identity
        self.functions: list[Function] = []
        self.jobs: dict[bytes, Job] = {}
        self.window = window
        self.runs = window
        """Queries that it may run at once, as far as is known: those that it has beyond these wait."""
        self.pace = Pace()
        self.heard = now
        self.beats = False
        """Whether it ever sent a HEART_BEAT: only then is silence death."""
        self.description: Description | None = None
        self.once: set[bytes] = set()
        """Functions of its that it begins only when that is confirmed."""
        self.holds: dict[bytes, None] = {}
        """What it said that it has, in its order."""
        self.leaving = False
        """It finishes what it has and gets nothing new."""
        self.stuck = False
        """Nothing more could be sent to it; until it says something."""
        self.owed: list[Job] = []
        """Queries that it has already and could not be asked for again when it was stuck."""
        self.turn = 0
        self.slots = 1
        """Queries that it runs at the same time; others wait there for their turn."""
        self.grouped = 0
        """Queries of groups that it has, but for coroutines."""
        self.share = 2
        """How many of those it may have: what it does in a moment, so that others need not wait long."""

    def take(self, job: Job) -> None:
        """It is given a query."""
        self.jobs[job.wid] = job
        if job.group is not None:
            job.in_line = job.spec is None or not job.spec.described.coroutine
            self.grouped += job.in_line
            job.group.gave()

    def drop(self, wid: bytes) -> Job | None:
        """It has this query no more; which one, if it had it."""
        job = self.jobs.pop(wid, None)
        if job is not None and job.group is not None:
            self.grouped -= job.in_line
            job.group.gave(-1)
        return job

    def took(self, seconds: float, ahead: float) -> None:
        """A query of a group was answered after so long: more at a time if that was soon, else fewer."""
        least = min(2 * self.slots, self.window)
        self.share = min(self.share + 1, self.window) if seconds <= ahead else max(self.share - 1, least)

    @property
    def described(self) -> bool:
        """Whether it said what it is: then it knows more kinds of messages."""
        return self.description is not None

    @property
    def has_room(self) -> bool:
        """Whether it can be given a query."""
        return len(self.jobs) < self.window and not self.leaving and not self.stuck

    def has_room_for_groups(self, function: Function) -> bool:
        """Whether it can be given a query of a group; behind coroutines nobody stands in line."""
        return (self.grouped < self.share or function.described.coroutine) and self.has_room

    def next_waiting(self) -> tuple[Function, Job] | None:
        """The next query that waits for it, its functions each in their turn; it is taken out of its line."""
        count = len(self.functions)
        for step in range(1, count + 1):
            function = self.functions[(self.turn + step) % count]
            if function.waiting.count:
                groups = self.grouped < self.share or function.described.coroutine
                if (job := function.waiting.pop(groups=groups)) is not None:
                    self.turn = (self.turn + step) % count
                    return function, job
        return None


class Registry:
    """Workers by identity, functions by name."""

    def __init__(self, *, window: int) -> None:
        self.workers: dict[bytes, Worker] = {}
        self.functions: dict[bytes, Function] = {}
        self.strangers: dict[bytes, Conduct] = {}
        """Peers that break rules."""
        self._window = window
        self._descriptions: dict[bytes, tuple[Description, int]] = {}
        self.announced_bytes = 0
        """Of descriptions of workers that have not registered yet."""
        self._listed: bytes | None = None

    def conflict(
        self, identity: bytes, functions: Iterable[tuple[bytes, bytes, bytes]]
    ) -> tuple[bytes, bytes, bytes] | None:
        """The first function whose coders differ from those of other live workers, and theirs."""
        leaving = [worker for worker in self.workers.values() if worker.leaving]
        for name, argument, result in functions:
            function = self.functions.get(name)
            if function is None or (function.argument, function.result) == (argument, result):
                continue
            others = [*function.workers, *(worker for worker in leaving if function in worker.functions)]
            if any(worker.identity != identity for worker in others):
                return name, function.argument, function.result
        return None

    def register(
        self, identity: bytes, functions: Sequence[tuple[bytes, bytes, bytes]], now: float
    ) -> Worker:
        """Enter a worker with all its functions, in place of what it had before; its queries stay its own."""
        worker = self.workers.get(identity)
        if worker is None:
            worker = self.workers[identity] = Worker(identity, window=self._window, now=now)
        self._leave_functions(worker, now)
        worker.leaving = worker.stuck = False
        worker.heard = now
        for name, argument, result in functions:
            function = self.function(name, gone_at=now)
            if not function.workers:
                function.described = Described()
            function.argument, function.result = argument, result
            function.workers.append(worker)
            worker.functions.append(function)
        if described := self._announced(identity) or worker.description:
            self.describe(worker, described)
        self._listed = None
        return worker

    def remove(self, worker: Worker, now: float) -> None:
        """Forget a worker; its functions' coders with the last of theirs."""
        del self.workers[worker.identity]
        self._leave_functions(worker, now)
        self._listed = None

    def announce(self, identity: bytes, described: Description, size: int) -> None:
        """Keep the description of a worker that is about to register, if there is room."""
        self._announced(identity)
        kept = self._descriptions
        if len(kept) < MAX_PENDING and self.announced_bytes + size <= MAX_PENDING_BYTES:
            kept[identity] = (described, size)
            self.announced_bytes += size

    def _announced(self, identity: bytes) -> Description | None:
        """Take out what this worker said before it registered."""
        described, size = self._descriptions.pop(identity, (None, 0))
        self.announced_bytes -= size
        return described

    def describe(self, worker: Worker, described: Description) -> None:
        """Note what a registered worker says of itself."""
        worker.description = described
        worker.window = max(1, min(self._window, described.window))
        worker.slots = max(1, described.slots or described.processes)
        worker.share = min(max(worker.share, 2 * worker.slots), worker.window)
        unsure = described.slots is None or any(told.coroutine for told in described.functions.values())
        worker.runs = worker.window if unsure else min(worker.slots, worker.window)
        worker.leaving = worker.leaving or described.leaving
        worker.once = set()
        for function in worker.functions:
            told = described.functions.get(function.name.decode())
            if told is None:
                continue
            if told.redispatch == UNACKNOWLEDGED:
                worker.once.add(function.name)
            elif function.keeps_acknowledged and len(function.workers) > 1:
                told = msgspec.structs.replace(told, redispatch=UNACKNOWLEDGED)  # if one says so, all
            function.described = told
        worker.holds = {wid: None for text in described.holds if len(wid := _unhex(text)) == 16}
        self._listed = None

    def function(self, name: bytes, *, gone_at: float) -> Function:
        """The function of this name; a new one if there is none."""
        found = self.functions.get(name)
        if found is None:
            found = self.functions[name] = Function(name, gone_at=gone_at)
        return found

    def pick(self, function: Function) -> Worker | None:
        """The least loaded worker of a function that can take a query of a client's."""
        best: Worker | None = None
        least = 1 << 30
        for worker in function.workers:
            load = len(worker.jobs)
            if load < least and load < worker.window and not worker.leaving and not worker.stuck:
                best, least = worker, load
                if not load:
                    break
        return best

    def pick_for_group(self, function: Function) -> Worker | None:
        """The least loaded worker of a function that can take a query of a group's."""
        best: Worker | None = None
        least = 1 << 30
        for worker in function.workers:
            load = len(worker.jobs)
            if load < least and worker.has_room_for_groups(function):
                best, least = worker, load
        return best

    def forget(self, before: float) -> None:
        """Forget names that nobody has, nobody waits for, and whose last worker went before this time."""
        offered = {function.name for worker in self.workers.values() for function in worker.functions}
        gone = [
            name
            for name, function in self.functions.items()
            if not function.waiting.count and function.gone_at < before and name not in offered
        ]
        for name in gone:
            del self.functions[name]

    @property
    def listed(self) -> bytes:
        """FUNCTIONS_LIST: everything offered now, as JSON."""
        if self._listed is None:
            offered = sorted(
                (function for function in self.functions.values() if function.workers), key=lambda f: f.name
            )
            self._listed = _listing([_entry(function) for function in offered])
            if len(self._listed) > MAX_LIST:
                brief = [_entry(function, Described()) for function in offered]
                self._listed = _listing(brief)
        return self._listed

    def leave(self, worker: Worker, now: float) -> None:
        """A worker offers nothing any more; but what it has it may answer."""
        worker.leaving = True
        for function in worker.functions:
            if worker in function.workers:
                function.workers.remove(worker)
                if not function.workers:
                    function.gone_at = now
        self._listed = None

    def _leave_functions(self, worker: Worker, now: float) -> None:
        leaving = worker.leaving
        self.leave(worker, now)
        worker.leaving = leaving
        worker.functions = []


def _listing(functions: list[Mapping[str, Any]]) -> bytes:
    listed = {"version": 1, "functions": functions}
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode()


def _entry(function: Function, told: Described | None = None) -> Mapping[str, Any]:
    redispatch = function.described.redispatch
    told = told or function.described
    return {
        "name": function.name.decode(),
        "argument": function.argument.decode(),
        "result": function.result.decode(),
        "doc": told.doc,
        "parameters": told.parameters,
        "result_schema": told.result,
        "redispatch": redispatch,
        "max_runtime": told.max_runtime,
        "workers": len(function.workers),
    }


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether arrays and objects are nested deeper than this: what reads or writes them goes as deep."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return not levels or any(_is_deeper(each, levels - 1) for each in inner)


def _unhex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""
