"""DuckDB making the tables that ``framehub pipeline run`` makes, from the sealed segments of a journal.

    python benchmarks/peers/duckdb_tables.py JOURNAL OUT

The six tables go to ``OUT/<table>/date=.../*.parquet`` (zstd), with the columns of docs/reference/tables.md;
one process, two threads, 4 GB at most. It prints one line of JSON: seconds of CPU time and of the clock.

It does less than the pipeline does:

- The rules ``raw-unlawful``, ``raw-checksum`` and ``raw-differs`` are left out of ``violations``: they decode
  every recorded frame again. All others are there.
- ``messages.data`` is JSON text, not a VARIANT.
- A binary frame with a checksum whose message has none is taken to end with a CRC-32: DuckDB has no function
  that would tell.
- It reads sealed segments only and does not check their sums; it keeps nothing to go on from when the journal
  has grown; tables are not replaced all at once.
"""

import json
import resource
import sys
import time
from pathlib import Path

import duckdb  # type: ignore[import-not-found]

sys.path.insert(0, str(Path(__file__).parents[2]))  # where it is run as a script

from benchmarks.peers import duckdb_exchanges as exchanges
from benchmarks.peers import duckdb_messages as messages
from benchmarks.peers import duckdb_rules as rules

FORMAT = "FORMAT parquet, COMPRESSION zstd, PARTITION_BY (date), OVERWRITE"
SETTINGS = {"threads": 2, "memory_limit": "4GB", "preserve_insertion_order": False}

MACROS = """
SET TimeZone = 'UTC';
CREATE MACRO hexadecimal(bytes) AS lower(hex(bytes));
CREATE MACRO moment(ns) AS make_timestamptz(ns // 1000);
CREATE MACRO day(ns) AS make_date((ns // 86_400_000_000_000)::INTEGER);
"""

LINKS = """
SELECT node, link, protocol, kind, seq, time_ns, code FROM journal
WHERE kind IN ('link_opened', 'link_closed', 'register') AND direction = 'in' AND refused IS NULL
"""

FRAMES = """
SELECT node, seq, moment(time_ns) AS time, day(time_ns) AS date, hexadecimal(link) AS link, protocol,
    direction, "user", endpoint,
    CASE
        WHEN protocol = 'mfp' THEN 'client'
        WHEN protocol = 'hub' THEN if(ref IS NULL, 'client', 'service')
        WHEN direction = 'in'
            AND kind IN ('query', 'coders_query', 'response_received', 'functions_query', 'cancel')
            THEN 'client'
        WHEN direction = 'out'
            AND kind IN ('result', 'exception', 'unknown_function', 'coders_found', 'coders_not_found',
                'query_received', 'functions_list') THEN 'client'
        WHEN kind <> 'refused' THEN 'worker' END AS side,
    service, "function", kind, head, id, ref, key, code, hexadecimal(query) AS query, coder, bytes,
    payload_bytes, files, error, refused, hexadecimal(exchange) AS exchange, hexadecimal(parent) AS parent,
    recorded
FROM journal WHERE kind NOT IN ('link_opened', 'link_closed')
"""

TABLES = {
    "frames": FRAMES,
    "messages": messages.MESSAGES,
    "exchanges": "FROM exchanges",
    "files": messages.FILES,
    "violations": rules.VIOLATIONS,
    "metrics": exchanges.METRICS,
}


def write_tables(journal: Path, out: Path) -> None:
    """Make all tables anew."""
    if left := [path for path in journal.rglob("*.fhj") if not path.with_suffix(".parquet").exists()]:
        sys.exit(f"{left[0]} is not sealed")
    segments = [str(path) for path in sorted(journal.rglob("*.parquet"))]
    with duckdb.connect(config=SETTINGS) as db:
        db.execute(MACROS + exchanges.MACROS + messages.MACROS)
        # All columns but the bytes are read once, and looked at by every table; the bytes by two of them.
        db.read_parquet(segments).create_view("recorded")
        db.execute("CREATE TEMP TABLE journal AS SELECT * EXCLUDE (raw) FROM recorded")
        db.execute(f"CREATE TEMP TABLE links AS {LINKS}")
        db.execute(f"CREATE TEMP TABLE exchanges AS {exchanges.EXCHANGES}")
        for step in rules.STEPS:
            db.execute(step)
        for name, query in TABLES.items():
            place = out / name
            place.mkdir(parents=True, exist_ok=True)
            db.execute(f"COPY ({query}) TO '{place}' ({FORMAT})")


def main(journal: str, out: str) -> None:
    began = time.perf_counter()
    write_tables(Path(journal), Path(out))
    used = resource.getrusage(resource.RUSAGE_SELF)
    told = {"cpu_seconds": used.ru_utime + used.ru_stime, "seconds": time.perf_counter() - began}
    print(json.dumps({name: round(value, 3) for name, value in told.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
