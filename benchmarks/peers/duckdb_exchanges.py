"""DuckDB's SQL for ``exchanges`` and ``metrics``; ``duckdb_tables`` runs it.

Rows of an exchange are gathered by one aggregation for each protocol: the few that matter as structs, and
counts. What became of it is then read off these.
"""

MACROS = """
CREATE MACRO short(r) AS
    struct_pack(seq := r.seq, time_ns := r.time_ns, mono_ns := r.mono_ns, direction := r.direction);
"""
MOMENT = "seq := seq, time_ns := time_ns, mono_ns := mono_ns, direction := direction"


def first(condition: str, *columns: str) -> str:
    """The first row by seq for which this holds, as a struct; null if there is none."""
    return f"arg_min({_struct(*columns)}, seq) FILTER ({condition})"


def last(condition: str, *columns: str) -> str:
    """The last one."""
    return f"arg_max({_struct(*columns)}, seq) FILTER ({condition})"


def _struct(*columns: str) -> str:
    return f"struct_pack({', '.join((MOMENT, *(f'{name} := {name}' for name in columns)))})"


COUNTS = """
    min(link) AS link, min("user") AS "user",
    count(*) FILTER (direction = 'in') AS frames_in,
    count(*) FILTER (direction <> 'in') AS frames_out,
    coalesce(sum(bytes) FILTER (direction = 'in'), 0)::BIGINT AS bytes_in,
    coalesce(sum(bytes) FILTER (direction <> 'in'), 0)::BIGINT AS bytes_out,
    min(seq) AS first_seq, max(seq) AS last_seq,
    min(time_ns) AS first_ns, arg_max(time_ns, seq) AS last_ns"""

TABLE = """
    hexadecimal(exchange) AS exchange, hexadecimal(open.parent) AS parent, node, '{protocol}' AS protocol,
    hexadecimal({link}) AS link, coalesce(open."user", "user") AS "user", {kind} AS kind,
    open.direction AS direction, {id} AS id, {endpoint} AS endpoint,
    {service} AS service, {function} AS "function",
    moment(open.time_ns) AS opened, moment(answer.time_ns) AS first_answer, moment({closed_ns}) AS closed,
    (answer.mono_ns - open.mono_ns) // 1000 AS wait_us,
    {given} AS given, {worked} AS worker_answered, {given_to} AS given_to,
    {dispatches} AS dispatches, {timeout_s} AS timeout_s,
    outcome, {code} AS code, {ended_by} AS ended_by, {acked} AS acked,
    frames_in, frames_out, bytes_in, bytes_out, moment(last_ns) AS last, first_seq, last_seq,
    day(first_ns) AS date"""

_MFP_TABLE = TABLE.format(
    protocol="mfp",
    link="link",
    kind="CASE WHEN open.kind = 'service' THEN 'ping'"
    " WHEN open.kind = 'message' AND open.head & 6 = 4 THEN 'stream' ELSE open.kind END",
    id="open.id",
    endpoint="open.endpoint",
    service="NULL::INTEGER",
    function="NULL::INTEGER",
    closed_ns="CASE WHEN outcome = 'disconnected' THEN gone.time_ns ELSE closing.time_ns END",
    given="NULL::TIMESTAMPTZ",
    worked="NULL::TIMESTAMPTZ",
    given_to="NULL::VARCHAR",
    dispatches="NULL::BIGINT",
    timeout_s="NULL::INTEGER",
    code="CASE outcome WHEN 'error' THEN verdict.error WHEN 'disconnected' THEN gone.code::VARCHAR END",
    ended_by="CASE WHEN outcome <> 'disconnected' THEN closing.direction END",
    acked="ack IS NOT NULL",
)

