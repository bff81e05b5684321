"""All rules of the audit, in the order of spec/audit.md."""

from typing import Final

from framehub.pipeline.stages import audit_hub, audit_mfp, audit_rows, audit_rpc, gaps
from framehub.pipeline.stages.rule import Rule

__all__ = ["RULES", "Rule"]

RULES: Final[tuple[Rule, ...]] = (
    *audit_mfp.RULES,
    *audit_rpc.RULES,
    *audit_hub.RULES,
    *audit_rows.RULES,
    *gaps.RULES,
)
