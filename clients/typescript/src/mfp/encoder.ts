/** MFP frames to bytes (spec/mfp.md, sections 2 to 6). Pure. */

import { BinaryKind, Protocol, Service } from "../codes.ts";
import { LocalProtocolError } from "../errors.ts";
import { BY_FLAG, type Checksums, sizeOf, sumOf } from "./checksum.ts";
import type { Bytes, Frame } from "./frames.ts";
import { CHECKSUM, isKeyed, KIND_NAMES, MAP, MORE, NEED_ACK, OWN, PAYLOAD, SET, STREAM } from "./layout.ts";

const PROTOCOLS = {
  message: Protocol.MESSAGE,
  request: Protocol.REQUEST,
  response: Protocol.RESPONSE,
} as const;

/** What stands behind the head, in order: numbers of 32 bits and bytes. */
type Parts = (number | Uint8Array)[];

/** The frame's bytes. Throws `LocalProtocolError` for a value that no frame can carry. */
export function encode(frame: Frame, checksums: Checksums = BY_FLAG): Bytes {
  const { mode } = checksums;
  const sealed = mode === "always" || (mode === "flag" && frame.checksum);
  const parts: Parts = [];
  const head = flagsAnd(parts, frame) | (sealed ? CHECKSUM : 0);
  const sumSize = sealed ? sizeOf(checksums) : 0;
  const data = joined(head, [frame.id, ...("ref" in frame ? [frame.ref] : []), ...parts], sumSize);
  const end = data.length - sumSize;
  if (sealed) data.set(sumOf(data.subarray(0, end), checksums), end);
  return data;
}

/** The first byte without its checksum bit; what the frame carries is added to `parts`. */
function flagsAnd(parts: Parts, frame: Frame): number {
  if (!frame.id) refuse("id 0 is not used");
  if ("ref" in frame && !frame.ref) refuse("ref 0 is not used");
  if (frame.type === "service") {
    const { code, own } = frame;
    if (code === Service.PING && !(own && frame.ref === frame.id)) {
      refuse("a ping names itself: own bit set and ref equal to id");
    }
    return (Protocol.SERVICE << 5) | code | (own ? OWN : 0);
  }
  const needAck = frame.needAck ? NEED_ACK : 0;
  if (frame.type === "binary") {
    const { kind, key, data } = frame;
    const keyed = isKeyed(kind);
    if (keyed !== (key !== undefined)) {
      refuse(`a binary frame of kind ${KIND_NAMES[kind]} has ${keyed ? "a" : "no"} key`);
    }
    if (kind === BinaryKind.NONE && data.length) refuse("a binary frame of kind none has no data");
    parts.push(...(key === undefined ? [] : [key]), data);
    return (Protocol.BINARY << 5) | needAck | (kind << 1) | (frame.final ? 0 : MORE);
  }
  const { type, payload, files } = frame;
  const { expected = [], streaming = false } = type === "message" ? frame : {};
  const keys = [...files.map(([key]) => key), ...expected];
  const extra = (files.length && MAP) || (expected.length && SET) || (streaming && STREAM) || 0;
  if ((files.length && expected.length) || (keys.length && streaming)) {
    refuse("a message attaches files, announces files or opens a stream: one of them");
  }
  if (new Set(keys).size < keys.length) refuse("two files have the same key");
  const table = [...files.flatMap(([key, blob]) => [key, blob.length]), ...expected];
  if (payload.length) parts.push(payload.length);
  if (extra & SET) parts.push(4 * table.length);
  parts.push(payload, ...table, ...files.map(([, blob]) => blob));
  return (PROTOCOLS[type] << 5) | needAck | (payload.length ? PAYLOAD : 0) | extra;
}

/** Head and parts one behind the other, and room for the sum. */
function joined(head: number, parts: Parts, sumSize: number): Bytes {
  let size = 1 + sumSize;
  for (const part of parts) size += typeof part === "number" ? 4 : part.length;
  const data = new Uint8Array(size);
  const view = new DataView(data.buffer);
  let at = 1;
  data[0] = head;
  for (const part of parts) {
    if (typeof part === "number") {
      if (part >>> 0 !== part) refuse(`a number does not fit in 32 bits: ${part}`);
      view.setUint32(at, part);
      at += 4;
    } else {
      data.set(part, at);
      at += part.length;
    }
  }
  return data;
}

function refuse(reason: string): never {
  throw new LocalProtocolError(reason);
}
