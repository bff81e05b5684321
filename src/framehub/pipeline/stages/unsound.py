"""Stage: rows whose bytes do not bear out what the journal says of them (spec/audit.md, section 6).

journal (``record.ROW_SCHEMA``) -> ``schemas.VIOLATIONS``. The bytes are decoded again, a batch at a time, in
Python; where the rows come from a journal's files, ``source.read_unsound`` spares them the way through Spark.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from framehub.journal.record import WHOLE
from framehub.pipeline.decode import NOT_FRAMES
from framehub.pipeline.findings import COLUMNS, findings
from framehub.pipeline.findings import RULES as BYTES_RULES
from framehub.pipeline.schemas import VIOLATIONS
from framehub.pipeline.stages.columns import as_table
from framehub.pipeline.stages.rules import RULES

_FINDINGS: Final = (
    "node string, seq bigint, time_ns bigint, protocol string, link binary, exchange binary, "
    "endpoint string, rule string, detail string"
)
_SENTENCES: Final = {rule.name: rule.sentence for rule in RULES if rule.name in BYTES_RULES}


def unsound(rows: DataFrame) -> DataFrame:
    """The violations of the rules about recorded bytes among these rows."""
    looked_at = F.col("recorded").isin(*WHOLE) & F.col("refused").isNull() & ~F.col("kind").isin(*NOT_FRAMES)
    return as_violations(rows.where(looked_at).select(*COLUMNS).mapInArrow(_found, _FINDINGS))


def as_violations(found: DataFrame) -> DataFrame:
    """Rows of ``findings.FINDINGS`` as rows of ``schemas.VIOLATIONS``."""
    sentences = F.create_map(*(F.lit(word) for pair in _SENTENCES.items() for word in pair))
    return as_table(found, VIOLATIONS, evidence=F.array("seq"), sentence=sentences[F.col("rule")])


def _found(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        made = findings(batch)
        if made.num_rows:
            yield made
