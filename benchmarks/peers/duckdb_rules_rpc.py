"""The rules about remote functions as DuckDB's SQL (spec/audit.md, section 3)."""

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
    suspects,
    taken,
)

_RESULT_IN = "s.kind = 'result' AND s.direction = 'in' AND s.seq < r.seq"
_CHANGED = first(
    f"r.kind = 'result' AND r.direction = 'out' AND {exists(_RESULT_IN, 's')}"
    f" AND NOT {exists(f'{_RESULT_IN} AND s.payload_bytes IS NOT DISTINCT FROM r.payload_bytes', 's')}"
)
_LAST_RESULT_IN = last("r.kind = 'result' AND r.direction = 'in' AND r.seq < found.seq")
_ASKED_THERE = exists("q.kind = 'asked' AND q.link = r.link AND q.seq < r.seq", "q")
_GIVEN_EARLIER = exists("s.kind = 'given' AND s.link = r.link AND s.seq < r.seq", "s")
_GIVEN = f"list_filter(tape, lambda r: r.kind = 'given' AND NOT {_GIVEN_EARLIER})"
_WORKED = "direction = 'in' AND kind IN ('result', 'exception', 'unknown_function', 'query_returned')"
_WORKED_THERE = exists(
    "s.direction = 'in' AND s.kind IN ('result', 'exception', 'unknown_function', 'query_returned')"
    " AND s.link = r.link AND s.seq < r.seq",
    "s",
)
_EARLY = first(f"r.kind = 'response_received' AND r.direction = 'out' AND NOT {_WORKED_THERE}")
_OTHER = first(
    "r.replies AND (r.kind <> found.kind"
    " OR (r.kind = 'result' AND r.payload_bytes IS DISTINCT FROM found.payload_bytes))"
)
_LAST_REPLY = "list_filter(tape, lambda s: s.replies AND s.seq < r.seq)[-1]"
_AGAIN = first(f"r.kind = 'given' AND r.mono_ns - {_LAST_REPLY}.mono_ns BETWEEN 0 AND 60_000_000_000")
_STANDING = (
    "list_filter(tape, lambda s: s.seq < r.seq"
    " AND (s.kind = 'asked' OR (s.kind = 'cancel' AND s.direction = 'in')))[-1]"
)
_BEGUN = first(f"r.kind = 'given' AND {_STANDING}.kind = 'cancel'")
_LAST_CANCEL = last("r.kind = 'cancel' AND r.direction = 'in' AND r.seq < found.seq")

RULES = (
    Rule(
        "rpc-answer-unasked",
        "Nobody gets an answer who did not ask.",
        f"first_told < coalesce(asked, {NEVER})",
        "[first_told]",
    ),
    Rule(
        "rpc-wrong-client",
        "An answer goes to the client that asked.",
        "lowest_client < highest_client",
        f"[asked, {first(f'r.told AND r.seq > asked AND NOT {_ASKED_THERE}')}.seq]",
    ),
    Rule(
        "rpc-result-changed",
        "A result is passed on as the worker gave it.",
        "least_result < most_result",
        let(_CHANGED, f"[{_LAST_RESULT_IN}.seq, found.seq]"),
    ),
    Rule(
        "rpc-answer-before-receipt",
        "A query is acknowledged before it is answered.",
        "reply < receipt",
        "[reply, receipt]",
    ),
    Rule(
        "rpc-too-many-workers",
        "A query is tried three times at most.",
        "times_given - times_returned > 3",
        f"list_transform({_GIVEN}, lambda r: r.seq)",
        f"len({_GIVEN}) - times_returned > 3",
    ),
    Rule(
        "rpc-receipt-early",
        "A worker's answer is acknowledged after it came.",
        f"thanked < coalesce(worked, {NEVER}) OR (thanked IS NOT NULL AND lowest_worker < highest_worker)",
        f"[{_EARLY}.seq]",
    ),
    Rule(
        "rpc-unknown-though-given",
        "A function that was called is not unknown.",
        "given < last_unknown_out AND unknown_in IS NULL",
        f"[given, {first('''r.kind = 'unknown_function' AND r.direction = 'out' AND r.seq > given''')}.seq]",
    ),
    Rule(
        "rpc-two-answers",
        "A query has one answer.",
        "lowest_reply < highest_reply OR least_result < most_result",
        let(first("r.replies"), f"[found.seq, {_OTHER}.seq]"),
    ),
    Rule(
        "rpc-run-again",
        "What was answered is not run again.",
        "reply < last_given",
        let(_AGAIN, f"[{last('r.replies AND r.seq < found.seq')}.seq, found.seq]"),
    ),
    Rule(
        "rpc-given-after-cancel",
        "What was cancelled is not begun.",
        "cancelled < last_given",
        let(_BEGUN, f"[{_LAST_CANCEL}.seq, found.seq]"),
    ),
    Rule(
        "rpc-busy-received",
        "A query refused as busy is not acknowledged.",
        "times_asked = 1 AND times_given = 0 AND receipt < last_busy",
        f"[receipt, {first('r.told AND NOT r.replies AND r.seq > receipt')}.seq]",
    ),
    Rule(
        "rpc-function-changed",
        "A query is about one function.",
        "lowest_endpoint < highest_endpoint",
        let(first("r.endpoint IS NOT NULL"), f"[found.seq, {first('r.endpoint <> found.endpoint')}.seq]"),
    ),
    Rule(
        "rpc-overdue",
        "Every query is answered.",
        "asked IS NOT NULL AND reply IS NULL AND cancelled IS NULL"
        " AND (last_busy IS NULL OR last_busy < last_asked)",
        "[asked]",
        "asked_ns + 3_600_000_000_000 <= horizon_ns",
    ),
)

