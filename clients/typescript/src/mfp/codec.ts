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
import type { Bytes, Frame, RequestFrame } from "./frames.ts";
import { CHECKSUM, isKeyed, MAP, MORE, NEED_ACK, OWN, PAYLOAD, SET, STREAM } from "./layout.ts";

/** A bit for each service code that is in use. */
const ASSIGNED = 0b1001_1110;

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
  if (data.length < 5) refuse("at least 5 bytes", data.length);
  if (protocol < 1 || protocol > 5) refuse(`unknown sub-protocol ${protocol}`, 0);
  const checksum = !!(head & CHECKSUM || allowed.verifyAlways || checksums.mode === "always");
  const end = checksum ? verified(data, checksums) : data.length;
  const view = new DataView(data.buffer, data.byteOffset);

  let at = 1;
  /** The next number; whoever reads it knows where it should stand. */
  const next = (what = ""): number => {
    if (end < at + 4) refuse(`cut short inside ${what}`, end);
    at += 4;
    return view.getUint32(at - 4);
  };
  const bytes = (size: number): Bytes => data.subarray(at, (at += size));
  const refusePart = (what: string, size: number, offset = at): void => {
    if (size > end - at) refuse(`${what} of ${size} bytes declared, ${end - at} present`, offset);
  };

  const id = next();
  if (!id) refuse("id 0", 1);
  const code: Service = head & 7;
  const isService = protocol === Protocol.SERVICE;
  // A service frame's code is looked at first: it stands before the ref.
  if (isService && !((ASSIGNED >> code) & 1)) refuse(`unknown service code ${code}`, 0);
  const isMessage = protocol === Protocol.MESSAGE;
  const ref = isMessage || protocol === Protocol.REQUEST ? 1 : next("ref");
  if (!ref) refuse("ref 0", 5);

  if (isService) {
    const own = !!(head & OWN);
    if (at < end) refuse(`${end - at} trailing bytes`, at);
    if (code === Service.PING) {
      if (!own) refuse("no own bit", 0);
      if (ref !== id) refuse("ref differs from id", 5);
    }
    return { type: protocol, id, code, ref, own, checksum };
  }

  const needAck = !!(head & NEED_ACK);
  if (protocol === Protocol.BINARY) {
    const kind: BinaryKind = code >> 1;
    const key = isKeyed(kind) ? next("key") : undefined;
    if (!kind && at < end) refuse("it carries none", at);
    const final = !(head & MORE);
    return { type: protocol, id, ref, kind, key, data: bytes(end - at), final, needAck, checksum };
  }

  const { maxFiles = Infinity, maxPayloadBytes = Infinity } = allowed;
  const extra = head & MAP;
  const isMap = extra === MAP;
  if (!isMessage && extra && !isMap) refuse("only a message may do that", 0);
  const sizesAt = at;
  const payloadSize = head & PAYLOAD ? next("payload size") : 0;
  if (payloadSize > maxPayloadBytes) {
    refuse(`payload of ${payloadSize} bytes, at most ${maxPayloadBytes} are allowed`, sizesAt);
  }
  const entry = isMap ? 8 : 4;
  const tableSize = extra & SET ? next("map size") : 0;
  const count = tableSize / entry;
  if (extra & SET && (!count || count % 1)) {
    refuse(`${isMap ? "map" : "set"} size ${tableSize} is no multiple of ${entry}`, at - 4);
  }
  if (count > maxFiles) refuse(`${count} files, at most ${maxFiles} are allowed`, at - 4);
  refusePart("payload", payloadSize, sizesAt);
  const payload = bytes(payloadSize);
  refusePart("map", tableSize);

  const tableAt = at;
  const sizes = new Map<number, number>();
  let declared = 0;
  while (at < tableAt + tableSize) {
    const key = next();
    if (sizes.has(key)) refuse(`key ${key} stands twice`, at - 4);
    const size = isMap ? next() : 0;
    sizes.set(key, size);
    declared += size;
  }
  refusePart("files", declared, tableAt);
  const files = isMap ? [...sizes].map(([key, size]) => [key, bytes(size)] as const) : [];
  if (at < end) refuse(`${end - at} trailing bytes`, at);

  const body = { type: protocol, id, payload, files, needAck, checksum } as RequestFrame;
  if (!isMessage) return protocol === Protocol.REQUEST ? body : { ...body, type: protocol, ref };
  const expected = isMap ? [] : [...sizes.keys()];
  return { ...body, type: protocol, expected, streaming: extra === STREAM };
}

/** Check the sum; return where it begins. */
function verified(data: Bytes, checksums: Checksums): number {
  const { mode, algorithm } = checksums;
  const end = data.length - sizeOf(checksums);
  const isTold = data[0]! & CHECKSUM;
  const fail = (reason: string, offset: number): never => {
    throw new ChecksumFailed(reason, offset);
  };
  if (!isTold && mode === "always") fail("no checksum, but every frame must have one", 0);
  if (mode === "off") refuse("checksums are off", 0);
  if (end < 5) (isTold ? refuse : fail)("no room for the checksum", data.length);
  const right = sumOf(data.subarray(0, end), checksums).every((byte, n) => byte === data[end + n]);
  if (!right) fail(`wrong ${algorithm} checksum`, end);
  return end;
}

function refuse(reason: string, offset: number): never {
  throw new MalformedFrame(reason, offset);
}
