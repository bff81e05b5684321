# mypy: disable-error-code="empty-body"

import functools
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Annotated, Any

import msgspec
import pyarrow as pa
import pytest

from framehub import File
from framehub.errors import ConfigError
from framehub.rpc.signature import FILE, Schema, Signature, signature, takes_null


class Point(msgspec.Struct):
    x: int


class Scale:
    """Multiplies."""

    def __call__(self, x: "float") -> "float":
        return x

    def method(self, x: int) -> int:
        return x


def square(x: int) -> int:
    """The square of x."""
    return x * x


def add(a: float, b: float = 1.0) -> float:
    return a + b


def untyped(a, b=None, /):  # type: ignore[no-untyped-def]
    return a


def thumb(image: File, width: int = 10, mask: File | None = None) -> tuple[Point, list[File]]: ...


def parameters(
    properties: dict[str, Schema], required: list[str], defs: Schema | None = None
) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return schema | {"$defs": defs} if defs else schema


def test_a_function_says_what_it_takes_and_gives() -> None:
    """[RPC-7.1]"""
    own = signature(square)
    assert (own.name, own.doc, own.argument, own.result) == ("square", "The square of x.", "json", "json")
    assert own.parameters == parameters({"x": {"type": "integer"}}, ["x"])
    assert own.result_schema == {"type": "integer"}


def test_defaults_and_missing_annotations() -> None:
    """[RPC-7.1]"""
    assert signature(add).parameters == parameters(
        {"a": {"type": "number"}, "b": {"type": "number", "default": 1.0}}, ["a"]
    )
    own = signature(untyped, "other")
    assert own.name == "other"
    assert own.parameters == parameters({"a": {}, "b": {"default": None}}, ["a"])
    assert own.result_schema == {}


def test_types_of_ones_own_are_definitions() -> None:
    """[RPC-7.1]"""

    def move(p: Point, by: list[Point] | None = None) -> list[Point]: ...

    own = signature(move)
    defs = own.parameters["$defs"]
    assert own.parameters["properties"]["p"] == {"$ref": "#/$defs/Point"}
    assert defs["Point"]["properties"] == {"x": {"type": "integer"}}
    assert own.result_schema == {"type": "array", "items": {"$ref": "#/$defs/Point"}, "$defs": defs}


def test_a_default_that_no_schema_can_show_is_left_out() -> None:
    def f(a: int, b: Any = object()) -> None: ...  # noqa: B008

    assert signature(f).parameters == parameters({"a": {"type": "integer"}, "b": {}}, ["a"])


@pytest.mark.parametrize(
    ("function", "doc"),
    [
        (Scale().method, ""),
        (Scale(), "Multiplies."),
        (functools.partial(add, 1.0), ""),
        (functools.partial(functools.partial(square)), "The square of x."),
        (lambda x: x, ""),
    ],
)
def test_whatever_can_be_called(function: Callable[..., Any], doc: str) -> None:
    own = signature(function, "f")
    assert own.doc == doc
    assert len(own.inputs) == 1


def test_files_use_the_envelope() -> None:
    """[RPC-7.8]"""
    own = signature(thumb)
    assert (own.argument, own.result) == ("envelope", "envelope")
    assert [each.file for each in own.inputs] == ["file", "", "optional"]
    assert own.parameters["properties"] == {
        "image": FILE,
        "width": {"type": "integer", "default": 10},
        "mask": {"anyOf": [FILE, {"type": "null"}]},
    }
    assert own.parameters["required"] == ["image"]
    assert (own.output, own.output_file, own.is_pair) == (Point, "files", True)
    assert own.result_schema["prefixItems"] == [
        {"$ref": "#/$defs/Point"},
        {"type": "array", "items": FILE},
    ]
    assert signature(thumb, coders=("envelope", "envelope")) == own


@pytest.mark.parametrize(
    ("type_", "kind", "schema"),
    [
        (File, "file", FILE),
        (Annotated[File, "a picture"], "file", FILE),
        (list[File], "files", {"type": "array", "items": FILE}),
        (Sequence[File], "files", {"type": "array", "items": FILE}),
        (tuple[File, ...], "files", {"type": "array", "items": FILE}),
        (File | None, "optional", {"anyOf": [FILE, {"type": "null"}]}),
    ],
)
def test_ways_for_files_to_stand(type_: Any, kind: str, schema: Schema) -> None:
    """[RPC-7.8]"""

    def f(a):  # type: ignore[no-untyped-def]
        ...

    f.__annotations__ = {"a": type_, "return": type_}
    own = signature(f)
    assert (own.inputs[0].file, own.output_file, own.is_pair) == (kind, kind, False)
    assert own.parameters["properties"] == {"a": schema}
    assert own.parameters["required"] == ([] if kind == "files" else ["a"])
    assert own.result_schema == schema


