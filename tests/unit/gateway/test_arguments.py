from typing import Any

import pyarrow as pa
import pytest

from framehub.codes import ErrorCode
from framehub.errors import EndpointError
from framehub.gateway.arguments import ARROW_TYPE, answer_of, argument_of, refusal
from framehub.rpc import block
from framehub.rpc.coders import coder
from framehub.rpc.registry import Described, Function
from framehub.runtime.calls import Call, Reply
from framehub.runtime.files import File

TWO = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
    "required": ["a"],
}
NONE: dict[str, Any] = {"type": "object", "properties": {}}


def function(argument: str, parameters: Any = None) -> Function:
    made = Function(b"f", gone_at=0.0)
    made.argument = argument.encode()
    made.described = Described(parameters=parameters)
    return made


def call(data: Any = None, **files: bytes) -> Call:
    attached = {key: File(blob, f"{name}.bin") for key, (name, blob) in enumerate(files.items())}
    return Call("f", None, data, attached)  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [12, None, [1, 2], {"a": 1}, "text"])
def test_json_is_passed_on_as_it_is(data: Any) -> None:
    """[RPC-11.1]"""
    assert coder("json").decode(argument_of(call(data), function("json"))) == data


@pytest.mark.parametrize(
    ("identity", "parameters", "data", "want"),
    [
        ("Int", None, 12, 12),
        ("Pair<Int, Int>", TWO, [1, 2], (1, 2)),
        ("Pair<Int, Int>", TWO, {"a": 1}, (1, 1)),
        ("msgpack", TWO, {"a": 1}, {"a": 1}),
        ("msgpack", NONE, None, None),
        ("msgpack", None, [1], [1]),
    ],
)
def test_other_coders_take_the_same_data(identity: str, parameters: Any, data: Any, want: Any) -> None:
    assert coder(identity).decode(argument_of(call(data), function(identity, parameters))) == want


def test_files_become_bytes_columns_or_a_block() -> None:
    assert argument_of(call(a=b"blob"), function("bytes")) == b"blob"
    columns = coder("arrow").encode({"x": [1, 2]})
    assert argument_of(call(a=columns), function("arrow")) == columns
    made = block.split(argument_of(call({"n": 1}, a=b"1", b=b"22"), function("envelope")))
    assert (made.endpoint, made.data) == ("f", b'{"n":1}')
    assert [(file.key, file.name, file.data) for file in made.files] == [
        (0, "a.bin", b"1"),
        (1, "b.bin", b"22"),
    ]


@pytest.mark.parametrize(
    ("identity", "data", "files", "why"),
    [
        ("Int", "x", {}, "expected"),
        ("json", 1, {"a": b"1"}, "no files"),
        ("bytes", 1, {"a": b"1"}, "one file and no data"),
        ("bytes", "text", {}, "expected"),
        ("Unheard", 1, {}, "not known"),
    ],
)
def test_what_does_not_fit_is_a_bad_request(
    identity: str, data: Any, files: dict[str, bytes], why: str
) -> None:
    with pytest.raises(EndpointError, match=why) as caught:
        argument_of(call(data, **files), function(identity))
    assert caught.value.value["code"] == "bad_request"


def test_a_result_becomes_data_or_files() -> None:
    assert answer_of("f", b"json", b"[1]") == [1]
    assert answer_of("f", b"Int", b"\0\0\0\7") == 7
    plain, columns = answer_of("f", b"bytes", b"blob"), answer_of("f", b"arrow", b"columns")
    assert (plain.files[0].data, plain.files[0].type) == (b"blob", "application/octet-stream")
    assert (columns.files[0].data, columns.files[0].type) == (b"columns", ARROW_TYPE)
    both = answer_of("f", b"envelope", block.join("f", b"1", (block.Attached(3, b"x", "n", "t"),)))
    assert isinstance(both, Reply)
    assert (both.data, both.files[3].name) == (1, "n")


@pytest.mark.parametrize(
    ("identity", "result"), [(b"json", b"{"), (b"Int", b""), (b"Odd", b""), (b"envelope", b"")]
)
def test_a_result_that_cannot_be_read_is_the_functions_fault(identity: bytes, result: bytes) -> None:
    with pytest.raises(EndpointError, match="cannot be read") as caught:
        answer_of("f", identity, result)
    assert caught.value.value["code"] == "function_failed"


def test_a_refusal_has_a_code_of_the_list() -> None:
    assert refusal(ErrorCode.BUSY, "later").value == {"code": "busy", "message": "later"}
    assert pa.__name__ == "pyarrow"


@pytest.mark.parametrize(
    ("identity", "result", "why"),
    [
        ("Double", float("nan"), "no such number"),
        ("msgpack", {"a": [b"x"]}, "bytes are no JSON"),
    ],
)
def test_a_result_that_json_cannot_carry_is_the_functions_fault(identity: str, result: Any, why: str) -> None:
    with pytest.raises(EndpointError, match=why) as caught:
        answer_of("f", identity.encode(), coder(identity).encode(result))
    assert caught.value.value["code"] == "function_failed"
