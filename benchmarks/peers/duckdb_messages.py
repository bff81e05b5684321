"""DuckDB's SQL for ``messages`` and ``files``; ``duckdb_tables`` runs it.

These read the bytes that were recorded: the view ``recorded`` is the journal with ``raw``.
"""

MACROS = """
CREATE MACRO u32(bytes, place) AS bytes[place + 1:place + 4]::BIT::UINTEGER::BIGINT;
CREATE MACRO payload_of(raw, recorded, place, size) AS
    CASE WHEN recorded = 'full' AND octet_length(raw) >= place::BIGINT + size
        THEN raw[place + 1:place + size] END;
CREATE MACRO as_names(filemap) AS coalesce(
    CASE WHEN json_type(filemap) = 'ARRAY' THEN list_transform(json_extract(filemap, '$[*]'), lambda e:
        struct_pack(key := TRY_CAST(json_extract_string(e, '$[0]') AS BIGINT),
            name := json_extract_string(e, '$[1]'), type := json_extract_string(e, '$[2]'),
            bytes := NULL::BIGINT)) END, []);
CREATE MACRO as_file(names, wanted, size) AS struct_pack(key := wanted,
    name := list_filter(names, lambda n: n.key = wanted)[1].name,
    type := list_filter(names, lambda n: n.key = wanted)[1].type, bytes := size);
CREATE MACRO as_map(raw, map_at, entries, names) AS list_transform(range(entries), lambda p:
    as_file(names, u32(raw, map_at + 8 * p), u32(raw, map_at + 8 * p + 4)));
CREATE MACRO as_set(raw, map_at, entries, names) AS list_transform(range(entries), lambda p:
    as_file(names, u32(raw, map_at + 4 * p), NULL::BIGINT));
"""

_TABLE = """
    node, seq, moment(time_ns) AS time, day(time_ns) AS date, hexadecimal(link) AS link, "user", protocol,
    kind, direction, endpoint, service, "function", {coder} AS coder, data::VARCHAR AS data,
    data::VARCHAR AS json,
    ({error})::VARCHAR AS error, {files} AS files, hexadecimal(exchange) AS exchange,
    hexadecimal(parent) AS parent, {readable} AS readable"""


def _envelopes(condition: str) -> str:
    """MFP frames with what is in them: ``readable``, ``parts``, ``names``; ``map_at``: where their map is."""
    return f"""
SELECT *, CASE WHEN readable THEN as_names(parts[4]) ELSE [] END AS names
FROM (
SELECT *, CASE WHEN payload IS NOT NULL THEN
    coalesce(json_type(parts[1]) = 'VARCHAR' AND json_extract_string(parts[1], '$') = endpoint, false)
    END AS readable
FROM (
SELECT *, json_extract(TRY_CAST(TRY(decode(payload)) AS JSON),
    ['$.endpoint', '$.data', '$.error', '$.filemap']) AS parts
FROM (
SELECT *, payload_of(raw, recorded, payload_at, payload_bytes) AS payload,
    if(kind = 'response', 13, 9) + 4 * (head & 1) + coalesce(payload_bytes, 0)::BIGINT AS map_at
FROM recorded
WHERE protocol = 'mfp' AND kind IN ('message', 'request', 'response') AND ({condition})
)))"""


_HAS_MAP = "recorded = 'full' AND files > 0 AND head & 6 = 6 AND map_at + files * 8 <= octet_length(raw)"
_HAS_SET = "recorded = 'full' AND files > 0 AND head & 6 = 2 AND map_at + files * 4 <= octet_length(raw)"
_MFP_TABLE = _TABLE.format(
    coder="NULL::VARCHAR",
    error="CASE WHEN readable THEN parts[3] END",
    files=f"CASE WHEN {_HAS_MAP} THEN as_map(raw, map_at, files, names)"
    f" WHEN {_HAS_SET} THEN as_set(raw, map_at, files, names) ELSE names END",
    readable="readable",
)

