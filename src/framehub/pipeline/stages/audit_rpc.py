"""The rules about remote functions (spec/audit.md, section 3), and the facts of a query that they ask for.

A query has few rows, so all of them are on its ``tape``.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from framehub.codes import ErrorCode
from framehub.pipeline.stages.queries import ANSWERS
from framehub.pipeline.stages.rule import (
    SECOND_NS,
    Rule,
    count,
    exchange_breaches,
    first,
    last,
    least,
    let,
    most,
    suspects,
    taken,
)

_HOUR_NS: Final = 3600 * SECOND_NS
_ENTRY: Final = (
    "seq", "time_ns", "mono_ns", "link", "direction", "kind", "payload_bytes", "endpoint", "told", "replies",
)  # fmt: skip
_NEVER: Final = 2**63 - 1
_RESULT_IN: Final = "s.kind = 'result' and s.direction = 'in' and s.seq < r.seq"
_CHANGED: Final = first(
    f"r.kind = 'result' and r.direction = 'out' and exists(tape, s -> {_RESULT_IN})"
    f" and not exists(tape, s -> {_RESULT_IN} and s.payload_bytes <=> r.payload_bytes)"
)
_LAST_RESULT_IN: Final = last("r.kind = 'result' and r.direction = 'in' and r.seq < found.seq")
_WRONG: Final = first(
    "r.told and r.seq > asked"
    " and not exists(tape, q -> q.kind = 'asked' and q.link = r.link and q.seq < r.seq)"
)
_GIVEN_FIRST: Final = "not exists(tape, s -> s.kind = 'given' and s.link = r.link and s.seq < r.seq)"
_GIVEN: Final = f"filter(tape, r -> r.kind = 'given' and {_GIVEN_FIRST})"
_ANSWERS_IN: Final = (
    "s.direction = 'in' and s.kind in ('result', 'exception', 'unknown_function', 'query_returned')"
)
_EARLY: Final = first(
    "r.kind = 'response_received' and r.direction = 'out'"
    f" and not exists(tape, s -> {_ANSWERS_IN} and s.link = r.link and s.seq < r.seq)"
)
_UNKNOWN_OUT: Final = first("r.kind = 'unknown_function' and r.direction = 'out' and r.seq > given")
_OTHER: Final = first(
    "r.replies and (r.kind <> found.kind"
    " or (r.kind = 'result' and not r.payload_bytes <=> found.payload_bytes))"
)
_AGAIN: Final = first(
    "r.kind = 'given'"
    " and r.mono_ns - try_element_at(filter(tape, s -> s.replies and s.seq < r.seq), -1).mono_ns"
    f" between 0 and {60 * SECOND_NS}"
)
_CANCEL: Final = "r.kind = 'cancel' and r.direction = 'in'"
_BEGUN: Final = first(
    "r.kind = 'given' and"
    " try_element_at(filter(tape, s -> s.seq < r.seq and (s.kind = 'asked'"
    " or (s.kind = 'cancel' and s.direction = 'in'))), -1).kind = 'cancel'"
)


def _rule(name: str, sentence: str, **how: str) -> Rule:
    return Rule(name=name, protocol="rpc", scope="exchange", sentence=sentence, **how)


RULES: Final = (
    _rule(
        "rpc-answer-unasked",
        "Nobody gets an answer who did not ask.",
        suspect=f"told < coalesce(asked, {_NEVER})",
        evidence="array(told)",
    ),
    _rule(
        "rpc-wrong-client",
        "An answer goes to the client that asked.",
        suspect="lowest_client < highest_client",
        evidence=f"array(asked, {_WRONG}.seq)",
    ),
    _rule(
        "rpc-result-changed",
        "A result is passed on as the worker gave it.",
        suspect="least_result < most_result",
        evidence=let(
            _CHANGED,
            f"array({_LAST_RESULT_IN}.seq, found.seq)",
        ),
    ),
    _rule(
        "rpc-answer-before-receipt",
        "A query is acknowledged before it is answered.",
        suspect="reply < receipt",
        evidence="array(reply, receipt)",
    ),
    _rule(
        "rpc-too-many-workers",
        "A query is tried three times at most.",
        suspect="times_given - times_returned > 3",
        when=f"size({_GIVEN}) - times_returned > 3",
        evidence=f"transform({_GIVEN}, r -> r.seq)",
    ),
    Rule(
        name="rpc-unregistered-worker",
        protocol="rpc",
        scope="row",
        sentence="Only workers that registered get queries.",
        when="protocol = 'rpc' and kind = 'query' and direction = 'out'"
        f" and coalesce(registered, {_NEVER}) > seq",
    ),
    _rule(
        "rpc-receipt-early",
        "A worker's answer is acknowledged after it came.",
        suspect=f"thanked < coalesce(worked, {_NEVER})"
        " or (thanked is not null and lowest_worker < highest_worker)",
        evidence=f"array({_EARLY}.seq)",
    ),
    _rule(
        "rpc-unknown-though-given",
        "A function that was called is not unknown.",
        suspect="given < last_unknown_out and unknown_in is null",
        evidence=f"array(given, {_UNKNOWN_OUT}.seq)",
    ),
    _rule(
        "rpc-two-answers",
        "A query has one answer.",
        suspect="lowest_reply < highest_reply or least_result < most_result",
        evidence=let(first("r.replies"), f"array(found.seq, {_OTHER}.seq)"),
    ),
    _rule(
        "rpc-run-again",
        "What was answered is not run again.",
        suspect="reply < last_given",
        evidence=let(_AGAIN, f"array({last('r.replies and r.seq < found.seq')}.seq, found.seq)"),
    ),
    _rule(
        "rpc-given-after-cancel",
        "What was cancelled is not begun.",
        suspect="cancelled < last_given",
        evidence=let(_BEGUN, f"array({last(f'{_CANCEL} and r.seq < found.seq')}.seq, found.seq)"),
    ),
    _rule(
        "rpc-busy-received",
        "A query refused as busy is not acknowledged.",
        suspect="times_asked = 1 and times_given = 0 and receipt < last_busy",
        evidence=f"array(receipt, {first('r.told and not r.replies and r.seq > receipt')}.seq)",
    ),
    _rule(
        "rpc-function-changed",
        "A query is about one function.",
        suspect="lowest_endpoint < highest_endpoint",
        evidence=let(
            first("r.endpoint is not null"),
            f"array(found.seq, {first('r.endpoint <> found.endpoint')}.seq)",
        ),
    ),
    _rule(
        "rpc-overdue",
        "Every query is answered.",
        suspect="asked is not null and reply is null and cancelled is null"
        " and (last_busy is null or last_busy < last_asked)",
        when=f"asked_ns + {_HOUR_NS} <= horizon_ns",
        evidence="array(asked)",
    ),
)

_OF_EXCHANGES: Final = [rule for rule in RULES if rule.scope == "exchange"]


def rpc_violations(rows: DataFrame, horizon: DataFrame) -> DataFrame:
    """Broken rules about queries."""
    facts = suspects(_gathered(_rows(rows)), _OF_EXCHANGES)
    known = (
        facts.withColumn("tape", F.array_sort("tape"))
        .withColumn("shown", F.col("tape"))
        .join(F.broadcast(horizon), "node", "left")
    )
    return exchange_breaches(known, _OF_EXCHANGES)


def _rows(rows: DataFrame) -> DataFrame:
    """Taken rows of queries; a ``query`` is ``asked`` or ``given``; answers to clients are marked."""
    kind = F.col("kind")
    asked = F.when(F.col("direction") == "in", "asked").otherwise("given")
    told = kind.isin(*ANSWERS) & (F.col("direction") == "out")
    busy = F.coalesce(F.col("error") == ErrorCode.BUSY, F.lit(False))
    names = ("seq", "time_ns", "mono_ns", "link", "direction", "payload_bytes", "endpoint")
    about = rows.where(taken("rpc") & F.col("exchange").isNotNull())
    return about.select(
        "node",
        "exchange",
        *names,
        F.when(kind == "query", asked).otherwise(kind).alias("kind"),
        told.alias("told"),
        (told & ~busy).alias("replies"),
    )


def _gathered(rows: DataFrame) -> DataFrame:
    """One row per query: cheap facts, and the tape."""
    worked = "direction = 'in' and kind in ('result', 'exception', 'unknown_function', 'query_returned')"
    thanked = "kind = 'response_received' and direction = 'out'"
    at_client = "CASE WHEN kind = 'asked' or told THEN link END"
    at_worker = f"CASE WHEN ({worked}) or ({thanked}) THEN link END"
    result = "CASE WHEN kind = 'result' THEN coalesce(payload_bytes, -1) END"
    return rows.groupBy("node", "exchange").agg(
        least("kind = 'asked'").alias("asked"),
        most("kind = 'asked'").alias("last_asked"),
        F.min_by("time_ns", F.expr("CASE WHEN kind = 'asked' THEN seq END")).alias("asked_ns"),
        count("kind = 'asked'").alias("times_asked"),
        least("kind = 'given'").alias("given"),
        most("kind = 'given'").alias("last_given"),
        count("kind = 'given'").alias("times_given"),
        count("kind = 'query_returned' and direction = 'in'").alias("times_returned"),
        least("told").alias("told"),
        least("replies").alias("reply"),
        most("told and not replies").alias("last_busy"),
        least("kind = 'query_received' and direction = 'out'").alias("receipt"),
        least("kind = 'cancel' and direction = 'in'").alias("cancelled"),
        least(worked).alias("worked"),
        least(thanked).alias("thanked"),
        most("kind = 'unknown_function' and direction = 'out'").alias("last_unknown_out"),
        least("kind = 'unknown_function' and direction = 'in'").alias("unknown_in"),
        *_ends(at_client, "lowest_client", "highest_client"),
        *_ends(at_worker, "lowest_worker", "highest_worker"),
        *_ends(result, "least_result", "most_result"),
        *_ends("CASE WHEN replies THEN kind END", "lowest_reply", "highest_reply"),
        *_ends("endpoint", "lowest_endpoint", "highest_endpoint"),
        F.coalesce(
            F.min_by("endpoint", F.expr("CASE WHEN kind = 'asked' THEN seq END")), F.max("endpoint")
        ).alias("endpoint"),
        F.collect_list(F.struct(*_ENTRY)).alias("tape"),
    )


def _ends(value: str, low: str, high: str) -> tuple[Column, Column]:
    return F.min(F.expr(value)).alias(low), F.max(F.expr(value)).alias(high)
