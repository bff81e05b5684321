import re
from pathlib import Path

import pytest

from framehub.pipeline.stages.rules import RULES

pytestmark = pytest.mark.spark

SPEC = (Path(__file__).parents[2] / "spec" / "audit.md").read_text()
TABLE = re.findall(r"^\| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", SPEC, re.MULTILINE)


def test_the_rules_are_those_of_the_specification() -> None:
    assert len(TABLE) == len(re.findall(r"^\| `", SPEC, re.MULTILINE))
    assert [(rule.name, rule.sentence) for rule in RULES] == [(name, said) for name, said, _ in TABLE]


def test_each_rule_is_about_what_the_specification_says() -> None:
    about_rows = {
        name for name, _, when in TABLE if when.startswith(("row:", "row,")) and not name.startswith("raw-")
    }
    assert {rule.name for rule in RULES if rule.scope in {"row", "life"}} == about_rows
    for rule in RULES:
        protocol = rule.name.partition("-")[0]
        assert rule.protocol == (protocol if protocol in {"mfp", "rpc", "hub"} else None)
        assert (rule.scope == "journal") == (protocol in {"journal", "raw"})
