"""The tables the pipeline writes, column by column; ``docs/reference/tables.md`` is made from this."""

from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VariantType,
)

from framehub.errors import PipelineError
from framehub.journal.record import ROW_SCHEMA

_STRING: Final = StringType()
_SHORT: Final = ShortType()
_INT: Final = IntegerType()
_LONG: Final = LongType()
_TIME: Final = TimestampType()


def _column(name: str, kind: DataType, comment: str) -> StructField:
    return StructField(name, kind, metadata={"comment": comment})


_NODE: Final = _column("node", _STRING, "the gateway that recorded it")
_SEQ: Final = _column("seq", _LONG, "its number in that gateway's journal; (node, seq) is unique")
_AT: Final = _column("time", _TIME, "when it was recorded, to the microsecond, UTC")
_DATE: Final = _column("date", DateType(), "the day of it in UTC; the tables are partitioned by this")
_LINK: Final = _column("link", _STRING, "the connection, 16 hex digits")
_PROTOCOL: Final = _column("protocol", _STRING, "mfp, hub or rpc")
_DIRECTION: Final = _column("direction", _STRING, "in or out, seen from the gateway")
_SERVICE: Final = _column("service", _INT, "the hub service's number")
_FUNCTION: Final = _column("function", _INT, "the hub function's number")
_USER: Final = _column("user", _INT, "the user of the connection; 0 is anonymous")
_ENDPOINT: Final = _column(
    "endpoint", _STRING, "the endpoint that its envelope names, the function, or the hub service's name"
)
_CODER: Final = _column("coder", _STRING, "how its payload is encoded, on messages of functions")
_EXCHANGE: Final = _column(
    "exchange", _STRING, "the conversation it belongs to, 32 hex digits; null if unknown"
)
_PARENT: Final = _column("parent", _STRING, "the exchange that caused this one; only where one begins")

FILE: Final = StructType(
    [
        _column("key", _LONG, "its key in the frame"),
        _column("name", _STRING, "its name, from the envelope"),
        _column("type", _STRING, "its media type, from the envelope"),
        _column("bytes", _LONG, "its size; null if it is announced or streamed"),
    ]
)

FRAMES: Final = StructType(
    [
        _NODE,
        _SEQ,
        _AT,
        _DATE,
        _LINK,
        _PROTOCOL,
        _DIRECTION,
        _USER,
        _ENDPOINT,
        _column("side", _STRING, "who is at the other end: client, worker or service"),
        _SERVICE,
        _FUNCTION,
        _column(
            "kind",
            _STRING,
            "service, message, request, binary, response, or refused; of functions: query, result, "
            "exception, heart_beat, register and the others of spec/journal.md; of the hub: first, message, "
            "last, command, stream_error, service_error",
        ),
        _column("head", _SHORT, "the frame's first byte; of the hub: the state"),
        _column("id", _LONG, "the frame's own id"),
        _column("ref", _LONG, "the id of the frame it refers to"),
        _column("key", _LONG, "the file's key, on a binary frame; of the hub: function or parameter"),
        _column(
            "code",
            _SHORT,
            "of a service frame: 1 ack, 2 timeout, 3 abort, 4 unknown, 7 ping; of the hub: the command, the "
            "error's code, on first the timeout in seconds",
        ),
        _column("query", _STRING, "the query's id on that wire, in hex digits, on messages of functions"),
        _CODER,
        _column("bytes", _INT, "the size of the whole frame"),
        _column("payload_bytes", _INT, "the size of its payload; null if it has none"),
        _column("files", _INT, "how many files it carries or announces"),
        _column(
            "error",
            _STRING,
            "of a response, an exception or a hub error: the library's code, or application; null if none",
        ),
        _column("refused", _STRING, "why the gateway refused it"),
        _EXCHANGE,
        _PARENT,
        _column("recorded", _STRING, "what the journal holds of it: full, head, off or redacted"),
    ]
)
"""One row per frame; the frame's bytes stay in the journal."""

MESSAGES: Final = StructType(
    [
        _NODE,
        _SEQ,
        _AT,
        _DATE,
        _LINK,
        _USER,
        _PROTOCOL,
        _column(
            "kind",
            _STRING,
            "message, request or response; of functions: query, result or exception; of the hub: first, "
            "message, last or service_error",
        ),
        _DIRECTION,
        _ENDPOINT,
        _SERVICE,
        _FUNCTION,
        _CODER,
        _column("data", VariantType(), "what was sent; null if nothing was, or it is not readable"),
        _column("json", _STRING, "the same as JSON text, for readers without VARIANT"),
        _column("error", _STRING, "the error in the answer, or the exception's text, as JSON text"),
        _column("files", ArrayType(FILE), "the files it carries, announces or names"),
        _EXCHANGE,
        _PARENT,
        _column(
            "readable",
            BooleanType(),
            "whether the payload is an envelope, what its coder says, or, of the hub, JSON; null if it was "
            "not recorded",
        ),
    ]
)
"""One row per message, request and response with a payload, and per argument, result and exception."""

