"""The rules about the hub as DuckDB's SQL (spec/audit.md, section 4)."""

from benchmarks.peers.duckdb_rule import (
    NEVER,
    Rule,
    about,
    breaches,
    count,
    exists,
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

_KILLED = "k.kind = 'stream_error' AND k.direction = 'out' AND k.code IN (1, 9, 11, 12)"
_KILLS = f"list_filter(tape, lambda k: {_KILLED})"
_LAST_SAID = last("r.direction = 'out' AND r.side = 'client' AND r.seq < timed_out")


def _gone(closed: str, side: str, code: int, other: str) -> str:
    """The first closing of a link that the other side was not told of."""
    told = f"e.kind = 'stream_error' AND e.direction = 'out' AND e.side = '{side}' AND e.code = {code}"
    return first(
        f"r.seq > given AND r.seq < coalesce(ended, {NEVER}) AND {overdue('r')} AND {up('r', other)}"
        f" AND NOT {exists(f'{told} AND e.seq > r.seq', 'e')}",
        closed,
    )


def _untold(side: str, other_gone: str) -> str:
    """Whether only this side has heard of the kill, and the other could have."""
    other = f"list_filter({_KILLS}, lambda k: k.side <> '{side}')"
    return f"(len({other}) = 0 AND {up('killed', other_gone)})"


def _unpassed(side: str, gone: str) -> str:
    passed = f"r.kind = 'close' AND r.direction = 'out' AND r.side = '{side}' AND r.seq > ended"
    return f"(NOT {exists(passed, 'r')} AND {up('closed', gone)})"


RULES = (
    Rule(
        "hub-unanswered",
        "Every message of a client is answered.",
        "ended IS NULL AND last_data_in > coalesce(last_out, 0)",
        "[last_data_in]",
        "last_ns + (opening.code::BIGINT + 10) * 1_000_000_000 <= horizon_ns"
        f" AND {up(first('r.seq = last_data_in'), 'client_gone')}",
    ),
    Rule(
        "hub-client-gone-untold",
        "A service learns that its client has gone.",
        f"client_closings[1].seq < coalesce(ended, {NEVER}) AND client_closings[-1].seq > given",
        f"[opening.seq, {_gone('client_closings', 'service', 2, 'service_gone')}.seq]",
    ),
    Rule(
        "hub-service-gone-untold",
        "A client learns that its service has gone.",
        f"service_closings[1].seq < coalesce(ended, {NEVER}) AND service_closings[-1].seq > given",
        f"[opening.seq, {_gone('service_closings', 'client', 3, 'client_gone')}.seq]",
    ),
    Rule(
        "hub-killed-untold",
        "Both ends learn of a kill, once, with one code.",
        "kills_at_client + kills_at_service > 0",
        f"list_transform({_KILLS}, lambda r: r.seq)",
        "kills_at_client > 1 OR kills_at_service > 1 OR lowest_kill < highest_kill"
        f" OR (given IS NOT NULL AND {overdue('killed')}"
        f" AND ({_untold('client', 'service_gone')} OR {_untold('service', 'client_gone')}))",
    ),
    Rule(
        "hub-timeout-early",
        "No stream times out before its time.",
        "timed_out IS NOT NULL",
        let(
            f"coalesce({_LAST_SAID}, opening)",
            f"CASE WHEN {first('r.seq = timed_out')}.mono_ns - found.mono_ns"
            " < (opening.code::BIGINT - 1) * 1_000_000_000 THEN [found.seq, timed_out] END",
        ),
    ),
    Rule(
        "hub-ping-unanswered",
        "A ping is answered.",
        "pings > 0 AND pongs = 0",
        "[ping.seq]",
        f"ping.direction = 'in' AND {overdue('ping')} AND {up('ping', 'client_gone')}",
    ),
    Rule(
        "hub-pong-differs",
        "A ping is answered once, with what it said.",
        "pings > 0 AND (pongs > 1 OR smallest_ping < largest_ping)",
        "[ping.seq, "
        + first(
            "r.kind = 'pong' AND r.direction = 'out'"
            " AND (r.payload_bytes IS DISTINCT FROM ping.payload_bytes OR r.seq > first_pong)"
        )
        + ".seq]",
        "ping.direction = 'in'",
    ),
    Rule(
        "hub-close-unpassed",
        "CLOSE reaches the service and is echoed.",
        "close_in = ended",
        "[closed.seq]",
        f"{overdue('closed')} AND ({_unpassed('client', 'client_gone')}"
        f" OR (given IS NOT NULL AND {_unpassed('service', 'service_gone')}))",
    ),
    Rule(
        "hub-foreign-client",
        "A client reaches its own streams only.",
        "foreign_client IS NOT NULL",
        "[opening.seq, foreign_client]",
    ),
    Rule(
        "hub-foreign-service",
        "A service reaches its own streams only.",
        "foreign_service IS NOT NULL",
        "[given, foreign_service]",
    ),
    Rule(
        "hub-dead-stream",
        "Nothing reaches a dead stream.",
        "last_after_end IS NOT NULL",
        "[ended, last_after_end]",
    ),
    Rule(
        "hub-reopened",
        "A stream's id is used once.",
        "openings > 1",
        "list_transform(list_filter(tape, lambda r: r.kind = 'first' AND r.direction = 'in'"
        " AND r.side = 'client')[:2], lambda r: r.seq)",
    ),
    Rule(
        "hub-lost",
        "Nothing of an answered stream is lost.",
        "given IS NOT NULL AND ended = told_last AND served <> passed_on",
        "[opening.seq, ended]",
    ),
    Rule(
        "hub-user-changed",
        "A service is told who its client is.",
        "other_user IS NOT NULL",
        "[first_seq, other_user]",
    ),
    Rule(
        "hub-after-last",
        "A client's last frame is its last.",
        "last_passed < last_data_passed",
        "[last_passed, last_data_passed]",
    ),
)

_ENDS = (
    "(kind IN ('last', 'service_error') AND direction = 'out' AND side = 'client')"
    " OR (kind = 'stream_error' AND direction = 'out' AND code IN (1, 2, 3, 9, 11, 12))"
    " OR (kind = 'close' AND direction = 'in')"
)
_GIVES = "kind = 'first' AND direction = 'out' AND side = 'service'"
_OPENS = "kind = 'first' AND direction = 'in' AND side = 'client'"
_MARKS = {
    "ended": least(_ENDS),
    "given": least(_GIVES),
    "service": f"arg_min(link, seq) FILTER ({_GIVES})",
    "first_user": 'arg_min("user", seq)',
}
_DATA = "kind IN ('first', 'message', 'last', 'service_error')"
_KILL = "kind = 'stream_error' AND direction = 'out' AND code IN (1, 9, 11, 12)"
_FACTS = {
    "client": "exchange[1:8]",
    **{name: f"any_value({name})" for name in ("service", "ended", "given")},
    "endpoint": f"coalesce(arg_min_null(endpoint, seq) FILTER (({_OPENS}) OR kind = 'ping'), max(endpoint))",
    "first_seq": "min(seq)",
    "last_ns": "arg_max(time_ns, seq)",
    "openings": count(_OPENS),
    "last_data_in": most(f"{_DATA} AND direction = 'in' AND side = 'client'"),
    "last_out": most("direction = 'out' AND side = 'client'"),
    "kills_at_client": count(f"{_KILL} AND side = 'client'"),
    "kills_at_service": count(f"{_KILL} AND side = 'service'"),
    "lowest_kill": f"min(code) FILTER ({_KILL})",
    "highest_kill": f"max(code) FILTER ({_KILL})",
    "timed_out": least("kind = 'stream_error' AND direction = 'out' AND code = 1"),
    "pings": count("kind = 'ping' AND direction = 'in'"),
    "pongs": count("kind = 'pong' AND direction = 'out'"),
    "first_pong": least("kind = 'pong' AND direction = 'out'"),
    "smallest_ping": "min(coalesce(payload_bytes, 0)) FILTER (kind IN ('ping', 'pong'))",
    "largest_ping": "max(coalesce(payload_bytes, 0)) FILTER (kind IN ('ping', 'pong'))",
    "close_in": least("kind = 'close' AND direction = 'in' AND side = 'client'"),
    "foreign_client": least("direction = 'in' AND side = 'client' AND link <> exchange[1:8]"),
    "foreign_service": least("direction = 'in' AND side = 'service' AND link <> service"),
    "last_after_end": most(f"{_DATA} AND direction = 'out' AND seq > ended"),
    "told_last": least("kind = 'last' AND direction = 'out' AND side = 'client'"),
    "served": count(f"{_DATA} AND direction = 'in' AND side = 'service' AND seq < ended"),
    "passed_on": count(f"{_DATA} AND direction = 'out' AND side = 'client' AND seq <= ended"),
    "other_user": least('"user" <> first_user'),
    "last_passed": least("kind = 'last' AND direction = 'out' AND side = 'service'"),
    "last_data_passed": most(f"{_DATA} AND direction = 'out' AND side = 'service'"),
}
_ENTRY = ("seq", "time_ns", "mono_ns", "link", "direction", "side", "kind", "code", "payload_bytes")

STEPS = (
    f"""
CREATE TEMP VIEW hub_rows AS
SELECT node, exchange, seq, time_ns, mono_ns, link, direction, code, payload_bytes, "user", endpoint,
    CASE WHEN kind = 'command' THEN
        CASE code WHEN 1 THEN 'ping' WHEN 2 THEN 'pong' WHEN 3 THEN 'ready' WHEN 15 THEN 'close' ELSE kind END
        ELSE kind END AS kind,
    if(ref IS NULL, 'client', 'service') AS side
FROM journal WHERE {taken("hub")}
""",
    f"""
CREATE TEMP TABLE hub_facts AS
WITH marks AS (SELECT node, exchange, {about(_MARKS)} FROM hub_rows GROUP BY node, exchange),
facts AS (
    SELECT node, exchange, {about(_FACTS)} FROM hub_rows JOIN marks USING (node, exchange)
    GROUP BY node, exchange
)
SELECT facts.*, c.closings AS client_closings, c.gone_ns AS client_gone,
    s.closings AS service_closings, s.gone_ns AS service_gone
FROM facts LEFT JOIN closings AS c ON c.node = facts.node AND c.link = client
LEFT JOIN closings AS s ON s.node = facts.node AND s.link = service
WHERE {suspects(RULES)}
""",
    f"""
CREATE TEMP TABLE hub_known AS
WITH tapes AS (
    SELECT node, exchange, list(struct_pack({", ".join(f"{n} := {n}" for n in _ENTRY)}) ORDER BY seq) AS tape
    FROM hub_rows SEMI JOIN hub_facts USING (node, exchange) GROUP BY node, exchange
)
SELECT *, {first("r.kind = 'first' AND r.direction = 'in' AND r.side = 'client'")} AS opening,
    {first("r.kind = 'ping'")} AS ping, ({_KILLS})[1] AS killed, {first("r.seq = close_in")} AS closed
FROM hub_facts JOIN tapes USING (node, exchange) LEFT JOIN horizons USING (node)
""",
)
BREACHES = breaches("hub", RULES)
