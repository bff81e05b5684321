"""The rules about MFP (spec/audit.md, section 2), and the facts of an exchange that they ask for.

All rows of an exchange come together once. Those that single rules look at, in order, are its ``tape``. Of
acks and chunks, of which a stream has as many as it likes, it holds those that are out of the ordinary, and
of the others the first final chunk and the last one.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from framehub.codes import Service
from framehub.pipeline.stages.links import closings
from framehub.pipeline.stages.rule import (
    Rule,
    count,
    exchange_breaches,
    first,
    least,
    let,
    most,
    overdue,
    suspects,
    taken,
    up,
)

ACK_WANTED: Final = 0b1000
CARRIES: Final = 0b0110
ANNOUNCED, STREAMED = 0b0010, 0b0100
MORE_FOLLOWS: Final = 0b0001

_ENTRY: Final = (
    "seq", "time_ns", "link", "direction", "kind", "head", "id", "ref", "key", "user", "endpoint", "files",
    "unacked", "unasked", "first_ack",
)  # fmt: skip
_RESPONSE_OUT: Final = "r.kind = 'response' and r.direction = 'out'"
_FILES: Final = f"filter(tape, r -> r.kind = 'binary' and r.direction = 'out' and r.head & {CARRIES} = 2)"
_SAME_KEY: Final = f"exists({_FILES}, s -> s.key = r.key and s.seq < r.seq)"
_UNKNOWN: Final = "u.kind = 'unknown' and u.direction = 'out' and u.ref = r.id"
_LATE: Final = first(
    f"r.kind = 'response' and r.direction = 'in' and r.seq > first_end and {overdue('r')} and {up('r')}"
    f" and not exists(tape, u -> {_UNKNOWN})"
)
_UNACKED: Final = first(f"r.unacked and r.kind <> 'ping' and {overdue('r')} and {up('r')}")


def _rule(name: str, sentence: str, **how: str) -> Rule:
    return Rule(name=name, protocol="mfp", scope="exchange", sentence=sentence, **how)


def _about_row(name: str, sentence: str, when: str) -> Rule:
    return Rule(
        name=name, protocol="mfp", scope="row", sentence=sentence, when=f"protocol = 'mfp' and ({when})"
    )


RULES: Final = (
    _rule(
        "mfp-answered-twice",
        "A request is answered at most once.",
        suspect="responses_out > 1",
        when="opening.direction = 'in'",
        evidence=f"transform(slice(filter(tape, r -> {_RESPONSE_OUT}), 1, 2), r -> r.seq)",
    ),
    _rule(
        "mfp-answered-after-end",
        "Nothing is answered that was given up.",
        suspect="gave_up < last_response_out",
        when="opening.kind = 'request' and opening.direction = 'in'",
        evidence=f"array(gave_up, {first(f'{_RESPONSE_OUT} and r.seq > gave_up')}.seq)",
    ),
    _rule(
        "mfp-late-answer-untold",
        "A peer that answers too late is told `unknown`.",
        suspect="first_end < last_response_in",
        when="opening.kind = 'request' and opening.direction = 'out'",
        evidence=f"array(first_end, {_LATE}.seq)",
    ),
    _rule(
        "mfp-not-acked",
        "A frame that asks for an ack gets one.",
        suspect="unacked > 0",
        evidence=f"array({_UNACKED}.seq)",
    ),
    _rule(
        "mfp-acked-twice",
        "Nothing is acknowledged twice.",
        suspect="acked_again > 0",
        evidence=let(first("r.first_ack < r.seq"), "array(found.first_ack, found.seq)"),
    ),
    _rule(
        "mfp-acked-unasked",
        "Nothing is acknowledged that did not ask.",
        suspect="unasked > 0",
        evidence=f"array({first('r.unasked')}.seq)",
    ),
    _rule(
        "mfp-ping-unanswered",
        "A ping is answered.",
        suspect="unacked > 0",
        when=f"opening.kind = 'ping' and opening.unacked and {overdue('opening')} and {up('opening')}",
        evidence="array(opening.seq)",
    ),
    Rule(
        name="mfp-id-reused",
        protocol="mfp",
        scope="life",
        sentence="An id is not used again while it is alive.",
        when="alive_seq is not null",
        evidence="array(alive_seq, seq)",
    ),
    _rule(
        "mfp-chunk-after-end",
        "A stream has nothing after its end.",
        suspect="final_out < last_chunk_out",
        when="opening.direction = 'out'",
        evidence="array(final_out, last_chunk_out)",
    ),
    _rule(
        "mfp-chunk-after-abort",
        "An aborted sender stops.",
        suspect="abort_in < last_chunk_out",
        when="opening.direction = 'out'",
        evidence="array(abort_in, last_chunk_out)",
    ),
    _rule(
        "mfp-set-short",
        "An announced set is sent whole.",
        suspect="announcements_out > 0 and final_out is not null and aborts = 0",
        when="opening.kind = 'message' and opening.direction = 'out'"
        f" and opening.head & {CARRIES} = {ANNOUNCED}"
        f" and size(array_distinct(transform({_FILES}, r -> r.key))) < opening.files",
        evidence="array(opening.seq, final_out)",
    ),
    _rule(
        "mfp-key-twice",
        "No announced file is sent twice.",
        suspect="files_out > 1",
        when="opening.direction = 'out'"
        f" and size(array_distinct(transform({_FILES}, r -> r.key))) < size({_FILES})",
        evidence=let(
            first(_SAME_KEY, _FILES),
            f"transform(slice(filter({_FILES}, s -> s.key = found.key), 1, 2), s -> s.seq)",
        ),
    ),
    _about_row(
        "mfp-request-streams",
        "Requests and responses carry whole files only.",
        f"kind in ('request', 'response') and head & {CARRIES} in ({ANNOUNCED}, {STREAMED})",
    ),
    _about_row(
        "mfp-answer-unasked",
        "Nothing is answered that nobody asked.",
        "kind = 'response' and direction = 'out' and exchange is null",
    ),
    _rule(
        "mfp-user-changed",
        "A connection belongs to one user.",
        suspect="lowest_user < highest_user",
        evidence=f"array(first_seq, {first('r.user <> first_user')}.seq)",
    ),
    _rule(
        "mfp-endpoint-changed",
        "An answer names the endpoint that was asked.",
        suspect="lowest_endpoint < highest_endpoint",
        when="opening.kind = 'request'",
        evidence=f"array(opening.seq, {first(f'{_RESPONSE_OUT} and r.endpoint <> opening.endpoint')}.seq)",
    ),
    _about_row("mfp-zero-id", "Ids count from one.", "id = 0 or ref = 0"),
)

_OF_EXCHANGES: Final = [rule for rule in RULES if rule.scope == "exchange"]


def mfp_violations(rows: DataFrame, links: DataFrame, horizon: DataFrame) -> DataFrame:
    """Broken rules about MFP exchanges."""
    facts = suspects(_gathered(_marked(mfp_rows(rows))), _OF_EXCHANGES)
    tape = "concat(tape, array_compact(array(usual_final, usual_last)))"
    known = (
        facts.withColumn("tape", F.expr(f"array_sort(array_distinct({tape}))"))
        .withColumn("opening", F.expr(first("r.kind in ('message', 'request', 'ping')")))
        .withColumn("endpoint", F.col("opening.endpoint"))
        .withColumn("link", F.expr("coalesce(opening.link, get(tape, 0).link)"))
        .withColumn("shown", F.col("tape"))
        .join(F.broadcast(horizon), "node", "left")
        .join(F.broadcast(closings(links)), ["node", "link"], "left")
    )
    return exchange_breaches(known, _OF_EXCHANGES)


def mfp_rows(rows: DataFrame) -> DataFrame:
    """Taken rows of MFP exchanges; the ``kind`` of a service frame is what it says."""
    said = F.col("kind")
    for code in Service:
        says = (F.col("kind") == "service") & (F.col("code") == code)
        said = F.when(says, code.name.lower()).otherwise(said)
    names = ("seq", "time_ns", "link", "direction", "head", "id", "ref", "key", "user", "endpoint", "files")
    about = rows.where(taken("mfp") & F.col("exchange").isNotNull())
    return about.select("node", "exchange", *names, said.alias("kind"))


def _marked(rows: DataFrame) -> DataFrame:
    """Rows with what others of their exchange say about them."""
    asks = f"kind in ('message', 'request', 'response', 'binary') and head & {ACK_WANTED} <> 0"
    wants = F.expr(f"coalesce(direction = 'in' and (kind = 'ping' or ({asks})), false)")
    acks = F.expr("kind = 'ack' and direction = 'out'")
    named = F.when(acks, F.col("ref")).when(wants, F.col("id"))
    # One shuffle and one sort serve both windows and the gathering.
    together = rows.withColumns({"acks": acks, "wants": wants, "named": named}).repartition(
        "node", "exchange"
    )
    same_id = Window.partitionBy("node", "exchange", "named")
    whole = Window.partitionBy("node", "exchange")
    seen = together.withColumns(
        {
            "acked": F.min(F.when(F.col("acks"), F.col("seq"))).over(same_id),
            "wanted": F.max("wants").over(same_id),
        }
    ).withColumn("first_user", F.min_by("user", "seq").over(whole))
    return seen.withColumns(
        {
            "unacked": F.col("wants") & F.col("acked").isNull(),
            "unasked": F.col("acks") & ~F.col("wanted"),
            "first_ack": F.when(F.col("acks"), F.col("acked")),
        }
    )


def _gathered(rows: DataFrame) -> DataFrame:
    """One row per exchange: cheap facts, and the tape."""
    entry = F.struct(*_ENTRY)
    chunk_out = "kind = 'binary' and direction = 'out'"
    final = f"{chunk_out} and head & {MORE_FOLLOWS} = 0"
    announced = f"head & {CARRIES} = {ANNOUNCED}"
    strange = "unacked or unasked or first_ack < seq or user <> first_user"
    many = f"kind = 'ack' or (kind = 'binary' and not ({chunk_out} and {announced}))"
    usual = F.expr(f"({many}) and not coalesce({strange}, false)")
    marked = rows.withColumn("usual", F.coalesce(usual, F.lit(False)))
    return marked.groupBy("node", "exchange").agg(
        count("kind = 'response' and direction = 'out'").alias("responses_out"),
        least("kind in ('timeout', 'abort')").alias("gave_up"),
        most("kind = 'response' and direction = 'out'").alias("last_response_out"),
        least("(kind = 'response' and direction = 'in') or kind in ('timeout', 'abort')").alias("first_end"),
        most("kind = 'response' and direction = 'in'").alias("last_response_in"),
        count("unacked").alias("unacked"),
        count("unasked").alias("unasked"),
        count("first_ack < seq").alias("acked_again"),
        least(final).alias("final_out"),
        most(chunk_out).alias("last_chunk_out"),
        least("kind = 'abort' and direction = 'in'").alias("abort_in"),
        count("kind = 'abort'").alias("aborts"),
        count(f"kind = 'message' and direction = 'out' and {announced}").alias("announcements_out"),
        count(f"{chunk_out} and {announced}").alias("files_out"),
        F.min("user").alias("lowest_user"),
        F.max("user").alias("highest_user"),
        F.min("endpoint").alias("lowest_endpoint"),
        F.max("endpoint").alias("highest_endpoint"),
        F.min("seq").alias("first_seq"),
        F.first("first_user").alias("first_user"),
        F.collect_list(F.when(~F.col("usual"), entry)).alias("tape"),
        F.min_by(entry, F.expr(f"CASE WHEN usual and {final} THEN seq END")).alias("usual_final"),
        F.max_by(entry, F.expr(f"CASE WHEN usual and {chunk_out} THEN seq END")).alias("usual_last"),
    )
