/**
 * The envelope: what a payload says to an application (spec/mfp.md, section 7). Pure.
 *
 *     {"endpoint": "chat", "data": any, "error": any, "filemap": [[key, "name", "type"], ...]}
 *
 * UTF-8 JSON, keys in this order, absent when not given; values that are false, zero, empty or null are
 * given.
 */

import type { ErrorCode } from "../codes.ts";
import { BadEnvelope, LocalProtocolError } from "../errors.ts";
import type { Bytes, Files } from "./frames.ts";
import { fault } from "./strict.ts";

/** One payload, read. */
export interface Envelope {
  readonly endpoint: string;
  readonly data?: unknown;
  readonly error?: unknown;
  readonly filemap?: readonly (readonly [key: number, name: string, type: string])[];
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** How `JSON.stringify` writes half a surrogate pair: an escape whose backslash is not itself escaped. */
const HALF_PAIR = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

/** The payload's bytes. Throws `LocalProtocolError`: a value that JSON cannot carry, or an empty endpoint. */
export function encode({ endpoint, data, error, filemap }: Envelope): Bytes {
  const refuse = (why: unknown): never => {
    throw new LocalProtocolError(`data for ${JSON.stringify(endpoint)} cannot be sent as JSON: ${why}`);
  };
  let json = "";
  if (!endpoint || typeof endpoint !== "string") throw new LocalProtocolError("an endpoint has a name");
  if (ArrayBuffer.isView(data) || data instanceof ArrayBuffer || data instanceof Blob) {
    refuse("it is bytes; attach a file, or send a stream");
  }
  try {
    json = JSON.stringify({ endpoint, data, error, filemap });
  } catch (cause) {
    refuse(cause);
  }
  if (HALF_PAIR.test(json)) refuse("half a surrogate pair");
  return new TextEncoder().encode(json);
}

/**
 * Read a payload; `files` must be those that came with it, or undefined if they are yet to come.
 *
 * Throws `BadEnvelope`: no envelope, or its filemap does not name exactly the attached files.
 */
export function decode(payload: Bytes, files?: Files): Envelope {
  const { endpoint, filemap, data, error } = read(payload); // other keys are ignored
  if (typeof endpoint !== "string" || !endpoint) refuse("Expected `str` of length >= 1 - at `$.endpoint`");
  if (filemap !== undefined && !isFilemap(filemap)) refuse("Expected [[key, name, type]] - at `$.filemap`");
  const keys = (filemap ?? []).map(([key]) => key);
  const named = new Set(keys);
  if (files && named.size < keys.length) throw new BadEnvelope("filemap names a file twice");
  if (files && (named.size !== files.length || !files.every(([key]) => named.has(key)))) {
    throw new BadEnvelope("filemap does not name exactly the attached files");
  }
  return {
    endpoint,
    ...(data !== undefined && { data }),
    ...(error !== undefined && { error }),
    ...(filemap && { filemap }),
  };
}

function read(payload: Bytes): Partial<Envelope> {
  let json = "";
  let value: unknown;
  try {
    json = strictUtf8.decode(payload);
  } catch {
    refuse("invalid unicode, not utf-8");
  }
  try {
    value = JSON.parse(json);
  } catch (cause) {
    refuse(`JSON is malformed: ${(cause as Error).message.slice(0, 100)}`);
  }
  const why = fault(json);
  if (why) refuse(why);
  if (Object(value) !== value || Array.isArray(value)) refuse("Expected `object`");
  return value as Partial<Envelope>;
}

function isFilemap(value: unknown): boolean {
  return Array.isArray(value) && value.every((entry) => {
    const [key, name, type, ...rest] = Array.isArray(entry) ? entry : [];
    return key >>> 0 === key && typeof name === "string" && typeof type === "string" && !rest.length;
  });
}

function refuse(why: string): never {
  throw new BadEnvelope(`the payload is no envelope: ${why}`);
}

/** An `error` made by the library, not by an application. */
export function libraryError(code: ErrorCode, message: string): { code: string; message: string } {
  return { code, message };
}
