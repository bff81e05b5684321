"""Did everybody learn what became of each conversation? Judged by what everybody wrote down."""

from collections import Counter
from dataclasses import dataclass, field

from tests.chaos.rpc.ledger import Record

HUB, SERVICE, CLIENT = "hub", "service", "client"
KINDS = (HUB, SERVICE, CLIENT)
EXPLAINED = {
    ("ConnectionClosed", ""): (HUB,),
    ("HubStreamError", "SERVICE_DISCONNECT"): (SERVICE, HUB),
    ("HubStreamError", "ENDPOINT_NOT_FOUND"): (SERVICE, HUB),
}
"""What a client may be told, and whose death explains it."""


@dataclass(kw_only=True)
class Evidence:
    """All that was written down."""

    clients: dict[str, list[Record]]
    services: dict[str, list[Record]]
    deaths: list[Record]
    breaches: list[str] = field(default_factory=list)
    """What the audit of the hub's journal says."""
    said: str = ""
    """What the hub said on stderr when it was told to stop."""


@dataclass(kw_only=True)
class Verdict:
    problems: list[str]
    figures: Counter[str]


def judge(found: Evidence) -> Verdict:
    problems: list[str] = []
    figures: Counter[str] = Counter()
    killed = {(death["kind"], death["name"]) for death in found.deaths}
    for name, ledger in found.clients.items():
        problems += _client(name, ledger, found, dead=(CLIENT, name) in killed, figures=figures)
    for name, ledger in found.services.items():
        problems += _service(name, ledger, dead=(SERVICE, name) in killed, figures=figures)
    problems += _served(found)
    problems += [f"the audit: {breach}" for breach in found.breaches]
    if found.said:
        problems.append(f"ghost streams at the end? the hub says: {found.said}")
    return Verdict(problems=problems, figures=figures)


def _client(
    name: str, ledger: list[Record], found: Evidence, *, dead: bool, figures: Counter[str]
) -> list[str]:
    """Each conversation has one outcome, and what went wrong is explained by a death shortly before."""
    problems = []
    sent = [record["op"] for record in ledger if record["what"] == "sent"]
    outcomes = Counter(record["op"] for record in ledger if record["what"] in ("done", "error"))
    figures["conversations"] += len(sent)
    figures["whole"] += sum(record["what"] == "done" for record in ledger)
    for op, count in outcomes.items():
        if count > 1:
            problems.append(f"{op} has {count} outcomes")
    for op in sent:
        if op not in outcomes:
            if not dead:
                problems.append(f"{op} has no outcome")
            figures["cut off with their client"] += dead
    for record in ledger:
        if record["what"] == "wrong":
            problems.append(f"{record['op']} got an answer that is another's")
        elif record["what"] == "error":
            figures[f"told {record['code'] or record['kind']}"] += 1
            causes = EXPLAINED.get((record["kind"], record["code"]), ())
            since = [death for death in found.deaths if death["killed"] <= record["time"]]
            if not any(death["kind"] in causes for death in since):
                problems.append(f"{record['op']}: {record['kind']} {record['text']}, and nobody had died")
    if not dead and (not ledger or ledger[-1]["what"] != "end"):
        problems.append(f"{name} did not end")
    return problems


def _service(name: str, ledger: list[Record], *, dead: bool, figures: Counter[str]) -> list[str]:
    """Each conversation that began in a service ended there, once: there are no ghosts."""
    began = Counter(record["op"] for record in ledger if record["what"] == "opened")
    ended = Counter(record["op"] for record in ledger if record["what"] == "ended")
    figures["served"] += sum(began.values())
    problems = [f"{name}: {op} began {count} times" for op, count in began.items() if count > 1]
    problems += [f"{name}: {op} ended {count} times" for op, count in ended.items() if count > began[op]]
    open_ = [op for op in began if not ended[op]]
    if dead:
        figures["cut off with their service"] += len(open_)
    else:
        problems += [f"{name}: {op} never ended" for op in open_]
    for record in ledger:
        if record["what"] == "ended" and record["how"] != "done":
            figures["services told of an end"] += 1
    return problems


def _served(found: Evidence) -> list[str]:
    """A conversation was in one service at the most, and a whole one in one that saw it end well."""
    where: dict[str, list[str]] = {}
    whole: set[str] = set()
    for name, ledger in found.services.items():
        for record in ledger:
            if record["what"] == "opened":
                where.setdefault(record["op"], []).append(name)
            elif record["what"] == "ended" and record["how"] == "done":
                whole.add(record["op"])
    problems = [f"{op} was in {len(names)} services" for op, names in where.items() if len(names) > 1]
    done = {
        record["op"] for ledger in found.clients.values() for record in ledger if record["what"] == "done"
    }
    problems += [f"{op} is whole for its client, and no service ended it" for op in sorted(done - whole)]
    return problems
