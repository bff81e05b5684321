"""The rules about single rows, and about links (spec/audit.md, section 5)."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from framehub.pipeline.schemas import VIOLATIONS
from framehub.pipeline.stages import audit_hub, audit_mfp, audit_rpc
from framehub.pipeline.stages.columns import as_table
from framehub.pipeline.stages.links import standing
from framehub.pipeline.stages.rule import Rule, broken, taken

RULES: Final = (
    Rule(
        name="link-used-after-close",
        protocol=None,
        scope="row",
        sentence="Nothing moves on a closed link.",
        when="protocol in ('mfp', 'hub') and closed is not null",
        evidence="array(closed, seq)",
    ),
)

_OF_ROWS: Final = [
    rule for rule in (*audit_mfp.RULES, *audit_rpc.RULES, *audit_hub.RULES, *RULES) if rule.scope == "row"
]
_FACTS: Final = (
    "node", "seq", "time_ns", "link", "protocol", "direction", "kind", "head", "id", "ref", "exchange",
    "endpoint",
)  # fmt: skip
_SHARED: Final = ("node", "time_ns", "link", "protocol", "exchange", "endpoint")


def row_violations(rows: DataFrame, links: DataFrame) -> DataFrame:
    """Broken rules about rows; the links are all that the rows are on, from their beginning."""
    frames = rows.where(taken("mfp") | taken("rpc") | taken("hub")).select(*_FACTS)
    closed = "CASE WHEN first_closed < seq THEN try_element_at(filter(events, e -> e.seq < seq), -1) END"
    known = (
        frames.join(F.broadcast(standing(links)), ["node", "link"], "left")
        .withColumn("event", F.expr(closed))
        .withColumn("closed", F.expr("CASE WHEN event.closes THEN event.seq END"))
    )
    suspects = known.where(F.expr(" or ".join(f"({rule.when})" for rule in _OF_ROWS)))
    return as_table(broken(suspects, _OF_ROWS, *_SHARED), VIOLATIONS, detail=None)
