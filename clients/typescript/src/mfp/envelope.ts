/**
 * The envelope: what a payload says to an application (spec/mfp.md, section 7). Pure.
 *
 *     {"endpoint": "chat", "data": any, "error": any, "filemap": [[key, "name", "type"], ...]}
 *
 * UTF-8 JSON, keys in this order, absent when not given; values that are false, zero, empty or null are
 * given.
 */

import { BadEnvelope, LocalProtocolError } from "../errors.ts";
import type { Bytes, Files } from "./frames.ts";
import { fault } from "./strict.ts";

/** One payload, read. */
export interface Envelope {
  readonly endpoint: string;
  readonly data?: unknown;
  readonly error?: unknown;
  readonly filemap?: readonly (readonly [key: number, name: string, type: string])[] | undefined;
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The payload's bytes. Throws `LocalProtocolError`: a value that JSON cannot carry, or an empty endpoint. */
export function encode({ endpoint, data, error, filemap }: Envelope): Bytes {
  let json = "";
  const isBytes = ArrayBuffer.isView(data) || data instanceof ArrayBuffer || data instanceof Blob;
  let why: unknown = isBytes && "it is bytes; attach or stream it";
  if (!endpoint || typeof endpoint !== "string") throw new LocalProtocolError("an endpoint has a name");
  try {
    json = why ? "" : JSON.stringify({ endpoint, data, error, filemap });
    if (/\\ud/.test(json)) why = fault(json); // half a surrogate pair, or what looks like one
  } catch (cause) {
    why = cause;
  }
  if (why) {
    throw new LocalProtocolError(`data for ${JSON.stringify(endpoint)} cannot be sent as JSON: ${why}`);
  }
  return new TextEncoder().encode(json);
}

/**
 * Read a payload; `files` must be those that came with it, or undefined if they are yet to come.
 *
 * Throws `BadEnvelope`: no envelope, or its filemap does not name exactly the attached files.
 */
export function decode(payload: Bytes, files?: Files): Envelope {
  let json: string | undefined;
  let value: any;
  try {
    value = JSON.parse((json = strictUtf8.decode(payload)));
  } catch (cause) {
    const malformed = `malformed JSON: ${(cause as Error).message}`;
    refuse(json === undefined ? "unicode, not utf-8" : malformed);
  }
  const why = fault(json!);
  if (why) refuse(why);
  if (Object(value) !== value || Array.isArray(value)) refuse("Expected `object`");
  const { endpoint, filemap, data, error } = value as Partial<Envelope>; // other keys are ignored
  if (!endpoint || typeof endpoint !== "string") refuse("Expected `str` - at `$.endpoint`");
  if (filemap !== undefined && !isFilemap(filemap)) refuse("filemap: Expected [[key, name, type]]");
  const keys = (filemap ?? []).map(([key]) => key);
  if (files && (keys.length !== files.length || !files.every(([key]) => keys.includes(key)))) {
    throw new BadEnvelope("filemap: not exactly the attached files, or one twice");
  }
  return {
    endpoint,
    ...(data !== undefined && { data }),
    ...(error !== undefined && { error }),
    ...(filemap && { filemap }),
  };
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
