import io
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from framehub import File
from framehub.errors import ConfigError
from framehub.runtime import functionset
from framehub.runtime.functionset import FunctionSet, bytes_of, is_async


def square(x: int) -> int:
    """The square of x."""
    return x * x


async def later(x: int) -> int:
    return x


def test_a_function_is_offered_under_its_own_name_or_another() -> None:
    functions = FunctionSet()
    functions.add(square)
    added = functions.add(
        square, name="quadrat", coders=("Int", "Long"), redispatch="unacknowledged", max_runtime=2
    )
    assert list(functions) == ["square", "quadrat"]
    assert functions["quadrat"] is added
    assert functions.registrations == [("square", "json", "json"), ("quadrat", "Int", "Long")]
    described = functions.descriptions["quadrat"]
    assert (described["doc"], described["redispatch"], described["max_runtime"]) == (
        "The square of x.",
        "unacknowledged",
        2,
    )
    assert set(described) == {"doc", "parameters", "result", "redispatch", "max_runtime", "coroutine"}
    assert functions.descriptions["square"]["max_runtime"] is None
    assert added.read(b"\0\0\0\7") == ((7,), {})
    assert functions == functions
    assert functions != FunctionSet()
    assert len({functions, functions}) == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"name": ""}, "needs a name"),
        ({"name": 7}, "needs a name"),
        ({"name": "ä" * 128}, "256 bytes, more than 255"),
        ({"name": "\ud800"}, "not UTF-8"),
        ({"name": "a/b"}, "function 'a/b': / cannot stand in a name"),
        ({"name": ".."}, "function '..': a name is not . or .."),
        ({"name": "a\u202eb"}, r"function 'a\\u202eb': U\+202E cannot stand in a name"),
        ({"name": "a\nb"}, r"function 'a\\nb': U\+000A cannot stand in a name"),
        ({"name": "taken"}, "there already"),
        ({"redispatch": "never"}, "redispatch is"),
        ({"max_runtime": 0}, "above zero"),
        ({"max_runtime": float("nan")}, "above zero"),
        ({"coders": ("Int", "Void")}, "Void"),
    ],
)
def test_what_cannot_be_offered(options: dict[str, Any], text: str) -> None:
    functions = FunctionSet()
    functions.add(square, name="taken")
    with pytest.raises(ConfigError, match=text):
        functions.add(square, **options)
    assert list(functions) == ["taken"]


def test_names_of_255_bytes_and_1024_functions_are_the_most() -> None:
    functions = FunctionSet()
    functions.add(square, name="x" * 255)
    for number in range(1023):
        functions.add(square, name=str(number))
    with pytest.raises(ConfigError, match="at most 1024"):
        functions.add(square)


def test_a_runtime_without_an_end_is_none() -> None:
    assert FunctionSet().add(square, max_runtime=float("inf")).max_runtime is None


def test_only_functions_are_functions() -> None:
    not_one: Any = 7
    with pytest.raises(ConfigError, match="want a function, not 7"):
        FunctionSet().add(not_one)
    with pytest.raises(ConfigError, match="needs a name"):
        FunctionSet().add(partial(square, 1))


def test_who_has_to_be_awaited() -> None:
    class Callable:
        async def __call__(self) -> None: ...

    assert [is_async(one) for one in (square, later, partial(later, 1), partial(square, 1), Callable())] == [
        False,
        True,
        True,
        False,
        True,
    ]


def test_sets_are_collected_in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functionset, "collected", [])
    functions = FunctionSet()
    assert functionset.collected == [functions]


def test_files_are_read_where_the_function_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.bin").write_bytes(b"abc")
    assert bytes_of(File(b"abc")) == b"abc"
    assert bytes_of(File(tmp_path / "a.bin")) == b"abc"
    assert bytes_of(File(io.BytesIO(b"abc"))) == b"abc"
    monkeypatch.setattr(functionset, "MAX_FILE_BYTES", 2)
    with pytest.raises(ValueError, match="more than 2 bytes"):
        bytes_of(File(io.BytesIO(b"abc")))


def test_a_function_with_files() -> None:
    def turned(file: File) -> File:
        return File(file.data[::-1], file.name, file.type)

    functions = FunctionSet()
    function = functions.add(turned)
    assert functions.registrations == [("turned", "envelope", "envelope")]
    block = function.write(File(b"abc", "a.txt", "text/plain"))
    (file,), _ = function.read(block)
    assert file == File(b"abc", "a.txt", "text/plain")