MFP = f"""
SELECT {_MFP_TABLE}
FROM (SELECT *, CASE WHEN readable THEN parts[2] END AS data FROM ({_envelopes("payload_bytes IS NOT NULL")}))
"""


def _calls(condition: str) -> str:
    """Arguments and results with what is in them: ``text``, ``document``, ``parts``, ``names``.

    Of blocks also ``entries`` of their map, and ``map_at``, where it is.
    """
    return f"""
SELECT *, as_names(CASE WHEN is_envelope THEN parts[3] END) AS names, payload_at + 8 + size AS map_at
FROM (
SELECT *, coder = 'envelope' AND coalesce(json_type(parts[1]) = 'VARCHAR', false) AS is_envelope
FROM (
SELECT *, CASE WHEN coder = 'envelope'
    THEN json_extract(document, ['$.endpoint', '$.data', '$.filemap']) END AS parts
FROM (
SELECT *, CASE WHEN coder IN ('envelope', 'json') THEN TRY_CAST(text AS JSON) END AS document
FROM (
SELECT *, TRY(decode(CASE WHEN coder = 'envelope' THEN payload[9:8 + size] ELSE payload END)) AS text
FROM (
SELECT *, CASE WHEN fits THEN u32(payload, 0) END AS size,
    CASE WHEN fits THEN u32(payload, 4) // 8 END AS entries
FROM (
SELECT *, CASE WHEN coder = 'envelope' AND octet_length(payload) >= 8 THEN
    u32(payload, 0) + u32(payload, 4) + 8 <= payload_bytes
    AND u32(payload, 4) % 8 = 0 AND u32(payload, 4) <= 8192 END AS fits
FROM (
SELECT *, payload_of(raw, recorded, payload_at, payload_bytes) AS payload
FROM recorded
WHERE protocol = 'rpc' AND payload_bytes IS NOT NULL AND ({condition})
)))))))"""


_RPC_TABLE = _TABLE.format(
    coder="coder",
    error="CASE WHEN kind = 'exception' THEN to_json(text) END",
    files="CASE WHEN entries > 0 THEN as_map(raw, map_at, entries, names) ELSE names END",
    readable="CASE WHEN payload IS NOT NULL THEN CASE WHEN kind = 'exception' THEN text IS NOT NULL"
    " WHEN coder = 'envelope' THEN is_envelope ELSE data IS NOT NULL END END",
)
_VALUE = """CASE
        WHEN kind = 'exception' THEN NULL
        WHEN coder = 'json' THEN document
        WHEN coder = 'envelope' THEN CASE WHEN is_envelope THEN parts[2] END
        WHEN coder = 'String' AND u32(payload, 0) = octet_length(payload) - 4
            THEN to_json(TRY(decode(payload[5:])))
        WHEN coder = 'Int' AND octet_length(payload) = 4 THEN to_json(payload::BIT::INTEGER)
        WHEN coder = 'Long' AND octet_length(payload) = 8 THEN to_json(payload::BIT::BIGINT)
        WHEN coder = 'ULong' AND octet_length(payload) = 8 THEN to_json(payload::BIT::UBIGINT)
        WHEN coder = 'Double' AND octet_length(payload) = 8 THEN to_json(payload::BIT::DOUBLE) END"""
_CALLED = "(kind = 'query' AND direction = 'in') OR (kind IN ('result', 'exception') AND direction = 'out')"

RPC = f"SELECT {_RPC_TABLE} FROM (SELECT *, {_VALUE} AS data FROM ({_calls(_CALLED)}))"

_HUB_TABLE = _TABLE.format(
    coder="NULL::VARCHAR",
    error="CASE WHEN kind = 'service_error' THEN coalesce(document, to_json(text)) END",
    files="[]",
    readable="CASE WHEN payload IS NOT NULL THEN if(kind = 'service_error', text, document) IS NOT NULL END",
)

