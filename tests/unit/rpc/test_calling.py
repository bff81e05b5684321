# mypy: disable-error-code="empty-body"

import json
from collections.abc import Callable
from typing import Any

import pytest

from framehub import File
from framehub.errors import DecodingError, EncodingError
from framehub.rpc.block import Attached, Block, EnvelopeCoder
from framehub.rpc.calling import Calling, bind_by_schema
from framehub.rpc.signature import FILE, signature


def square(x: int) -> int: ...
def add(a: float, b: float = 1.0) -> float: ...
def nothing() -> None: ...
def maybe(x: int | None = 5) -> int: ...
def secret(x: int = 7) -> int: ...
def thumb(image: File, width: int = 10, mask: File | None = None) -> File: ...
def album(title: str, pictures: list[File]) -> tuple[dict[str, int], list[File]]: ...
def count(files: list[File]) -> int: ...


def calling(function: Callable[..., Any], coders: tuple[str, str] | None = None) -> Calling:
    own = signature(function, coders=coders)
    described = json.loads(json.dumps([own.parameters, own.result_schema]))
    return Calling(own.name, own.argument, own.result, *described)


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "data"),
    [
        (square, (12,), {}, b"12"),
        (square, (), {"x": 12}, b"12"),
        (add, (1, 2), {}, b"[1,2]"),
        (add, (1,), {}, b"[1]"),
        (add, (), {"a": 1, "b": 2}, b'{"a":1,"b":2}'),
        (add, (), {"b": 2, "a": 1}, b'{"a":1,"b":2}'),
        (add, (1,), {"b": 2}, b'{"a":1,"b":2}'),
        (add, (), {"a": 1}, b'{"a":1}'),
        (nothing, (), {}, b"null"),
        (maybe, (), {}, b"5"),
        (maybe, (None,), {}, b"null"),
        (secret, (), {}, b"7"),
    ],
)
def test_many_arguments_are_one_on_the_wire(
    function: Callable[..., Any], args: Any, kwargs: Any, data: bytes
) -> None:
    """[RPC-7.2] [RPC-7.3]"""
    assert calling(function).encode(args, kwargs) == data


def test_a_default_that_is_not_told_is_null() -> None:
    """[RPC-7.4]"""
    parameters = {"properties": {"x": {"type": "integer"}}}
    assert Calling("f", "json", "json", parameters).encode((), {}) == b"null"


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "why"),
    [
        (square, ("12",), {}, "square: x: expected integer, got string"),
        (square, (), {"x": "12"}, "square: x: expected integer, got string"),
        (square, (1, 2), {}, "square: takes 1 argument, got 2"),
        (add, (1, 2, 3), {}, "add: takes 2 arguments, got 3"),
        (nothing, (1,), {}, "nothing: takes no arguments, got 1"),
        (square, (), {}, "square: x is missing"),
        (square, (1,), {"x": 1}, "square: x is given twice"),
        (square, (), {"y": 1}, "square: has no parameter y"),
        (add, (), {"b": 1}, "add: a is missing"),
        (add, (1, float("nan")), {}, "add: [1]: expected a finite number, got nan: JSON has no such number"),
        (thumb, (b"a",), {}, "thumb: image: expected a File, got bytes"),
        (thumb, (File(b""), "a"), {}, "thumb: width: expected integer, got string"),
    ],
)
def test_a_wrong_argument_is_refused_by_its_caller(
    function: Callable[..., Any], args: Any, kwargs: Any, why: str
) -> None:
    """[RPC-7.6]"""
    with pytest.raises(EncodingError) as caught:
        calling(function).encode(args, kwargs)
    assert str(caught.value) == why


