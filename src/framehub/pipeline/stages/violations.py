"""Stage: every breach of a rule of the audit (spec/audit.md).

journal (``record.ROW_SCHEMA``) -> ``schemas.VIOLATIONS``. There is a stage for the rules of exchanges, of
rows, of ids and of the journal itself; a growing journal is audited by these.
"""

from pyspark.sql import DataFrame

from framehub.pipeline.stages.audit_hub import hub_violations
from framehub.pipeline.stages.audit_mfp import mfp_violations
from framehub.pipeline.stages.audit_rows import row_violations
from framehub.pipeline.stages.audit_rpc import rpc_violations
from framehub.pipeline.stages.gaps import gaps
from framehub.pipeline.stages.links import horizon, link_events
from framehub.pipeline.stages.lives import lives, reused_ids
from framehub.pipeline.stages.unsound import unsound

__all__ = [
    "exchange_violations",
    "gaps",
    "lives",
    "recorded_violations",
    "reused_ids",
    "row_violations",
    "violations",
]


def violations(journal: DataFrame) -> DataFrame:
    """Every breach of a rule in a journal."""
    return recorded_violations(journal).unionByName(unsound(journal))


def recorded_violations(journal: DataFrame) -> DataFrame:
    """Every breach but of the rules about recorded bytes: these ask for no more than the columns."""
    links = link_events(journal)
    return (
        exchange_violations(journal, links, horizon(journal))
        .unionByName(row_violations(journal, links))
        .unionByName(reused_ids(lives(journal, links)))
        .unionByName(gaps(journal))
    )


def exchange_violations(rows: DataFrame, links: DataFrame, horizon: DataFrame) -> DataFrame:
    """Broken rules about exchanges, of which these are all rows.

    Args:
        rows: of the journal.
        links: what ``link_events`` says of the links they are on, from the beginning.
        horizon: how far each node has come.
    """
    mfp = mfp_violations(rows, links, horizon)
    rpc = rpc_violations(rows, horizon)
    return mfp.unionByName(rpc).unionByName(hub_violations(rows, links, horizon))
