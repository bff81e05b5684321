"""Stage: the journal's rows that are frames, in columns for people.

journal (``record.ROW_SCHEMA``) -> one row per frame, refused ones too (``schemas.FRAMES``). Pure DataFrame to
DataFrame: no read, write, action or session in here, nor in the other stages.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from framehub.journal.rpc_rows import KIND_OF
from framehub.pipeline.schemas import FRAMES
from framehub.pipeline.stages.columns import as_table, day, hexadecimal, timestamp
from framehub.rpc.messages import FIELDS, Way

__all__ = ["LINK_EVENTS", "day", "frames", "hexadecimal", "timestamp"]

LINK_EVENTS: Final = ("link_opened", "link_closed")
_FROM_CLIENT: Final = [KIND_OF[type_].value for type_ in FIELDS[Way.CLIENT_TO_PROXY]]
_TO_CLIENT: Final = [KIND_OF[type_].value for type_ in FIELDS[Way.PROXY_TO_CLIENT]]


def frames(journal: DataFrame) -> DataFrame:
    """One row per frame of the journal."""
    rows = journal.where(~F.col("kind").isin(*LINK_EVENTS))
    return as_table(rows, FRAMES, side=_side())


def _side() -> Column:
    """Who is at the other end (spec/journal.md, 3.4 and 3.7); null if a refused message does not tell."""
    kind, protocol, incoming = F.col("kind"), F.col("protocol"), F.col("direction") == "in"
    client = (incoming & kind.isin(*_FROM_CLIENT)) | (~incoming & kind.isin(*_TO_CLIENT))
    functions = F.when(client, "client").when(kind != "refused", "worker")
    return (
        F.when(protocol == "mfp", "client")
        .when(protocol == "rpc", functions)
        .otherwise(F.when(F.col("ref").isNull(), "client").otherwise("service"))
    )
