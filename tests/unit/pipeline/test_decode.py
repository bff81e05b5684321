"""A batch of all protocols: which rows are looked at, and what is made of them."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from framehub.journal.rpc_rows import join
from framehub.pipeline.decode import DECODED, Columns, decode, decoded, words

ACK = bytes.fromhex("21 00000009 00000007")
RESULT = join([b"peer", b"RESPONSE_RESULT", b"17", b"\0\1"])
UNKNOWN = join([b"peer", b"RESPONSE_UNKNOWN_FUNCTION", b"17", b"add"])
MESSAGE = bytes.fromhex("00000007 00 03") + b"body"

BatchOf = Callable[[list[dict[str, Any]]], pa.RecordBatch]


def mixed(batch_of: BatchOf) -> pa.RecordBatch:
    return batch_of(
        [
            {"protocol": "rpc", "kind": "result", "raw": RESULT},
            {"protocol": "mfp", "kind": "service", "raw": ACK},
            {"protocol": "mfp", "kind": "link_opened", "recorded": "off"},
            {"protocol": "hub", "kind": "message", "raw": MESSAGE, "version": 2},
            {"protocol": "mfp", "kind": "refused", "raw": b"\0", "refused": "too short"},
            {"protocol": "hub", "kind": "first", "raw": b"", "version": 2, "refused": "bad_frame"},
            {"protocol": "mfp", "kind": "message", "raw": b"\x41", "recorded": "head"},
            {"protocol": "mfp", "kind": "message", "raw": b"\x41"},
            {"protocol": "rpc", "kind": "unknown_function", "raw": UNKNOWN, "direction": "out"},
            {"protocol": "ftp", "kind": "message", "raw": b"\x41"},
            {"protocol": "mfp", "kind": "service", "raw": None},
        ]
    )


def test_taken_rows_with_all_their_bytes_are_looked_at(batch_of: BatchOf) -> None:
    groups = {group.protocol: group.rows.tolist() for group in decode(Columns(mixed(batch_of)))}
    assert groups == {"mfp": [1, 7, 10], "hub": [3], "rpc": [0, 8]}


def test_the_view_says_what_the_bytes_say_in_the_order_of_rows(batch_of: BatchOf) -> None:
    view = decoded(mixed(batch_of))
    assert view.schema == DECODED
    told = [{name: value for name, value in row.items() if value is not None} for row in view.to_pylist()]
    assert [row.pop("node") for row in told] == ["one"] * 6
    payload = {"payload_at": 37, "payload_bytes": 2}
    assert told == [
        {"seq": 1, "protocol": "rpc", "verdict": "lawful", "kind": "result", "query": b"17", **payload},
        {
            "seq": 2,
            "protocol": "mfp",
            "verdict": "lawful",
            "kind": "service",
            "head": 0x21,
            "id": 9,
            "ref": 7,
            "code": 1,
        },
        {
            "seq": 4,
            "protocol": "hub",
            "verdict": "lawful",
            "kind": "message",
            "head": 0,
            "id": 7,
            "key": 3,
            "payload_at": 6,
            "payload_bytes": 4,
        },
        {"seq": 8, "protocol": "mfp", "verdict": "unlawful"},
        {
            "seq": 9,
            "protocol": "rpc",
            "verdict": "lawful",
            "kind": "unknown_function",
            "query": b"17",
            "endpoint": "add",
        },
        {"seq": 11, "protocol": "mfp", "verdict": "unlawful"},
    ]


def test_nothing_to_look_at_is_an_empty_view(batch_of: BatchOf) -> None:
    view = decoded(batch_of([{"kind": "link_opened", "recorded": "off"}]))
    assert view.schema == DECODED
    assert view.num_rows == 0


def test_words_become_numbers() -> None:
    column = pa.array(["out", "in", "other", None, "in"])
    assert words(column, ("in", "out")).tolist() == [1, 0, -1, -1, 0]
    assert words(column.dictionary_encode(), ("in", "out")).tolist() == [1, 0, -1, -1, 0]
    assert words(column[2:], ("in", "out")).tolist() == [-1, -1, 0]
