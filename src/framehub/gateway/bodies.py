"""From what an MFP client says to the bodies of a hub stream, and from a service's bodies to the answer.

Data is JSON; one file without data is the body itself. A service's bodies are data if all of them are JSON,
else one file.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from framehub.codes import ErrorCode, HubError, HubState
from framehub.errors import DecodingError, EndpointError
from framehub.gateway.arguments import refusal
from framehub.hub.headers import HubFrame
from framehub.rpc.coders import coder
from framehub.runtime.calls import Call, Reply
from framehub.runtime.files import received

BINARY_TYPE: Final = "application/octet-stream"
LONGEST_TEXT: Final = 64 * 1024
_json: Final = msgspec.json.Encoder()
_CODES: Final = {
    HubError.TIMEOUT: ErrorCode.TIMEOUT,
    HubError.BUSY: ErrorCode.BUSY,
    HubError.LIMIT: ErrorCode.LIMIT,
    HubError.FORBIDDEN: ErrorCode.FORBIDDEN,
    HubError.ENDPOINT_NOT_FOUND: ErrorCode.UNKNOWN_ENDPOINT,
    HubError.INTERNAL: ErrorCode.INTERNAL,
}
"""What an MFP client is told; all others are a ``stream_error``."""


def body_of(call: Call) -> bytes:
    """What a request says, as one body.

    Raises:
        EndpointError: ``bad_request``: files that no body can carry.
    """
    if not call.files:
        return json_body(call.data)
    if len(call.files) > 1 or call.data is not None:
        raise refusal(
            ErrorCode.BAD_REQUEST, f"{call.endpoint}: a service takes data, or one file and no data"
        )
    return next(iter(call.files.values())).data


def json_body(data: Any) -> bytes:
    """The same without files."""
    return _json.encode(data)


def answer_of(messages: Sequence[bytes], last: bytes) -> Any:
    """What a service said, for an MFP client: data, or a ``Reply`` with a file.

    A service that sends its last frame only has said one thing; one that sends messages before it, a list.
    """
    bodies = [*messages, last] if last or not messages else messages
    try:
        told = [coder("json").decode(body) if body else None for body in bodies]
    except DecodingError:
        return Reply(files={0: received(b"".join(bodies), "", BINARY_TYPE)})
    return told if messages else told[0]


def error_of(frame: HubFrame) -> EndpointError:
    """What ended a stream before its time."""
    text = frame.body[:LONGEST_TEXT].decode(errors="replace")
    if frame.state is HubState.SERVICE_ERROR:
        return refusal(ErrorCode.SERVICE_ERROR, text)
    if frame.state is HubState.STREAM_ERROR:
        code = HubError(frame.parameter)
        return refusal(_CODES.get(code, ErrorCode.STREAM_ERROR), f"{code.name}: {text}")
    return refusal(ErrorCode.STREAM_ERROR, "the service closed the stream")
