import pytest
from pyspark.sql import SparkSession

from framehub.pipeline.stages.rule import Rule, broken, first, last, let, suspects

pytestmark = pytest.mark.spark


def rule(name: str, suspect: str, when: str, evidence: str) -> Rule:
    return Rule(
        name=name,
        protocol="mfp",
        scope="exchange",
        sentence=f"{name}.",
        suspect=suspect,
        when=when,
        evidence=evidence,
    )


RULES = [
    rule("in order", "a > 1", "b > 0", "array(b, a, a)"),
    rule("no such row", "a > 1", "true", "array(a, c)"),
    rule("no evidence", "a > 1", "true", "CASE WHEN a < 0 THEN array(a) END"),
    rule("unknown", "c > 1", "true", "array(a)"),
]


def test_a_rule_is_broken_if_all_its_conditions_hold_and_all_its_rows_are_there(spark: SparkSession) -> None:
    facts = spark.createDataFrame([(1, 5, None), (2, 0, None), (7, 3, None)], "a long, b long, c long")
    assert [row["a"] for row in suspects(facts, RULES).orderBy("a").collect()] == [2, 7]
    assert [tuple(row) for row in broken(facts, RULES, "a").collect()] == [
        (7, "in order", "in order.", [3, 7])
    ]


def test_words_that_rules_are_written_with(spark: SparkSession) -> None:
    sql = [
        first("r > 1", "array(1, 2, 3)"),
        last("r > 1", "array(1, 2, 3)"),
        first("r > 3", "array(1, 2, 3)"),
        last("r > 3", "array(1, 2, 3)"),
        let("1 + 1", "found * found"),
    ]
    (row,) = spark.sql(f"SELECT {', '.join(sql)}").collect()
    assert tuple(row) == (2, 3, None, None, 4)
