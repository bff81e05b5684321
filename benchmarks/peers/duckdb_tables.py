"""wip"""
import sys
from pathlib import Path

import duckdb  # type: ignore[import-not-found]

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.peers import duckdb_exchanges as exchanges, duckdb_messages as messages

MACROS = """
CREATE MACRO hexadecimal(bytes) AS lower(hex(bytes));
CREATE MACRO moment(ns) AS make_timestamptz(ns // 1000);
CREATE MACRO day(ns) AS make_date((ns // 86_400_000_000_000)::INTEGER);
CREATE MACRO short(r) AS struct_pack(seq := r.seq, time_ns := r.time_ns, mono_ns := r.mono_ns, direction := r.direction);
"""
LINKS = """SELECT node, link, protocol, kind, seq, time_ns, code, ref FROM journal
WHERE kind IN ('link_opened', 'link_closed', 'register') AND direction = 'in' AND refused IS NULL"""

FRAMES = """
SELECT node, seq, moment(time_ns) AS time, day(time_ns) AS date, hexadecimal(link) AS link, protocol, direction,
    "user", endpoint,
    CASE protocol
        WHEN 'mfp' THEN 'client'
        WHEN 'rpc' THEN CASE
            WHEN direction = 'in' AND kind IN ('query', 'coders_query', 'response_received', 'functions_query', 'cancel') THEN 'client'
            WHEN direction <> 'in' AND kind IN ('result', 'exception', 'unknown_function', 'coders_found', 'coders_not_found', 'query_received', 'functions_list') THEN 'client'
            WHEN kind <> 'refused' THEN 'worker' END
        ELSE if(ref IS NULL, 'client', 'service') END AS side,
    service, "function", kind, head, id, ref, key, code, hexadecimal(query) AS query, coder, bytes, payload_bytes,
    files, error, refused, hexadecimal(exchange) AS exchange, hexadecimal(parent) AS parent, recorded
FROM journal WHERE kind NOT IN ('link_opened', 'link_closed')
"""
import time
def main(journal, out):
    out=Path(out)
    db = duckdb.connect(config={"threads": 2, "memory_limit": "4GB"})
    db.execute("SET TimeZone='UTC'")
    db.execute(MACROS)
    db.execute(messages.MACROS)
    def run(name, sql):
        a, b = time.process_time(), time.perf_counter()
        db.execute(sql)
        print(f"{name:20} {time.process_time()-a:.2f} cpu {time.perf_counter()-b:.2f} s")
    run("read", f"CREATE TEMP TABLE journal AS SELECT * EXCLUDE (raw) FROM read_parquet('{journal}/**/*.parquet')")
    run("rec", f"CREATE TEMP VIEW recorded AS FROM read_parquet('{journal}/**/*.parquet')")
    run("links", f"CREATE TEMP TABLE links AS {LINKS}")
    def write(name, sql):
        (out/name).mkdir(parents=True, exist_ok=True)
        run(name, f"COPY ({sql}) TO '{out/name}' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (date), OVERWRITE)")
    write("frames", FRAMES)
    for n in ("MFP","RPC","HUB"):
        run(n, f"CREATE TEMP TABLE x{n} AS {getattr(exchanges,n)}")
    run("exch", "CREATE TEMP TABLE exchanges AS FROM xMFP UNION ALL FROM xRPC UNION ALL FROM xHUB")
    write("exchanges", "FROM exchanges")
    write("metrics", exchanges.METRICS)
    write("messages", messages.MESSAGES)
    write("files", messages.FILES)
    return db
if __name__=="__main__":
    main(*sys.argv[1:3])
