"""Every MUST of spec/hub.md has a name, and every name a vector or a test."""

import ast
import json
import re
from pathlib import Path

from tests.conformance.hub.vectors import VECTORS, conversations

TESTS = Path(__file__).parents[2]
CITED = re.compile(r"\[(HUB-\d+\.\d+)\]")
SHOWN_BY_VECTORS = tuple(f"HUB-{section}." for section in (*range(2, 6), *range(7, 15)))
"""All but connecting, which is about HTTP."""
SHOWN_BY_TESTS = {"HUB-10.7", "HUB-12.4", "HUB-12.6", "HUB-12.7"}
"""What cannot be seen from outside: faults of the hub's own, whom it does not read, how far ahead it is."""


def rules_of_tests() -> set[str]:
    """The rules that the docstrings of tests cite, wherever they are."""
    cited: set[str] = set()
    for file in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                cited |= set(CITED.findall(ast.get_docstring(node) or ""))
    return cited


def rules_of_vectors() -> set[str]:
    files = [json.loads(file.read_text()) for file in VECTORS.glob("*.json")]
    return {rule for file in files for case in file.get("cases", ()) for rule in case["rules"]}


def test_every_must_stands_in_a_rule_with_a_name(hub_spec: str) -> None:
    blocks = re.split(r"\n\s*\n|\n(?=- |#|\|)", hub_spec[hub_spec.index("## 1.") :])
    unnamed = [block for block in blocks if "MUST" in block and not re.match(r"- \[HUB-", block.strip())]
    assert unnamed == []


def test_names_follow_their_sections_without_a_gap(hub_spec: str, hub_rules: list[str]) -> None:
    expected = []
    section, number = "", 0
    for line in hub_spec.splitlines():
        if heading := re.match(r"## (\d+)\. ", line):
            section, number = heading[1], 0
        elif line.startswith("- [HUB-"):
            number += 1
            expected.append(f"HUB-{section}.{number}")
    assert hub_rules == expected


def test_every_rule_has_a_vector_or_a_test(hub_rules: list[str]) -> None:
    shown = rules_of_vectors() | rules_of_tests()
    assert [rule for rule in hub_rules if rule not in shown] == []


def test_every_rule_about_what_the_hub_does_has_a_vector(hub_rules: list[str]) -> None:
    about = {rule for rule in hub_rules if rule.startswith(SHOWN_BY_VECTORS)}
    assert about - rules_of_vectors() == SHOWN_BY_TESTS


def test_nothing_cites_a_rule_that_is_not_there(hub_rules: list[str]) -> None:
    assert rules_of_vectors() | rules_of_tests() <= set(hub_rules)


def test_the_spec_cites_only_its_own_rules(hub_spec: str, hub_rules: list[str]) -> None:
    assert set(CITED.findall(hub_spec)) == set(hub_rules)


BAD_INPUT = {
    "shorter than the header": "V2 client: 4 bytes are no frame: the connection ends",
    "a FIRST frame or configuration cut short; settings of another version": (
        "V2 client: a first frame cut short opens nothing and uses no number"
    ),
    "a state or command that is not in use, or not a client's": (
        "V2 client: states and commands that are not a client's"
    ),
    "PING, PONG or READY on a stream; MESSAGE, LAST or READY on stream 0": (
        "V2 client: what does not belong on stream 0"
    ),
    "MESSAGE or LAST after its LAST": (
        "V2 client, V2 service: after its last frame a client sends no more, but may close"
    ),
    "FIRST on a used number": (
        "V2 client, V2 service: a number is used once, whether its stream is open, over or was refused"
    ),
    "MESSAGE, LAST or CLOSE on a stream that is not there, or not its own": (
        "V2 client, V2 service: a client reaches only its own streams"
    ),
    "FIRST for a service that nobody offers": (
        "V2 client, V2 service: a service that nobody offers is answered for by the hub"
    ),
    "FIRST for a service that is full or takes nothing": (
        "so many streams of an instance, and then it is busy"
    ),
    "FIRST beyond its limits": "so many streams at a time, and not one more",
    "anything after the hub decided to close": "goodbye closes the connection, and nothing is taken after it",
    "anything before its configuration": "V2 service: nothing is taken before its configuration",
    "a configuration that is none, or too much": "so many services, and not one more",
    "shorter than the header; not one part; MESSAGE, LAST or READY on stream 0": (
        "V2 service: a message of two parts is no frame"
    ),
    "a state or command that is not in use, or not a service's there": (
        "V2 service: states and commands that are not a service's"
    ),
    "on a live stream of another instance": "V2 client, V2 service: a service reaches only its own streams",
    "on a number that no live stream has": "a service is told of a dead stream once in five seconds",
    "anything while it does not read": "a service that does not read is not told of its faults",
}
"""A conversation for every row of section 14; texts and messages over the limit are HTTP's, [HUB-6.4]."""


def test_every_kind_of_bad_input_is_in_a_conversation(hub_spec: str) -> None:
    """[HUB-14.1]"""
    section = hub_spec[hub_spec.index("## 14. ") :]
    rows = re.findall(r"^\| (?!from a |---)([^|]+?) \|", section, re.MULTILINE)
    assert set(rows) == set(BAD_INPUT) | {"a text message; one over the limit"}
    assert set(BAD_INPUT.values()) <= {case.name for case in conversations()}
