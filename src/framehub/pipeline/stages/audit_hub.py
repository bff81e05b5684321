"""The rules about the hub (spec/audit.md, section 4), and the facts of a stream or ping that they ask for.

All rows of a stream come together once and learn where it began and ended, and whose it is. Messages that are
all right are only counted, and the last one each way is kept; everything else is on the ``tape``.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from framehub.codes import HubCommand, HubError
from framehub.pipeline.stages.links import closings
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
    overdue,
    suspects,
    taken,
    up,
)
from framehub.pipeline.stages.streams import DATA, KILLING

_ENTRY: Final = (
    "seq",
    "time_ns",
    "mono_ns",
    "link",
    "direction",
    "at",
    "kind",
    "code",
    "payload_bytes",
    "user",
)
_NEVER: Final = 2**63 - 1
_TOLD_BOTH: Final = (HubError.TIMEOUT, HubError.LIMIT, HubError.BUSY, HubError.INTERNAL)
"""Killing errors that nobody's going has caused: both ends hear of them."""

_CODES: Final = ", ".join(str(int(code)) for code in _TOLD_BOTH)
_ERROR_OUT: Final = "r.kind = 'stream_error' and r.direction = 'out'"
_KILLS: Final = f"filter(tape, r -> {_ERROR_OUT} and r.code in ({_CODES}))"
_LAST_SAID: Final = last(
    "r.direction = 'out' and r.at = 'client' and r.kind <> 'stream_error' and r.seq < timed_out"
)
_ASKED: Final = first("r.seq = last_data_in")


def _gone(closed: str, at: str, code: HubError, other: str) -> str:
    """The first closing of a link that the other side was not told of."""
    told = f"e.kind = 'stream_error' and e.direction = 'out' and e.at = '{at}' and e.code = {int(code)}"
    return first(
        f"r.seq > given and r.seq < coalesce(ended, {_NEVER}) and {overdue('r')} and {up('r', other)}"
        f" and not exists(tape, e -> {told} and e.seq > r.seq)",
        closed,
    )


def _untold(side: str, other_gone: str) -> str:
    """Whether only this side has heard of the kill, and the other could have."""
    all_here = f"forall({_KILLS}, r -> r.at = '{side}')"
    return f"({all_here} and {up('killed', other_gone)})"


def _unpassed(side: str, gone: str) -> str:
    passed = f"r.kind = 'close' and r.direction = 'out' and r.at = '{side}' and r.seq > ended"
    return f"(not exists(tape, r -> {passed}) and {up('closed', gone)})"


def _rule(name: str, sentence: str, **how: str) -> Rule:
    return Rule(name=name, protocol="hub", scope="exchange", sentence=sentence, **how)


