/**
 * Every error this client throws on purpose; names as in Python.
 *
 * FramehubError
 * ├── LocalProtocolError     our caller asked for what the spec forbids; nothing was sent
 * │   └── LimitExceeded      .limit, .allowed, .got
 * ├── RemoteProtocolError    the peer sent what the spec forbids; .closeCode ends the connection
 * │   ├── MalformedFrame     bytes that do not parse; .reason, .offset
 * │   │   └── ChecksumFailed the sum is wrong or missing: even the id cannot be trusted
 * │   ├── PeerMisbehaved     too many small faults in a short time
 * │   └── BadEnvelope        a payload that is no envelope; the connection stays
 * ├── ConnectFailed          nobody there, or it would not have us; .url, .reason
 * ├── ConnectionClosed       .code, .reason; everything pending on that connection fails with it
 * ├── RequestTimeout         nobody answered in time
 * ├── RequestAborted         the peer refused or dropped what it was sent
 * ├── StreamAborted          one side wants no more of a stream
 * ├── EndpointError          an endpoint answered with an error; .value
 * └── ConfigError            a setting that cannot be
 */

import { CloseCode } from "./codes.ts";

/** Catch this to mean "the library said no". */
export class FramehubError extends Error {}

/** Our caller asked for what the spec forbids. Nothing was sent and no state changed. */
export class LocalProtocolError extends FramehubError {}

/** What was asked is over a limit of this connection. */
export class LimitExceeded extends LocalProtocolError {
  readonly limit: string;
  readonly allowed: number;
  readonly got: number;

  constructor(limit: string, allowed: number, got: number, advice = "") {
    super(`${limit}: ${got} is over the limit of ${allowed}${advice}`);
    this.limit = limit;
    this.allowed = allowed;
    this.got = got;
  }
}

/** The peer broke the protocol; what it is told is in the spec's table (spec/mfp.md, section 9). */
export class RemoteProtocolError extends FramehubError {
  get closeCode(): number {
    return CloseCode.PROTOCOL_ERROR;
  }
}

/** Bytes that are no frame. */
export class MalformedFrame extends RemoteProtocolError {
  readonly reason: string;
  readonly offset: number;

  constructor(reason: string, offset: number) {
    super(`${reason} at byte ${offset}`);
    this.reason = reason;
    this.offset = offset;
  }
}

/** The checksum is wrong, or missing where one was agreed. */
export class ChecksumFailed extends MalformedFrame {
  override get closeCode(): number {
    return CloseCode.BAD_CHECKSUM;
  }
}

/** The peer did too often what it may do now and then. */
export class PeerMisbehaved extends RemoteProtocolError {
  constructor(what: string, most: number, seconds: number, why = "") {
    super(`more than ${most} ${what} in ${seconds} s${why && `; the last: ${why}`}`);
  }

  override get closeCode(): number {
    return CloseCode.POLICY;
  }
}

/** A payload that is no envelope: told to the sender as `bad_request`, the connection stays. */
export class BadEnvelope extends RemoteProtocolError {}

/** A connection could not be opened. */
export class ConnectFailed extends FramehubError {
  readonly url: string;
  readonly reason: string;

  constructor(url: string, reason: string) {
    super(`cannot connect to ${url}: ${reason}`);
    this.url = url;
    this.reason = reason;
  }
}

/** The connection ended while something on it was pending, or before it was used. */
export class ConnectionClosed extends FramehubError {
  readonly code: number;
  readonly reason: string;

  constructor(code = 1006, reason = "") {
    super(`connection closed (${code}${reason && `: ${reason}`})`);
    this.code = code;
    this.reason = reason;
  }
}

/** No answer came in time; the peer was told, or it told us. */
export class RequestTimeout extends FramehubError {}

/** The peer refused or dropped what it was sent. */
export class RequestAborted extends FramehubError {}

/** One side wants no more of a stream: it did not end, it was cut off. */
export class StreamAborted extends FramehubError {}

/** An endpoint's answer is an error. Throw it in a handler to answer with `value`. */
export class EndpointError extends FramehubError {
  readonly value: unknown;

  constructor(value: unknown) {
    super(textOf(value));
    this.value = value;
  }
}

/** A setting that cannot be. */
export class ConfigError extends FramehubError {}

const ALL = {
  FramehubError,
  LocalProtocolError,
  LimitExceeded,
  RemoteProtocolError,
  MalformedFrame,
  ChecksumFailed,
  PeerMisbehaved,
  BadEnvelope,
  ConnectFailed,
  ConnectionClosed,
  RequestTimeout,
  RequestAborted,
  StreamAborted,
  EndpointError,
  ConfigError,
};
// Whatever letters their classes have in the bundle, `name` is what the tree above calls them.
for (const name in ALL) ALL[name as keyof typeof ALL].prototype.name = name;

function textOf(value: unknown): string {
  const { code, message } = Object(value) as { code?: unknown; message?: unknown };
  if (message !== undefined) return (code === undefined ? "" : `${code}: `) + message;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
