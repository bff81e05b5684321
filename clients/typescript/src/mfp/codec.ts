/**
 * Bytes to MFP frames (spec/mfp.md, sections 2 to 6), and back by `encode`. Pure.
 *
 * Decoding is strict and total: every byte string is one frame, or `MalformedFrame` with its offset, and that
 * is decided before anything is allocated by a size the sender declared. `layout.ts` shows where things
 * stand. Payload, files and bytes of a frame are views of the bytes given.
 */

import { BinaryKind, Protocol, Service } from "../codes.ts";
import { ChecksumFailed, MalformedFrame } from "../errors.ts";
import { BY_FLAG, type Checksums, sizeOf, sumOf } from "./checksum.ts";
import type { Bytes, Frame } from "./frames.ts";
import { CHECKSUM, isKeyed, MAP, MAX_U32, MORE, NEED_ACK, OWN, PAYLOAD, SET, STREAM } from "./layout.ts";

export { encode } from "./encoder.ts";

/** What a receiver allows, and whether it verifies every frame whatever its checksum bit says. */
export interface Allowed {
  readonly maxFiles?: number;
  readonly maxPayloadBytes?: number;
  readonly verifyAlways?: boolean;
}

/**
 * Parse exactly one frame.
 *
 * Throws `ChecksumFailed` if the sum is wrong, or missing where every frame must have one, and
 * `MalformedFrame` for anything else that is not one whole frame.
 */
export function decode(data: Bytes, checksums: Checksums = BY_FLAG, allowed: Allowed = {}): Frame {
  const [head = 0] = data;
  const protocol: Protocol = head >> 5;
  if (data.length < 5) refuse(`a frame has at least 5 bytes, this one ${data.length}`, data.length);
  if (protocol < 1 || protocol > 5) refuse(`sub-protocol ${protocol} is not in use`, 0);
  const checksum = !!(head & CHECKSUM || allowed.verifyAlways || checksums.mode === "always");
  const end = checksum ? verified(data, checksums) : data.length;
  const id = u32(data, 1);
  if (!id) refuse("id 0 is not used", 1);

  let at = 5;
  /** The next number; whoever reads it knows where it should stand. */
  const next = (what: string): number => {
    if (end < at + 4) refuse(`cut short inside ${what}`, end);
    return u32(data, (at += 4) - 4);
  };
  const bytes = (size: number): Bytes => data.subarray(at, (at += size));
  const refusePart = (what: string, size: number, offset = at): void => {
    if (size > end - at) refuse(`${what} of ${size} bytes declared, ${end - at} present`, offset);
  };

  let ref = 0;
  if (protocol !== Protocol.MESSAGE && protocol !== Protocol.REQUEST) {
    // A service frame's code is looked at first: it stands before the ref.
    const code = head & 7;
    const isAssigned = (code >= Service.ACK && code <= Service.UNKNOWN) || code === Service.PING;
    if (protocol === Protocol.SERVICE && !isAssigned) refuse(`service code ${code} is not in use`, 0);
    ref = next("ref");
    if (!ref) refuse("ref 0 is not used", 5);
  }
  const needAck = !!(head & NEED_ACK);

  if (protocol === Protocol.SERVICE) {
    const code: Service = head & 7;
    const own = !!(head & OWN);
    if (at < end) refuse("trailing bytes after a service frame", at);
    if (code === Service.PING && !own) refuse("a ping must have its own bit set", 0);
    if (code === Service.PING && ref !== id) refuse("a ping must name itself: ref differs from id", 5);
    return { type: "service", id, code, ref, own, checksum };
  }

  if (protocol === Protocol.BINARY) {
    const kind: BinaryKind = (head >> 1) & 3;
    const key = isKeyed(kind) ? next("key") : undefined;
    if (kind === BinaryKind.NONE && at < end) {
      refuse("trailing bytes: this kind of binary frame carries none", at);
    }
    const final = !(head & MORE);
    return { type: "binary", id, ref, kind, key, data: bytes(end - at), final, needAck, checksum };
  }

  const { maxFiles = MAX_U32, maxPayloadBytes = MAX_U32 } = allowed;
  const extra = head & MAP;
  if (protocol !== Protocol.MESSAGE && extra && extra !== MAP) {
    refuse("only a message may announce files or open a stream", 0);
  }
  const sizesAt = at;
  const payloadSize = head & PAYLOAD ? next("payload size") : 0;
  if (payloadSize > maxPayloadBytes) {
    refuse(`payload of ${payloadSize} bytes, at most ${maxPayloadBytes} are allowed`, sizesAt);
  }
  const [entry, table] = extra === MAP ? [8, "map"] : [4, "set"];
  const tableSize = extra & SET ? next("map size") : 0;
  const count = tableSize / entry;
  if (extra & SET && (!count || count % 1)) {
    refuse(`${table} size ${tableSize} is not a positive multiple of ${entry}`, at - 4);
  }
  if (count > maxFiles) refuse(`${count} files, at most ${maxFiles} are allowed`, at - 4);
  refusePart("payload", payloadSize, sizesAt);
  const payload = bytes(payloadSize);
  refusePart("map", tableSize);

  const tableAt = at;
  const sizes = new Map<number, number>();
  let declared = 0;
  while (at < tableAt + tableSize) {
    const key = next("");
    if (sizes.has(key)) refuse(`key ${key} stands twice`, at - 4);
    const size = extra === MAP ? next("") : 0;
    sizes.set(key, size);
    declared += size;
  }
  refusePart("files", declared, tableAt);
  const files = extra === MAP ? [...sizes].map(([key, size]) => [key, bytes(size)] as const) : [];
  const expected = extra === SET ? [...sizes.keys()] : [];
  if (at < end) refuse(`${end - at} trailing bytes`, at);

  const body = { id, payload, files, needAck, checksum };
  if (protocol === Protocol.REQUEST) return { type: "request", ...body };
  if (protocol === Protocol.RESPONSE) return { type: "response", ref, ...body };
  return { type: "message", expected, streaming: extra === STREAM, ...body };
}

/** Check the sum; return where it begins. */
function verified(data: Bytes, checksums: Checksums): number {
  const { mode, algorithm } = checksums;
  const size = sizeOf(checksums);
  const end = data.length - size;
  if (!(data[0]! & CHECKSUM)) {
    if (mode === "always") throw new ChecksumFailed("no checksum, but every frame must have one", 0);
    if (end < 5) {
      throw new ChecksumFailed("no room for the checksum that every frame must have", data.length);
    }
  }
  if (mode === "off") refuse("checksum bit set, but checksums are off", 0);
  if (end < 5) refuse(`checksum bit set, but no room for ${size} bytes of it`, data.length);
  const right = sumOf(data.subarray(0, end), checksums).every((byte, n) => byte === data[end + n]);
  if (!right) throw new ChecksumFailed(`wrong ${algorithm} checksum`, end);
  return end;
}

function u32(data: Bytes, at: number): number {
  return ((data[at]! << 24) | (data[at + 1]! << 16) | (data[at + 2]! << 8) | data[at + 3]!) >>> 0;
}

function refuse(reason: string, offset: number): never {
  throw new MalformedFrame(reason, offset);
}
