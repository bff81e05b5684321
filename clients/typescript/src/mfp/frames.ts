/**
 * The five kinds of MFP frame as values (spec/mfp.md, section 2). Pure.
 *
 * `checksum` on a value means that the frame carries one, or should; see `checksum.ts`.
 */

import type { BinaryKind, Protocol, Service } from "../codes.ts";

/** Bytes in an `ArrayBuffer`, as WebSockets give and take them. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** Attached files as [key, bytes], in the sender's order. */
export type Files = readonly (readonly [key: number, blob: Bytes])[];

/** Nine bytes about another frame; `ref` is one of the sender's own if `own`. */
export interface ServiceFrame {
  readonly type: Protocol.SERVICE;
  readonly id: number;
  readonly code: Service;
  readonly ref: number;
  readonly own: boolean;
  readonly checksum?: boolean;
}

interface Body {
  readonly id: number;
  readonly payload: Bytes;
  readonly files: Files;
  readonly needAck?: boolean;
  readonly checksum?: boolean;
}

/** One way; alone among frames it may announce files (`expected`) or open a stream. */
export interface MessageFrame extends Body {
  readonly type: Protocol.MESSAGE;
  readonly expected: readonly number[];
  readonly streaming: boolean;
}

/** A question; it is settled exactly once. */
export interface RequestFrame extends Body {
  readonly type: Protocol.REQUEST;
}

/** The answer to the request `ref`. */
export interface ResponseFrame extends Body {
  readonly type: Protocol.RESPONSE;
  readonly ref: number;
}

/** A file, a chunk or data that belongs to the message `ref`; `final` ends it. */
export interface BinaryFrame {
  readonly type: Protocol.BINARY;
  readonly id: number;
  readonly ref: number;
  readonly kind: BinaryKind;
  readonly key?: number | undefined;
  readonly data: Bytes;
  readonly final: boolean;
  readonly needAck?: boolean;
  readonly checksum?: boolean;
}

export type BodyFrame = MessageFrame | RequestFrame | ResponseFrame;
export type Frame = ServiceFrame | BodyFrame | BinaryFrame;

export const NO_BYTES: Bytes = new Uint8Array(0);
