"""Names of calls: what makes a second try of a task meet the results of the first."""

import pickle
from typing import Any

import pyarrow as pa

from framehub.pipeline.remote_arguments import Parameter
from framehub.pipeline.remote_task import Plan, failure, ids_of
from framehub.rpc.groups import is_grouped
from framehub.runtime.curve import CurveClient, new_keys


def plan(**other: Any) -> Plan:
    usual: dict[str, Any] = {
        "name": "square",
        "address": "tcp://127.0.0.1:1",
        "argument": "json",
        "result": "json",
        "parameters": None,
        "columns": (Parameter(name="x", coder="json", schema={"type": "integer"}),),
        "by_name": False,
        "type": pa.int64(),
        "key": b"k" * 32,
        "run": "app-1",
        "limit": 0,
        "window": 8,
        "timeout": 1.0,
        "retries": 0,
        "on_error": "fail",
        "curve": None,
    }
    return Plan(**usual | other)


def test_the_same_row_and_argument_have_the_same_name_in_every_try() -> None:
    """[RPC-3.5.1]"""
    first, second = ids_of(plan(), 3, 1), ids_of(plan(), 3, 1)
    assert first(5, b"25", 0) == second(5, b"25", 0)
    assert is_grouped(first(5, b"25", 0))


def test_whatever_differs_is_another_call() -> None:
    names = {
        ids_of(plan(), 3, 1)(5, b"25", 0),
        ids_of(plan(), 4, 1)(5, b"25", 0),  # another action, or the next batch of a stream
        ids_of(plan(), 3, 2)(5, b"25", 0),
        ids_of(plan(), 3, 1)(6, b"25", 0),
        ids_of(plan(), 3, 1)(5, b"26", 0),  # the input was not the same after all
        ids_of(plan(), 3, 1)(5, b"25", 1),
        ids_of(plan(run="app-2"), 3, 1)(5, b"25", 0),
        ids_of(plan(key=b"j" * 32), 3, 1)(5, b"25", 0),
        ids_of(plan(), 31, 1)(5, b"25", 0),
        ids_of(plan(), 3, 11)(5, b"25", 0),
    }
    assert len(names) == 10


def test_a_failure_names_its_place() -> None:
    assert str(failure("f", 2, 7, "no")).startswith("f failed in partition 2, row 7: no (on_error='null'")


def test_all_of_a_plan_reaches_the_executors() -> None:
    """Keys too, where the proxy wants some."""
    from pyspark import cloudpickle

    public, secret = new_keys()
    own = plan(curve=CurveClient(public, secret))
    copied = pickle.loads(cloudpickle.dumps(own))  # type: ignore[no-untyped-call]
    assert copied == own
    assert secret not in repr(own)
