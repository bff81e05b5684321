"""What a job's tasks ask again after nobody was there to answer, as the audit sees it."""

import secrets
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from framehub.pipeline.audit import audit
from framehub.pipeline.remote_task import Plan, ids_of
from framehub.runtime.rpc_bulk import BulkCalls, Failure, Outcome
from tests.spark.offering import Offering

pytestmark = pytest.mark.spark

ROWS = 20
FUNCTIONS = """
import framehub

worker = framehub.Worker(processes=1)


@worker.function
def square(x: int) -> int:
    return x * x
"""


def plan(address: str) -> Plan:
    return Plan(
        name="square", address=address, argument="json", result="json", parameters=None, columns=(),
        by_name=False, type=None, key=secrets.token_bytes(32), run="a run", limit=0, window=8, timeout=20.0,
        retries=0, on_error="fail", curve=None,
    )  # fmt: skip


def task(planned: Plan, attempt: int) -> list[Outcome]:
    """What the task of a partition asks, tried so many times before."""
    named = ids_of(planned, 1, 0)
    with BulkCalls(planned.address, b"square", ids=named, window=8, timeout=20.0, before=attempt) as calls:
        return list(calls.submit([b"%d" % row for row in range(ROWS)], first=0).wait())


def test_a_task_that_is_tried_again_asks_nothing_that_was_answered(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[RPC-3.5.3] No query is run after its answer, nor answered twice."""
    monkeypatch.setenv("FRAMEHUB_RPC__WAIT_START", "0.2")
    monkeypatch.setenv("FRAMEHUB_RPC__WAIT_GONE", "0.2")
    (tmp_path / "offered.py").write_text(FUNCTIONS)
    made = Offering(tmp_path)
    try:
        made.serve()
        planned = plan(made.clients)
        for attempt in range(2):
            assert task(planned, attempt) == [Failure("no worker offers it any more")] * ROWS
        made.work("offered")
        for attempt in (2, 3):
            assert task(planned, attempt) == [b"%d" % (row * row) for row in range(ROWS)]
    finally:
        made.close()
    found = audit(tmp_path / "journal", spark=spark)
    assert found.counts == {}
