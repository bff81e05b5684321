"""Every exception this package raises on purpose.

FramehubError
├── ProtocolError
│   ├── LocalProtocolError     our caller asked for what the spec forbids; nothing was sent
│   │   └── LimitExceeded      .limit, .allowed, .got
│   └── RemoteProtocolError    the peer sent what the spec forbids; .close_code ends the connection
│       ├── MalformedFrame     bytes that do not parse; .reason, .offset
│       │   └── ChecksumFailed the sum is wrong or missing: even the id cannot be trusted
│       └── PeerMisbehaved     too many small faults in a short time; .what, .most, .seconds
├── ConnectFailed              nobody there, or it would not have us; .url, .reason, .status
├── ConnectionClosed           .code, .reason; everything pending on that connection fails with it
├── RequestTimeout             nobody answered in time
├── RequestAborted             the peer refused or dropped what it was sent
├── StreamAborted              one side wants no more of a stream
├── HubStreamError             the hub ended a stream, or did not open it; .code, .text
├── ServiceFailed              a service ended a stream with an error; .body
├── EndpointError              an endpoint answered with an error; .value
├── RemoteCallError            a remote function gave no result; .function
│   ├── RemoteFunctionError    the function failed, or could not be run; .message
│   │   └── RemoteBusy         too much is waiting already: it was not run, try again later
│   ├── UnsupportedFunctionName nobody offers a function of that name
│   ├── RemoteTimeout          no answer in time
│   ├── IncompatibleSpecs      other workers offer it with other coders; .argument, .result
│   ├── EncodingError          a value that its coder cannot carry
│   └── DecodingError          bytes that its coder cannot read
├── JournalError               a journal cannot be read or written
│   └── JournalLocked          another process writes it
├── PipelineError              Spark, Java or the tables: what is missing and where
└── ConfigError                a setting that cannot be
"""

from copy import copy
from typing import Any, ClassVar, Self

from framehub.codes import CloseCode, HubError


class FramehubError(Exception):
    """Catch this to mean "the library said no"."""

    exit_code: ClassVar[int] = 1
    """What a command ends with when this stops it."""

    def again(self) -> Self:
        """The same error without its traceback, which keeps alive whatever the error has passed."""
        return copy(self)


class ProtocolError(FramehubError):
    """A rule of a wire protocol was broken, by us or by the peer."""


class LocalProtocolError(ProtocolError):
    """Our caller asked for what the spec forbids. Nothing was sent and no state changed."""


class LimitExceeded(LocalProtocolError):
    """What was asked is over a limit of this connection."""

    def __init__(self, limit: str, *, allowed: int, got: int, hint: str = "") -> None:
        super().__init__(limit, allowed, got)
        self.limit = limit
        self.allowed = allowed
        self.got = got
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.limit}: {self.got} is over the limit of {self.allowed}"
        return f"{text} ({self.hint})" if self.hint else text


class RemoteProtocolError(ProtocolError):
    """The peer broke the protocol; what it is told is in the spec's table (spec/mfp.md, section 9)."""

    close_code: ClassVar[CloseCode] = CloseCode.PROTOCOL_ERROR
    """What a connection is closed with that this ends."""


class MalformedFrame(RemoteProtocolError):
    """Bytes that are no frame."""

    def __init__(self, reason: str, *, offset: int) -> None:
        super().__init__(reason, offset)
        self.reason = reason
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.reason} at byte {self.offset}"


class ChecksumFailed(MalformedFrame):
    """The checksum is wrong, or missing where one was agreed."""

    close_code: ClassVar[CloseCode] = CloseCode.BAD_CHECKSUM


class PeerMisbehaved(RemoteProtocolError):
    """The peer did too often what it may do now and then."""

    close_code: ClassVar[CloseCode] = CloseCode.POLICY

    def __init__(self, what: str, *, most: int, seconds: float, why: str = "") -> None:
        super().__init__(what, most, seconds, why)
        self.what = what
        self.most = most
        self.seconds = seconds
        self.why = why

    def __str__(self) -> str:
        text = f"more than {self.most} {self.what} in {self.seconds:g} s"
        return f"{text}; the last: {self.why}" if self.why else text


