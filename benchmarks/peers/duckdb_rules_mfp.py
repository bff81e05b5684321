"""The rules about MFP as DuckDB's SQL (spec/audit.md, section 2)."""

from benchmarks.peers.duckdb_rule import (
    Rule,
    about,
    breaches,
    count,
    exists,
    first,
    least,
    let,
    most,
    overdue,
    suspects,
    taken,
    up,
)

_RESPONSE_OUT = "r.kind = 'response' AND r.direction = 'out'"
_FILES = "list_filter(tape, lambda f: f.kind = 'binary' AND f.direction = 'out' AND f.head & 6 = 2)"
_KEYS = f"len(list_distinct(list_transform({_FILES}, lambda f: f.key)))"
_LATE = first(
    f"r.kind = 'response' AND r.direction = 'in' AND r.seq > first_end AND {overdue('r')} AND {up('r')}"
    f" AND NOT {exists('''u.kind = 'unknown' AND u.direction = 'out' AND u.ref = r.id''', 'u')}"
)

RULES = (
    Rule(
        "mfp-answered-twice",
        "A request is answered at most once.",
        "responses_out > 1",
        f"list_transform(list_filter(tape, lambda r: {_RESPONSE_OUT})[:2], lambda r: r.seq)",
        "opening.direction = 'in'",
    ),
    Rule(
        "mfp-answered-after-end",
        "Nothing is answered that was given up.",
        "gave_up < last_response_out",
        f"[gave_up, {first(f'{_RESPONSE_OUT} AND r.seq > gave_up')}.seq]",
        "opening.kind = 'request' AND opening.direction = 'in'",
    ),
    Rule(
        "mfp-late-answer-untold",
        "A peer that answers too late is told `unknown`.",
        "first_end < last_response_in",
        f"[first_end, {_LATE}.seq]",
        "opening.kind = 'request' AND opening.direction = 'out'",
    ),
    Rule(
        "mfp-not-acked",
        "A frame that asks for an ack gets one.",
        "unacked",
        f"[{first(f'''r.unacked AND r.kind <> 'ping' AND {overdue('r')} AND {up('r')}''')}.seq]",
    ),
    Rule(
        "mfp-acked-twice",
        "Nothing is acknowledged twice.",
        "acked_again",
        let(first("r.first_ack < r.seq"), "[found.first_ack, found.seq]"),
    ),
    Rule(
        "mfp-acked-unasked",
        "Nothing is acknowledged that did not ask.",
        "unasked",
        f"[{first('r.unasked')}.seq]",
    ),
    Rule(
        "mfp-ping-unanswered",
        "A ping is answered.",
        "unacked",
        "[opening.seq]",
        f"opening.kind = 'ping' AND opening.unacked AND {overdue('opening')} AND {up('opening')}",
    ),
    Rule(
        "mfp-chunk-after-end",
        "A stream has nothing after its end.",
        "final_out < last_chunk_out",
        "[final_out, last_chunk_out]",
        "opening.direction = 'out'",
    ),
    Rule(
        "mfp-chunk-after-abort",
        "An aborted sender stops.",
        "abort_in < last_chunk_out",
        "[abort_in, last_chunk_out]",
        "opening.direction = 'out'",
    ),
    Rule(
        "mfp-set-short",
        "An announced set is sent whole.",
        "announced_out > 0 AND final_out IS NOT NULL AND aborts = 0",
        "[opening.seq, final_out]",
        "opening.kind = 'message' AND opening.direction = 'out' AND opening.head & 6 = 2"
        f" AND {_KEYS} < opening.files",
    ),
    Rule(
        "mfp-key-twice",
        "No announced file is sent twice.",
        "files_out > 1",
        let(
            first(f"len(list_filter({_FILES}, lambda s: s.key = r.key AND s.seq < r.seq)) > 0", _FILES),
            f"list_transform(list_filter({_FILES}, lambda s: s.key = found.key)[:2], lambda s: s.seq)",
        ),
        f"opening.direction = 'out' AND {_KEYS} < files_out",
    ),
    Rule(
        "mfp-user-changed",
        "A connection belongs to one user.",
        "lowest_user < highest_user",
        f"[first_seq, {first('r.user <> first_user')}.seq]",
    ),
    Rule(
        "mfp-endpoint-changed",
        "An answer names the endpoint that was asked.",
        "lowest_endpoint < highest_endpoint",
        f"[opening.seq, {first(f'{_RESPONSE_OUT} AND r.endpoint <> opening.endpoint')}.seq]",
        "opening.kind = 'request'",
    ),
)

