from typing import Any, cast

import pytest

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import EndpointError
from framehub.gateway.bodies import answer_of, body_of, error_of, json_body
from framehub.hub.headers import HubFrame
from framehub.runtime.calls import Call, Reply
from framehub.runtime.files import File


def call(data: Any = None, *files: bytes) -> Call:
    return Call("calc.add", cast(Any, None), data, {n: File(file) for n, file in enumerate(files)})


def test_data_is_json_and_one_file_is_the_body() -> None:
    assert body_of(call({"a": 1})) == b'{"a":1}'
    assert body_of(call()) == b"null"
    assert body_of(call(None, b"\xff")) == b"\xff"
    assert json_body([1]) == b"[1]"


@pytest.mark.parametrize("wrong", [call(1, b"x"), call(None, b"x", b"y")])
def test_files_that_no_body_can_carry_are_refused(wrong: Call) -> None:
    with pytest.raises(EndpointError, match=r"bad_request: calc\.add: a service takes data, or one file"):
        body_of(wrong)


@pytest.mark.parametrize(
    ("messages", "last", "want"),
    [
        ([], b"3", 3),
        ([], b"", None),
        ([b"1"], b"", [1]),
        ([b"1", b""], b"2", [1, None, 2]),
    ],
)
def test_one_last_frame_is_one_answer_and_messages_are_a_list(
    messages: list[bytes], last: bytes, want: Any
) -> None:
    assert answer_of(messages, last) == want


@pytest.mark.parametrize(
    ("messages", "last", "want"),
    [([], b"\xff\0", b"\xff\0"), ([b"1", b"no json"], b"2", b"1no json2"), ([], b"NaN", b"NaN")],
)
def test_what_is_no_json_is_one_file(messages: list[bytes], last: bytes, want: bytes) -> None:
    answer = answer_of(messages, last)
    assert isinstance(answer, Reply)
    (file,) = answer.files.values()
    assert (answer.data, file.data, file.type) == (None, want, "application/octet-stream")


@pytest.mark.parametrize(
    ("frame", "code", "text"),
    [
        (HubFrame(1, HubState.SERVICE_ERROR, 0, b"no good"), "service_error", "no good"),
        (HubFrame(1, HubState.COMMAND, HubCommand.CLOSE), "stream_error", "the service closed the stream"),
        *(
            (HubFrame(1, HubState.STREAM_ERROR, code, b"why"), name, f"{code.name}: why")
            for code, name in [
                (HubError.TIMEOUT, "timeout"),
                (HubError.BUSY, "busy"),
                (HubError.LIMIT, "limit"),
                (HubError.FORBIDDEN, "forbidden"),
                (HubError.ENDPOINT_NOT_FOUND, "unknown_endpoint"),
                (HubError.INTERNAL, "internal"),
                (HubError.SERVICE_DISCONNECT, "stream_error"),
                (HubError.WS_STREAM_COLLISION, "stream_error"),
            ]
        ),
    ],
)
def test_what_ended_a_stream_has_a_code(frame: HubFrame, code: str, text: str) -> None:
    assert error_of(frame).value == {"code": code, "message": text}