MFP = f"""
WITH rows AS (
    SELECT *,
        kind IN ('message', 'request') OR (kind = 'service' AND code = 7) AS opens,
        kind = 'response' OR (kind = 'service' AND code IN (2, 3, 4)) AS ends,
        kind = 'service' AND code = 1 AS acks
    FROM journal WHERE protocol = 'mfp' AND exchange IS NOT NULL
), gathered AS (
    SELECT node, exchange, {COUNTS},
        {first("opens", "kind", "id", "head", '"user"', "endpoint", "parent")} AS open,
        {first("ends", "kind", "code", "error")} AS ending,
        {first("kind = 'service' AND code = 3", "kind", "code", "error")} AS abort,
        {first("acks AND direction = 'in'", "ref")} AS ack_in,
        {first("acks AND direction <> 'in'", "ref")} AS ack_out,
        {first("kind = 'binary' AND head & 1 = 0")} AS final
    FROM rows GROUP BY node, exchange
), link_ends AS (
    SELECT node, link, arg_max(struct_pack(seq := seq, time_ns := time_ns, code := code), seq) AS gone
    FROM links WHERE protocol = 'mfp' AND kind = 'link_closed' GROUP BY node, link
), asked AS (
    SELECT *,
        CASE WHEN open.direction = 'in' THEN ack_out ELSE ack_in END AS other_ack,
        CASE WHEN (other_ack).ref = open.id THEN other_ack END AS ack,
        coalesce(open.kind IN ('message', 'service'), false) AS one_way,
        open.kind = 'service' OR open.head & 8 <> 0 AS wants_ack,
        open.kind = 'message' AND open.head & 6 IN (2, 4) AS spans_frames,
        one_way AND (NOT wants_ack OR ack IS NOT NULL) AND (NOT spans_frames OR final IS NOT NULL)
            AS complete,
        CASE WHEN one_way THEN coalesce(abort, CASE WHEN NOT complete THEN ending END) ELSE ending END
            AS verdict
    FROM gathered LEFT JOIN link_ends USING (node, link)
), judged AS (
    SELECT *,
        CASE
            WHEN verdict.kind = 'response' THEN if(verdict.error IS NULL, 'ok', 'error')
            WHEN verdict IS NOT NULL
                THEN CASE verdict.code WHEN 2 THEN 'timeout' WHEN 3 THEN 'aborted' WHEN 4 THEN 'unknown' END
            WHEN complete THEN 'ok'
            WHEN gone.seq > coalesce(open.seq, first_seq) THEN 'disconnected'
            ELSE 'open' END AS outcome,
        greatest(open.seq, CASE WHEN wants_ack THEN ack.seq END, CASE WHEN spans_frames THEN final.seq END)
            AS arrived,
        CASE
            WHEN verdict IS NOT NULL THEN short(verdict)
            WHEN outcome = 'ok' THEN CASE arrived
                WHEN open.seq THEN short(open) WHEN ack.seq THEN short(ack) ELSE short(final) END
            END AS closing,
        CASE
            WHEN one_way THEN CASE WHEN coalesce(ack.seq <= (closing).seq, true) THEN short(ack) END
            WHEN verdict.kind = 'response' THEN short(verdict) END AS answer
    FROM asked
)
SELECT {_MFP_TABLE} FROM judged
"""

_RPC_TABLE = TABLE.format(
    protocol="rpc",
    link="coalesce(open.link, client)",
    kind="'query'",
    id="NULL::BIGINT",
    endpoint="coalesce(open.endpoint, endpoint)",
    service="NULL::INTEGER",
    function="NULL::INTEGER",
    closed_ns="verdict.time_ns",
    given="moment(given.time_ns)",
    worked="moment(worked.time_ns)",
    given_to="hexadecimal(given.link)",
    dispatches="dispatches",
    timeout_s="NULL::INTEGER",
    code="CASE WHEN outcome = 'error' THEN coalesce(verdict.error,"
    " CASE WHEN verdict.kind = 'unknown_function' THEN 'unknown_function' END, 'function_failed') END",
    ended_by="verdict.direction",
    acked="acked",
)