EXCHANGES: Final = StructType(
    [
        _column("exchange", _STRING, "its id, 32 hex digits; `framehub story` tells all of it"),
        _PARENT,
        _NODE,
        _PROTOCOL,
        _LINK,
        _USER,
        _column("kind", _STRING, "message, request, stream, ping or query; null if its first frame is lost"),
        _column("direction", _STRING, "which way its first frame went: in (a peer began it) or out"),
        _column("id", _LONG, "the id of its first frame, or the hub stream's; null for a query"),
        _ENDPOINT,
        _SERVICE,
        _FUNCTION,
        _column("opened", _TIME, "when its first frame was recorded"),
        _column(
            "first_answer", _TIME, "when the answer came, if one came before the end: response, ack or pong"
        ),
        _column("closed", _TIME, "when the frame, or the loss of the link, that decided the outcome came"),
        _column(
            "wait_us", _LONG, "microseconds from the opening to the first answer, by the monotonic clock"
        ),
        _column(
            "given",
            _TIME,
            "of a query: when it was given to a worker, the last time if there were several; of a hub "
            "stream: when it was passed to its service",
        ),
        _column("worker_answered", _TIME, "when the worker's, or the service's, first answer came"),
        _column("given_to", _STRING, "the link of that worker, or of the service, 16 hex digits"),
        _column("dispatches", _LONG, "of a query: how often it was given to a worker"),
        _column("timeout_s", _INT, "of a hub stream: its timeout in seconds"),
        _column("outcome", _STRING, "ok, error, timeout, aborted, unknown, disconnected or open"),
        _column(
            "code", _STRING, "of an error: the library's code, or application; of a lost link: its close code"
        ),
        _column(
            "ended_by", _STRING, "direction of the frame that decided; null if the link did, or nothing yet"
        ),
        _column("acked", BooleanType(), "whether the first frame was acknowledged"),
        _column("frames_in", _LONG, "its frames that came in"),
        _column("frames_out", _LONG, "its frames that went out"),
        _column("bytes_in", _LONG, "their bytes, in"),
        _column("bytes_out", _LONG, "their bytes, out"),
        _column("last", _TIME, "when its last row was recorded"),
        _column("first_seq", _LONG, "its first row in the journal"),
        _column("last_seq", _LONG, "its last row in the journal"),
        _DATE,
    ]
)
"""One row per message, request, ping, query or hub stream, with everything that belongs to it counted."""

FILES: Final = StructType(
    [
        _NODE,
        _column("seq", _LONG, "the row that carries it, of a streamed file the row that opened the stream"),
        _column("last_seq", _LONG, "the last row that carries some of it"),
        _column("time", _TIME, "when that first row was recorded"),
        _DATE,
        _LINK,
        _USER,
        _PROTOCOL,
        _DIRECTION,
        _ENDPOINT,
        _EXCHANGE,
        _column("how", _STRING, "attached (in the frame itself), announced, or streamed"),
        _column("key", _LONG, "its key"),
        _column("name", _STRING, "its name, from the envelope: what a stranger called it, never a path"),
        _column("type", _STRING, "its media type, from the envelope"),
        _column("bytes", _LONG, "how many bytes of it have come"),
        _column("frames", _LONG, "how many frames carried it; 0 if it was announced and has not come"),
        _column("complete", BooleanType(), "whether all of it has come"),
        _column("sha256", _STRING, "of a complete file whose bytes were recorded, 64 hex digits"),
    ]
)
"""One row per attached, announced or streamed file."""

VIOLATIONS: Final = StructType(
    [
        _column("rule", _STRING, "the rule's name (spec/audit.md)"),
        _PROTOCOL,
        _column("time", _TIME, "when the last row of the evidence was recorded"),
        _DATE,
        _NODE,
        _column("link", _STRING, "the connection of the last row of the evidence"),
        _column("exchange", _STRING, "the conversation that broke it; null if it is about none"),
        _ENDPOINT,
        _column("evidence", ArrayType(_LONG), "the rows of the journal (seq) that show it"),
        _column("detail", _STRING, "what was found, where the rule alone does not say it"),
        _column("sentence", _STRING, "the rule in words"),
    ]
)
"""One row per breach of a rule."""

BUCKET: Final = StructType(
    [
        _column("le_us", DoubleType(), "the bucket's upper edge in microseconds"),
        _column("count", _LONG, "waits in it"),
    ]
)

