import json
import math
import struct
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row

from framehub.pipeline import messages
from framehub.pipeline.schemas import check
from framehub.rpc.block import Attached, Block, EnvelopeCoder

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
Rpc = Callable[..., dict[str, Any]]
DOUBLES = (0.0, 1.0, -1.0, 0.1, -2.5, 3.0, math.pi, 1 / 3, 123456789.123)
EXTREME_DOUBLES = (1e308, -1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, 1e-310, 2.0**-1022 * 0.75)


def rows_of(journal: DataFrame) -> list[Row]:
    return check("messages", messages(journal)).orderBy("seq").collect()


def said(journal_of: JournalOf, rpc: Rpc, coder: str | None, *payloads: bytes) -> list[Row]:
    asked = [rpc("in", "QUERY", "1", payload, "f", coder=coder) for payload in payloads]
    return rows_of(journal_of(asked))


@pytest.mark.parametrize(
    ("coder", "layout", "values"),
    [
        ("Int", ">i", (0, 1, -1, 2**31 - 1, -(2**31))),
        ("Long", ">q", (0, 1, -1, 2**63 - 1, -(2**63))),
        ("ULong", ">Q", (0, 1, 2**63, 2**64 - 1)),
        ("Double", ">d", DOUBLES + EXTREME_DOUBLES),
    ],
)
def test_a_number_is_what_its_coder_wrote(
    journal_of: JournalOf, rpc: Rpc, coder: str, layout: str, values: tuple[float, ...]
) -> None:
    rows = said(journal_of, rpc, coder, *(struct.pack(layout, value) for value in values))
    assert [json.loads(row["json"]) for row in rows] == list(values)
    assert all(row["readable"] for row in rows)
    assert {(row["kind"], row["coder"], row["endpoint"]) for row in rows} == {("query", coder, "f")}


def test_a_double_that_json_cannot_carry_is_still_read(journal_of: JournalOf, rpc: Rpc) -> None:
    odd = (math.inf, -math.inf, math.nan)
    rows = said(journal_of, rpc, "Double", *(struct.pack(">d", value) for value in odd))
    assert [(row["json"], row["readable"]) for row in rows] == [
        ('"Infinity"', True),
        ('"-Infinity"', True),
        ('"NaN"', True),
    ]


def test_a_string_is_text_of_its_size(journal_of: JournalOf, rpc: Rpc) -> None:
    text = "täxt".encode()
    right = struct.pack(">i", len(text)) + text
    wrong = [right[:-1], right + b"x", b"", b"\0\0\0", struct.pack(">i", -1), b"\0\0\0\1\xff"]
    rows = said(journal_of, rpc, "String", right, bytes(4), *wrong)
    assert [row["json"] for row in rows] == ['"täxt"', '""', *[None] * len(wrong)]
    assert [row["readable"] for row in rows] == [True, True, *[False] * len(wrong)]


def test_json_is_data_and_nothing_may_follow(journal_of: JournalOf, rpc: Rpc) -> None:
    right = [b'{"a": [1, 2.5]}', b"null", b' "x" ', b"[]", b"[1,[2]]"]
    wrong = [b"", b"1 2", b"1,2", b'1,"end"', b"1],[2", b"{", b"NaN", b"\xff", b"1 and more", b"[" * 50_000]
    rows = said(journal_of, rpc, "json", *right, *wrong)
    texts = [row["json"] for row in rows]
    assert [json.loads(text) for text in texts[: len(right)]] == [json.loads(text) for text in right]
    assert texts[len(right) :] == [None] * len(wrong)
    assert [row["readable"] for row in rows] == [True] * len(right) + [False] * len(wrong)
    assert [row["files"] for row in rows] == [[]] * len(rows)


def test_a_number_of_another_size_is_none(journal_of: JournalOf, rpc: Rpc) -> None:
    for coder in ("Int", "Long", "ULong", "Double"):
        rows = said(journal_of, rpc, coder, b"", b"123", b"123456789")
        assert [(row["readable"], row["json"]) for row in rows] == [(False, None)] * 3


def test_an_envelope_has_its_data_and_its_files(journal_of: JournalOf, rpc: Rpc) -> None:
    files = (Attached(2**32 - 1, b"12345", "cat.png", "image/png"), Attached(0, b"", "dog.txt", "text/plain"))
    coder = EnvelopeCoder()
    full = coder.encode(Block("resize", {"width": 5}, files))
    plain = coder.encode(Block("resize", [1]))
    wrong = [b"", b"1234567", full[:20], b"\xff" * 12, struct.pack(">II", 4, 4) + b"null0000"]
    rows = said(journal_of, rpc, "envelope", full, plain, *wrong)
    assert [row["json"] for row in rows] == ['{"width":5}', "[1]", *[None] * len(wrong)]
    assert [row["readable"] for row in rows] == [True, True, *[False] * len(wrong)]
    assert [row["error"] for row in rows] == [None] * len(rows)
    assert rows[0]["files"] == [
        Row(key=2**32 - 1, name="cat.png", type="image/png", bytes=5),
        Row(key=0, name="dog.txt", type="text/plain", bytes=0),
    ]
    assert [row["files"] for row in rows[1:]] == [[]] * (len(rows) - 1)