class ConnectFailed(FramehubError):
    """A connection could not be opened."""

    def __init__(self, url: str, reason: str, *, status: int | None = None) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason
        self.status = status
        """What an HTTP server answered instead of letting us in."""

    def __str__(self) -> str:
        return f"cannot connect to {self.url}: {self.reason}"


class ConnectionClosed(FramehubError):
    """The connection ended while something on it was pending, or before it was used."""

    def __init__(self, code: int = 1006, reason: str = "") -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason

    def __str__(self) -> str:
        return f"connection closed ({self.code}{': ' + self.reason if self.reason else ''})"


class RequestTimeout(FramehubError):
    """No answer came in time; the peer was told, or it told us."""


class RequestAborted(FramehubError):
    """The peer refused or dropped what it was sent."""


class StreamAborted(FramehubError):
    """One side wants no more of a stream: it did not end, it was cut off."""


class HubStreamError(FramehubError):
    """The hub ended a stream, or did not open it; ``code`` says why, ``text`` says it to people."""

    def __init__(self, code: HubError, text: str = "") -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text

    def __str__(self) -> str:
        return f"{self.code.name}: {self.text}" if self.text else self.code.name


class ServiceFailed(FramehubError):
    """A service ended a stream with an error: ``body`` is all that it says."""

    def __init__(self, body: bytes = b"") -> None:
        super().__init__(body)
        self.body = body

    def __str__(self) -> str:
        return self.body.decode(errors="replace") or "the service failed and does not say why"


class EndpointError(FramehubError):
    """An endpoint's answer is an error. Raise it in a handler to answer with ``value``."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value

    def __str__(self) -> str:
        if isinstance(self.value, dict) and "message" in self.value:
            code = self.value.get("code")
            return f"{code}: {self.value['message']}" if code else str(self.value["message"])
        return str(self.value)


class RemoteCallError(FramehubError):
    """A remote function gave no result."""

    def __init__(self, function: str, message: str = "") -> None:
        super().__init__(function, message)
        self.function = function
        self.message = message

    def __str__(self) -> str:
        return f"{self.function}: {self.message}" if self.message else self.function


class RemoteFunctionError(RemoteCallError):
    """The function failed, or could not be run: ``message`` is all that its worker says."""

    def __str__(self) -> str:
        return f"{self.function} failed: {self.message or 'it does not say why'}"


class RemoteBusy(RemoteFunctionError):
    """Too much is waiting already: it was not run, so it may be asked again later."""


class UnsupportedFunctionName(RemoteCallError):
    """Nobody offers a function of this name."""

    def __str__(self) -> str:
        return f"no worker offers a function {self.function!r}"


class RemoteTimeout(RemoteCallError):
    """No answer came in time; whether the function ran is not known."""


class IncompatibleSpecs(RemoteCallError):
    """Other workers offer this function with other coders, so ours was refused."""

    def __init__(self, function: str, argument: str, result: str) -> None:
        super().__init__(function)
        self.args = (function, argument, result)
        self.argument = argument
        self.result = result

    def __str__(self) -> str:
        if not self.argument and not self.result:
            return f"function {self.function!r} cannot be registered: its name or its coders are not lawful"
        return f"function {self.function!r}: other workers offer it as {self.argument} -> {self.result}"


class EncodingError(RemoteCallError):
    """A value that its coder cannot carry; nothing was sent."""


class DecodingError(RemoteCallError):
    """Bytes that its coder cannot read."""


class JournalError(FramehubError):
    """A journal cannot be read or written."""


class JournalLocked(JournalError):
    """Another process writes this journal."""

    exit_code: ClassVar[int] = 3


class PipelineError(FramehubError):
    """The pipeline cannot run: what is missing, and where."""


class ConfigError(FramehubError):
    """A setting that cannot be."""
