import pytest

from framehub.errors import ConfigError
from framehub.runtime.calls import Call, RawCall
from framehub.runtime.endpoints import Endpoints


def nothing(call: Call) -> None:
    return None


def nothing_raw(call: RawCall) -> None:
    return None


def test_a_name_finds_its_handler() -> None:
    app = Endpoints()
    assert app.on("b")(nothing) is nothing
    app.on("a")(nothing)
    assert app.find("a") is nothing
    assert app.find("c") is None
    assert app.names == ["a", "b"]


@pytest.mark.parametrize("name", ["", None, 7])
def test_an_endpoint_needs_a_name(name: str) -> None:
    with pytest.raises(ConfigError, match="an endpoint is a name"):
        Endpoints().on(name)


def test_a_name_has_one_handler() -> None:
    app = Endpoints()
    app.on("a")(nothing)
    with pytest.raises(ConfigError, match="'a' has a handler already"):
        app.on("a")


def test_the_librarys_own_names_are_taken() -> None:
    with pytest.raises(ConfigError, match="library's own"):
        Endpoints().on("framehub.hello")


def test_there_is_one_raw_handler() -> None:
    app = Endpoints()
    assert app.raw is None
    app.on_raw(nothing_raw)
    assert app.raw is nothing_raw
    with pytest.raises(ConfigError, match="raw handler already"):
        app.on_raw(nothing_raw)
