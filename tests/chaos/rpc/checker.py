"""The judge: from what drivers, workers, the killer and the journal wrote down, was any rule broken?

[RPC-3.1.2] every query is answered; [RPC-3.2.2] once; [RPC-4.5] [RPC-4.6] [RPC-5.4.2] and run again only
after a death; [RPC-4.1] under one exchange, in a journal without gaps.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from tests.chaos.rpc.ledger import ONCE, Record, digest, result_of

ATTEMPTS = 3
PROXY, WORKER, CHILD, CLIENT = KINDS = ("proxy", "worker", "child", "client")
"""What can be killed: the proxy, a worker whole, one process of a worker, a driver."""


@dataclass(frozen=True)
class JournalRow:
    """One message, as the proxy recorded it."""

    seq: int
    time: int
    direction: str
    kind: str
    exchange: bytes
    op: str = ""
    """Of a query only."""
    digest: str = ""
    """Of a query's argument, or a result."""


@dataclass
class Evidence:
    """All that was written down."""

    drivers: dict[str, list[Record]]
    """Ledgers, by the driver's name."""
    logs: list[list[Record]]
    """Of the processes that ran functions."""
    deaths: list[Record]
    """Who was killed at ``killed`` and dead at ``time``: ``kind``, ``pid``, a driver's ``name``, and how many
    executions it ``hit``."""
    journal: list[JournalRow]
    starts: list[int] = field(default_factory=list)
    """When a proxy was started again."""


@dataclass
class Op:
    """One call, from all sides."""

    name: str
    driver: str
    function: str
    argument: str
    sent: int
    answers: list[Record] = field(default_factory=list)
    began: list[Record] = field(default_factory=list)
    ended: list[Record] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.function} {self.name}"


@dataclass(frozen=True)
class Verdict:
    """What is wrong, and what there was."""

    problems: list[str]
    figures: Counter[str]


def judge(evidence: Evidence) -> Verdict:
    """Look at everything."""
    figures: Counter[str] = Counter()
    return Verdict(list(_problems(evidence, figures)), figures)


def in_flight(death: Record, logs: Iterable[list[Record]], deaths: Iterable[Record]) -> int:
    """Executions that were under way at a death and lost or hit by it."""
    at = death["killed"]
    dead = {other["pid"] for other in deaths if other["time"] <= at}
    ends = {(r["op"], r["pid"]): r["time"] for log in logs for r in log if r["what"] == "ended"}
    count = 0
    for record in (record for log in logs for record in log if record["what"] == "began"):
        if dead.isdisjoint((record["pid"], record["parent"])) and (
            record["time"] < at < ends.get((record["op"], record["pid"]), at + 1)
        ):
            mine = {
                PROXY: True,
                WORKER: record["parent"] == death["pid"],
                CHILD: record["pid"] == death["pid"],
                CLIENT: record["op"].split("-")[0] == death.get("name"),
            }
            count += mine[death["kind"]]
    return count


def _problems(evidence: Evidence, figures: Counter[str]) -> Iterator[str]:
    ops: dict[str, Op] = {}
    for name, ledger in evidence.drivers.items():
        yield from _in_order(f"ledger of {name}", ledger)
        yield from _asked(name, ledger, ops)
    for log in evidence.logs:
        yield from _in_order("log of a worker", log)
        yield from _run(log, ops)
    yield from _in_order("deaths", evidence.deaths)
    for kind in KINDS:
        figures[f"{kind} killed"] = sum(death["kind"] == kind for death in evidence.deaths)
        if kind in (WORKER, CHILD):
            yield from _hit(kind, evidence)
    if figures["proxy killed"] != len(evidence.starts):
        yield "the proxy was not started again as often as it was killed"
    killed = {death["name"] for death in evidence.deaths if death["kind"] == CLIENT}
    for name, ledger in evidence.drivers.items():
        if name not in killed and [record["what"] for record in ledger][-1:] != ["end"]:
            yield f"{name} lives and did not come to its end"
    for op in ops.values():
        figures["queries"] += 1
        yield from _answered(op, evidence, figures, lives=op.driver not in killed)
        yield from _executed(op, evidence, figures)
    yield from _journaled(ops, evidence, figures)


def _hit(kind: str, evidence: Evidence) -> Iterator[str]:
    """What the dead wrote down is what was read when they died."""
    for death in (death for death in evidence.deaths if death["kind"] == kind):
        if in_flight(death, evidence.logs, evidence.deaths) != death["hit"]:
            yield f"{death['pid']} had begun something else when it was killed"


def _in_order(what: str, records: list[Record]) -> Iterator[str]:
    times = [record["time"] for record in records]
    if times != sorted(times):
        yield f"{what}: time goes backwards"
    if len({(r["what"], r.get("op"), r.get("pid"), r["time"]) for r in records}) != len(records):
        yield f"{what}: a record stands there twice"


def _asked(name: str, ledger: list[Record], ops: dict[str, Op]) -> Iterator[str]:
    for record in ledger:
        op = ops.get(record.get("op", ""))
        if record["what"] == "sent":
            if op is not None:
                yield f"{op} was sent twice"
            ops[record["op"]] = Op(record["op"], name, record["function"], record["argument"], record["time"])
        elif record["what"] in ("result", "error"):
            if op is None or op.driver != name:
                yield f"{name}: an answer to {record['op']}, which was not sent"
            else:
                op.answers.append(record)