RPC = f"""
WITH rows AS (
    SELECT *,
        kind = 'query' AND direction = 'in' AS asks,
        kind = 'query' AND direction <> 'in' AS gives,
        kind IN ('result', 'exception', 'unknown_function') AS answers,
        answers AND direction <> 'in' AS told,
        coalesce(error = 'busy', false) AS refuses,
        kind = 'query_received' AND direction <> 'in' AS receipt
    FROM journal WHERE protocol = 'rpc' AND exchange IS NOT NULL
), gathered AS (
    SELECT node, exchange, {COUNTS},
        {first("asks", "link", '"user"', "parent", "endpoint")} AS open,
        max(seq) FILTER (asks) AS asked_last,
        {first("told AND NOT refuses", "kind", "error")} AS answered,
        {last("told AND refuses", "kind", "error")} AS busy,
        {first("kind = 'cancel' AND direction = 'in'", "kind", "error")} AS cancelled,
        {last("gives", "link")} AS given,
        {first("answers AND direction = 'in'")} AS worked,
        count(*) FILTER (gives) AS dispatches,
        bool_or(receipt) AS acked,
        arg_min(link, seq) FILTER (told OR receipt
            OR (direction = 'in' AND kind IN ('query', 'response_received', 'cancel'))) AS client,
        max(endpoint) AS endpoint
    FROM rows GROUP BY node, exchange
), judged AS (
    SELECT *,
        coalesce(answered, CASE WHEN NOT coalesce(busy.seq < asked_last, false) THEN busy END) AS said,
        CASE WHEN coalesce(cancelled.seq < (said).seq, cancelled IS NOT NULL) THEN cancelled ELSE said END
            AS verdict,
        CASE WHEN (verdict).kind <> 'cancel' THEN said END AS answer,
        CASE
            WHEN verdict IS NULL THEN 'open'
            WHEN (verdict).kind = 'result' THEN 'ok'
            WHEN (verdict).kind = 'cancel' OR (verdict).error = 'cancelled' THEN 'aborted'
            WHEN (verdict).error = 'timeout' THEN 'timeout'
            ELSE 'error' END AS outcome
    FROM gathered
)
SELECT {_RPC_TABLE} FROM judged
"""

_HUB_TABLE = TABLE.format(
    protocol="hub",
    link="exchange[1:8]",
    kind="CASE WHEN open.kind = 'first' THEN 'stream' WHEN open IS NOT NULL THEN 'ping' END",
    id="CASE WHEN open.kind = 'first' THEN open.id END",
    endpoint="coalesce(open.endpoint, endpoint)",
    service="coalesce(open.service, service)",
    function='coalesce(open."function", "function")',
    closed_ns='"end".time_ns',
    given="moment(given.time_ns)",
    worked="moment(worked.time_ns)",
    given_to="hexadecimal(given.link)",
    dispatches="NULL::BIGINT",
    timeout_s="CASE WHEN open.kind = 'first' THEN open.code::INTEGER END",
    code="CASE WHEN outcome IN ('error', 'disconnected') THEN \"end\".error END",
    ended_by='"end".direction',
    acked="false",
)
_OPENED = ("kind", "code", "id", '"user"', "parent", "service", '"function"', "endpoint")

