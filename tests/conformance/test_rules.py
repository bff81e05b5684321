"""Every MUST of spec/mfp.md has a name, and every name a vector or a test."""

import ast
import re
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
CITED = re.compile(r"\[(MFP-[\d.]+\d)\]")
SHOWN_BY_BYTES = tuple(f"MFP-{section}." for section in range(2, 8))


def rules_of_tests() -> set[str]:
    """The rules that the docstrings of tests cite."""
    files = [*(TESTS / "unit" / "mfp").glob("*.py"), *(TESTS / "property").glob("test_mfp_*.py")]
    files += [*(TESTS / "conformance").glob("*.py"), *(TESTS / "unit" / "runtime").glob("test_*.py")]
    cited: set[str] = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
            if named and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                cited |= set(CITED.findall(ast.get_docstring(node) or ""))
    return cited


def rules_of_vectors(vector_files: dict[str, Any]) -> set[str]:
    return {rule for file in vector_files.values() for case in file.cases for rule in case.rules}


def test_every_must_stands_in_a_rule_with_a_name(spec_text: str) -> None:
    blocks = re.split(r"\n\s*\n|\n(?=- |#|\|)", spec_text[spec_text.index("## 1.") :])
    unnamed = [block for block in blocks if "MUST" in block and not re.match(r"- \[MFP-", block.strip())]
    assert unnamed == []


def test_names_follow_their_sections_without_a_gap(spec_text: str, rules: list[str]) -> None:
    expected = []
    section, number = "", 0
    for line in spec_text.splitlines():
        if heading := re.match(r"#{2,3} ([\d.]+?)\.? ", line):
            section, number = heading[1], 0
        elif line.startswith("- [MFP-"):
            number += 1
            expected.append(f"MFP-{section}.{number}")
    assert rules == expected


def test_every_rule_has_a_vector_or_a_test(rules: list[str], vector_files: dict[str, Any]) -> None:
    shown = rules_of_vectors(vector_files) | rules_of_tests()
    assert [rule for rule in rules if rule not in shown] == []


def test_every_rule_about_bytes_has_a_vector(rules: list[str], vector_files: dict[str, Any]) -> None:
    shown = rules_of_vectors(vector_files)
    about_bytes = [rule for rule in rules if rule.startswith(SHOWN_BY_BYTES)]
    assert [rule for rule in about_bytes if rule not in shown] == []


def test_nothing_cites_a_rule_that_is_not_there(rules: list[str], vector_files: dict[str, Any]) -> None:
    assert rules_of_vectors(vector_files) | rules_of_tests() <= set(rules)


def test_the_spec_cites_only_its_own_rules(spec_text: str, rules: list[str]) -> None:
    assert set(CITED.findall(spec_text)) == set(rules)
