/**
 * Bits and numbers of MFP frames (spec/mfp.md, sections 2 to 6). Pure.
 *
 *     service            head id ref                                              [sum]
 *     message, request   head id     [size payload] [size map] [payload] [map] [files] [sum]
 *     response           head id ref [size payload] [size map] [payload] [map] [files] [sum]
 *     binary             head id ref [key] [bytes]                                [sum]
 *
 * head = protocol:3 checksum:1 flags:4; every number is unsigned and big-endian
 */

import { BinaryKind } from "../codes.ts";

export const CHECKSUM = 0b1_0000;
export const PAYLOAD = 0b0001;
export const MAP = 0b0110; // both bits: a map of files, then the files
export const SET = 0b0010; // alone: a set of announced keys
export const STREAM = 0b0100; // alone: a stream begins
export const NEED_ACK = 0b1000;
export const OWN = 0b1000; // service frames only
export const MORE = 0b0001; // binary frames only

/** Whether a binary frame of this kind has a key. */
export function isKeyed(kind: BinaryKind): boolean {
  return kind % BinaryKind.DATA > 0; // expected and streaming ones
}

/** What a kind of binary frame is called. */
export const KIND_NAMES = ["none", "expected", "streaming", "data"] as const;
