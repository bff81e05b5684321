"""Every coder writes and reads the bytes that the vectors say, and refuses what they refuse."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Struct, UnsetType

from framehub.errors import ConfigError, DecodingError, EncodingError
from framehub.rpc.block import Attached, Block
from framehub.rpc.coders import coder

FILE = Path(__file__).parents[3] / "spec" / "vectors" / "rpc" / "coders.json"


class Case(Struct, kw_only=True, forbid_unknown_fields=True):
    """A value and its bytes, or one of them and part of the reason why it has none of the other."""

    name: str
    rules: list[str] = []
    coder: str
    identity: str | None = None
    """The canonical form of ``coder``, where that is another."""
    value: Any = UNSET
    hex: str | UnsetType = UNSET
    reason: str | None = None
    canonical: bool = True


class Vectors(Struct, forbid_unknown_fields=True):
    spec: str
    kind: str
    about: str
    cases: list[Case]


CASES = msgspec.json.decode(FILE.read_bytes(), type=Vectors).cases


def those(*, hex_: bool, value: bool) -> list[Any]:
    found = [case for case in CASES if ((case.hex is not UNSET), (case.value is not UNSET)) == (hex_, value)]
    return [pytest.param(case, id=case.name) for case in found]


def data_of(case: Case) -> bytes:
    assert case.hex is not UNSET
    return bytes.fromhex(case.hex)


def from_plain(case: Case) -> Any:
    """A vector's value as its coder takes it."""
    if case.coder == "bytes":
        return bytes.fromhex(case.value)
    if case.coder != "envelope":
        return case.value
    files = [Attached(f["key"], bytes.fromhex(f["hex"]), f["name"], f["type"]) for f in case.value["files"]]
    return Block(case.value["endpoint"], case.value["data"], tuple(files))


def to_plain(value: Any) -> Any:
    """What a coder gives, as a vector's value."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Block):
        files = [{"key": f.key, "name": f.name, "type": f.type, "hex": f.data.hex()} for f in value.files]
        return {"endpoint": value.endpoint, "data": value.data, "files": files}
    return value.to_pydict() if hasattr(value, "to_pydict") else json.loads(json.dumps(value))


def same(value: Any) -> str:
    """JSON text: tells 0 from -0.0 and 1 from true."""
    return json.dumps(value)


@pytest.mark.parametrize("case", those(hex_=True, value=True))
def test_bytes_are_read(case: Case) -> None:
    read = to_plain(coder(case.coder).decode(data_of(case)))
    assert read == case.value
    if case.coder != "Double":  # a whole number is written as one too
        assert same(read) == same(case.value)


@pytest.mark.parametrize("case", those(hex_=True, value=True))
def test_values_are_written(case: Case) -> None:
    own = coder(case.coder)
    data = own.encode(from_plain(case))
    assert own.identity == (case.identity or case.coder)
    if case.canonical:
        assert data == data_of(case)
    else:
        assert to_plain(own.decode(data)) == case.value


@pytest.mark.parametrize("case", those(hex_=True, value=False))
def test_other_bytes_are_refused(case: Case) -> None:
    with pytest.raises(DecodingError) as caught:
        coder(case.coder).decode(data_of(case))
    assert (case.reason or "?").lower() in caught.value.message.lower()


@pytest.mark.parametrize("case", those(hex_=False, value=True))
def test_other_values_are_refused(case: Case) -> None:
    with pytest.raises(EncodingError) as caught:
        coder(case.coder).encode(from_plain(case))
    assert (case.reason or "?") in caught.value.message


@pytest.mark.parametrize("case", those(hex_=False, value=False))
def test_other_identities_are_refused(case: Case) -> None:
    with pytest.raises(ConfigError) as caught:
        coder(case.coder)
    assert (case.reason or "?") in str(caught.value)


def test_no_two_cases_have_one_name_or_one_body() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    bodies = {msgspec.json.encode(msgspec.structs.replace(case, name="", rules=[])) for case in CASES}
    assert len(bodies) == len(CASES)
