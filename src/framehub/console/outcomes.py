"""What one row says of its conversation: that it begins, or how it ends. Pure.

Only rows at the client's side count: a call that went to three workers is one call. The pipeline's table
``exchanges`` judges whole conversations; this judges row by row, as they come.
"""

from typing import Any, Final

from framehub.codes import ErrorCode, HubCommand, HubError, Service
from framehub.runtime.tally import ABORTED, ERROR, OK, TIMEOUT

__all__ = [
    "ABORTED",
    "CALLED",
    "ERROR",
    "KINDS",
    "MORE",
    "OK",
    "OPEN",
    "OPENED",
    "TIMEOUT",
    "called",
    "is_stream",
    "step",
]

OPENED: Final = "opened"
OPEN: Final = "open"

KINDS: Final = {
    "mfp": ("request", "response", "service", "message", "binary"),
    "rpc": ("query", "result", "exception", "unknown_function", "cancel"),
    "hub": ("first", "last", "service_error", "stream_error", "command"),
}
"""Kinds of rows that may begin or end a conversation, by protocol."""
MORE: Final = 0b0001
"""The flag of a binary frame that another one follows: the last one ends a stream."""
_FILES: Final = 0b0110
_STREAM: Final = 0b0100
CALLED: Final = {"mfp": "endpoint", "rpc": "function", "hub": "service"}
"""What is called, by protocol."""

_SERVICE: Final = {Service.TIMEOUT: TIMEOUT, Service.ABORT: ABORTED, Service.UNKNOWN: ABORTED}


def step(row: dict[str, Any]) -> str | None:
    """``OPENED``, an outcome, or nothing; needs protocol, kind, direction, head, code, error, ref."""
    incoming = row["direction"] == "in"
    match row["protocol"]:
        case "mfp":
            return _mfp(row)
        case "rpc":
            return _rpc(row, incoming=incoming)
        case "hub" if row["ref"] is None:
            return _hub(row, incoming=incoming)
    return None


def _mfp(row: dict[str, Any]) -> str | None:
    match row["kind"]:
        case "request":
            return OPENED
        case "message" if is_stream(row):
            return OPENED
        case "binary" if not row["head"] & MORE:
            return OK
        case "response":
            return OK if row["error"] is None else ERROR
        case "service":
            return _SERVICE.get(row["code"])
    return None


def _rpc(row: dict[str, Any], *, incoming: bool) -> str | None:
    match row["kind"]:
        case "query" if incoming:
            return OPENED
        case "cancel" if incoming:
            return ABORTED
        case "result" if not incoming:
            return OK
        case "exception" | "unknown_function" if not incoming:
            named = {ErrorCode.TIMEOUT: TIMEOUT, ErrorCode.CANCELLED: ABORTED}
            return named.get(row["error"], ERROR)
    return None


def _hub(row: dict[str, Any], *, incoming: bool) -> str | None:
    match row["kind"]:
        case "first" if incoming:
            return OPENED
        case "command" if incoming and row["code"] == HubCommand.CLOSE:
            return ABORTED
        case "last" if not incoming:
            return OK
        case "service_error" if not incoming:
            return ERROR
        case "stream_error" if not incoming:
            return TIMEOUT if row["code"] == HubError.TIMEOUT else ERROR
    return None


def is_stream(row: dict[str, Any]) -> bool:
    """Whether a stream of MFP begins with it."""
    return bool(row["kind"] == "message" and row["protocol"] == "mfp" and row["head"] & _FILES == _STREAM)


def called(row: dict[str, Any]) -> str:
    """The name of what a row is about, as a client would call it; empty if it has none."""
    name = row["endpoint"] or ""
    if row["protocol"] != "hub":
        return str(name)
    service = name or (str(row["service"]) if row["service"] is not None else "")
    return f"{service}.{row['function']}" if service and row["function"] is not None else str(service)
