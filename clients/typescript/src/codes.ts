/** Every number and word of MFP on the wire, as spec/codes.json has them. Pure. */

export enum Protocol {
  SERVICE = 1,
  MESSAGE = 2,
  REQUEST = 3,
  BINARY = 4,
  RESPONSE = 5,
}

export enum Service {
  ACK = 1,
  TIMEOUT = 2,
  ABORT = 3,
  UNKNOWN = 4,
  PING = 7,
}

export enum BinaryKind {
  NONE = 0,
  EXPECTED = 1,
  STREAMING = 2,
  DATA = 3,
}

export enum ErrorCode {
  BAD_REQUEST = "bad_request",
  UNKNOWN_ENDPOINT = "unknown_endpoint",
  UNKNOWN_FUNCTION = "unknown_function",
  FUNCTION_FAILED = "function_failed",
  SERVICE_ERROR = "service_error",
  STREAM_ERROR = "stream_error",
  TIMEOUT = "timeout",
  CANCELLED = "cancelled",
  BUSY = "busy",
  LIMIT = "limit",
  FORBIDDEN = "forbidden",
  INTERNAL = "internal",
}

export enum CloseCode {
  OK = 1000,
  GOING_AWAY = 1001,
  PROTOCOL_ERROR = 1002,
  UNSUPPORTED = 1003,
  BAD_CHECKSUM = 1007,
  POLICY = 1008,
  TOO_BIG = 1009,
  INTERNAL = 1011,
}
