import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import pytest

from framehub.errors import ConfigError
from framehub.runtime.files import File
from framehub.runtime.service_functions import Kind, ServiceFunction, ServiceFunctions, checked_name
from framehub.runtime.service_stream import ServiceStream

BINARY = {"type": "string", "format": "binary"}


async def talk(stream: ServiceStream) -> None:
    """Long talk."""


async def add(a: float, b: float = 1.0) -> float:
    """The sum."""
    return a + b


def square(x: int) -> int:
    return x * x


async def count(last: int) -> AsyncIterator[int]:
    for number in range(last):
        yield number


async def slices(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body


def upside_down(body: bytes) -> bytes:
    return body[::-1]


def anything() -> Any:
    return b"raw"


class Greeter:
    async def __call__(self, name: str) -> str:
        return f"Hello, {name}"


def read(function: Callable[..., Any], name: str | None = None) -> ServiceFunction:
    return ServiceFunctions().add(1, function, name)


def test_the_signature_says_how_it_is_run() -> None:
    kinds = [read(one).kind for one in (talk, add, square, count, slices, upside_down)]
    assert kinds == [Kind.STREAM, Kind.CALL, Kind.PLAIN, Kind.ITEMS, Kind.ITEMS, Kind.PLAIN]
    assert read(Greeter(), "greet").kind is Kind.CALL
    assert read(partial(add, 1.0), "more").kind is Kind.CALL
    assert read(partial(count, 3), "three").kind is Kind.ITEMS


def test_bodies_become_arguments_and_results_bodies() -> None:
    typed = read(add).typed
    assert typed is not None
    assert typed.read(b"[1, 2]") == ((1.0, 2.0), {})
    assert typed.read(b'{"a": 3}') == ((3.0, 1.0), {})
    assert typed.write(4.5) == b"4.5"
    raw = read(upside_down).typed
    assert raw is not None
    assert raw.read(b"\0\xff") == ((b"\0\xff",), {})
    assert raw.write(b"\xff") == b"\xff"
    silent = read(anything).typed
    assert silent is not None
    assert silent.read(b"") == ((), {})
    assert silent.write(b"raw") == b"raw"
    assert silent.write("text") == b'"text"'


def test_the_interface_says_all_of_it() -> None:
    functions = ServiceFunctions()
    offered: list[Callable[..., Any]] = [talk, add, count, upside_down]
    for number, function in enumerate(offered, 1):
        functions.add(number, function)
    functions.add(200, square, "squared")
    told = json.loads(functions.interface("maths", "Numbers."))
    assert (told["name"], told["doc"]) == ("maths", "Numbers.")
    by_name = {one["name"]: one for one in told["functions"]}
    assert list(by_name) == ["talk", "add", "count", "upside_down", "squared"]
    assert by_name["talk"] == {
        "number": 1,
        "name": "talk",
        "doc": "Long talk.",
        "parameters": BINARY,
        "result": BINARY,
        "kind": "stream",
    }
    assert by_name["add"]["parameters"]["required"] == ["a"]
    assert by_name["add"]["parameters"]["properties"]["b"] == {"type": "number", "default": 1.0}
    assert (by_name["add"]["result"], by_name["add"]["kind"]) == ({"type": "number"}, "call")
    assert (by_name["count"]["result"], by_name["count"]["kind"]) == ({"type": "integer"}, "items")
    assert by_name["upside_down"]["parameters"]["properties"] == {"body": BINARY}
    assert (by_name["upside_down"]["result"], by_name["upside_down"]["kind"]) == (BINARY, "call")
    assert by_name["squared"]["number"] == 200


def test_a_generator_that_does_not_say_what_it_gives_may_give_anything() -> None:
    async def some():  # type: ignore[no-untyped-def]
        yield 1

    assert read(some).description["result"] == {}


async def two(stream: ServiceStream, more: int) -> None: ...
def blunt(stream: ServiceStream) -> None: ...
async def unsaid(stream) -> None: ...  # type: ignore[no-untyped-def]
def plain_items() -> Iterator[int]:
    yield 1


def filed(file: File) -> None: ...
def mixed(name: str, body: bytes) -> None: ...
def many() -> list[bytes]:
    return []


def stars(*all_: int) -> None: ...
def opaque(x: Greeter) -> None: ...
def unknown(x: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (two, "takes nothing else"),
        (blunt, "written with async def"),
        (unsaid, "say what stream is, mostly framehub.ServiceStream"),
        (plain_items, "is a generator: write it with async def"),
        (filed, "a File cannot go through the hub"),
        (mixed, "bytes are a whole body, or none"),
        (many, "bytes are a whole body, or none"),
        (opaque, r"opaque: x: <class '.*Greeter'> cannot be sent as json \(.*\)$"),
        (stars, "takes any number of arguments"),
        (unknown, "cannot be read: name 'Nowhere' is not defined"),
        (5, "want a function, not 5"),
        (Greeter(), "needs a name"),
    ],
)
def test_what_cannot_be_offered(function: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        read(function)


@pytest.mark.parametrize(
    ("number", "name", "why"),
    [
        (0, "x", "1 to 255, not 0; 0 is the interface"),
        (256, "x", "1 to 255"),
        (True, "x", "1 to 255"),
        (1, "x", "function 1 is there already: square"),
        (2, "square", "two functions need two names"),
        (2, "a b", "no spaces or control characters"),
        (2, "a/b", "function 'a/b': / cannot stand in a name"),
        (2, "..", "function '..': a name is not . or .."),
    ],
)
def test_numbers_and_names_are_each_ones_own(number: Any, name: str, why: str) -> None:
    functions = ServiceFunctions()
    functions.add(1, square)
    with pytest.raises(ConfigError, match=why):
        functions.add(number, add, name)
    assert list(functions) == [1]
    assert len(functions) == 1


def test_names_have_a_length() -> None:
    assert checked_name("service", "ö" * 127) == "ö" * 127
    with pytest.raises(ConfigError, match="more than 255 bytes"):
        checked_name("service", "ö" * 128)


@pytest.mark.parametrize("name", [".", "..", "a/b", "a\\b", "a\u202eb", "\x1b[2J"])
def test_some_names_no_service_can_have(name: str) -> None:
    with pytest.raises(ConfigError, match="service"):
        checked_name("service", name)
    assert checked_name("service", "a.b") == "a.b"


def test_an_interface_has_a_length_and_is_json() -> None:
    functions = ServiceFunctions()
    functions.add(1, square)
    with pytest.raises(ConfigError, match="more than 262144"):
        functions.interface("x", "d" * 262_144)
    functions[1].description["doc"] = float("nan")
    with pytest.raises(ConfigError, match="cannot be described"):
        functions.interface("x", "")