_THANKED = "kind = 'response_received' AND direction = 'out'"
_RESULT = "coalesce(payload_bytes, -1)"
_FACTS = {
    "asked": least("kind = 'asked'"),
    "last_asked": most("kind = 'asked'"),
    "asked_ns": "arg_min(time_ns, seq) FILTER (kind = 'asked')",
    "times_asked": count("kind = 'asked'"),
    "given": least("kind = 'given'"),
    "last_given": most("kind = 'given'"),
    "times_given": count("kind = 'given'"),
    "times_returned": count("kind = 'query_returned' AND direction = 'in'"),
    "first_told": least("told"),
    "reply": least("replies"),
    "last_busy": most("told AND NOT replies"),
    "receipt": least("kind = 'query_received' AND direction = 'out'"),
    "cancelled": least("kind = 'cancel' AND direction = 'in'"),
    "worked": least(_WORKED),
    "thanked": least(_THANKED),
    "last_unknown_out": most("kind = 'unknown_function' AND direction = 'out'"),
    "unknown_in": least("kind = 'unknown_function' AND direction = 'in'"),
    "lowest_client": "min(link) FILTER (kind = 'asked' OR told)",
    "highest_client": "max(link) FILTER (kind = 'asked' OR told)",
    "lowest_worker": f"min(link) FILTER (({_WORKED}) OR ({_THANKED}))",
    "highest_worker": f"max(link) FILTER (({_WORKED}) OR ({_THANKED}))",
    "least_result": f"min({_RESULT}) FILTER (kind = 'result')",
    "most_result": f"max({_RESULT}) FILTER (kind = 'result')",
    "lowest_reply": "min(kind) FILTER (replies)",
    "highest_reply": "max(kind) FILTER (replies)",
    "lowest_endpoint": "min(endpoint)",
    "highest_endpoint": "max(endpoint)",
    "endpoint": "coalesce(arg_min_null(endpoint, seq) FILTER (kind = 'asked'), max(endpoint))",
}
_ENTRY = (
    *("seq", "time_ns", "mono_ns", "link", "direction", "kind", "payload_bytes", "endpoint"),
    *("told", "replies"),
)

STEPS = (
    f"""
CREATE TEMP VIEW rpc_rows AS
SELECT node, exchange, seq, time_ns, mono_ns, link, direction, payload_bytes, endpoint,
    CASE WHEN kind = 'query' THEN if(direction = 'in', 'asked', 'given') ELSE kind END AS kind,
    kind IN ('result', 'exception', 'unknown_function') AND direction = 'out' AS told,
    told AND NOT coalesce(error = 'busy', false) AS replies
FROM journal WHERE {taken("rpc")}
""",
    f"""
CREATE TEMP TABLE rpc_facts AS
SELECT * FROM (SELECT node, exchange, {about(_FACTS)} FROM rpc_rows GROUP BY node, exchange)
WHERE {suspects(RULES)}
""",
    f"""
CREATE TEMP TABLE rpc_known AS
WITH tapes AS (
    SELECT node, exchange, list(struct_pack({", ".join(f"{n} := {n}" for n in _ENTRY)}) ORDER BY seq) AS tape
    FROM rpc_rows SEMI JOIN rpc_facts USING (node, exchange) GROUP BY node, exchange
)
SELECT * FROM rpc_facts JOIN tapes USING (node, exchange) LEFT JOIN horizons USING (node)
""",
)
BREACHES = breaches("rpc", RULES)