_CHUNK_OUT = "kind = 'binary' AND direction = 'out'"
_FACTS = {
    "responses_out": count("kind = 'response' AND direction = 'out'"),
    "gave_up": least("kind IN ('timeout', 'abort')"),
    "last_response_out": most("kind = 'response' AND direction = 'out'"),
    "first_end": least("(kind = 'response' AND direction = 'in') OR kind IN ('timeout', 'abort')"),
    "last_response_in": most("kind = 'response' AND direction = 'in'"),
    "final_out": least(f"{_CHUNK_OUT} AND head & 1 = 0"),
    "last_chunk_out": most(_CHUNK_OUT),
    "abort_in": least("kind = 'abort' AND direction = 'in'"),
    "aborts": count("kind = 'abort'"),
    "announced_out": count("kind = 'message' AND direction = 'out' AND head & 6 = 2"),
    "files_out": count(f"{_CHUNK_OUT} AND head & 6 = 2"),
    "lowest_user": 'min("user")',
    "highest_user": 'max("user")',
    "first_user": 'arg_min("user", seq)',
    "lowest_endpoint": "min(endpoint)",
    "highest_endpoint": "max(endpoint)",
    "first_seq": "min(seq)",
}
_ENTRY = {
    name: name
    for name in (
        *("seq", "time_ns", "link", "direction", "kind", "head", "id", "ref", "key", "endpoint", "files"),
        *("unacked", "unasked"),
    )
} | {'"user"': '"user"', "first_ack": "CASE WHEN acks THEN first_ack END"}

STEPS = (
    f"""
CREATE TEMP VIEW mfp_rows AS
SELECT *,
    coalesce(direction = 'in' AND (kind = 'ping'
        OR (kind IN ('message', 'request', 'response', 'binary') AND head & 8 <> 0)), false) AS wants,
    kind = 'ack' AND direction = 'out' AS acks,
    CASE WHEN acks THEN ref WHEN wants THEN id END AS named
FROM (
    SELECT node, exchange, seq, time_ns, link, direction, head, id, ref, key, "user", endpoint, files,
        CASE WHEN kind = 'service' THEN
            CASE code WHEN 1 THEN 'ack' WHEN 2 THEN 'timeout' WHEN 3 THEN 'abort' WHEN 4 THEN 'unknown'
                WHEN 7 THEN 'ping' ELSE kind END
            ELSE kind END AS kind
    FROM journal WHERE {taken("mfp")})
""",
    """
CREATE TEMP TABLE mfp_acks AS
SELECT node, exchange, named, min(seq) FILTER (acks) AS first_ack, bool_or(wants) AS wanted
FROM mfp_rows WHERE acks OR wants GROUP BY node, exchange, named
HAVING first_ack IS NULL OR NOT wanted OR count(*) FILTER (acks) > 1
""",
    f"""
CREATE TEMP TABLE mfp_facts AS
SELECT * FROM (SELECT node, exchange, {about(_FACTS)} FROM mfp_rows GROUP BY node, exchange)
LEFT JOIN (
    SELECT node, exchange, bool_or(first_ack IS NULL) AS unacked,
        bool_or(first_ack IS NOT NULL AND NOT wanted) AS unasked,
        bool_or(first_ack IS NOT NULL) AS acked_again
    FROM mfp_acks GROUP BY node, exchange) USING (node, exchange)
WHERE {suspects(RULES)}
""",
    f"""
CREATE TEMP TABLE mfp_known AS
WITH marked AS (
    SELECT mfp_rows.*, first_ack, coalesce(wants AND wanted AND first_ack IS NULL, false) AS unacked,
        coalesce(acks AND NOT wanted, false) AS unasked
    FROM mfp_rows LEFT JOIN mfp_acks USING (node, exchange, named) SEMI JOIN mfp_facts USING (node, exchange)
), tapes AS (
    SELECT node, exchange,
        list(struct_pack({", ".join(f"{n} := {h}" for n, h in _ENTRY.items())}) ORDER BY seq) AS tape
    FROM marked GROUP BY node, exchange
), opened AS (
    SELECT *, {first("r.kind IN ('message', 'request', 'ping')")} AS opening,
        (opening).endpoint AS endpoint, coalesce((opening).link, tape[1].link) AS link
    FROM mfp_facts JOIN tapes USING (node, exchange)
)
SELECT * FROM opened LEFT JOIN horizons USING (node) LEFT JOIN closings USING (node, link)
""",
)
BREACHES = breaches("mfp", RULES)

