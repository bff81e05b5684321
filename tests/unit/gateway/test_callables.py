"""What can be called, with schemas."""

from pathlib import Path
from typing import Any

import pytest

from framehub.gateway import callables as module
from framehub.gateway.callables import callables
from framehub.gateway.gateway import Gateway
from framehub.gateway.sample_service import service
from framehub.rpc.registry import Described
from tests.unit.gateway.test_admin import settings


class Offered:
    """A function as the proxy's registry has it."""

    def __init__(self, name: bytes, described: Described) -> None:
        self.name, self.described = name, described
        self.argument = self.result = b"json"
        self.workers = [object()]


async def test_endpoints_of_the_app_have_their_docs(tmp_path: Path) -> None:
    async with Gateway(settings(tmp_path)) as gateway:
        told = {one["name"]: one for one in callables(gateway)}
    assert told["chat"]["doc"] == "Count what was said in a room."
    assert (told["chat"]["mode"], told["files.upload"]["mode"]) == ("call", "stream")


async def test_before_it_has_started_there_is_nothing(tmp_path: Path) -> None:
    assert callables(Gateway(settings(tmp_path))) == []


def test_a_function_is_told_with_its_schemas_unless_they_are_huge() -> None:
    parameters = {"type": "object", "properties": {"x": {"type": "integer"}}}
    told = module._function(Offered(b"f", Described("It does.", parameters, {"type": "null"})))  # type: ignore[arg-type]
    assert (told["name"], told["doc"], told["coders"], told["workers"]) == (
        "f",
        "It does.",
        ["json", "json"],
        1,
    )
    assert told["parameters"] == parameters
    huge = {"enum": ["x" * module.MOST_SCHEMA]}
    assert "parameters" not in module._function(Offered(b"f", Described("", huge)))  # type: ignore[arg-type]
    assert "parameters" not in module._function(Offered(b"f", Described()))  # type: ignore[arg-type]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"functions": 3}', b'{"functions": [3]}', b"\xff"])
def test_an_interface_that_makes_no_sense_has_no_functions(body: bytes) -> None:
    assert module._interface(body) == []


def test_the_interface_of_the_sample() -> None:
    told = module._interface(service.functions.interface(service.name, service.doc))
    assert [one["name"] for one in told] == ["watch", "history", "ponder"]


async def test_a_list_that_would_be_too_long_has_names_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 200)
    async with Gateway(settings(tmp_path)) as gateway:
        told: list[dict[str, Any]] = callables(gateway)
    assert told[0]["doc"]
    assert {one["doc"] for one in told[3:]} == {""}
    assert len(told) == 7