RULES: Final = (
    _rule(
        "hub-unanswered",
        "Every message of a client is answered.",
        suspect="ended is null and last_data_in > coalesce(last_out, 0)",
        when=f"last_ns + (opening.code + 10) * {SECOND_NS}L <= horizon_ns and {up(_ASKED, 'client_gone')}",
        evidence="array(last_data_in)",
    ),
    _rule(
        "hub-client-gone-untold",
        "A service learns that its client has gone.",
        suspect=f"first_client_closing < coalesce(ended, {_NEVER}) and last_client_closing > given",
        evidence="array(opening.seq, "
        + _gone("client_closings", "service", HubError.CLIENT_DISCONNECT, "service_gone")
        + ".seq)",
    ),
    _rule(
        "hub-service-gone-untold",
        "A client learns that its service has gone.",
        suspect=f"first_service_closing < coalesce(ended, {_NEVER}) and last_service_closing > given",
        evidence="array(opening.seq, "
        + _gone("service_closings", "client", HubError.SERVICE_DISCONNECT, "client_gone")
        + ".seq)",
    ),
    _rule(
        "hub-killed-untold",
        "Both ends learn of a kill, once, with one code.",
        suspect="kills_at_client + kills_at_service > 0",
        when="kills_at_client > 1 or kills_at_service > 1 or lowest_kill < highest_kill"
        f" or (given is not null and {overdue('killed')}"
        f" and ({_untold('client', 'service_gone')} or {_untold('service', 'client_gone')}))",
        evidence=f"transform({_KILLS}, r -> r.seq)",
    ),
    _rule(
        "hub-timeout-early",
        "No stream times out before its time.",
        suspect="timed_out is not null",
        evidence=let(
            f"coalesce({_LAST_SAID}, opening)",
            f"CASE WHEN {first('r.seq = timed_out')}.mono_ns - found.mono_ns"
            f" < (opening.code - 1) * {SECOND_NS}L THEN array(found.seq, timed_out) END",
        ),
    ),
    _rule(
        "hub-ping-unanswered",
        "A ping is answered.",
        suspect="pings > 0 and pongs = 0",
        when=f"ping.direction = 'in' and {overdue('ping')} and {up('ping', 'client_gone')}",
        evidence="array(ping.seq)",
    ),
    _rule(
        "hub-pong-differs",
        "A ping is answered once, with what it said.",
        suspect="pings > 0 and (pongs > 1 or smallest_ping < largest_ping)",
        when="ping.direction = 'in'",
        evidence="array(ping.seq, "
        + first(
            "r.kind = 'pong' and r.direction = 'out'"
            " and (not r.payload_bytes <=> ping.payload_bytes or r.seq > first_pong)"
        )
        + ".seq)",
    ),
    _rule(
        "hub-close-unpassed",
        "CLOSE reaches the service and is echoed.",
        suspect="close_in = ended",
        when=f"{overdue('closed')} and ({_unpassed('client', 'client_gone')}"
        f" or (given is not null and {_unpassed('service', 'service_gone')}))",
        evidence="array(closed.seq)",
    ),
    _rule(
        "hub-foreign-client",
        "A client reaches its own streams only.",
        suspect="foreign_client is not null",
        evidence="array(opening.seq, foreign_client)",
    ),
    _rule(
        "hub-foreign-service",
        "A service reaches its own streams only.",
        suspect="foreign_service is not null",
        evidence="array(given, foreign_service)",
    ),
    _rule(
        "hub-dead-stream",
        "Nothing reaches a dead stream.",
        suspect="last_after_end is not null",
        evidence="array(ended, last_after_end)",
    ),
    _rule(
        "hub-reopened",
        "A stream's id is used once.",
        suspect="openings > 1",
        evidence="transform(slice(filter(tape, r -> r.kind = 'first' and r.direction = 'in'"
        " and r.at = 'client'), 1, 2), r -> r.seq)",
    ),
    _rule(
        "hub-lost",
        "Nothing of an answered stream is lost.",
        suspect="given is not null and ended = told_last and served <> passed_on",
        evidence="array(opening.seq, ended)",
    ),
    _rule(
        "hub-user-changed",
        "A service is told who its client is.",
        suspect="other_user is not null",
        evidence="array(first_seq, other_user)",
    ),
    _rule(
        "hub-after-last",
        "A client's last frame is its last.",
        suspect="last_passed < last_data_passed",
        evidence="array(last_passed, last_data_passed)",
    ),
    Rule(
        name="hub-wrong-state",
        protocol="hub",
        scope="row",
        sentence="Each side says only what it may.",
        when="protocol = 'hub' and direction = 'in' and (kind = 'stream_error'"
        " or (kind = 'service_error' and ref is null) or (kind = 'first' and ref is not null and id <> 0))",
    ),
)

_OF_EXCHANGES: Final = [rule for rule in RULES if rule.scope == "exchange"]


def hub_violations(rows: DataFrame, links: DataFrame, horizon: DataFrame) -> DataFrame:
    """Broken rules about streams and pings of the hub."""
    gone = closings(links)
    facts = _gathered(_marked(_rows(rows)))
    for side in ("client", "service"):
        facts = facts.join(F.broadcast(_closings_of(gone, side)), ["node", side], "left")
    tape = "concat(tape, array_compact(array(usual_in, usual_out, usual_passed)))"
    landmarks = {
        "opening": first("r.kind = 'first' and r.direction = 'in' and r.at = 'client'"),
        "ping": first("r.kind = 'ping'"),
        "killed": f"get({_KILLS}, 0)",
        "closed": first("r.seq = close_in"),
        "shown": "concat(transform(tape, r -> struct(r.seq, r.time_ns, r.link)),"
        " transform(coalesce(client_closings, array()), r -> struct(r.seq, r.time_ns, client as link)),"
        " transform(coalesce(service_closings, array()), r -> struct(r.seq, r.time_ns, service as link)))",
    }
    known = (
        suspects(facts, _OF_EXCHANGES)
        .withColumn("tape", F.expr(f"array_sort(array_distinct({tape}))"))
        .withColumns({name: F.expr(how) for name, how in landmarks.items()})
        .join(F.broadcast(horizon), "node", "left")
    )
    return exchange_breaches(known, _OF_EXCHANGES)


def _closings_of(gone: DataFrame, side: str) -> DataFrame:
    """The closings of links, named for the side that they are looked up for."""
    return gone.select(
        "node",
        F.col("link").alias(side),
        F.col("gone_ns").alias(f"{side}_gone"),
        F.col("closings").alias(f"{side}_closings"),
        F.expr("get(closings, 0).seq").alias(f"first_{side}_closing"),
        F.expr("try_element_at(closings, -1).seq").alias(f"last_{side}_closing"),
    )


def _rows(rows: DataFrame) -> DataFrame:
    """Taken rows of streams and pings; the ``kind`` of a command is its name, ``at`` the side."""
    said = F.col("kind")
    for command in HubCommand:
        says = (F.col("kind") == "command") & (F.col("code") == command)
        said = F.when(says, command.name.lower()).otherwise(said)
    names = ("seq", "time_ns", "mono_ns", "link", "direction", "code", "payload_bytes", "user", "endpoint")
    about = rows.where(taken("hub") & F.col("exchange").isNotNull())
    return about.select(
        "node",
        "exchange",
        *names,
        said.alias("kind"),
        F.when(F.col("ref").isNull(), "client").otherwise("service").alias("at"),
    )