HUB = f"""
SELECT {_HUB_TABLE} FROM (
    SELECT *, CASE WHEN kind <> 'service_error' THEN document END AS data FROM (
        SELECT *, TRY_CAST(text AS JSON) AS document FROM (
            SELECT *, TRY(decode(payload)) AS text FROM (
                SELECT *, payload_of(raw, recorded, payload_at, payload_bytes) AS payload FROM recorded
                WHERE protocol = 'hub' AND ref IS NULL AND id <> 0 AND payload_bytes IS NOT NULL
                    AND refused IS NULL AND kind IN ('first', 'message', 'last', 'service_error')))))
"""

MESSAGES = f"{MFP} UNION ALL {RPC} UNION ALL {HUB}"

_FILE = """
    node, seq, last_seq, moment(time_ns) AS time, day(time_ns) AS date, hexadecimal(link) AS link, "user",
    protocol, direction, endpoint, hexadecimal(exchange) AS exchange, how, key, name, type,
    bytes::BIGINT AS bytes, frames, complete, sha256"""


def _attached(opened: str, end: str, slack: int) -> str:
    """Files that follow a map; none where map and files do not fill the space up to ``end``."""
    return f"""
    SELECT * EXCLUDE (bytes, key), seq AS last_seq, 'attached' AS how, 1::BIGINT AS frames, true AS complete,
        found.file.key AS key, found.file.name AS name, found.file.type AS type, found.file.bytes AS bytes,
        found.sha256 AS sha256
    FROM (
        SELECT * EXCLUDE (raw, payload, map_at), unnest(list_transform(
            as_map(raw, map_at, entries, names[:entries]),
            lambda file, place: struct_pack(file := file, sha256 := sha256(
                raw[body + ends[place] - file.bytes + 1:body + ends[place]])))) AS found
        FROM (
            SELECT *, map_at + 8 * entries AS body,
                list_transform(sizes, lambda size, place: list_sum(sizes[:place])::BIGINT) AS ends
            FROM (
                SELECT *, list_transform(range(entries), lambda p: u32(raw, map_at + 8 * p + 4)) AS sizes
                FROM ({opened}) WHERE entries > 0)
            WHERE {end} - map_at - 8 * entries - list_sum(sizes) BETWEEN 0 AND {slack}))"""


_WITH_MAP = f"SELECT *, files AS entries FROM ({_envelopes('head & 6 = 6')}) WHERE {_HAS_MAP}"
_WITH_BLOCK = _calls(
    "coder = 'envelope' AND recorded = 'full'"
    " AND ((kind = 'query' AND direction = 'in') OR (kind = 'result' AND direction = 'out'))"
)
_OPENS = "kind = 'message' AND head & 6 IN (2, 4)"
_SET_BYTES = "if(head & 6 = 2, 4 + 4 * coalesce(files, 0), 0)"
_SUM = f"bytes - (5 + 4 * (head & 1) + coalesce(payload_bytes, 0) + {_SET_BYTES})"