def test_explicit_coders_say_the_types() -> None:
    own = signature(square, coders=("Int", " List<Int> "))
    assert (own.argument, own.result) == ("Int", "List<Int>")
    assert own.parameters["properties"]["x"]["maximum"] == 2**31 - 1
    assert own.result_schema["type"] == "array"
    two = signature(add, coders=("Pair<Double, Double>", "bytes"))
    assert two.parameters["properties"] == {
        "a": {"type": "number"},
        "b": {"type": "number", "default": 1.0},
    }
    assert two.result_schema == {"type": "string", "contentEncoding": "base64"}
    one = signature(square, coders=("Pair<Double, Double>", "arrow"))
    assert one.parameters["properties"]["x"]["minItems"] == 2
    assert one.result_schema == {}


def test_msgpack_takes_bytes_and_arrow_takes_tables() -> None:
    def shrink(data: bytes, ratio: float = 0.5) -> bytes: ...

    def clean(table: pa.Table) -> pa.Table: ...

    assert signature(shrink, coders=("msgpack", "msgpack")).result_schema["contentEncoding"] == "base64"
    assert signature(clean, coders=("arrow", "arrow")).parameters == parameters({"table": {}}, ["table"])


def any_number(*values: int) -> None: ...
def any_names(**values: int) -> None: ...
def only_by_name(*, x: int) -> None: ...
def of_bytes(x: bytes) -> None: ...
def of_nested_bytes(x: list[dict[str, bytes | None]]) -> None: ...
def of_objects(x: object) -> None: ...
def of_tables(x: int) -> pa.Table: ...
def of_nobody(x: "Nobody") -> None: ...  # type: ignore[name-defined] # noqa: F821
def secret(x: Any = object()) -> None: ...  # noqa: B008
def file_inside(x: dict[str, File]) -> None: ...
def file_default(x: File = File(b"")) -> None: ...  # noqa: B008
def files_first(x: list[File], y: File) -> None: ...
def file_or_int(x: File | int) -> None: ...
def files_beside(x: int) -> tuple[File, File]: ...


def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("function", "coders", "why"),
    [
        (any_number, None, "values takes any number of arguments: name each one, or take one list or dict"),
        (any_names, None, "values takes any number of arguments"),
        (only_by_name, None, "x is keyword-only: take away the *"),
        (of_bytes, None, "x: bytes cannot be sent as json; give coders="),
        (of_nested_bytes, None, "x: bytes cannot be sent as json"),
        (of_objects, None, "x: <class 'object'> cannot be sent as json"),
        (of_tables, None, "its result: <class 'pyarrow.lib.Table'> cannot be sent as json"),
        (of_nobody, None, "of_nobody cannot be read: name 'Nobody' is not defined"),
        (secret, None, "x: its default cannot be written as JSON; use None"),
        (file_inside, None, "x: a File stands alone, as File | None, or as list[File], not in"),
        (file_or_int, None, "x: a File stands alone"),
        (files_beside, None, "its result: a File stands alone"),
        (file_default, None, "x: the only default of a File is None"),
        (files_first, None, "list[File] takes all files that are left"),
        (generator, None, "is a generator: a remote function gives one result; return a list"),
        (async_generator, None, "is a generator"),
        (dict, None, "dict cannot be read"),
        (square, ("Int",), "coders are two identities"),
        (square, (int, int), "coders are two identities"),
        (square, ("Int", "Foo"), "'Foo' is not known"),
        (square, ("Triple<Int, Int", "Int"), "expected ','"),
        (add, ("Int", "Int"), "add has 2 parameters; with the coder Int it has to have 1"),
        (add, ("Triple<Int, Int, Int>", "Int"), "it has to have 1 or 3"),
        (thumb, ("json", "json"), "its coders are ('envelope', 'envelope')"),
        (functools.partial(square), None, "has no name of its own: give name="),
    ],
)
def test_what_cannot_be_called_from_afar_says_what_to_do(function: Any, coders: Any, why: str) -> None:
    """[RPC-7.11]"""
    with pytest.raises(ConfigError) as caught:
        signature(function, coders=coders)
    assert why in str(caught.value)


def test_whether_a_type_takes_null() -> None:
    assert [takes_null(type_) for type_ in (Any, None, int | None, int, Point)] == [True] * 3 + [False] * 2


def test_a_signature_is_a_value() -> None:
    assert isinstance(signature(square), Signature)
    assert signature(square) == signature(square)