def _run(log: list[Record], ops: dict[str, Op]) -> Iterator[str]:
    for record in log:
        op = ops.get(record["op"])
        if op is None or (op.function, op.argument) != (record["function"], record["argument"]):
            yield f"{record['function']} {record['op']} was run, and nobody asked for that"
        elif record["time"] < op.sent:
            yield f"{op} was run before it was sent"
        else:
            (op.began if record["what"] == "began" else op.ended).append(record)


def _answered(op: Op, evidence: Evidence, figures: Counter[str], *, lives: bool) -> Iterator[str]:
    if not op.answers:
        figures["unanswered, the client was killed"] += not lives
        if lives:
            yield f"{op} was never answered"
        return
    if len(op.answers) > 1:
        yield f"{op} was answered {len(op.answers)} times"
    for answer in op.answers:
        if answer["what"] == "error":
            yield from _explained(op, answer, evidence, figures)
            continue
        figures["results"] += 1
        if answer["result"] != digest(result_of(op.function, op.name, op.argument).encode()):
            yield f"{op} got a wrong result"
        if not any(record["time"] <= answer["time"] for record in op.ended):
            yield f"{op} has a result, but no execution came to its end before"


def _explained(op: Op, answer: Record, evidence: Evidence, figures: Counter[str]) -> Iterator[str]:
    """An error has to have its cause among the deaths while the call was under way."""
    deaths = Counter(
        d["kind"] for d in evidence.deaths if op.sent <= d["time"] and d["killed"] <= answer["time"]
    )
    of_workers = deaths[WORKER] + deaths[CHILD]
    text = answer["text"].partition(": ")[2]
    causes = {
        "outcome unknown": op.function == ONCE and bool(of_workers + deaths[PROXY]),
        "poison": of_workers >= ATTEMPTS,
        "no worker": bool(of_workers),
    }
    found = next((word for word in causes if text.startswith(word)), None)
    if answer["kind"] != "RemoteFunctionError" or found is None or not causes[found]:
        yield f"{op} ended in {answer['kind']} {answer['text']!r} after these deaths: {dict(deaths)}"
    figures[f"errors: {found}"] += 1


def _executed(op: Op, evidence: Evidence, figures: Counter[str]) -> Iterator[str]:
    runs = sorted(op.began, key=lambda record: record["time"])
    figures["executions"] += len(runs)
    figures["queries run more than once"] += len(runs) > 1
    figures["most executions of a query"] = max(figures["most executions of a query"], len(runs))
    if op.function == ONCE and len(runs) > 1:
        yield f"{op} may be run once, and was run {len(runs)} times"
    lives = 1 + sum(start > op.sent for start in evidence.starts)
    if len(runs) > ATTEMPTS * lives:
        yield f"{op} was run {len(runs)} times"
    for before, after in pairwise(runs):
        if not _died(before, evidence.deaths, before=after["time"]):
            yield f"{op} was run again, though process {before['pid']}, which had begun it, did not die"
    begun, ended = (Counter(record["pid"] for record in records) for records in (runs, op.ended))
    for pid in ended:
        if ended[pid] > begun[pid]:
            yield f"{op} was ended by {pid} more often than begun"
    for run in runs:
        if begun[run["pid"]] > 1 or (not ended[run["pid"]] and not _died(run, evidence.deaths)):
            yield f"{op} was begun by {run['pid']} twice, or never ended"


def _died(run: Record, deaths: list[Record], before: int = 1 << 63) -> bool:
    """Whether the process of this execution, or its parent, was killed after it began and ``before``."""
    return any(
        death["pid"] in (run["pid"], run["parent"])
        and run["time"] <= death["time"]
        and death["killed"] < before
        for death in deaths
    )


def _journaled(ops: dict[str, Op], evidence: Evidence, figures: Counter[str]) -> Iterator[str]:
    rows = evidence.journal
    figures["rows in the journal"] = len(rows)
    if [row.seq for row in rows] != list(range(1, len(rows) + 1)):
        yield "the journal: rows are not numbered from 1 without gaps"
    asked: dict[str, set[bytes]] = defaultdict(set)
    sent: dict[bytes, set[str]] = defaultdict(set)
    for row in rows:
        if row.kind == "query" and row.direction == "in":
            asked[row.op].add(row.exchange)
            if row.op not in ops or ops[row.op].argument != row.digest:
                yield f"the journal: a query {row.op} that nobody sent like this"
        elif row.kind in ("result", "exception") and row.direction == "out":
            sent[row.exchange].add(row.digest if row.kind == "result" else "error")
    exchanges = [exchange for of_op in asked.values() for exchange in of_op]
    if len(exchanges) != len(set(exchanges)) or any(len(of_op) > 1 for of_op in asked.values()):
        yield "the journal: queries and exchanges are not one to one"
    tails = list(_tails(evidence))
    for op in ops.values():
        if not op.answers:
            continue
        answer = op.answers[0]
        told = {answer for exchange in asked[op.name] for answer in sent[exchange]}
        if answer.get("result", "error") in told:
            figures["queries in the journal"] += 1
        elif any(after < answer["time"] < before for after, before in tails):
            figures["rows lost with the tail of a killed proxy"] += 1
        else:
            yield f"the journal: {op} was answered, and its rows are not there"


def _tails(evidence: Evidence) -> Iterator[tuple[int, int]]:
    """Between which times a killed proxy sent what it had not yet written to the disk."""
    rows = evidence.journal
    for death in (death for death in evidence.deaths if death["kind"] == PROXY):
        last = max((row.time for row in rows if row.time <= death["killed"]), default=0)
        answers = (r for r in rows if r.direction == "out" and r.kind in ("result", "exception"))
        yield last, min((row.time for row in answers if row.time > death["time"]), default=1 << 63)
