"""The rules of MFP (spec/audit.md, section 2), one function each."""

from collections import defaultdict
from collections.abc import Iterator

from tests.spark.oracle import mfp_bytes
from tests.spark.oracle.breach import Breach, Rule
from tests.spark.oracle.exchanges import (
    ABORT,
    ACK,
    PING,
    TIMEOUT,
    UNKNOWN,
    completion,
    is_end,
    is_last_binary,
    is_service,
    opening_of,
)
from tests.spark.oracle.reading import Group, Journal, Row, first, is_taken

Found = Iterator[Group]


def _opens(rows: Group, direction: str, *kinds: str) -> Row | None:
    """The opening, if it went this way and is of one of these kinds; of any if none is named."""
    opening = opening_of(rows)
    if opening is None or opening["direction"] != direction:
        return None
    return opening if not kinds or opening["kind"] in kinds else None


def _of(rows: Group, kind: str, direction: str) -> Group:
    return [row for row in rows if row["kind"] == kind and row["direction"] == direction]


def _services(rows: Group, direction: str, *codes: int) -> Group:
    return [row for row in _of(rows, "service", direction) if row["code"] in codes]


def _asks_for_ack(row: Row) -> bool:
    carries = row["kind"] in ("message", "request", "response", "binary")
    return carries and bool(row["head"] & mfp_bytes.ACK_WANTED)


def answered_twice(rows: Group, journal: Journal) -> Found:
    answers = _of(rows, "response", "out")
    if _opens(rows, "in") and len(answers) > 1:
        yield answers[:2]


def answered_after_end(rows: Group, journal: Journal) -> Found:
    end = first(rows, lambda row: is_service(row, TIMEOUT, ABORT))
    if _opens(rows, "in", "request") and end:
        late = first(_of(rows, "response", "out"), lambda row: row["seq"] > end["seq"])
        if late:
            yield [end, late]


def late_answer_untold(rows: Group, journal: Journal) -> Found:
    if not _opens(rows, "out", "request"):
        return
    answers = _of(rows, "response", "in")
    over = [row for row in rows if row in answers or is_service(row, TIMEOUT, ABORT)]
    told = [row["ref"] for row in _services(rows, "out", UNKNOWN)]
    for answer in answers:
        if answer is over[0] or answer["id"] in told:
            continue
        if journal.time_is_over(answer) and journal.is_up(answer["link"], answer):
            yield [over[0], answer]


def not_acked(rows: Group, journal: Journal) -> Found:
    acked = [row["ref"] for row in _services(rows, "out", ACK)]
    for row in rows:
        asks = row["direction"] == "in" and _asks_for_ack(row) and row["id"] not in acked
        if asks and journal.time_is_over(row) and journal.is_up(row["link"], row):
            yield [row]


def acked_twice(rows: Group, journal: Journal) -> Found:
    acks = defaultdict(list)
    for ack in _services(rows, "out", ACK):
        acks[ack["ref"]].append(ack)
    for same in acks.values():
        if len(same) > 1:
            yield same[:2]


def acked_unasked(rows: Group, journal: Journal) -> Found:
    came = [row for row in rows if row["direction"] == "in"]
    asking = [row["id"] for row in came if _asks_for_ack(row) or is_service(row, PING)]
    for ack in _services(rows, "out", ACK):
        if ack["ref"] not in asking:
            yield [ack]


def ping_unanswered(rows: Group, journal: Journal) -> Found:
    ping = _opens(rows, "in", "service")
    if ping is None or ping["id"] in [row["ref"] for row in _services(rows, "out", ACK)]:
        return
    if journal.time_is_over(ping) and journal.is_up(ping["link"], ping):
        yield [ping]


def chunk_after_end(rows: Group, journal: Journal) -> Found:
    chunks = _of(rows, "binary", "out")
    end = first(chunks, is_last_binary)
    if _opens(rows, "out") and end and chunks[-1]["seq"] > end["seq"]:
        yield [end, chunks[-1]]


def chunk_after_abort(rows: Group, journal: Journal) -> Found:
    chunks = _of(rows, "binary", "out")
    abort = first(_services(rows, "in", ABORT))
    if _opens(rows, "out") and abort and chunks and chunks[-1]["seq"] > abort["seq"]:
        yield [abort, chunks[-1]]


