/**
 * Frames as plain JSON values: what `framehub decode --json` prints and the vectors hold. Pure.
 *
 * Absent fields are omitted, names are in lower case, bytes are hex (docs/reference/frames-as-json.md). For
 * tests and tools; the client itself does without.
 */

import { BinaryKind, Protocol, Service } from "../codes.ts";
import { type Bytes, type Frame, NO_BYTES } from "./frames.ts";

/** A frame as `toPlain` writes it. */
export interface Plain {
  readonly type: string;
  readonly id: number;
  readonly ref_id?: number;
  readonly flags?: { readonly checksum?: boolean; readonly need_ack?: boolean };
  readonly code?: string;
  readonly own?: boolean;
  readonly kind?: string;
  readonly final?: boolean;
  readonly key?: number;
  readonly data?: string;
  readonly payload?: string;
  readonly files?: readonly (readonly [key: number, size: number, hex: string])[];
  readonly expected?: readonly number[];
  readonly streaming?: boolean;
}

/** One frame as a JSON object. */
export function toPlain(frame: Frame): Plain {
  const { id, checksum = false } = frame;
  const type = Protocol[frame.type].toLowerCase();
  if (frame.type === Protocol.SERVICE) {
    const { ref, own } = frame;
    return { type, id, ref_id: ref, code: Service[frame.code].toLowerCase(), own, flags: { checksum } };
  }
  const shared = { type, id, flags: { checksum, need_ack: frame.needAck ?? false } };
  if (frame.type === Protocol.BINARY) {
    return {
      ...shared,
      ref_id: frame.ref,
      kind: BinaryKind[frame.kind].toLowerCase(),
      final: frame.final,
      ...(frame.key !== undefined && { key: frame.key }),
      ...(frame.data.length && { data: toHex(frame.data) }),
    };
  }
  return {
    ...shared,
    ...(frame.type === Protocol.RESPONSE && { ref_id: frame.ref }),
    ...(frame.payload.length && { payload: toHex(frame.payload) }),
    ...(frame.files.length && {
      files: frame.files.map(([key, blob]) => [key, blob.length, toHex(blob)] as const),
    }),
    ...(frame.type === Protocol.MESSAGE && frame.expected.length && { expected: frame.expected }),
    ...(frame.type === Protocol.MESSAGE && frame.streaming && { streaming: true }),
  };
}

/** The frame that `toPlain` wrote; what is left out is false, zero or empty. */
export function fromPlain(plain: Plain): Frame {
  const { id, ref_id: ref = 0, flags = {} } = plain;
  const type = Protocol[plain.type.toUpperCase() as keyof typeof Protocol];
  const { checksum = false, need_ack: needAck = false } = flags;
  if (type === Protocol.SERVICE) {
    const code = Service[plain.code!.toUpperCase() as keyof typeof Service];
    return { type, id, ref, code, own: plain.own ?? false, checksum };
  }
  if (type === Protocol.BINARY) {
    const kind = BinaryKind[plain.kind!.toUpperCase() as keyof typeof BinaryKind];
    const { key, final = false } = plain;
    return { type, id, ref, kind, key, data: fromHex(plain.data ?? ""), final, needAck, checksum };
  }
  const payload = plain.payload ? fromHex(plain.payload) : NO_BYTES;
  const files = (plain.files ?? []).map(([key, , hex]) => [key, fromHex(hex)] as const);
  const body = { id, payload, files, needAck, checksum };
  if (type === Protocol.REQUEST) return { type, ...body };
  if (type === Protocol.RESPONSE) return { type, ref, ...body };
  return { type, ...body, expected: plain.expected ?? [], streaming: plain.streaming ?? false };
}

/** Bytes as hex digits. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Hex digits as bytes; spaces are for the eye. */
export function fromHex(hex: string): Bytes {
  const pairs = hex.replaceAll(" ", "").match(/../g) ?? [];
  return Uint8Array.from(pairs, (pair) => parseInt(pair, 16));
}
