"""What a function gave as a column: the same values, or why not."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T  # noqa: N812

from framehub.errors import PipelineError
from framehub.pipeline.remote_results import check_result, one_column, result_converter

PAIR = pa.struct([("_1", pa.int64()), ("_2", pa.date32())])
DECIMAL, INSTANT = pa.decimal128(20, 0), pa.timestamp("us", "UTC")
DAY = T.DateType()


@pytest.mark.parametrize(
    ("type_", "given", "value"),
    [
        (pa.bool_(), True, True),
        (pa.int64(), 2**63 - 1, 2**63 - 1),
        (pa.int64(), 3.0, 3),
        (pa.float64(), 3, 3),
        (pa.float32(), -3.4028235e38, -3.4028234663852886e38),
        (pa.float32(), float("inf"), float("inf")),
        (INSTANT, "2026-01-02T03:00:00,000001Z", datetime(2026, 1, 2, 3, 0, 0, 1, tzinfo=UTC)),
        (pa.string(), {"a": "ü"}, '{"a": "\\u00fc"}'),
        (pa.string(), "plain", "plain"),
        (pa.binary(), b"\xff", b"\xff"),
        (pa.date32(), "2026-01-02", date(2026, 1, 2)),
        (pa.date32(), date(2026, 1, 2), date(2026, 1, 2)),
        (INSTANT, "2026-01-02T03:00:00.000001+00:00", datetime(2026, 1, 2, 3, 0, 0, 1, tzinfo=UTC)),
        (INSTANT, "2026-01-02T03:00:00.000001000Z", datetime(2026, 1, 2, 3, 0, 0, 1, tzinfo=UTC)),
        (INSTANT, datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)),
        (pa.timestamp("us"), "2026-01-02T03:00:00", datetime(2026, 1, 2, 3)),
        (DECIMAL, 2**63, Decimal(2**63)),
        (pa.decimal128(38, 18), "0.000000000000000001", Decimal("1E-18")),
        (pa.list_(pa.date32()), ["2026-01-02", None], [date(2026, 1, 2), None]),
        (pa.map_(pa.string(), pa.int64()), {"a": 1}, [("a", 1)]),
        (PAIR, [1, "2026-01-02"], {"_1": 1, "_2": date(2026, 1, 2)}),
        (PAIR, {"_1": 1}, {"_1": 1, "_2": None}),
    ],
)
def test_results_become_values_of_columns(type_: Any, given: Any, value: Any) -> None:
    convert = result_converter(type_)
    assert convert(None) is None
    assert type_ == pa.float32() or convert(given) == value
    assert pa.array([convert(given)], type_).to_pylist() == [value]


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        (pa.bool_(), 1),
        (pa.int64(), 1.5),
        (pa.int64(), True),
        (pa.int64(), "1"),
        (pa.float64(), True),
        (pa.float64(), "1"),
        (pa.string(), float("nan")),
        (pa.binary(), "text"),
        (pa.date32(), 1),
        (pa.date32(), "1 May"),
        (pa.date32(), datetime(2026, 1, 2, tzinfo=UTC)),
        (INSTANT, 1),
        (INSTANT, "2026-01-02T03:00:00"),
        (INSTANT, "2026-01-02T03:00:00.0000001Z"),
        (pa.timestamp("us"), "2026-01-02T03:00:00Z"),
        (DECIMAL, 1.0),
        (DECIMAL, True),
        (DECIMAL, "one"),
        (pa.list_(pa.string()), "ab"),
        (pa.map_(pa.string(), pa.int64()), [["a", 1]]),
        (PAIR, "ab"),
        (PAIR, [1]),
        (PAIR, {"_1": 1, "_2": None, "_3": None}),
        (pa.list_(PAIR), [{"1": 1}]),
        (pa.float32(), 1e300),
        (pa.float32(), -3.5e38),
        (pa.float32(), 10**400),
        (pa.list_(pa.float32()), [0.5, 1e300]),
        (INSTANT, "2026-01-02T03:00:00,0000001Z"),
    ],
)
def test_what_would_become_another_value_is_none(type_: Any, given: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        result_converter(type_)(given)


@pytest.mark.parametrize(
    ("type_", "identity", "schema"),
    [
        (T.StructType([T.StructField("a", T.ArrayType(DAY))]), "json", None),
        (T.MapType(T.StringType(), T.TimestampNTZType()), "json", None),
        (T.DecimalType(20, 0), "ULong", None),
        (T.DecimalType(20, 0), "json", {"type": "integer"}),
        (T.BinaryType(), "bytes", None),
        (T.ArrayType(T.BinaryType()), "msgpack", None),
        (T.TimeType(), "arrow", None),
        (T.MapType(DAY, DAY), "arrow", None),
    ],
)
def test_types_of_results(type_: T.DataType, identity: str, schema: Any) -> None:
    check_result("f", type_, identity, schema)


@pytest.mark.parametrize(
    ("type_", "identity", "schema", "why"),
    [
        (T.BinaryType(), "json", None, "json has no bytes; returns='string'"),
        (T.TimeType(6), "json", None, r"json has no time\(6\); returns='string'"),
        (T.DayTimeIntervalType(), "msgpack", None, "msgpack has no interval"),
        (T.NullType(), "json", None, "json has no void"),
        (T.MapType(DAY, DAY), "json", None, "returns='map<string,date>'"),
        (T.StructType([T.StructField("a", T.BinaryType())]), "json", None, "json has no bytes"),
        (T.DecimalType(9, 2), "json", {"type": "number"}, "a float"),
        (T.DecimalType(9, 2), "json", {"$ref": "#/$defs/N", "$defs": {"N": {"type": "number"}}}, "a float"),
        (T.VariantType(), "arrow", None, "no coder"),
        (T.MapType(T.StringType(), T.ArrayType(T.VariantType())), "json", None, "no coder"),
        (T.YearMonthIntervalType(), "arrow", None, "Arrow has no such type"),
    ],
)
def test_types_that_results_cannot_have(type_: T.DataType, identity: str, schema: Any, why: str) -> None:
    with pytest.raises(PipelineError, match=rf"^f: returns='.*' cannot be: .*{why}"):
        check_result("f", type_, identity, schema)


@pytest.mark.parametrize(
    ("given", "type_"),
    [
        (pa.array([2**53]), pa.float64()),
        (pa.array([2.0]), pa.int64()),
        (pa.array([7]), pa.decimal128(20, 0)),
        (pa.array(["a"]).dictionary_encode(), pa.string()),
        (pa.nulls(1), pa.date32()),
        (pa.array([0.5, None, float("inf")]), pa.float32()),
        (pa.array([float("inf")]).dictionary_encode(), pa.float32()),
        (pa.array([float("-inf")], pa.float32()), pa.float64()),
        (pa.array([[1]]), pa.list_(pa.float64())),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), pa.map_(pa.string(), pa.float64())),
    ],
)
def test_a_table_s_column_may_be_wider_or_narrower(given: Any, type_: Any) -> None:
    found = one_column(pa.table({"a": given}), type_)
    assert found.type == type_
    assert found.to_pylist() == given.to_pylist()


@pytest.mark.parametrize(
    ("given", "type_"),
    [
        (pa.array([1.5]), pa.int64()),
        (pa.array([2**53 + 1]), pa.float64()),
        (pa.array([0.5]), pa.decimal128(20, 0)),
        (pa.array([1]), pa.bool_()),
        (pa.array([1]), INSTANT),
        (pa.array([1], pa.timestamp("us")), INSTANT),
        (pa.array([1], INSTANT), pa.date32()),
        (pa.array(["a"]), pa.binary()),
        (pa.array([[0.5]]), pa.list_(pa.decimal128(20, 0))),
        (pa.array([{"a": 0.5}]), pa.struct([("b", pa.float64())])),
        (pa.array([{"b": 0.5, "c": 1}]), pa.struct([("b", pa.float64())])),
        (pa.array([[{"b": 0.5, "c": 1}]]), pa.list_(pa.struct([("b", pa.float64())]))),
        (pa.array([0.5, 1e300, float("inf")]), pa.float32()),
        (pa.array([[0.5], None, [-1e300]]), pa.list_(pa.float32())),
        (pa.array([{"a": [1e300]}]), pa.struct([("a", pa.list_(pa.float32()))])),
        (pa.array([[("a", 1e300)]], pa.map_(pa.string(), pa.float64())), pa.map_(pa.string(), pa.float32())),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), pa.map_(pa.string(), pa.bool_())),
    ],
)
def test_but_no_other_column(given: Any, type_: Any) -> None:
    with pytest.raises((ValueError, KeyError)):
        one_column(pa.table({"a": given}), type_)


def test_a_table_is_a_struct_of_its_columns_and_of_no_others() -> None:
    given = pa.table({"b": [0.5], "a": [1]})
    assert one_column(given, pa.struct([("a", pa.int64()), ("b", pa.float32())])).to_pylist() == [
        {"a": 1, "b": 0.5}
    ]
    with pytest.raises(ValueError, match="it has columns that the struct has not: b"):
        one_column(given, pa.struct([("a", pa.int64())]))


def test_what_a_struct_has_not_is_named() -> None:
    with pytest.raises(ValueError, match="got fields that the struct has not: _3, a"):
        result_converter(PAIR)({"a": 1, "_3": 2, "_1": 3})
