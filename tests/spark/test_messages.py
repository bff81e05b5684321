import json
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, functions

from framehub.pipeline import messages
from framehub.pipeline.schemas import MESSAGES, check, shape

pytestmark = pytest.mark.spark

Envelope = Callable[..., dict[str, Any]]
JournalOf = Callable[..., DataFrame]


def rows_of(journal: DataFrame) -> list[Row]:
    return check("messages", messages(journal)).orderBy("seq").collect()


def test_data_is_a_variant_and_json_text(journal_of: JournalOf, envelope: Envelope) -> None:
    journal = journal_of(
        [
            envelope("request", {"endpoint": "chat", "data": {"text": "hi", "tags": ["a", "b"], "n": 2.5}}),
            envelope("response", {"endpoint": "chat", "error": {"code": "busy", "message": "later"}}, ref=1),
            envelope("message", {"endpoint": "chat", "data": None}),
            envelope("message", {"endpoint": "chat", "data": "täxt"}),
            envelope("message", {"endpoint": "chat"}),
        ]
    )
    made = messages(journal)
    assert shape(made.schema) == shape(MESSAGES)
    asked, answered, null, text, nothing = rows_of(journal)
    assert json.loads(asked["json"]) == {"text": "hi", "tags": ["a", "b"], "n": 2.5}
    assert (asked["kind"], asked["endpoint"], asked["error"], asked["readable"]) == (
        "request",
        "chat",
        None,
        True,
    )
    assert json.loads(answered["error"]) == {"code": "busy", "message": "later"}
    assert answered["json"] is None
    assert (null["json"], text["json"], nothing["json"]) == ("null", '"täxt"', None)
    tag = made.select(functions.try_variant_get("data", "$.tags[1]", "string").alias("tag")).where(
        "tag is not null"
    )
    assert tag.collect() == [Row(tag="b")]


@pytest.mark.parametrize(
    "payload",
    [
        b"\xff\xfe{",
        b"",
        b"[1, 2]",
        b'"endpoint"',
        b'{"endpoint": 5, "data": 1}',
        b'{"data": 1}',
        b'{"endpoint": "chat", "data": 1} and more',
        b'{"endpoint": "chat", "data": ',
        b'{"endpoint": "chat", "data": NaN}',
        b'{"endpoint": "\xed\xa0\x80"}',
        b"[" * 100_000,
        b'{"a":' * 5_000,
    ],
    ids=lambda payload: repr(payload[:24]),
)
def test_a_payload_that_is_no_envelope_keeps_its_row(
    journal_of: JournalOf, envelope: Envelope, payload: bytes
) -> None:
    (row,) = rows_of(journal_of([envelope("message", payload, attached={9: b"abc"})]))
    assert (row["readable"], row["data"], row["json"], row["error"]) == (False, None, None, None)
    assert row["files"] == [Row(key=9, name=None, type=None, bytes=3)]


def test_a_payload_that_was_not_recorded_keeps_its_row(journal_of: JournalOf, envelope: Envelope) -> None:
    whole = envelope("request", {"endpoint": "chat", "data": 1})
    cut = whole | {"recorded": "head", "raw": whole["raw"][:9]}
    without = whole | {"recorded": "off", "raw": None}
    rows = rows_of(journal_of([cut, without]))
    assert [(row["readable"], row["json"], row["endpoint"]) for row in rows] == [(None, None, "chat")] * 2


def test_frames_without_payload_are_no_messages(journal_of: JournalOf) -> None:
    assert rows_of(journal_of([{"kind": "message", "head": 0x40}, {"kind": "service", "code": 1}])) == []


def test_files_have_names_from_the_envelope_and_sizes_from_the_map(
    journal_of: JournalOf, envelope: Envelope
) -> None:
    def named(*filemap: Any) -> dict[str, Any]:
        return {"endpoint": "album", "data": 1, "filemap": list(filemap)}

    cat, dog = [4294967295, "cat.png", "image/png"], [0, "dog.txt", "text/plain"]
    attached = {4294967295: b"12345", 0: b""}
    journal = journal_of(
        [
            envelope("request", named(cat, dog), attached=attached),
            envelope("request", named(dog, cat), attached=attached),
            envelope("message", named(cat), announced=[4294967295, 0]),
            envelope("message", named(cat), flags=0b0100),
            envelope("message", named("odd", [1], {}, [2, 3, None]), flags=0b0100),
            envelope("message", {"endpoint": "album"}),
        ]
    )
    a, b, announced, streamed, odd, none = [row["files"] for row in rows_of(journal)]
    cat_row = Row(key=4294967295, name="cat.png", type="image/png", bytes=5)
    assert a == b == [cat_row, Row(key=0, name="dog.txt", type="text/plain", bytes=0)]
    assert announced == [
        Row(key=4294967295, name="cat.png", type="image/png", bytes=None),
        Row(key=0, name=None, type=None, bytes=None),
    ]
    assert streamed == [Row(key=4294967295, name="cat.png", type="image/png", bytes=None)]
    assert [file["key"] for file in odd] == [None, 1, None, 2]
    assert none == []