def test_pairs_are_two_parameters() -> None:
    """[RPC-7.5]"""
    pair = calling(add, ("Pair<Double, Double>", "Double"))
    whole = bytes.fromhex("3ff0000000000000 4000000000000000")
    assert pair.encode((1, 2), {}) == pair.encode((), {"b": 2, "a": 1}) == whole
    assert pair.encode((1,), {})[8:] == whole[:8]
    assert calling(square, ("Pair<Double, Double>", "Int")).encode(((1, 2),), {}) == whole
    with pytest.raises(EncodingError, match="add: a: expected number, got string"):
        pair.encode(("1", 2), {})
    untold: dict[str, Any] = {"properties": {"a": {}, "b": {}}}
    with pytest.raises(EncodingError, match="f: b is missing"):
        Calling("f", "Pair<Int, Int>", "Int", untold).encode((1,), {})
    with pytest.raises(EncodingError, match="f: expected an integer"):
        Calling("f", "Int", "Int", {"properties": {}}).encode((), {})


@pytest.mark.parametrize("parameters", [None, {}, {"properties": 5}, 5])
def test_functions_of_unknown_parameters_can_be_called(parameters: Any) -> None:
    """[RPC-7.7]"""
    assert bind_by_schema(parameters, (), {}) is None
    assert bind_by_schema(parameters, (1,), {}) == 1
    assert bind_by_schema(parameters, (1, 2), {}) == [1, 2]
    assert bind_by_schema(parameters, (), {"a": 1}) == {"a": 1}
    assert Calling("f", "Pair<Int, Int>", "Int", parameters).encode((1, 2), {}).hex() == "0000000100000002"
    assert bind_by_schema(parameters, (1,), {}, "envelope") == Block("", 1)
    with pytest.raises(EncodingError, match="give all by position, or all by name"):
        bind_by_schema(parameters, (1,), {"a": 1})


def test_parameters_are_bound_by_their_schema() -> None:
    parameters = signature(add).parameters
    assert bind_by_schema(parameters, (1, 2), {}) == [1, 2]
    assert bind_by_schema(parameters, (1,), {"b": 2}) == {"a": 1, "b": 2}


def test_what_a_peer_describes_badly_is_not_checked() -> None:
    odd = {"properties": {"a": True, "b": 5}, "required": 5, "$defs": 5}
    assert bind_by_schema(odd, (1, 2), {}) == [1, 2]


def test_files_stand_beside_the_data() -> None:
    """[RPC-7.9]"""
    picture = File(b"abc", "a.png", "image/png")
    one = EnvelopeCoder().decode(calling(thumb).encode((picture,), {"width": 3, "mask": picture}))
    files = (Attached(0, b"abc", "a.png", "image/png"), Attached(1, b"abc", "a.png", "image/png"))
    assert one == Block("thumb", 3, files)
    assert EnvelopeCoder().decode(calling(thumb).encode((picture,), {})) == Block("thumb", 10, files[:1])
    assert EnvelopeCoder().decode(calling(count).encode((), {})) == Block("count")
    assert EnvelopeCoder().decode(calling(count).encode(([picture],), {})).files == files[:1]


def test_results_with_files_have_the_shape_of_their_annotation() -> None:
    """[RPC-7.10]"""
    block = EnvelopeCoder().encode(Block("f", {"n": 1}, (Attached(0, b"a", "n", "t"),)))
    file = Attached(0, b"a", "n", "t")
    assert calling(thumb).decode(block) == file
    assert calling(album).decode(block) == ({"n": 1}, [file])
    assert Calling("f", "json", "envelope").decode(block) == ({"n": 1}, {0: file})
    plain = EnvelopeCoder().encode(Block("f", 5))
    assert calling(count).decode(plain) == 5
    assert Calling("f", "json", "envelope").decode(plain) == 5
    with pytest.raises(DecodingError, match="thumb: result: file 0 is missing"):
        calling(thumb).decode(plain)
    made = Calling("f", "json", "envelope", None, FILE, make_file=lambda *parts: parts)
    assert made.decode(block) == (b"a", "n", "t")


def test_results_are_read_by_their_coder() -> None:
    assert calling(square).decode(b"144") == 144
    with pytest.raises(DecodingError) as caught:
        calling(square).decode(b"x")
    assert caught.value.function == "square"


def test_a_coder_that_nobody_here_knows() -> None:
    with pytest.raises(EncodingError, match="f: coder 'Foo': 'Foo' is not known"):
        Calling("f", "Foo", "Int")
