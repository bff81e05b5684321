"""Every number and word that goes over a wire or into the journal (spec/codes.json says the same)."""

from enum import IntEnum, StrEnum


class Protocol(IntEnum):
    """MFP sub-protocols: the top three bits of a frame's first byte (spec/mfp.md, section 2)."""

    SERVICE = 1
    MESSAGE = 2
    REQUEST = 3
    BINARY = 4
    RESPONSE = 5


class Service(IntEnum):
    """What a service frame says: its low three bits (spec/mfp.md, section 4)."""

    ACK = 1
    TIMEOUT = 2
    ABORT = 3
    UNKNOWN = 4
    PING = 7


class BinaryKind(IntEnum):
    """What a binary frame carries: bits 0110 of its flags (spec/mfp.md, section 6)."""

    NONE = 0
    EXPECTED = 1
    STREAMING = 2
    DATA = 3


class ErrorCode(StrEnum):
    """The closed list of codes in an ``error`` made by the library (spec/mfp.md, section 7)."""

    BAD_REQUEST = "bad_request"
    UNKNOWN_ENDPOINT = "unknown_endpoint"
    UNKNOWN_FUNCTION = "unknown_function"
    FUNCTION_FAILED = "function_failed"
    SERVICE_ERROR = "service_error"
    STREAM_ERROR = "stream_error"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    BUSY = "busy"
    LIMIT = "limit"
    FORBIDDEN = "forbidden"
    INTERNAL = "internal"


class CloseCode(IntEnum):
    """Why a WebSocket is closed (spec/mfp.md, section 9)."""

    OK = 1000
    GOING_AWAY = 1001
    PROTOCOL_ERROR = 1002
    UNSUPPORTED = 1003
    BAD_CHECKSUM = 1007
    POLICY = 1008
    TOO_BIG = 1009
    INTERNAL = 1011


class Message(StrEnum):
    """Types of messages of remote functions (spec/rpc.md, section 2)."""

    QUERY = "QUERY"
    QUERY_RECEIVED = "QUERY_RECEIVED"
    RESPONSE_RESULT = "RESPONSE_RESULT"
    RESPONSE_EXCEPTION = "RESPONSE_EXCEPTION"
    RESPONSE_UNKNOWN_FUNCTION = "RESPONSE_UNKNOWN_FUNCTION"
    RESPONSE_RECEIVED = "RESPONSE_RECEIVED"
    CODER_IDENTITY_QUERY = "CODER_IDENTITY_QUERY"
    CODER_IDENTITY_FOUND = "CODER_IDENTITY_FOUND"
    CODER_IDENTITY_NOT_FOUND = "CODER_IDENTITY_NOT_FOUND"
    HEART_BEAT = "HEART_BEAT"
    WORKER_REGISTER = "WORKER_REGISTER"
    INCOMPATIBLE_SPECS_FAILURE = "INCOMPATIBLE_SPECS_FAILURE"
    WORKER_DESCRIBE = "WORKER_DESCRIBE"
    FUNCTIONS_QUERY = "FUNCTIONS_QUERY"
    FUNCTIONS_LIST = "FUNCTIONS_LIST"
    CANCEL = "CANCEL"
    QUERY_RETURNED = "QUERY_RETURNED"
    QUERY_CONFIRMED = "QUERY_CONFIRMED"


class HubState(IntEnum):
    """What a frame of the hub is (spec/hub.md, section 2)."""

    MESSAGE = 0
    SERVICE_ERROR = 11
    LAST = 12
    STREAM_ERROR = 13
    COMMAND = 14
    FIRST = 15


class HubCommand(IntEnum):
    """What a command of the hub says (spec/hub.md, section 4)."""

    PING = 1
    PONG = 2
    READY = 3
    CLOSE = 15


class HubError(IntEnum):
    """Why the hub says ``STREAM_ERROR`` (spec/hub.md, section 5)."""

    TIMEOUT = 1
    CLIENT_DISCONNECT = 2
    SERVICE_DISCONNECT = 3
    STREAM_NOT_FOUND = 4
    WS_STREAM_COLLISION = 5
    ZMQ_STREAM_COLLISION = 6
    ENDPOINT_NOT_FOUND = 7
    BAD_FRAME = 8
    LIMIT = 9
    FORBIDDEN = 10
    BUSY = 11
    INTERNAL = 12


class Direction(StrEnum):
    """Which way a recorded frame went, seen from the node that recorded it (spec/journal.md)."""

    IN = "in"
    OUT = "out"


class Kind(StrEnum):
    """What a journal row records (spec/journal.md): a frame by its type, or a link coming or going."""

    SERVICE = "service"
    MESSAGE = "message"
    REQUEST = "request"
    BINARY = "binary"
    RESPONSE = "response"
    REFUSED = "refused"
    LINK_OPENED = "link_opened"
    LINK_CLOSED = "link_closed"
    QUERY = "query"
    QUERY_RECEIVED = "query_received"
    RESULT = "result"
    EXCEPTION = "exception"
    UNKNOWN_FUNCTION = "unknown_function"
    RESPONSE_RECEIVED = "response_received"
    CODERS_QUERY = "coders_query"
    CODERS_FOUND = "coders_found"
    CODERS_NOT_FOUND = "coders_not_found"
    HEART_BEAT = "heart_beat"
    REGISTER = "register"
    INCOMPATIBLE = "incompatible"
    DESCRIBE = "describe"
    FUNCTIONS_QUERY = "functions_query"
    FUNCTIONS_LIST = "functions_list"
    CANCEL = "cancel"
    QUERY_RETURNED = "query_returned"
    QUERY_CONFIRMED = "query_confirmed"
    FIRST = "first"
    LAST = "last"
    COMMAND = "command"
    STREAM_ERROR = "stream_error"
    SERVICE_ERROR = "service_error"
