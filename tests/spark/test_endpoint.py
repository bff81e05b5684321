from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row

from framehub.errors import PipelineError
from framehub.pipeline import endpoint

pytestmark = pytest.mark.spark

Envelope = Callable[..., dict[str, Any]]
JournalOf = Callable[..., DataFrame]


def test_an_endpoint_is_typed_columns(journal_of: JournalOf, envelope: Envelope) -> None:
    journal = journal_of(
        [
            envelope("message", {"endpoint": "chat", "data": {"text": "hi", "room": "a", "n": 1}}, user=3),
            envelope("request", {"endpoint": "chat", "data": {"text": 5, "n": "no number"}}),
            envelope("message", {"endpoint": "chat", "data": "no object"}),
            envelope("response", {"endpoint": "chat", "data": {"text": "an answer"}}, ref=2, direction="out"),
            envelope("message", {"endpoint": "other", "data": {"text": "elsewhere"}}),
            envelope("message", b"chat"),
        ]
    )
    made = endpoint(journal, "chat", "text string, room string, n int")
    assert made.columns[:5] == ["text", "room", "n", "time", "user"]
    rows = made.orderBy("seq").select("text", "room", "n", "user", "kind").collect()
    assert [tuple(row) for row in rows] == [
        ("hi", "a", 1, 3, "message"),
        ("5", None, None, 0, "request"),
        (None, None, None, 0, "message"),
    ]
    answers = endpoint(journal, "chat", "text string", kinds=("response",)).collect()
    assert [row["text"] for row in answers] == ["an answer"]


def test_an_endpoint_may_have_our_names_odd_names_and_plain_values(
    journal_of: JournalOf, envelope: Envelope
) -> None:
    data = {"user": "Ada", "it's": {"deep": [1, 2]}}
    journal = journal_of(
        [
            envelope("message", {"endpoint": "a", "data": data}, user=4),
            envelope("message", {"endpoint": "b", "data": 17}),
        ]
    )
    (row,) = endpoint(journal, "a", "user string, `it's` struct<deep: array<int>>").collect()
    assert (row["user"], row["frame_user"], row["it's"]) == ("Ada", 4, Row(deep=[1, 2]))
    (value,) = endpoint(journal, "b", "bigint").collect()
    assert value["value"] == 17


@pytest.mark.parametrize("schema", ["text strin", "struct<", """`it's "odd"` string"""])
def test_a_schema_that_cannot_be_is_refused(journal_of: JournalOf, schema: str) -> None:
    with pytest.raises(PipelineError, match=r"cannot be (read|looked up)"):
        endpoint(journal_of([]), "chat", schema)
