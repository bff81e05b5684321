from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import PipelineError
from framehub.report import facts

Tables = Callable[..., Path]
Make = Callable[..., Any]


def test_all_is_told_of_one_snapshot(tables: Tables, everything: dict[str, Any]) -> None:
    told = facts.gather(tables(**everything, damage=["lost"]))
    assert (told["journal"], told["snapshot"], told["nodes"]) == ("/data/journal", "one", {"north": 20})
    assert told["damage"] == ["lost"]
    assert told["span"] == ["2026-03-01T12:00:00+00:00", "2026-03-01T12:00:19+00:00"]
    totals = told["totals"]
    assert (totals["exchanges"], totals["failed"], totals["ok"], totals["timeout"]) == (7, 2, 5, 1)
    assert (totals["frames_in"], totals["frames_out"]) == (10, 10)
    assert totals["bytes_in"] + totals["bytes_out"] == sum(row["bytes"] for row in everything["frames"])
    assert (told["audit"]["violations"], told["audit"]["rows"]) == (2, 20)


@pytest.mark.parametrize("rules", [None, 52, {"a": "A.", "b": "B."}])
def test_which_rules_were_checked_is_what_the_manifest_says(tables: Tables, rules: object) -> None:
    assert facts.gather(tables(rules=rules))["audit"]["rules"] == rules


def test_what_to_type_can_be_pasted(
    tables: Tables, exchange: Make, violation: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FRAMEHUB_COMMAND", raising=False)
    rows = [exchange(1, outcome="timeout", wait_us=None)]
    broken = [violation("r", 1, node="a b; rm"), violation("r", 2, exchange=None)]
    out = tables(exchanges=rows, violations=broken)
    told = facts.gather(out)
    assert told["failed"][0]["story"] == f"framehub story {1:032x} --journal /data/journal --tables {out}"
    first, second = told["audit"]["broken"][0]["examples"]
    assert first["cat"] == "framehub journal cat /data/journal --node 'a b; rm' --seq 3,9"
    assert first["story"] == f"framehub story {7:032x} --journal /data/journal --tables {out}"
    assert second["story"] is None


def test_the_command_is_the_one_that_was_used(
    tables: Tables, exchange: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAMEHUB_COMMAND", "./framehub")
    (slow,) = facts.gather(tables(exchanges=[exchange(1)]))["slowest"]
    assert slow["story"].startswith("./framehub story ")


def test_without_tables_the_error_says_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="framehub pipeline run JOURNAL"):
        facts.gather(tmp_path)


@pytest.mark.parametrize("table", ["frames", "messages", "exchanges", "files", "violations", "metrics"])
def test_tables_that_are_none_are_said_to_be(tables: Tables, table: str) -> None:
    out = tables()
    next((out / "current" / table).rglob("*.parquet")).write_bytes(b"not parquet")
    with pytest.raises(PipelineError, match="cannot be read"):
        facts.gather(out)


def test_what_one_timeline_shows_has_no_other_of_its_own(tables: Tables, exchange: Make) -> None:
    rows = [exchange(1, wait_us=900), exchange(2, wait_us=800, parent=f"{1:032x}"), exchange(3, wait_us=700)]
    told = facts.gather(tables(exchanges=rows))["slowest"]
    assert [row["wait_us"] for row in told] == [900, 700]
    assert [lane["wait_us"] for lane in told[0]["family"]] == [900, 800]


def test_failures_across_hops_come_first(tables: Tables, exchange: Make) -> None:
    rows = [exchange(n, outcome="error") for n in range(3)]
    rows += [exchange(8, endpoint="outer", outcome="error"), exchange(9, parent=f"{8:032x}")]
    told = facts.gather(tables(exchanges=rows))["failed"]
    assert [(row["name"], len(row["family"])) for row in told] == [("outer", 2), ("chat", 1)]


def test_so_many_are_shown_and_no_more(tables: Tables, exchange: Make) -> None:
    told = facts.gather(tables(exchanges=[exchange(n, wait_us=n) for n in range(50)]))
    assert [row["wait_us"] for row in told["slowest"]] == list(range(49, 49 - facts.SHOWN, -1))