def _marked(rows: DataFrame) -> DataFrame:
    """Rows with what matters about the stream they belong to."""
    killing = ", ".join(str(int(code)) for code in KILLING)
    ends = (
        "(kind in ('last', 'service_error') and direction = 'out' and at = 'client')"
        f" or (kind = 'stream_error' and direction = 'out' and code in ({killing}))"
        " or (kind = 'close' and direction = 'in')"
    )
    given = "CASE WHEN kind = 'first' and direction = 'out' and at = 'service' THEN seq END"
    whole = Window.partitionBy("node", "exchange")
    return (
        # One shuffle and one sort serve the window and the gathering.
        rows.repartition("node", "exchange")
        .withColumns(
            {
                "ended": least(ends).over(whole),
                "service": F.min_by("link", F.expr(given)).over(whole),
                "first_user": F.min_by("user", "seq").over(whole),
            }
        )
        .withColumn("client", F.substring("exchange", 1, 8))
    )


def _gathered(rows: DataFrame) -> DataFrame:
    """One row per stream or ping: cheap facts, and the tape."""
    entry = F.struct(*_ENTRY)
    data = "kind in ('" + "', '".join(DATA) + "')"
    kill = f"kind = 'stream_error' and direction = 'out' and code in ({_CODES})"
    data_out = f"{data} and direction = 'out'"
    ping = "CASE WHEN kind in ('ping', 'pong') THEN coalesce(payload_bytes, 0) END"
    opens = "CASE WHEN (kind = 'first' and direction = 'in' and at = 'client') or kind = 'ping' THEN seq END"
    own = "link <=> CASE WHEN at = 'client' THEN client ELSE service END"
    usual = F.expr(f"kind = 'message' and {own} and user <=> first_user and seq < coalesce(ended, {_NEVER})")

    def usual_last(way: str) -> Column:
        return F.max_by(entry, F.expr(f"CASE WHEN usual and {way} THEN seq END"))

    return (
        rows.withColumn("usual", usual)
        .groupBy("node", "exchange")
        .agg(
            F.first("client").alias("client"),
            F.first("service").alias("service"),
            F.first("ended").alias("ended"),
            F.coalesce(F.min_by("endpoint", F.expr(opens)), F.max("endpoint")).alias("endpoint"),
            F.min("seq").alias("first_seq"),
            F.max_by("time_ns", "seq").alias("last_ns"),
            least("kind = 'first' and direction = 'out' and at = 'service'").alias("given"),
            count("kind = 'first' and direction = 'in' and at = 'client'").alias("openings"),
            most(f"{data} and direction = 'in' and at = 'client'").alias("last_data_in"),
            most("direction = 'out' and at = 'client'").alias("last_out"),
            count(f"{kill} and at = 'client'").alias("kills_at_client"),
            count(f"{kill} and at = 'service'").alias("kills_at_service"),
            F.min(F.expr(f"CASE WHEN {kill} THEN code END")).alias("lowest_kill"),
            F.max(F.expr(f"CASE WHEN {kill} THEN code END")).alias("highest_kill"),
            least(f"kind = 'stream_error' and direction = 'out' and code = {int(HubError.TIMEOUT)}").alias(
                "timed_out"
            ),
            count("kind = 'ping' and direction = 'in'").alias("pings"),
            count("kind = 'pong' and direction = 'out'").alias("pongs"),
            least("kind = 'pong' and direction = 'out'").alias("first_pong"),
            F.min(F.expr(ping)).alias("smallest_ping"),
            F.max(F.expr(ping)).alias("largest_ping"),
            least("kind = 'close' and direction = 'in' and at = 'client'").alias("close_in"),
            least("direction = 'in' and at = 'client' and link <> client").alias("foreign_client"),
            least("direction = 'in' and at = 'service' and link <> service").alias("foreign_service"),
            most(f"{data_out} and seq > ended").alias("last_after_end"),
            least("kind = 'last' and direction = 'out' and at = 'client'").alias("told_last"),
            count(f"{data} and direction = 'in' and at = 'service' and seq < ended").alias("served"),
            count(f"{data_out} and at = 'client' and seq <= ended").alias("passed_on"),
            least("user <> first_user").alias("other_user"),
            least("kind = 'last' and direction = 'out' and at = 'service'").alias("last_passed"),
            most(f"{data_out} and at = 'service'").alias("last_data_passed"),
            F.collect_list(F.when(~F.col("usual"), entry)).alias("tape"),
            usual_last("direction = 'in' and at = 'client'").alias("usual_in"),
            usual_last("direction = 'out' and at = 'client'").alias("usual_out"),
            usual_last("direction = 'out' and at = 'service'").alias("usual_passed"),
        )
    )