METRICS: Final = StructType(
    [
        _column("minute", _TIME, "the minute in which the exchanges began"),
        _DATE,
        _NODE,
        _PROTOCOL,
        _column("kind", _STRING, "message, request, stream, ping or query"),
        _ENDPOINT,
        _SERVICE,
        _column("count", _LONG, "exchanges that began in this minute"),
        *[
            _column(outcome, _LONG, f"of these, how many have the outcome {outcome}")
            for outcome in ("ok", "error", "timeout", "aborted", "unknown", "disconnected", "open")
        ],
        _column("answered", _LONG, "of these, how many have been answered: the percentiles are of them"),
        _column("p50_us", DoubleType(), "half waited no longer than this, to the edge of its bucket"),
        _column("p95_us", DoubleType(), "95 of 100 waited no longer"),
        _column("p99_us", DoubleType(), "99 of 100 waited no longer"),
        _column("max_us", _LONG, "the longest wait"),
        _column(
            "waits",
            ArrayType(BUCKET),
            "all waits, by bucket, empty ones left out: add these up to merge minutes or endpoints",
        ),
        _column("frames_in", _LONG, "frames that came in"),
        _column("frames_out", _LONG, "frames that went out"),
        _column("bytes_in", _LONG, "their bytes, in"),
        _column("bytes_out", _LONG, "their bytes, out"),
    ]
)
"""One row per minute, node and endpoint, function or service."""

TABLES: Final = {
    "messages": MESSAGES,
    "frames": FRAMES,
    "exchanges": EXCHANGES,
    "files": FILES,
    "violations": VIOLATIONS,
    "metrics": METRICS,
}


def journal_schema(columns: tuple[str, ...] = ()) -> StructType:
    """The journal's own columns as Spark sees them; all of them, or those named, in the order given.

    Raises:
        PipelineError: a name that the journal does not have.
    """
    if unknown := [name for name in columns if name not in ROW_SCHEMA.names]:
        raise PipelineError(
            f"the journal has no column {', '.join(unknown)}; it has {', '.join(ROW_SCHEMA.names)}"
        )
    schema: pa.Schema = ROW_SCHEMA if not columns else pa.schema([ROW_SCHEMA.field(name) for name in columns])
    return StructType([StructField(field.name, field.dataType) for field in from_arrow_schema(schema)])


def shape(schema: StructType) -> list[tuple[str, str]]:
    """Names and types in order: what must agree, whatever the comments say."""
    return [(field.name, field.dataType.simpleString()) for field in schema]


def check(name: str, table: DataFrame) -> DataFrame:
    """Hand the table back if it has the columns that are promised for it.

    Raises:
        PipelineError: it does not; the text names the first difference.
    """
    want, got = shape(TABLES[name]), shape(table.schema)
    for expected, found in zip(want, got, strict=False):
        if expected != found:
            raise PipelineError(f"table {name}: column {expected} expected, {found} made")
    if len(want) != len(got):
        raise PipelineError(f"table {name}: {len(want)} columns expected, {len(got)} made")
    return table


def described() -> dict[str, list[dict[str, str]]]:
    """Every column of every table, with what it means: a manifest has this for readers without us."""
    return {
        name: [
            {"name": field.name, "type": field.dataType.simpleString(), "comment": field.metadata["comment"]}
            for field in schema
        ]
        for name, schema in TABLES.items()
    }


_SUMMARIES: Final = {
    "frames": "One row per frame or message of functions, also those that were refused. The bytes stay in "
    "the journal.",
    "messages": "One row per message, request and response that has a payload, and per call of a function "
    "and its answer, as clients see them: what users sent and got.",
    "exchanges": "One row per message, request, ping, query or hub stream: its outcome, its times, its "
    "frames counted.",
    "files": "One row per file that was attached, announced or streamed. `framehub pipeline files` writes "
    "them out.",
    "violations": "One row per breach of a rule of the audit; no rows is good news.",
    "metrics": "One row per minute, node and endpoint, function or service. Exchanges whose first frame is "
    "lost are left out.",
}


def as_markdown() -> str:
    """The reference page of the tables."""
    lines = [
        "# Tables",
        "",
        "What `framehub pipeline run JOURNAL OUT` writes to `OUT/current/<table>`: Parquet, partitioned by",
        "`date`. `OUT/current` always points at one whole snapshot; see",
        "[Query the tables](../guides/query-the-tables.md).",
        "",
        "This page is what `framehub.pipeline.schemas.as_markdown()` returns; a test keeps it fresh.",
    ]
    for name, schema in TABLES.items():
        lines += ["", f"## {name}", "", _SUMMARIES[name], ""]
        lines += ["| column | type | what it is |", "| --- | --- | --- |"]
        for field in schema:
            kind = field.dataType.simpleString().replace("bigint", "long").replace("smallint", "short")
            lines.append(f"| `{field.name}` | {kind} | {field.metadata['comment']} |")
    return "\n".join(lines) + "\n"
