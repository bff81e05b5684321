import datetime
import decimal
import enum
import uuid
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec
import pytest
from msgspec import Meta

from framehub.rpc import schema
from framehub.rpc.schema import Checker


class Color(enum.Enum):
    RED = "red"


class Cat(msgspec.Struct, tag=True):
    lives: int


class Dog(msgspec.Struct, tag=True):
    name: str


class Node(msgspec.Struct):
    value: int
    kids: list["Node"] = []


@dataclass
class Point:
    x: int


class Named(TypedDict):
    a: int


class Both(NamedTuple):
    a: int
    b: str


def error(type_: Any, value: Any, path: str = "x") -> str | None:
    return Checker(msgspec.json.schema(type_)).error(value, path)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (Any, object()),
        (int, 1),
        (float, 1),
        (float, 1.5),
        (bool, True),
        (None, None),
        (str, "a"),
        (bytes, b"a"),
        (bytes, "YQ=="),
        (int | None, None),
        (Node | None, None),
        (list[int], [1, 2]),
        (list[int], (1, 2)),
        (list[int], []),
        (set[int], {1}),
        (list[Node], [Node(1, [Node(2)])]),
        (list, [1, "a"]),
        (tuple[int, str], (1, "a")),
        (Both, Both(1, "a")),
        (dict[str, int], {"a": 1}),
        (Named, {"a": 1, "more": 2}),
        (Point, Point(1)),
        (Cat | Dog, Dog("a")),
        (Color, Color.RED),
        (Color, "red"),
        (Literal[1, "a", None], None),
        (datetime.datetime, datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)),
        (decimal.Decimal, decimal.Decimal("1.5")),
        (uuid.UUID, uuid.UUID(int=1)),
        (Annotated[int, Meta(ge=1, le=3, multiple_of=2)], 2),
        (Annotated[float, Meta(gt=0, lt=3)], 2.5),
        (Annotated[str, Meta(min_length=1, max_length=2, pattern="^b")], "a"),
        (Annotated[dict[str, int], Meta(min_length=1, max_length=1)], {"a": 1}),
    ],
)
def test_right_values_have_no_error(type_: Any, value: Any) -> None:
    assert error(type_, value) is None


@pytest.mark.parametrize(
    ("type_", "value", "why"),
    [
        (int, "12", "x: expected integer, got string"),
        (int, True, "x: expected integer, got boolean"),
        (int, 1.0, "x: expected integer, got number"),
        (float, "1", "x: expected number, got string"),
        (str, b"a", "x: expected string, got bytes"),
        (str, None, "x: expected string, got null"),
        (str, object(), "x: expected string, got object"),
        (bytes, 1, "x: expected string, got integer"),
        (int | str | None, 1.5, "x: expected integer or string or null, got number"),
        (Node | None, 1, "x: expected Node or null, got integer"),
        (Node | None, {"value": "a"}, "x.value: expected integer, got string"),
        (list[int] | None, 1, "x: expected array or null, got integer"),
        (list[int], 1, "x: expected array, got integer"),
        (list[int], [1, "a"], "x[1]: expected integer, got string"),
        (list[list[int]], [[1], ["a"]], "x[1][0]: expected integer, got string"),
        (tuple[int, str], (1, 2), "x[1]: expected string, got integer"),
        (tuple[int, str], (1,), "x: expected a length of at least 2"),
        (tuple[int, str], (1, "a", 2), "x: expected a length of at most 2"),
        (dict[str, int], [], "x: expected object, got array"),
        (dict[str, int], {"a": "b"}, "x.a: expected integer, got string"),
        (Node, {}, "x: value is missing"),
        (Node, Node(1, [Node("a")]), "x.kids[0].value: expected integer, got string"),  # type: ignore[arg-type]
        (Point, Point("a"), "x.x: expected integer, got string"),  # type: ignore[arg-type]
        (Color, "blue", "x: expected one of 'red', got string"),
        (Literal[1, 2], True, "x: expected one of 1, 2, got boolean"),
        (Annotated[int, Meta(ge=1)], 0, "x: expected at least 1"),
        (Annotated[int, Meta(le=1)], 2, "x: expected at most 1"),
        (Annotated[int, Meta(gt=1)], 1, "x: expected more than 1"),
        (Annotated[int, Meta(lt=1)], 1, "x: expected less than 1"),
        (Annotated[int, Meta(multiple_of=2)], 3, "x: expected a multiple of 2"),
        (Annotated[str, Meta(min_length=2)], "a", "x: expected a length of at least 2"),
        (Annotated[str, Meta(max_length=2)], "abc", "x: expected a length of at most 2"),
        (Annotated[dict[str, int], Meta(min_length=1)], {}, "x: expected a length of at least 1"),
        (Annotated[dict[str, int], Meta(max_length=0)], {"a": 1}, "x: expected a length of at most 0"),
    ],
)
def test_wrong_values_are_named_with_their_place(type_: Any, value: Any, why: str) -> None:
    assert error(type_, value) == why


def test_the_outermost_place_may_have_no_name() -> None:
    assert error(int, "a", "") == "expected integer, got string"
    assert error(Point, {"x": "a"}, "") == "x: expected integer, got string"


def test_what_may_not_be_there() -> None:
    closed = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}
    assert Checker(closed).error({"a": 1}) is None
    assert Checker(closed).error({"b": 1}, "x") == "x: b is not known"
    assert Checker(False).error(1, "x") == "x: nothing may stand here"
    assert Checker({"type": "array", "items": False}).error([1], "x") == "x[0]: nothing may stand here"


@pytest.mark.parametrize(
    "senseless",
    [
        None,
        5,
        {"type": 5},
        {"type": "animal"},
        {"type": ["integer"]},
        {"$ref": "#/$defs/Nobody"},
        {"$ref": 5},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {"anyOf": 5},
        {"type": "integer", "minimum": "a"},
        {"type": "object", "properties": []},
        {"enum": 5},
        {"title": "no type"},
        {"minimum": 5, "type": None},
    ],
)
def test_a_senseless_schema_checks_nothing(senseless: Any) -> None:
    assert Checker(senseless).error(1, "x") is None


def test_definitions_may_come_from_outside() -> None:
    checker = Checker({"$ref": "#/$defs/A"}, {"A": {"type": "integer"}})
    assert checker.error("a", "x") == "x: expected integer, got string"


def test_a_choice_between_alternatives_that_explodes_is_not_followed_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schema, "MAX_TRIES", 1000)
    one = {"type": "array", "items": {"$ref": "#/$defs/A"}}
    bomb = {"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [one, one]}}}
    value: Any = 1
    for _ in range(60):
        value = [value]
    assert Checker(bomb).error(value) is None


def test_an_alternative_without_a_title_is_another_value() -> None:
    checker = Checker({"anyOf": [{"enum": [1]}, {"type": "array"}]})
    assert checker.error("a", "x") == "x: expected another value or array, got string"
