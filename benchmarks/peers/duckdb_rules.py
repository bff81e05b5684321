"""DuckDB's SQL for ``violations``: all rules of the audit (spec/audit.md) but ``LEFT_OUT``."""

from benchmarks.peers import duckdb_rules_hub as hub
from benchmarks.peers import duckdb_rules_mfp as mfp
from benchmarks.peers import duckdb_rules_rpc as rpc

LEFT_OUT = ("raw-unlawful", "raw-checksum", "raw-differs")
"""These decode the recorded bytes again, frame by frame."""

_ROWS = (
    (
        "mfp-request-streams",
        "Requests and responses carry whole files only.",
        "protocol = 'mfp' AND kind IN ('request', 'response') AND head & 6 IN (2, 4)",
    ),
    (
        "mfp-answer-unasked",
        "Nothing is answered that nobody asked.",
        "protocol = 'mfp' AND kind = 'response' AND direction = 'out' AND exchange IS NULL",
    ),
    ("mfp-zero-id", "Ids count from one.", "protocol = 'mfp' AND (id = 0 OR ref = 0)"),
    (
        "hub-wrong-state",
        "Each side says only what it may.",
        "protocol = 'hub' AND direction = 'in' AND (kind = 'stream_error'"
        " OR (kind = 'service_error' AND ref IS NULL) OR (kind = 'first' AND ref IS NOT NULL AND id <> 0))",
    ),
)
_TAKEN = "refused IS NULL AND kind NOT IN ('refused', 'link_opened', 'link_closed', 'register')"
_ABOUT = "'{}' AS rule, '{}' AS sentence, protocol, node, exchange, endpoint"

_OF_ROWS = " UNION ALL ".join(
    f"SELECT {_ABOUT.format(name, sentence)}, [seq] AS evidence FROM journal WHERE {_TAKEN} AND {condition}"
    for name, sentence, condition in _ROWS
)
_UNREGISTERED = f"""
SELECT {_ABOUT.format("rpc-unregistered-worker", "Only workers that registered get queries.")},
    [seq] AS evidence
FROM journal LEFT JOIN (
    SELECT node, link, min(seq) AS registered FROM links WHERE kind = 'register' GROUP BY node, link
) USING (node, link)
WHERE {_TAKEN} AND protocol = 'rpc' AND kind = 'query' AND direction = 'out'
    AND coalesce(registered > seq, true)
"""
_AFTER_CLOSE = f"""
SELECT {_ABOUT.format("link-used-after-close", "Nothing moves on a closed link.")},
    [event.seq, seq] AS evidence
FROM (
    SELECT j.protocol, j.node, j.exchange, j.endpoint, j.seq,
        arg_max(struct_pack(seq := l.seq, kind := l.kind), l.seq) AS event
    FROM (
        SELECT protocol, node, exchange, endpoint, link, seq
        FROM journal JOIN closings USING (node, link)
        WHERE {_TAKEN} AND protocol IN ('mfp', 'hub') AND seq > closings[1].seq
    ) AS j JOIN links AS l ON l.node = j.node AND l.link = j.link AND l.seq < j.seq AND l.kind <> 'register'
    GROUP BY ALL)
WHERE event.kind = 'link_closed'
"""
_GAPS = """
SELECT 'journal-gap' AS rule, 'No row is missing.' AS sentence, protocol, node, NULL::BLOB AS exchange,
    NULL::VARCHAR AS endpoint, [previous, seq] AS evidence
FROM (
    SELECT protocol, node, seq, lag(seq) OVER (PARTITION BY node ORDER BY seq) AS previous FROM journal
    WHERE node IN (SELECT node FROM journal GROUP BY node HAVING max(seq) - min(seq) + 1 > count(*)))
WHERE seq - previous > 1
"""

STEPS = (
    "CREATE TEMP TABLE horizons AS SELECT node, max(time_ns) AS horizon_ns FROM journal GROUP BY node",
    """
CREATE TEMP TABLE closings AS
SELECT node, link, min(time_ns) AS gone_ns,
    list(struct_pack(seq := seq, time_ns := time_ns) ORDER BY seq) AS closings
FROM links WHERE kind = 'link_closed' GROUP BY node, link
""",
    *mfp.STEPS,
    *rpc.STEPS,
    *hub.STEPS,
)

_BROKEN = (mfp.BREACHES, mfp.REUSED, rpc.BREACHES, hub.BREACHES, _OF_ROWS, _UNREGISTERED, _AFTER_CLOSE, _GAPS)

VIOLATIONS = f"""
WITH broken AS (
    SELECT * EXCLUDE (evidence), list_sort(list_distinct(evidence)) AS evidence
    FROM ({" UNION ALL ".join(f"FROM ({query})" for query in _BROKEN)})
    WHERE evidence IS NOT NULL AND len(list_filter(evidence, lambda n: n IS NULL)) = 0
)
SELECT rule, broken.protocol, moment(time_ns) AS time, day(time_ns) AS date, broken.node,
    hexadecimal(link) AS link, hexadecimal(broken.exchange) AS exchange, broken.endpoint, evidence,
    NULL::VARCHAR AS detail, sentence
FROM broken JOIN journal ON journal.node = broken.node AND journal.seq = broken.evidence[-1]
"""
