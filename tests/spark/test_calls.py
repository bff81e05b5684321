from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row

from framehub.pipeline import endpoint, messages
from framehub.pipeline.schemas import MESSAGES, check, shape
from framehub.pipeline.stages.calls import calls

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
Rpc = Callable[..., dict[str, Any]]


def rows_of(journal: DataFrame) -> list[Row]:
    return check("messages", messages(journal)).orderBy("seq").collect()


@pytest.mark.parametrize("coder", ["msgpack", "bytes", "arrow", "Pair<Int, Int>", "List<Int>", None])
def test_other_coders_keep_their_rows(journal_of: JournalOf, rpc: Rpc, coder: str | None) -> None:
    (row,) = rows_of(journal_of([rpc("in", "QUERY", "1", "1", "f", coder=coder)]))
    assert (row["readable"], row["data"], row["json"], row["coder"]) == (False, None, None, coder)


def test_only_the_clients_side_is_told(journal_of: JournalOf, rpc: Rpc) -> None:
    wid = bytes([7] * 16)
    usual: dict[str, Any] = {"exchange": wid, "function": "add", "coder": "json"}
    journal = journal_of(
        [
            rpc("in", "QUERY", "1", "[1,2]", "add", parent=bytes([8] * 16), **usual),
            rpc("out", "QUERY_RECEIVED", "1", **usual),
            rpc("out", "QUERY", wid, "[1,2]", "add", peer="worker", **usual),
            rpc("in", "RESPONSE_RESULT", wid, "3", peer="worker", **usual),
            rpc("out", "RESPONSE_RESULT", "1", "3", **usual),
            rpc("in", "RESPONSE_EXCEPTION", wid, "ValueError: no", peer="worker", **usual),
            rpc("out", "RESPONSE_EXCEPTION", "1", 'no "é"', error="function_failed", exchange=wid),
            rpc("out", "RESPONSE_EXCEPTION", "1", ""),
            rpc("out", "RESPONSE_EXCEPTION", "1", b"\xff"),
            rpc("in", "WORKER_DESCRIBE", "{}", peer="worker"),
            rpc("in", "QUERY", "1", "5", "add", **usual) | {"recorded": "off", "raw": None},
        ]
    )
    assert shape(calls(journal).schema) == shape(MESSAGES)
    rows = rows_of(journal)
    assert [(row["seq"], row["kind"], row["direction"], row["readable"]) for row in rows] == [
        (1, "query", "in", True),
        (5, "result", "out", True),
        (7, "exception", "out", True),
        (8, "exception", "out", True),
        (9, "exception", "out", False),
        (11, "query", "in", None),
    ]
    assert [row["json"] for row in rows] == ["[1,2]", "3", None, None, None, None]
    assert [row["error"] for row in rows] == [None, None, '"no \\"é\\""', '""', None, None]
    assert (rows[0]["exchange"], rows[0]["parent"]) == (wid.hex(), bytes([8] * 16).hex())


def test_a_functions_arguments_are_typed_columns(journal_of: JournalOf, rpc: Rpc) -> None:
    journal = journal_of(
        [
            rpc("in", "QUERY", "1", "[1,2]", "add", coder="json"),
            rpc("in", "QUERY", "2", '{"b": 4, "a": 3}', "add", coder="json"),
            rpc("in", "QUERY", "3", "no json", "add", coder="json"),
            rpc("out", "RESPONSE_RESULT", "1", b"\0\0\0\3", function="add", coder="Int"),
            rpc("in", "QUERY", "1", "[9,9]", "sub", coder="json"),
        ]
    )
    rows = endpoint(journal, "add", "a int, b int").orderBy("seq").collect()
    assert [(row["a"], row["b"], row["kind"]) for row in rows] == [(1, 2, "query"), (3, 4, "query")]
    (result,) = endpoint(journal, "add", "int", kinds=("result",)).collect()
    assert result["value"] == 3