REUSED = """
WITH repeated AS (
    SELECT node, link, direction, id FROM mfp_rows WHERE kind IN ('message', 'request')
    GROUP BY ALL HAVING count(*) > 1
), exchanges AS (
    SELECT DISTINCT node, exchange FROM mfp_rows SEMI JOIN repeated USING (node, link, direction, id)
    WHERE kind IN ('message', 'request')
), told AS (
    SELECT node, exchange,
        arg_min(struct_pack(seq := seq, link := link, kind := kind, direction := direction, id := id,
            head := head, endpoint := endpoint), seq) FILTER (kind IN ('message', 'request', 'ping')) AS open,
        min(seq) FILTER (kind IN ('response', 'timeout', 'abort', 'unknown')) AS ended,
        min(seq) FILTER (kind = 'binary' AND head & 1 = 0) AS final,
        list(struct_pack(seq := seq, ref := ref, direction := direction) ORDER BY seq)
            FILTER (kind = 'ack') AS acks
    FROM mfp_rows SEMI JOIN exchanges USING (node, exchange) GROUP BY node, exchange
), asked AS (
    SELECT node, exchange, open, open.link AS link, ended, final,
        coalesce(open.head & 8 <> 0, false) AS wants_ack,
        coalesce(open.head & 6 IN (2, 4), false) AS wants_final,
        list_filter(acks, lambda a: a.ref = open.id AND a.direction <> open.direction)[1].seq AS acked
    FROM told WHERE open.kind <> 'ping'
), lives AS (
    SELECT node, exchange, open, least(ended,
        list_filter(closings, lambda c: c.seq > open.seq)[1].seq,
        CASE WHEN open.kind = 'message' AND NOT (wants_ack AND acked IS NULL)
                AND NOT (wants_final AND final IS NULL)
            THEN greatest(open.seq, CASE WHEN wants_ack THEN acked END, CASE WHEN wants_final THEN final END)
            END) AS released
    FROM asked LEFT JOIN closings USING (node, link)
)
SELECT 'mfp-id-reused' AS rule, 'An id is not used again while it is alive.' AS sentence, 'mfp' AS protocol,
    this.node, this.exchange, this.open.endpoint AS endpoint,
    [max(earlier.open.seq), this.open.seq] AS evidence
FROM lives AS this JOIN lives AS earlier
    ON this.node = earlier.node AND this.open.link = earlier.open.link
    AND this.open.direction = earlier.open.direction AND this.open.id = earlier.open.id
    AND earlier.open.seq < this.open.seq AND coalesce(earlier.released > this.open.seq, true)
GROUP BY this.node, this.exchange, this.open
"""