def set_short(rows: Group, journal: Journal) -> Found:
    opening = _opens(rows, "out", "message")
    if opening is None or opening["head"] & mfp_bytes.TABLE != mfp_bytes.ANNOUNCED:
        return
    chunks = _of(rows, "binary", "out")
    end = first(chunks, is_last_binary)
    keys = {row["key"] for row in chunks if _is_announced(row)}
    if end and len(keys) < (opening["files"] or 0) and not first(rows, lambda row: is_service(row, ABORT)):
        yield [opening, end]


def key_twice(rows: Group, journal: Journal) -> Found:
    if not _opens(rows, "out"):
        return
    files = [row for row in _of(rows, "binary", "out") if _is_announced(row)]
    for place, row in enumerate(files):
        earlier = first(files[:place], lambda other: other["key"] == row["key"])  # noqa: B023
        if earlier:
            yield [earlier, row]


def _is_announced(row: Row) -> bool:
    return bool(row["head"] & mfp_bytes.TABLE == mfp_bytes.ANNOUNCED)


def user_changed(rows: Group, journal: Journal) -> Found:
    other = first(rows, lambda row: row["user"] != rows[0]["user"])
    if other:
        yield [rows[0], other]


def endpoint_changed(rows: Group, journal: Journal) -> Found:
    opening = opening_of(rows)
    if opening is None or opening["kind"] != "request" or opening["endpoint"] is None:
        return
    for answer in _of(rows, "response", "out"):
        if answer["endpoint"] not in (None, opening["endpoint"]):
            yield [opening, answer]


RULES: dict[str, Rule] = {
    "mfp-answered-twice": answered_twice,
    "mfp-answered-after-end": answered_after_end,
    "mfp-late-answer-untold": late_answer_untold,
    "mfp-not-acked": not_acked,
    "mfp-acked-twice": acked_twice,
    "mfp-acked-unasked": acked_unasked,
    "mfp-ping-unanswered": ping_unanswered,
    "mfp-chunk-after-end": chunk_after_end,
    "mfp-chunk-after-abort": chunk_after_abort,
    "mfp-set-short": set_short,
    "mfp-key-twice": key_twice,
    "mfp-user-changed": user_changed,
    "mfp-endpoint-changed": endpoint_changed,
}


def rows(journal: Journal) -> Iterator[Breach]:
    """The rules about rows."""
    for row in journal.rows:
        if row["protocol"] != "mfp" or not is_taken(row):
            continue
        what = None if row["head"] is None else row["head"] & mfp_bytes.TABLE
        if row["kind"] in ("request", "response") and what in (mfp_bytes.ANNOUNCED, mfp_bytes.STREAM):
            yield Breach("mfp-request-streams", [row])
        if row["kind"] == "response" and row["direction"] == "out" and row["exchange"] is None:
            yield Breach("mfp-answer-unasked", [row])
        if row["id"] == 0 or row["ref"] == 0:
            yield Breach("mfp-zero-id", [row])
    yield from ids_reused(journal)


def ids_reused(journal: Journal) -> Iterator[Breach]:
    """Openings that take the id of a living exchange of the same side of the same link."""
    opened: dict[tuple[str, bytes, str, int], list[tuple[Row, int | None]]] = defaultdict(list)
    for group in journal.of("mfp"):
        opening = opening_of(group)
        if opening is not None and opening["kind"] != "service":
            side = (opening["node"], opening["link"], opening["direction"], opening["id"])
            opened[side].append((opening, end_of_life(opening, group, journal)))
    for same in opened.values():
        same.sort(key=lambda life: life[0]["seq"])
        for place, (opening, _) in enumerate(same):
            alive = [early for early, end in same[:place] if end is None or end > opening["seq"]]
            if alive:
                yield Breach("mfp-id-reused", [alive[-1], opening])


def end_of_life(opening: Row, group: Group, journal: Journal) -> int | None:
    """The number of the row with which an exchange is over (2.1)."""
    ends = [first(group, is_end), journal.closing_after(opening["link"], opening)]
    if opening["kind"] == "message":
        ends.append(completion(opening, group))
    return min((row["seq"] for row in ends if row is not None), default=None)
