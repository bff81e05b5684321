"""Stage: one row per exchange, its outcome decided.

journal (``record.ROW_SCHEMA``) -> one row per MFP message, request, stream or ping, and what ``queries`` and
``streams`` find of remote functions and of the hub (``schemas.EXCHANGES``).

One aggregation gathers the frames of an exchange and picks the few that matter: the opening, the first that
ends it, the first abort, the first ack from either side, the last binary frame. What became of it is then
read off these. The ends of links are joined in, for exchanges that nothing else has ended.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from framehub.codes import Service
from framehub.pipeline.stages.columns import timestamp
from framehub.pipeline.stages.gathering import MOMENT, exchange_table, first, gather
from framehub.pipeline.stages.queries import queries
from framehub.pipeline.stages.streams import streams

_ACK_WANTED: Final = 0b1000
_CARRIES: Final = 0b0110
_ANNOUNCED, _STREAMED = 0b0010, 0b0100
_MORE_FOLLOWS: Final = 0b0001


def exchanges(journal: DataFrame, links: DataFrame | None = None) -> DataFrame:
    """One row per exchange of the journal.

    ``links`` has what became of links (``links.link_events``), where the journal's rows are not all there
    are; by default it is read from them.
    """
    ends = journal if links is None else links
    return _conversations(journal, ends).unionAll(queries(journal)).unionAll(streams(journal))


def _conversations(journal: DataFrame, links: DataFrame) -> DataFrame:
    rows = journal.where((F.col("protocol") == "mfp") & F.col("exchange").isNotNull())
    judged = _judge(_gather(rows).join(_link_ends(links), ["node", "link"], "left"))
    code = F.when(F.col("outcome") == "error", F.col("verdict.error")).when(
        F.col("outcome") == "disconnected", F.col("gone.code").cast("string")
    )
    return exchange_table(
        judged,
        kind=_kind(),
        id=F.col("open.id"),
        endpoint=F.col("open.endpoint"),
        closed=timestamp("closed_ns"),
        code=code,
        ended_by=F.when(F.col("outcome") != "disconnected", F.col("closing.direction")),
        acked=F.col("ack").isNotNull(),
    )


def _kind() -> Column:
    """What was opened: a service frame that opens something is a ping, a message may open a stream."""
    kind, carries = F.col("open.kind"), F.col("open.head").bitwiseAND(_CARRIES)
    streamed = (kind == "message") & (carries == _STREAMED)
    return F.when(kind == "service", "ping").when(streamed, "stream").otherwise(kind)


def _gather(rows: DataFrame) -> DataFrame:
    """One row per exchange, with the frames that matter and the counts."""
    kind, code, incoming = F.col("kind"), F.col("code"), F.col("direction") == "in"
    service = kind == "service"
    opens = kind.isin("message", "request") | (service & (code == Service.PING))
    ends = (kind == "response") | (service & code.isin(Service.TIMEOUT, Service.ABORT, Service.UNKNOWN))
    ack = service & (code == Service.ACK)
    last = (kind == "binary") & (F.col("head").bitwiseAND(_MORE_FOLLOWS) == 0)
    return gather(
        rows,
        first(opens, "kind", "id", "head", "user", "endpoint", "parent").alias("open"),
        first(ends, "kind", "code", "error").alias("ending"),
        first(service & (code == Service.ABORT), "kind", "code", "error").alias("abort"),
        first(ack & incoming, "ref").alias("ack_in"),
        first(ack & ~incoming, "ref").alias("ack_out"),
        first(last).alias("last"),
    )


def _link_ends(links: DataFrame) -> DataFrame:
    ends = links.where((F.col("protocol") == "mfp") & (F.col("kind") == "link_closed"))
    return ends.groupBy("node", "link").agg(F.max_by(F.struct("seq", "time_ns", "code"), "seq").alias("gone"))


def _judge(gathered: DataFrame) -> DataFrame:
    """Decide: columns ``ack``, ``verdict``, ``outcome``, ``closing``, ``closed_ns`` and ``answer``."""
    kind, head = F.col("open.kind"), F.col("open.head")
    # An exchange whose opening is lost is judged as a request: by its first ending frame alone.
    one_way = F.coalesce(kind.isin("message", "service"), F.lit(False))
    wants_ack = (kind == "service") | (head.bitwiseAND(_ACK_WANTED) != 0)
    spans_frames = (kind == "message") & head.bitwiseAND(_CARRIES).isin(_ANNOUNCED, _STREAMED)
    arrived = (~wants_ack | F.col("ack").isNotNull()) & (~spans_frames | F.col("last").isNotNull())
    complete = one_way & arrived
    link_lost = F.col("gone.seq") > F.coalesce(F.col("open.seq"), F.col("first_seq"))
    # A request is over with the first frame that ends it: what comes later changes only the counts. A message
    # can be refused after all of it has come, so an abort counts whenever it is said.
    verdict = F.when(one_way, F.coalesce("abort", F.when(~complete, F.col("ending")))).otherwise(
        F.col("ending")
    )
    outcome = (
        F.when(F.col("verdict").isNotNull(), _meaning("verdict"))
        .when(complete, "ok")
        .when(link_lost, "disconnected")
        .otherwise("open")
    )
    arrival = F.greatest(
        _moment("open"), F.when(wants_ack, _moment("ack")), F.when(spans_frames, _moment("last"))
    )
    closing = F.coalesce(_moment("verdict"), F.when(F.col("outcome") == "ok", arrival))
    in_time = F.coalesce(F.col("ack.seq") <= F.col("closing.seq"), F.lit(True))
    answer = F.when(one_way, F.when(in_time, _moment("ack"))).when(
        F.col("verdict.kind") == "response", _moment("verdict")
    )
    return (
        gathered.withColumn("ack", _ack_of_opening())
        .withColumn("verdict", verdict)
        .withColumn("outcome", outcome)
        .withColumn("closing", closing)
        .withColumn("answer", answer)
        .withColumn(
            "closed_ns",
            F.when(F.col("outcome") == "disconnected", F.col("gone.time_ns")).otherwise(
                F.col("closing.time_ns")
            ),
        )
    )


def _ack_of_opening() -> Column:
    """The other side's first ack, if it names the opening frame.

    Acks go out in the order of the frames they answer, so a later one cannot name it.
    """
    ack = F.when(F.col("open.direction") == "in", F.col("ack_out")).otherwise(F.col("ack_in"))
    return F.when(ack["ref"] == F.col("open.id"), ack)


def _meaning(frame: str) -> Column:
    code = F.col(f"{frame}.code")
    return (
        F.when(
            F.col(f"{frame}.kind") == "response",
            F.when(F.col(f"{frame}.error").isNull(), "ok").otherwise("error"),
        )
        .when(code == Service.TIMEOUT, "timeout")
        .when(code == Service.ABORT, "aborted")
        .when(code == Service.UNKNOWN, "unknown")
    )


def _moment(frame: str) -> Column:
    parts = F.struct(*[F.col(f"{frame}.{name}").alias(name) for name in MOMENT])
    return F.when(F.col(frame).isNotNull(), parts)
