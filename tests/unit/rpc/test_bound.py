# mypy: disable-error-code="empty-body"

from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from framehub import File
from framehub.errors import DecodingError, EncodingError
from framehub.rpc.block import Attached, Block, EnvelopeCoder
from framehub.rpc.bound import BoundFunction


class Point(msgspec.Struct):
    x: int


def square(x: int) -> int:
    """The square of x."""
    return x * x


def add(a: float, b: float = 1.0) -> float: ...
def both(a: int = 1, b: list[int] = []) -> None: ...  # noqa: B006
def nothing() -> None: ...
def maybe(x: int | None = 5) -> int: ...
def default(x: int = 7) -> int: ...
def points(all_of: list[Point]) -> None: ...
def thumb(image: File, width: int = 10, mask: File | None = None) -> File: ...
def album(title: str, pictures: list[File]) -> tuple[dict[str, int], list[File]]: ...
def size(file: File) -> int: ...


def arguments(function: Callable[..., Any], data: bytes, coders: tuple[str, str] | None = None) -> Any:
    args, kwargs = BoundFunction(function, coders=coders).call(data)
    assert kwargs == {}
    return args


@pytest.mark.parametrize(
    ("function", "value", "args"),
    [
        (square, 12, (12,)),
        (default, None, (7,)),
        (default, 3, (3,)),
        (maybe, None, (None,)),
        (nothing, None, ()),
        (add, [1, 2], (1.0, 2.0)),
        (add, [1], (1.0, 1.0)),
        (add, {"b": 2, "a": 1}, (1.0, 2.0)),
        (add, {"a": 1}, (1.0, 1.0)),
        (both, None, (1, [])),
        (both, [], (1, [])),
        (both, {}, (1, [])),
        (both, {"b": [1]}, (1, [1])),
        (points, [{"x": 1}], ([Point(1)],)),
    ],
)
@pytest.mark.parametrize("coder", ["json", "msgpack"])
def test_one_argument_becomes_many(function: Callable[..., Any], value: Any, args: Any, coder: str) -> None:
    """[RPC-7.2] [RPC-7.3] [RPC-7.4]"""
    data = getattr(msgspec, coder).encode(value)
    assert arguments(function, data, (coder, coder)) == args


def test_spaces_before_json_and_big_maps_of_msgpack() -> None:
    assert arguments(add, b' \n{"a": 1}') == arguments(add, b"\t[1]") == (1.0, 1.0)
    assert arguments(add, bytes.fromhex("de0001 a161 01"), ("msgpack", "json")) == (1.0, 1.0)


def test_defaults_are_the_functions_own() -> None:
    assert arguments(both, b"[]")[1] is both.__defaults__[1]  # type: ignore[index]


@pytest.mark.parametrize(
    ("function", "data", "why"),
    [
        (square, b'"12"', "square: x: expected int, got str"),
        (square, b"null", "square: x: expected int, got null"),
        (square, b"[12]", "square: x: expected int, got array"),
        (points, b'[{"x":1},{"x":"a"}]', "points: all_of[1].x: expected int, got str"),
        (points, b'[{"x":1,"x":2}]', "points: all_of: Detected duplicate key"),
        (add, b'[1,"b"]', "add: b: expected float, got str"),
        (add, b'{"a":"b"}', "add: a: expected float, got str"),
        (add, b"{}", "add: object missing required field a"),
        (add, b'{"a":1,"c":1}', "add: object contains unknown field c"),
        (add, b"[]", "add: expected array of at least length 1"),
        (add, b"[1,2,3]", "add: expected array of at most length 2"),
        (add, b"null", "add: expected array, got null"),
        (add, b"5", "add: expected array, got int"),
        (add, b"", "add: input data was truncated"),
        (both, b"nul", "both: "),
        (nothing, b"1", "nothing: expected null, got int"),
    ],
)
def test_other_arguments_are_refused(function: Callable[..., Any], data: bytes, why: str) -> None:
    """[RPC-7.3] [RPC-6.10]"""
    with pytest.raises(DecodingError) as caught:
        arguments(function, data)
    assert str(caught.value).startswith(why)


def test_empty_msgpack_is_refused() -> None:
    with pytest.raises(DecodingError):
        arguments(add, b"", ("msgpack", "msgpack"))


def test_fixed_layouts() -> None:
    """[RPC-7.5]"""
    pair = bytes.fromhex("00000001 00000002")
    assert arguments(add, pair, ("Pair<Int, Int>", "Int")) == (1, 2)
    assert arguments(square, pair, ("Pair<Int, Int>", "Int")) == ((1, 2),)
    assert arguments(square, pair[:4], ("Int", "Int")) == (1,)
    assert arguments(square, b"ab", ("bytes", "bytes")) == (b"ab",)
    with pytest.raises(DecodingError, match="square: cut short inside Int"):
        arguments(square, b"", ("Int", "Int"))


def test_results() -> None:
    assert BoundFunction(square).encode_result(144) == b"144"
    assert BoundFunction(square, coders=("Int", "Int")).encode_result(144) == bytes.fromhex("00000090")
    table = BoundFunction(square, coders=("json", "arrow")).encode_result({"a": [1]})
    assert pa.ipc.open_stream(table).read_all().to_pydict() == {"a": [1]}
    with pytest.raises(EncodingError, match="square: expected a finite number"):
        BoundFunction(square).encode_result(float("inf"))


def test_the_annotation_of_a_result_is_not_enforced() -> None:
    assert BoundFunction(square).encode_result("text") == b'"text"'


def test_files_come_as_the_runtime_makes_them() -> None:
    """[RPC-7.9]"""
    block = Block("thumb", 3, (Attached(0, b"abc", "a.png", "image/png"),))
    bound = BoundFunction(thumb, make_file=File)
    args, _ = bound.call(EnvelopeCoder().encode(block))
    assert args == (File(b"abc", "a.png", "image/png"), 3, None)
    with pytest.raises(DecodingError, match="thumb: image: file 0 is missing"):
        bound.call(EnvelopeCoder().encode(Block("thumb", 3)))
    with pytest.raises(DecodingError, match=r"thumb: width: expected int \| null, got str"):
        bound.call(EnvelopeCoder().encode(Block("thumb", "3", block.files)))
    with pytest.raises(DecodingError, match="thumb: a block has at least 8 bytes"):
        bound.call(b"")


def test_files_in_results() -> None:
    """[RPC-7.10]"""
    read = EnvelopeCoder().decode
    assert read(BoundFunction(thumb).encode_result(File(b"a"))) == Block("thumb", None, (Attached(0, b"a"),))
    both_of = BoundFunction(album).encode_result(({"n": 1}, [File(b"a"), File(b"b")]))
    assert read(both_of) == Block("album", {"n": 1}, (Attached(0, b"a"), Attached(1, b"b")))
    assert read(BoundFunction(size).encode_result(5)) == Block("size", 5)
    for wrong in (1, (1,)):
        with pytest.raises(EncodingError, match="album: expected data and files"):
            BoundFunction(album).encode_result(wrong)


def test_it_describes_itself() -> None:
    bound = BoundFunction(square, "sq")
    assert (bound.name, bound.function) == ("sq", square)
    assert bound.description["doc"] == "The square of x."
    assert bound.description["result"] == {"type": "integer"}
    assert list(bound.description["parameters"]["properties"]) == ["x"]
