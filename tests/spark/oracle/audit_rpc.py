"""The rules of remote functions (spec/audit.md, section 3), one function each."""

from collections.abc import Iterator

from tests.spark.oracle.breach import Breach, Rule
from tests.spark.oracle.queries import ANSWERS, decided, is_answer_out, is_asked, is_busy, is_given
from tests.spark.oracle.reading import SECOND, Group, Journal, Row, first, is_taken, last

Found = Iterator[Group]


def _before(rows: Group, row: Row) -> Group:
    return [other for other in rows if other["seq"] < row["seq"]]


def _after(rows: Group, row: Row) -> Group:
    return [other for other in rows if other["seq"] > row["seq"]]


def _is(row: Row, kind: str, direction: str) -> bool:
    return bool(row["kind"] == kind and row["direction"] == direction)


def answer_unasked(rows: Group, journal: Journal) -> Found:
    for answer in filter(is_answer_out, rows):
        if not first(_before(rows, answer), is_asked):
            yield [answer]


def wrong_client(rows: Group, journal: Journal) -> Found:
    for answer in filter(is_answer_out, rows):
        asked = list(filter(is_asked, _before(rows, answer)))
        if asked and all(row["link"] != answer["link"] for row in asked):
            yield [asked[0], answer]


def result_changed(rows: Group, journal: Journal) -> Found:
    for answer in rows:
        if _is(answer, "result", "out"):
            came = [row for row in _before(rows, answer) if _is(row, "result", "in")]
            if came and all(row["payload_bytes"] != answer["payload_bytes"] for row in came):
                yield [came[-1], answer]


def answer_before_receipt(rows: Group, journal: Journal) -> Found:
    receipt = first(rows, lambda row: _is(row, "query_received", "out"))
    if receipt:
        for answer in filter(is_answer_out, _before(rows, receipt)):
            if not is_busy(answer):
                yield [answer, receipt]


def too_many_workers(rows: Group, journal: Journal) -> Found:
    workers: dict[bytes, Row] = {}
    for row in filter(is_given, rows):
        workers.setdefault(row["link"], row)
    returned = sum(_is(row, "query_returned", "in") for row in rows)
    if len(workers) - returned > 3:
        yield list(workers.values())


def receipt_early(rows: Group, journal: Journal) -> Found:
    for row in rows:
        if _is(row, "response_received", "out"):
            kinds = (*ANSWERS, "query_returned")
            heard = [other for other in _before(rows, row) if other["link"] == row["link"]]
            if not any(other["kind"] in kinds and other["direction"] == "in" for other in heard):
                yield [row]


def unknown_though_given(rows: Group, journal: Journal) -> Found:
    given = first(rows, is_given)
    if given and not first(rows, lambda row: _is(row, "unknown_function", "in")):
        unknown = first(_after(rows, given), lambda row: _is(row, "unknown_function", "out"))
        if unknown:
            yield [given, unknown]


def two_answers(rows: Group, journal: Journal) -> Found:
    answers = [row for row in rows if is_answer_out(row) and not is_busy(row)]
    for other in answers[1:]:
        told, again = (
            (row["kind"], row["payload_bytes"] if row["kind"] == "result" else None)
            for row in (answers[0], other)
        )
        if told != again:
            yield [answers[0], other]


def run_again(rows: Group, journal: Journal) -> Found:
    for given in filter(is_given, rows):
        answer = last(_before(rows, given), lambda row: is_answer_out(row) and not is_busy(row))
        if answer and 0 <= given["mono_ns"] - answer["mono_ns"] <= 60 * SECOND:
            yield [answer, given]


def given_after_cancel(rows: Group, journal: Journal) -> Found:
    for given in filter(is_given, rows):
        cancel = last(_before(rows, given), lambda row: _is(row, "cancel", "in"))
        if cancel and not first(_before(_after(rows, cancel), given), is_asked):
            yield [cancel, given]


def busy_received(rows: Group, journal: Journal) -> Found:
    receipt = first(rows, lambda row: _is(row, "query_received", "out"))
    if receipt is None or first(rows, is_given) or sum(map(is_asked, rows)) != 1:
        return
    busy = first(_after(rows, receipt), is_busy)
    if busy:
        yield [receipt, busy]


def function_changed(rows: Group, journal: Journal) -> Found:
    naming = [row for row in rows if row["endpoint"] is not None]
    other = first(naming, lambda row: row["endpoint"] != naming[0]["endpoint"])
    if other:
        yield [naming[0], other]


def overdue(rows: Group, journal: Journal) -> Found:
    asked = first(rows, is_asked)
    if asked and decided(rows) is None and journal.time_is_over(asked, seconds=3600):
        yield [asked]


RULES: dict[str, Rule] = {
    "rpc-answer-unasked": answer_unasked,
    "rpc-wrong-client": wrong_client,
    "rpc-result-changed": result_changed,
    "rpc-answer-before-receipt": answer_before_receipt,
    "rpc-too-many-workers": too_many_workers,
    "rpc-receipt-early": receipt_early,
    "rpc-unknown-though-given": unknown_though_given,
    "rpc-two-answers": two_answers,
    "rpc-run-again": run_again,
    "rpc-given-after-cancel": given_after_cancel,
    "rpc-busy-received": busy_received,
    "rpc-function-changed": function_changed,
    "rpc-overdue": overdue,
}


def rows(journal: Journal) -> Iterator[Breach]:
    """The rule about rows: a query goes to workers that have registered."""
    for node in journal.nodes.values():
        registered = set()
        for row in node:
            if row["protocol"] != "rpc" or not is_taken(row):
                continue
            if _is(row, "register", "in"):
                registered.add(row["link"])
            elif is_given(row) and row["link"] not in registered:
                yield Breach("rpc-unregistered-worker", [row])