HUB = f"""
WITH rows AS (
    SELECT *,
        ref IS NULL AS at_client,
        kind IN ('first', 'message', 'last', 'service_error') AS data,
        kind = 'command' AND code = 1 AS ping,
        kind = 'command' AND code = 2 AS pong,
        kind = 'stream_error' AND direction <> 'in' AND code IN (1, 2, 3, 9, 11, 12) AS killing
    FROM journal WHERE protocol = 'hub' AND exchange IS NOT NULL
), gathered AS (
    SELECT node, exchange, {COUNTS},
        {first("(kind = 'first' AND direction = 'in' AND at_client) OR ping", *_OPENED)} AS open,
        {
    first(
        "(kind IN ('last', 'service_error') AND direction <> 'in' AND at_client) OR killing"
        " OR (kind = 'command' AND code = 15 AND direction = 'in')",
        "kind",
        "code",
        "error",
    )
} AS ending,
        {first("(data OR killing) AND direction <> 'in' AND at_client", "kind", "code", "error")} AS told,
        {first("pong AND direction = 'in'", "kind", "code", "error")} AS pong_in,
        {first("pong AND direction <> 'in'", "kind", "code", "error")} AS pong_out,
        {first("kind = 'first' AND direction <> 'in' AND NOT at_client", "link")} AS given,
        {first("data AND direction = 'in' AND NOT at_client")} AS worked,
        max(service) AS service, max("function") AS "function", max(endpoint) AS endpoint
    FROM rows GROUP BY node, exchange
), judged AS (
    SELECT *,
        CASE WHEN open.direction = 'out' THEN pong_in ELSE pong_out END AS ponged,
        coalesce(ending, ponged) AS "end",
        coalesce(ponged, told) AS answer,
        CASE
            WHEN "end" IS NULL THEN 'open'
            WHEN ("end").kind = 'last' THEN 'ok'
            WHEN ("end").kind = 'service_error' THEN 'error'
            WHEN ("end").kind = 'stream_error'
                THEN CASE ("end").code WHEN 1 THEN 'timeout' WHEN 2 THEN 'disconnected' ELSE 'error' END
            WHEN ("end").code = 15 THEN 'aborted'
            ELSE 'ok' END AS outcome
    FROM gathered
)
SELECT {_HUB_TABLE} FROM judged
"""

EXCHANGES = f"FROM ({MFP}) UNION ALL FROM ({RPC}) UNION ALL FROM ({HUB})"

OUTCOMES = ("ok", "error", "timeout", "aborted", "unknown", "disconnected", "open")
_EDGES = ", ".join(repr(round(10 ** (place / 20), 3)) for place in range(181))
_COUNTED = ", ".join(f"count(*) FILTER (outcome = '{outcome}') AS \"{outcome}\"" for outcome in OUTCOMES)
_SUMMED = ", ".join(f"sum({n})::BIGINT AS {n}" for n in ("frames_in", "frames_out", "bytes_in", "bytes_out"))


def _percentile(share: float) -> str:
    """The edge of the first bucket with which so many waits are counted."""
    reached = f"list_filter(below, lambda b: b.sum >= {share} * answered)[1].le_us"
    return f"least({reached}, max_us::DOUBLE) AS p{share * 100:.0f}_us"


METRICS = f"""
WITH counted AS (
    SELECT date_trunc('minute', opened) AS minute, minute::DATE AS date,
        node, protocol, kind, endpoint, service, count(*) AS count, {_COUNTED},
        count(wait_us) AS answered, max(wait_us) AS max_us,
        histogram(wait_us::DOUBLE, [{_EDGES}]) AS buckets, {_SUMMED}
    FROM exchanges WHERE opened IS NOT NULL
    GROUP BY ALL
), listed AS (
    SELECT *,
        list_transform(list_filter(map_entries(buckets), lambda e: e.value > 0),
            lambda e: struct_pack(le_us := e.key, count := e.value::BIGINT)) AS waits,
        list_transform(waits, lambda b, place:
            struct_pack(le_us := b.le_us, sum := list_sum(list_transform(waits[:place], lambda w: w.count))))
            AS below
    FROM counted
)
SELECT minute, date, node, protocol, kind, endpoint, service, count, {", ".join(f'"{n}"' for n in OUTCOMES)},
    answered, {_percentile(0.5)}, {_percentile(0.95)}, {_percentile(0.99)}, max_us,
    coalesce(waits, []) AS waits, frames_in, frames_out, bytes_in, bytes_out
FROM listed
"""
