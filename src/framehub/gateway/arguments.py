"""From what an MFP request carries to a function's argument, and from its result to the answer.

Which bytes they are is the function's coder's affair: see ``spec/rpc.md``, sections 6, 7 and 11.
"""

from typing import Any, Final

import msgspec

from framehub.codes import ErrorCode
from framehub.errors import ConfigError, DecodingError, EncodingError, EndpointError
from framehub.mfp import envelope
from framehub.rpc import block
from framehub.rpc.calling import Calling
from framehub.rpc.coders import coder
from framehub.rpc.registry import Function
from framehub.rpc.strict_json import misfit
from framehub.runtime.calls import Call, Reply
from framehub.runtime.files import received

ARROW_TYPE: Final = "application/vnd.apache.arrow.stream"
_json: Final = msgspec.json.Encoder()
_WHOLE: Final = ("bytes", "arrow")
"""Coders whose bytes go as one file."""


def refusal(code: ErrorCode, message: str) -> EndpointError:
    """An error of the library's own."""
    return EndpointError(envelope.library_error(code, message))


def argument_of(call: Call, function: Function) -> bytes:
    """The function's argument.

    Raises:
        EndpointError: ``bad_request``, with what does not fit.
    """
    identity = function.argument.decode()
    if identity == "json" and not call.files:
        return _json.encode(call.data)
    try:
        if identity == "envelope":
            files = tuple(
                block.Attached(key, file.data, file.name, file.type) for key, file in call.files.items()
            )
            return block.join(call.endpoint, _json.encode(call.data), files)
        if identity in _WHOLE and len(call.files) == 1 and call.data is None:
            return next(iter(call.files.values())).data
        if call.files:
            takes = "one file and no data" if identity in _WHOLE else "no files"
            raise EncodingError(call.endpoint, f"it takes {takes}")
        told = function.described.parameters
        args, kwargs = _spread(call.data, told)
        return Calling(call.endpoint, identity, "json", told).encode(args, kwargs)
    except (EncodingError, ConfigError) as exc:
        raise refusal(ErrorCode.BAD_REQUEST, str(exc)) from exc


def answer_of(name: str, identity: bytes, result: bytes) -> Any:
    """What an MFP client gets: data, or a ``Reply`` with files.

    Raises:
        EndpointError: ``function_failed``: the result cannot be read, or is nothing that JSON can carry.
    """
    answer = read_result(name, identity, result)
    if not isinstance(answer, Reply) and identity != b"json" and (why := misfit(answer)) is not None:
        raise refusal(ErrorCode.FUNCTION_FAILED, f"{name}: JSON cannot carry its result: {why}")
    return answer


def read_result(name: str, identity: bytes, result: bytes) -> Any:
    """The same, whether JSON can carry it or not.

    Raises:
        EndpointError: ``function_failed``: the result cannot be read.
    """
    try:
        match identity:
            case b"json":
                return coder("json").decode(result)
            case b"bytes":
                return Reply(files={0: received(result, "", "application/octet-stream")})
            case b"arrow":
                return Reply(files={0: received(result, "", ARROW_TYPE)})
            case b"envelope":
                told = block.split(result)
                files = {file.key: received(file.data, file.name, file.type) for file in told.files}
                return Reply(coder("json").decode(told.data), files)
            case _:
                return coder(identity.decode()).decode(result)
    except (DecodingError, ConfigError) as exc:
        raise refusal(ErrorCode.FUNCTION_FAILED, f"{name}: its result cannot be read: {exc}") from exc


def _spread(data: Any, parameters: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """One value as arguments: an array by position, an object by name, where there are several."""
    several = isinstance(parameters, dict) and len(parameters.get("properties", ())) > 1
    if several and isinstance(data, dict):
        return (), data
    if several and isinstance(data, list):
        return tuple(data), {}
    if data is None and isinstance(parameters, dict) and not parameters.get("properties"):
        return (), {}
    return (data,), {}
