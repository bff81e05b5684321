/**
 * MFP frames to bytes (spec/mfp.md, sections 2 to 6). Pure.
 *
 * What the machine sends is right by the way it is made; frames from elsewhere go through `sendable.ts` first.
 */

import { Protocol } from "../codes.ts";
import { LocalProtocolError } from "../errors.ts";
import { BY_FLAG, type Checksums, sizeOf, sumOf } from "./checksum.ts";
import type { BinaryFrame, Bytes, Frame, MessageFrame } from "./frames.ts";
import { CHECKSUM, MAP, MORE, NEED_ACK, OWN, PAYLOAD, SET, STREAM } from "./layout.ts";

/** The frame's bytes. Throws `LocalProtocolError`: a key that is no number of 32 bits. */
export function encode(frame: Frame, checksums: Checksums = BY_FLAG): Bytes {
  const { id, ref, key, data, needAck } = frame as BinaryFrame;
  const { mode } = checksums;
  const sealed = mode === "always" || (mode === "flag" && frame.checksum);
  let head = (frame.type << 5) | (sealed ? CHECKSUM : 0) | (needAck ? NEED_ACK : 0);
  /** What stands behind the head, in order: numbers of 32 bits and bytes; what is absent is left out. */
  const parts: (number | Uint8Array | undefined)[] = [id, ref];
  if (frame.type === Protocol.SERVICE) {
    head |= frame.code | (frame.own ? OWN : 0);
  } else if (frame.type === Protocol.BINARY) {
    parts.push(key, data);
    head |= (frame.kind << 1) | (frame.final ? 0 : MORE);
  } else {
    const { payload, files } = frame;
    const { expected = [], streaming } = frame as MessageFrame;
    const table = [...files.flatMap(([key, blob]) => [key, blob.length]), ...expected];
    head |= payload.length ? PAYLOAD : 0;
    head |= files.length ? MAP : table.length ? SET : streaming ? STREAM : 0;
    parts.push(payload.length || undefined, 4 * table.length || undefined, payload, ...table);
    parts.push(...files.map(([, blob]) => blob));
  }

  let size = 1 + (sealed ? sizeOf(checksums) : 0);
  const given = parts.filter((part) => part !== undefined);
  for (const part of given) size += part instanceof Uint8Array ? part.length : 4;
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  let at = 1;
  bytes[0] = head;
  for (const part of given) {
    if (part instanceof Uint8Array) {
      bytes.set(part, at);
      at += part.length;
    } else {
      if (part >>> 0 !== part) throw new LocalProtocolError(`${part} is no number of 32 bits`);
      view.setUint32(at, part);
      at += 4;
    }
  }
  if (sealed) bytes.set(sumOf(bytes.subarray(0, at), checksums), at);
  return bytes;
}