FILES = f"""
WITH openings AS (
    SELECT *, CASE WHEN open.direction = 'in' THEN last_in ELSE last_out END AS final,
        final IS NOT NULL AND coalesce(abort > final, true) AS whole
    FROM (
        SELECT node, exchange,
            arg_min(struct_pack(seq := seq, time_ns := time_ns, direction := direction, link := link,
                "user" := "user", endpoint := endpoint, how := if(head & 6 = 4, 'streamed', 'announced'),
                sum := CASE WHEN head & 16 <> 0 AND {_SUM} IN (1, 4) THEN {_SUM} END), seq)
                FILTER ({_OPENS}) AS open,
            min(seq) FILTER (kind = 'binary' AND direction = 'in') AS last_in,
            min(seq) FILTER (kind = 'binary' AND direction <> 'in') AS last_out,
            min(seq) FILTER (kind = 'service') AS abort
        FROM journal
        WHERE protocol = 'mfp' AND exchange IS NOT NULL
            AND (({_OPENS}) OR (kind = 'binary' AND head & 1 = 0) OR (kind = 'service' AND code = 3))
        GROUP BY node, exchange)
    WHERE open IS NOT NULL
), said AS MATERIALIZED (
    SELECT node, exchange, names,
        CASE WHEN {_HAS_SET} THEN as_set(raw, map_at, files, names) ELSE [] END AS announced
    FROM ({_envelopes(f"exchange IS NOT NULL AND {_OPENS}")})
), named AS (
    SELECT node, exchange, name.key AS key, arg_min(name, place) AS name
    FROM (SELECT node, exchange, unnest(names) AS name, unnest(range(len(names))) AS place FROM said)
    GROUP BY ALL
), chunks AS (
    SELECT node, exchange, key, seq, time_ns, link, "user", open, whole,
        recorded = 'full' AND octet_length(raw) = bytes AS kept,
        if(head & 16 = 0, bytes, greatest(13, bytes - coalesce(open.sum, 4))) AS until,
        CASE WHEN kept THEN raw[14:until] END AS data
    FROM recorded JOIN openings USING (node, exchange)
    WHERE protocol = 'mfp' AND kind = 'binary' AND recorded.direction = open.direction
        AND CASE open.how WHEN 'announced' THEN head & 6 = 2
            ELSE head & 6 = 4 AND coalesce(seq <= final, true) END
), streamed AS (
    SELECT node, exchange, key, any_value(open) AS open, max(seq) AS last_seq, count(*) AS frames,
        sum(greatest(0, until - 13)) AS bytes, any_value(whole) AS complete,
        CASE WHEN complete AND bool_and(kept)
            THEN sha256(unhex(string_agg(hex(data), '' ORDER BY seq))) END AS sha256
    FROM chunks WHERE open.how = 'streamed' GROUP BY node, exchange, key
), announced AS (
    SELECT node, exchange, key, arg_min(struct_pack(seq := seq, time_ns := time_ns, link := link,
        "user" := "user", bytes := greatest(0, until - 13),
        sha256 := CASE WHEN kept THEN sha256(data) END), seq) AS came
    FROM chunks WHERE open.how = 'announced' GROUP BY node, exchange, key
), wanted AS (
    SELECT DISTINCT node, exchange, unnest(announced).key AS key FROM said
), pieces AS (
    SELECT node, exchange, key, open.seq AS seq, last_seq, open.time_ns AS time_ns, open.link AS link,
        open."user" AS "user", open.direction AS direction, open.endpoint AS endpoint, open.how AS how,
        bytes, frames, complete, sha256
    FROM streamed
    UNION ALL BY NAME
    SELECT node, exchange, key, coalesce(came.seq, open.seq) AS seq, seq AS last_seq,
        coalesce(came.time_ns, open.time_ns) AS time_ns, coalesce(came.link, open.link) AS link,
        coalesce(came."user", open."user") AS "user", open.direction AS direction, open.endpoint AS endpoint,
        open.how AS how, coalesce(came.bytes, 0) AS bytes, (came IS NOT NULL)::BIGINT AS frames,
        came IS NOT NULL AS complete, came.sha256 AS sha256
    FROM wanted JOIN openings USING (node, exchange) LEFT JOIN announced USING (node, exchange, key)
)
SELECT {_FILE} FROM ({_attached(_WITH_MAP, "octet_length(raw)", 4)})
UNION ALL
SELECT {_FILE} FROM ({_attached(_WITH_BLOCK, "payload_at::BIGINT + payload_bytes", 0)})
UNION ALL
SELECT {_FILE}
FROM (SELECT pieces.*, 'mfp' AS protocol, named.name.name AS name, named.name.type AS type
    FROM pieces LEFT JOIN named USING (node, exchange, key))
"""
