"""Stage: files that come in binary frames, announced or streamed.

journal (``record.ROW_SCHEMA``) -> the rows of ``schemas.FILES`` that are these; ``files`` takes them in.

The message that opens the exchange says which way they go, which keys are announced and what they are called.
An announced file is one binary frame; a streamed one is many, and may be larger than memory: its frames are
brought together in order, and ``digests`` goes through them.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type

from framehub.codes import BinaryKind, Service
from framehub.journal.record import WHOLE
from framehub.pipeline.schemas import FILES
from framehub.pipeline.stages import coders, messages
from framehub.pipeline.stages.columns import as_table
from framehub.pipeline.stages.digests import CARRIED, DIGESTS, OPENING, digests

_EXCHANGE: Final = ("node", "exchange")
_FILE: Final = (*_EXCHANGE, "key")
_MORE_FOLLOWS: Final = 0b0001
_NAMED: Final = "struct<place:int,name:string,type:string>"
_SAID: Final = f"array<struct<key:bigint,named:{_NAMED},announced:boolean>>"


def pieces(rows: DataFrame) -> DataFrame:
    """One row per file that was announced, and per file of a stream of which something came."""
    mfp = rows.where((F.col("protocol") == "mfp") & F.col("exchange").isNotNull())
    # Structs are compared by their first field: the least is the first opening, name or frame.
    gathered = (
        _said(mfp)
        .unionByName(_carried(mfp))
        .groupBy(*_FILE)
        .agg(
            F.min("open").alias("open"),
            F.min("named").alias("named"),
            F.min("carried").alias("carried"),
            F.bool_or("announced").alias("announced"),
        )
    )
    streamed, came = F.col("open.how") == "streamed", F.col("carried").isNotNull()
    wanted = gathered.where(F.when(streamed, came).otherwise(F.col("announced"))).select(
        *_FILE,
        *[_at(came & ~streamed, name) for name in ("seq", "time_ns", "link", "user")],
        *[F.col(f"open.{name}") for name in ("direction", "endpoint", "how")],
        F.coalesce("carried.last_seq", "open.seq").alias("last_seq"),
        F.lit("mfp").alias("protocol"),
        "named.name",
        "named.type",
        *[F.coalesce(f"carried.{name}", F.lit(0)).alias(name) for name in ("bytes", "frames")],
        F.coalesce("carried.complete", F.lit(False)).alias("complete"),
        "carried.sha256",
    )
    return as_table(wanted, FILES)


def _at(in_frame: Column, name: str) -> Column:
    """Of the frame that is the file, else of the opening."""
    return F.when(in_frame, F.col(f"carried.{name}")).otherwise(F.col(f"open.{name}")).alias(name)


def _opens() -> Column:
    return (F.col("kind") == "message") & F.col("head").bitwiseAND(messages.CARRIES).isin(
        messages.ANNOUNCED, messages.STREAMED
    )


def _about() -> Column:
    """What is kept of the message (``OPENING``)."""
    streams = F.col("head").bitwiseAND(messages.CARRIES) == messages.STREAMED
    how = F.when(streams, "streamed").otherwise("announced")
    names = [field.name for field in OPENING]
    return F.struct(*[how.alias("how") if name == "how" else F.col(name) for name in names])


def _said(mfp: DataFrame) -> DataFrame:
    """What messages say of files to come: a row per key that they announce, and per file that they name.

    Which keys are announced is not known of a message that was not recorded whole.
    """

    def announced(place: Column) -> Column:
        key = coders.u32(messages.table_at() + place * 4)
        return F.struct(
            key.alias("key"), F.lit(None).cast(_NAMED).alias("named"), F.lit(True).alias("announced")
        )

    def named(entry: Column, place: Column) -> Column:
        name = F.struct(place.alias("place"), entry["name"].alias("name"), entry["type"].alias("type"))
        return F.struct(entry["key"].alias("key"), name.alias("named"), F.lit(False).alias("announced"))

    has_set = (F.col("open.how") == "announced") & messages.has_table(4)
    keys = F.transform(coders.places(F.col("files"), 4), announced)
    said = F.concat(F.when(has_set, keys).otherwise(F.array().cast(_SAID)), F.transform("_names", named))
    listed = messages.opened(mfp.where(_opens()).withColumn("open", _about()))
    return listed.select(*_EXCHANGE, "open", F.explode(said).alias("said")).select(
        *_EXCHANGE, "open", "said.*", F.lit(None).cast(from_arrow_type(CARRIED)).alias("carried")
    )


def _carried(mfp: DataFrame) -> DataFrame:
    """What has come of each file."""
    together = _openings(mfp).unionByName(_frames(mfp), allowMissingColumns=True)
    ordered = together.repartition(*_EXCHANGE).sortWithinPartitions(*_FILE, "seq")
    return ordered.mapInArrow(digests, from_arrow_schema(DIGESTS)).select(
        *_FILE,
        "open",
        F.lit(None).cast(_NAMED).alias("named"),
        F.lit(False).alias("announced"),
        "carried",
    )


def _openings(mfp: DataFrame) -> DataFrame:
    """One row per message that announces files or opens a stream, and how that ended."""
    seq, kind, incoming = F.col("seq"), F.col("kind"), F.col("direction") == "in"
    last = (kind == "binary") & (F.col("head").bitwiseAND(_MORE_FOLLOWS) == 0)
    abort = (kind == "service") & (F.col("code") == Service.ABORT)
    sizes = F.struct("head", F.col("bytes").alias("size"), "payload_bytes", "files")
    found = F.min_by(F.struct(_about().alias("about"), sizes.alias("opening")), F.when(_opens(), seq))
    gathered = (
        mfp.where(_opens() | last | abort)
        .groupBy(*_EXCHANGE)
        .agg(
            found.alias("found"),
            F.min(F.when(last & incoming, seq)).alias("last_in"),
            F.min(F.when(last & ~incoming, seq)).alias("last_out"),
            F.min(F.when(abort, seq)).alias("abort"),
        )
    )
    end = F.when(F.col("about.direction") == "in", F.col("last_in")).otherwise(F.col("last_out"))
    complete = F.col("end").isNotNull() & F.coalesce(F.col("abort") > F.col("end"), F.lit(True))
    return (
        gathered.where(F.col("found").isNotNull())
        .select(*_EXCHANGE, "found.*", "last_in", "last_out", "abort")
        .withColumn("end", end)
        .select(*_EXCHANGE, "about", "opening", "end", complete.alias("complete"))
    )


def _frames(mfp: DataFrame) -> DataFrame:
    """Binary frames that carry files."""
    kind = F.shiftright("head", 1).bitwiseAND(0b11)
    streams = kind == BinaryKind.STREAMING
    return mfp.where((F.col("kind") == "binary") & (streams | (kind == BinaryKind.EXPECTED))).select(
        *_FILE,
        "seq",
        "time_ns",
        "link",
        "user",
        "direction",
        F.when(streams, "streamed").otherwise("announced").alias("how"),
        "head",
        "bytes",
        F.when(F.col("recorded").isin(*WHOLE), F.col("raw")).alias("raw"),
    )
