"""Every MUST of spec/rpc.md has a name, and every name a vector or a test."""

import ast
import json
import re
from pathlib import Path
from typing import Any

from tests.conformance.rpc.vectors import VECTORS

TESTS = Path(__file__).parents[2]
CITED = re.compile(r"\[(RPC-[\d.]+\d)\]")
SHOWN_BY_DIALOGS = ("RPC-3.1.", "RPC-3.3.", "RPC-3.4.", "RPC-3.5.", "RPC-4.", "RPC-8.")
"""What a proxy does, seen from outside."""


def rules_of_tests() -> set[str]:
    """The rules that the docstrings of tests cite, wherever they are."""
    cited: set[str] = set()
    for file in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                cited |= set(CITED.findall(ast.get_docstring(node) or ""))
    return cited


def rules_of_vectors() -> set[str]:
    """Those of messages, dialogs and coders."""
    files = [json.loads(file.read_text()) for file in VECTORS.glob("*.json")]
    return {rule for file in files for case in file.get("cases", ()) for rule in case.get("rules", ())}


def test_every_must_stands_in_a_rule_with_a_name(spec_text: str) -> None:
    blocks = re.split(r"\n\s*\n|\n(?=- |#|\|)", spec_text[spec_text.index("## 1.") :])
    unnamed = [block for block in blocks if "MUST" in block and not re.match(r"- \[RPC-", block.strip())]
    assert unnamed == []


def test_names_follow_their_sections_without_a_gap(spec_text: str, rules: list[str]) -> None:
    expected = []
    section, number = "", 0
    for line in spec_text.splitlines():
        if heading := re.match(r"#{2,3} ([\d.]+?)\.? ", line):
            section, number = heading[1], 0
        elif line.startswith("- [RPC-"):
            number += 1
            expected.append(f"RPC-{section}.{number}")
    assert rules == expected


def test_every_rule_has_a_vector_or_a_test(rules: list[str]) -> None:
    shown = rules_of_vectors() | rules_of_tests()
    assert [rule for rule in rules if rule not in shown] == []


def test_every_rule_about_the_proxy_has_a_dialog(rules: list[str], vector_files: dict[str, Any]) -> None:
    shown = {rule for case in vector_files["dialogs.json"].cases for rule in case.rules}
    about_the_proxy = [rule for rule in rules if rule.startswith(SHOWN_BY_DIALOGS)]
    assert [rule for rule in about_the_proxy if rule not in shown] == []


def test_nothing_cites_a_rule_that_is_not_there(rules: list[str]) -> None:
    assert rules_of_vectors() | rules_of_tests() <= set(rules)


def test_the_spec_cites_only_its_own_rules(spec_text: str, rules: list[str]) -> None:
    assert set(CITED.findall(spec_text)) == set(rules)
