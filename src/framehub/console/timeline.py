"""One conversation as a timeline: who took part, what passed between them, and what that means. Pure.

Rows are those that ``framehub.report.story`` finds: of one exchange and all around it, ``link``, ``exchange``
and ``parent`` in hex.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from framehub.codes import HubCommand
from framehub.console import frame_rows, outcomes

Row = dict[str, Any]
GATEWAY: Final = "gateway"
MOST_SHOWN: Final = 400
"""Frames in one timeline; of more, the first half and the last."""
_ENDED: Final = {
    outcomes.OK: "answered",
    outcomes.ERROR: "answered with an error",
    outcomes.TIMEOUT: "timed out",
    outcomes.ABORTED: "given up",
    outcomes.OPEN: "not over",
}


def timeline(
    asked: str,
    family: Mapping[str, str | None],
    rows: Sequence[Row],
    now_ns: int,
    names: Mapping[str, str] | None = None,
    left_out: int = 0,
) -> Row:
    """The whole story for a page; ``now_ns`` is how late it is for what is not over.

    ``names`` are better ones for what rows know by number. So many rows are missing from the middle.
    """
    start = rows[0]
    parts = [_part(exchange, family, rows, now_ns) for exchange in family]
    for part in parts:
        part["name"] = (names or {}).get(part["name"], part["name"])
    lanes = _lanes(rows, family)
    shown = [*rows[: MOST_SHOWN // 2], *rows[-(MOST_SHOWN // 2) :]] if len(rows) > MOST_SHOWN else rows
    return {
        "exchange": asked,
        "began": start["time_ns"] / 1e6,
        "lanes": list(lanes.values()),
        "parts": parts,
        "events": [_event(row, start, family) for row in shown],
        "left_out": len(rows) - len(shown) + left_out,
        "sentences": _sentences(parts, rows, now_ns, left_out),
        "ms": _ms(start, rows[-1]),
    }


def _ms(first: Row, last: Row) -> float:
    clock = "mono_ns" if first["node"] == last["node"] else "time_ns"
    return round(float(last[clock] - first[clock]) / 1e6, 3)


def _own(exchange: str, rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["exchange"] == exchange]


def _part(exchange: str, family: Mapping[str, str | None], rows: Sequence[Row], now_ns: int) -> Row:
    """One exchange: what it was, when it began, how it ended."""
    own = _own(exchange, rows)
    if not own:  # beyond what was read
        return {"exchange": exchange, "parent": family[exchange], "name": "", "outcome": "", "ms": None}
    opening = next((row for row in own if outcomes.step(row) == outcomes.OPENED), own[0])
    ending = next((row for row in own if outcomes.step(row) not in (None, outcomes.OPENED)), None)
    outcome = outcomes.step(ending) if ending is not None else None
    if outcome is None:
        outcome = outcomes.OPEN if _waits(opening) else outcomes.OK
    return {
        "exchange": exchange,
        "parent": family[exchange],
        "protocol": opening["protocol"],
        "called": outcomes.CALLED[opening["protocol"]],
        "name": outcomes.called(opening) or frame_rows.says(opening),
        "kind": "stream" if outcomes.is_stream(opening) else opening["kind"],
        "user": opening["user"],
        "link": opening["link"],
        "node": opening["node"],
        "seq": opening["seq"],
        "opened": _ms(rows[0], opening),
        "closed": _ms(rows[0], ending) if ending is not None else None,
        "ms": _ms(opening, ending) if ending is not None else round((now_ns - opening["time_ns"]) / 1e6, 3),
        "outcome": outcome,
        "code": (ending["error"] or "") if ending is not None else "",
        "ended_by": ending["direction"] if ending is not None else None,
    }


def _waits(opening: Row) -> bool:
    """Whether what begins so has an end."""
    return opening["kind"] in ("request", "query", "first") or outcomes.is_stream(opening)


def _is_inside(row: Row, family: Mapping[str, str | None]) -> bool:
    """Between two parts of the gateway itself: the client of an inner call is the gateway."""
    return (
        bool(family.get(row["exchange"])) and frame_rows.party(row) == "client" and row["protocol"] != "mfp"
    )


def _lane_of(row: Row) -> str:
    return f"{frame_rows.party(row)} {row['link']}"


def _lanes(rows: Sequence[Row], family: Mapping[str, str | None]) -> dict[str, Row]:
    """Clients, then the gateway, then workers and services, each in the order in which they come."""
    found: dict[str, Row] = {}
    for row in rows:
        if not _is_inside(row, family):
            lane = {"id": _lane_of(row), "party": frame_rows.party(row), "link": row["link"]}
            found.setdefault(lane["id"], lane)
    clients = {name: lane for name, lane in found.items() if lane["party"] == "client"}
    others = {name: lane for name, lane in found.items() if lane["party"] != "client"}
    middle = {GATEWAY: {"id": GATEWAY, "party": GATEWAY, "link": ""}}
    return {**clients, **middle, **others}


def _event(row: Row, start: Row, family: Mapping[str, str | None]) -> Row:
    """One frame as an arrow."""
    other = GATEWAY if _is_inside(row, family) else _lane_of(row)
    incoming = row["direction"] == "in"
    return {
        **frame_rows.line(row),
        "node": row["node"],
        "after": _ms(start, row),
        "from": other if incoming else GATEWAY,
        "to": GATEWAY if incoming else other,
    }


# --- in words ------------------------------------------------------------------------------------------


def _sentences(parts: Sequence[Row], rows: Sequence[Row], now_ns: int, left_out: int) -> list[Row]:
    told: list[Row] = []
    root = parts[0]
    if "link" not in root:
        return told
    by = f"User {root['user']}" if root["user"] else "A client"
    if root["kind"] == "stream":
        begins = "The gateway began" if _asked_by_us(root, rows) else f"{by} began"
        told.append(_said(f"{begins} a stream to {root['called']} {root['name']}.", "asked", root["opened"]))
        hops = [sentence for part in parts for sentence in _hops(part, rows, now_ns)]
        return sorted([*told, *hops, _end_of_stream(root, rows, left_out)], key=lambda one: float(one["at"]))
    if root["kind"] not in ("request", "query", "first"):
        return [_said(f"{by} sent {root['name']}.", "asked", 0.0)]
    who = "The gateway asked its client for" if _asked_by_us(root, rows) else f"{by} asked for"
    told.append(_said(f"{who} {root['called']} {root['name']}.", "asked", root["opened"]))
    hops = [sentence for part in parts for sentence in _hops(part, rows, now_ns)]
    if not hops and root["outcome"] != outcomes.OPEN and root["code"] not in _NOBODY:
        text = "No worker or service had it: the gateway's own app did."
        told.append(_said(text, "given", root["opened"]))
    # What was at the same time is told in this order: the end comes last.
    return sorted([*told, *hops, _end(root)], key=lambda one: float(one["at"]))


_NOBODY: Final = ("unknown_endpoint", "unknown_function", "endpoint_not_found")


def _asked_by_us(root: Row, rows: Sequence[Row]) -> bool:
    opening = _own(root["exchange"], rows)[0]
    return bool(opening["protocol"] == "mfp" and opening["direction"] == "out")


def _hops(part: Row, rows: Sequence[Row], now_ns: int) -> list[Row]:
    """Each time that a part was given to a worker or service: when, and what became of it."""
    if "link" not in part:
        return []
    own = _own(part["exchange"], rows)
    given = [row for row in own if row["kind"] in ("query", "first") and row["direction"] == "out"]
    told: list[Row] = []
    for place, row in enumerate(given):
        until = given[place + 1]["seq"] if place + 1 < len(given) else float("inf")
        later = [one for one in own if one["link"] == row["link"] and row["seq"] < one["seq"] < until]
        told += _hop(part, row, later, rows[0], now_ns)
    return told


def _hop(part: Row, given: Row, later: Sequence[Row], start: Row, now_ns: int) -> list[Row]:
    who = f"{frame_rows.party(given)} {given['link'][:8]}".capitalize()
    got_at = _ms(start, given)
    told = [_said(f"{who} got it after {_took(got_at)}.", "given", got_at)]
    heard = [row for row in later if row["direction"] == "in"]
    has_it = any(row["kind"] == "query_received" for row in heard)
    answer = next((row for row in heard if row["kind"] in _ANSWERS), None)
    stopped = next((row for row in later if row["direction"] == "out" and _is_stop(row)), None)
    if answer is not None and (stopped is None or answer["seq"] < stopped["seq"]):
        answered_at = _ms(start, answer)
        late = part["closed"] is not None and answered_at > part["closed"]
        how = "failed" if answer["kind"] in ("exception", "service_error") else "answered"
        text = f"It {how} {_took(answered_at - got_at)} later"
        text += ", when nobody waited any more." if late else "."
        return [*told, _said(text, "late" if late else how, answered_at)]
    end = _ms(start, stopped) if stopped is not None else part["closed"]
    held = end - got_at if end is not None else (now_ns - given["time_ns"]) / 1e6
    known = "It took it on" if has_it or given["protocol"] == "hub" else "It never said that it has it"
    text = f"{known} and did not answer: it had it for {_took(held)}"
    if stopped is not None:
        text += ", until it was told to stop"
        text += f"; it did {_took(_ms(stopped, answer))} later" if answer is not None else ""
    elif end is None:
        text += " so far"
    told.append(_said(f"{text}.", "silent", end if end is not None else got_at + held))
    return told


_ANSWERS: Final = (
    *("result", "exception", "unknown_function", "query_returned"),
    *("message", "last", "service_error"),
)


def _is_stop(row: Row) -> bool:
    """Whether a worker or service is told that nobody wants it any more."""
    is_close = row["kind"] == "command" and row["code"] == HubCommand.CLOSE
    return bool(row["kind"] in ("cancel", "stream_error") or is_close)


def _end(root: Row) -> Row:
    took, code = _took(root["ms"]), f" ({root['code']})" if root["code"] else ""
    match root["outcome"]:
        case outcomes.TIMEOUT if root["ended_by"] == "in":
            text = f"The client gave up after {took}: its time was over, and no answer had come."
        case outcomes.TIMEOUT:
            text = f"After {took} its time was over: the gateway told the client so{code}."
        case outcomes.ABORTED if root["ended_by"] == "in":
            text = f"The client gave up after {took}{code}."
        case outcomes.ABORTED:
            text = f"The gateway refused it after {took}{code}."
        case outcomes.ERROR:
            text = f"The answer after {took} was an error{code}."
        case outcomes.OPEN:
            text = f"It is not over: nobody has answered for {took}."
        case _:
            text = f"The client had its answer after {took}."
    return _said(text, root["outcome"], root["opened"] + root["ms"])


def _end_of_stream(root: Row, rows: Sequence[Row], left_out: int) -> Row:
    took, code = _took(root["ms"]), f" ({root['code']})" if root["code"] else ""
    sender, receiver = "client", "gateway"
    if _asked_by_us(root, rows):
        sender, receiver = receiver, sender
    who = "client" if root["ended_by"] == "in" else "gateway"
    match root["outcome"]:
        case outcomes.OK:
            text = f"It ended after {took}."
        case outcomes.OPEN:
            text = f"It is not over, {took} so far."
        case outcomes.TIMEOUT:
            text = f"The {who} gave it up after {took}: nothing had gone on for too long{code}."
        case _ if who == sender:
            text = f"The {sender} broke it off after {took}{code}."
        case _:
            text = f"The {receiver} did not take it, or no more of it: it said so after {took}{code}."
    chunks = [row for row in _own(root["exchange"], rows) if row["kind"] == "binary"]
    if chunks and not left_out:
        text += f" Its frames have {sum(row['bytes'] for row in chunks):,} bytes in all."
    return _said(text, root["outcome"], root["opened"] + root["ms"])


def _said(text: str, kind: str, at: float) -> Row:
    return {"text": text, "kind": kind, "at": round(at, 3)}


def _took(ms: float) -> str:
    if ms < 1000:
        return f"{ms:.3g} ms" if ms < 100 else f"{ms:.0f} ms"
    return f"{ms / 1000:.3g} s"
