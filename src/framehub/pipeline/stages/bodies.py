"""Stage: what clients of the hub sent and got, as data.

journal (``record.ROW_SCHEMA``) -> the rows of ``schemas.MESSAGES`` that are the hub's; ``messages`` takes
them in. Only as clients see them: between the hub and a service the same passes once more. Nothing says what
a body is, the hub does not look into it: one that is JSON is read as such. A service's error may be any text.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from framehub.pipeline.schemas import MESSAGES
from framehub.pipeline.stages import coders
from framehub.pipeline.stages.columns import as_table
from framehub.pipeline.stages.streams import DATA


def bodies(journal: DataFrame) -> DataFrame:
    """One row per body that a client sent or got.

    Stream 0 is the link itself and has none; what the hub did not take was said to nobody.
    """
    at_client = F.col("ref").isNull() & (F.col("id") != 0)
    taken = F.col("kind").isin(*DATA) & F.col("payload_bytes").isNotNull() & F.col("refused").isNull()
    rows = journal.where((F.col("protocol") == "hub") & at_client & taken)
    failed = F.col("kind") == "service_error"
    opened = (
        rows.withColumn("_payload", coders.payload())
        .withColumn("_text", F.try_validate_utf8(F.col("_payload").cast("string")))
        .withColumn("_document", coders.strict_json(F.col("_text")))
        .withColumn("data", F.when(~failed, F.col("_document")))
    )
    error = F.when(failed, F.coalesce(F.col("_document"), F.col("_text").cast("variant")))
    read = F.when(failed, F.col("_text").isNotNull()).otherwise(F.col("data").isNotNull())
    return as_table(
        opened,
        MESSAGES,
        coder=None,
        json=F.to_json("data"),
        error=F.to_json(error),
        files=coders.no_files(),
        readable=F.when(F.col("_payload").isNotNull(), read),
    )
