/** Frames on their way out: ids, limits and bytes (spec/mfp.md, 8.1). Pure. */

import { Protocol, Service } from "../codes.ts";
import { ConnectionClosed } from "../errors.ts";
import { Ids } from "../ids.ts";
import { encode } from "./encoder.ts";
import type { Bytes, Frame } from "./frames.ts";
import { check, type Limits } from "./limits.ts";
import type { Settings } from "./settings.ts";

export const FRAME_OVERHEAD = 32; // head, id, ref, two sizes and a checksum, rounded up
/** The way out where something is too big. */
export const IN_A_STREAM = "; send bigger things as a stream";

/** Encodes what a connection sends and keeps it until it is drained. */
export class Outbox {
  ended = false;
  /** What the peer takes, as far as we know. */
  accepts: Limits;
  ids = new Ids();
  /** Frames other than acks, aborts and the like. */
  said = 0;
  /** Conversations so far, whoever began them: each has its number. */
  exchanges = 0;
  #frames: Bytes[] = [];
  #checksums: Settings["checksums"];
  readonly #isLive: (id: number) => boolean;

  constructor(settings: Settings, isLive: (id: number) => boolean) {
    this.accepts = settings;
    this.#checksums = settings.checksums;
    if (settings.verifyAlways) this.seal();
    this.#isLive = isLive;
  }

  /** Send no frame without a checksum any more, service frames included, unless checksums are off. */
  seal(): void {
    if (this.#checksums.mode === "flag") this.#checksums = { ...this.#checksums, mode: "always" };
  }

  /** A free id of ours. */
  newId(): number {
    return this.ids.take(this.#isLive);
  }

  /** Queue one frame. Throws `ConnectionClosed`, or `LocalProtocolError` for what no frame can carry. */
  send(frame: Frame): void {
    if (this.ended) throw new ConnectionClosed();
    this.#frames.push(encode(frame, this.#checksums));
    if (frame.type !== Protocol.SERVICE) this.said++;
  }

  /** Queue a service frame; a ping, which is about itself, needs no `ref`. Its id. */
  service(code: Service, ref?: number, own = false): number {
    const id = this.newId();
    this.send({ type: Protocol.SERVICE, id, code, ref: ref ?? id, own });
    return id;
  }

  /** Refuse what no frame of this connection can carry, by sizes alone, before a byte is copied. */
  checkSizes(payload: number, files: readonly number[], expected = 0): void {
    check(this.accepts, "maxPayloadBytes", payload, IN_A_STREAM);
    check(this.accepts, "maxFiles", files.length || expected);
    this.checkFrame(files.reduce((sum, size) => sum + size + 8, payload + 4 * expected));
  }

  /** Refuse a frame that would carry so many bytes. */
  checkFrame(bytes: number): void {
    check(this.accepts, "maxFrameBytes", bytes + FRAME_OVERHEAD, IN_A_STREAM);
  }

  /** Take everything that waits, in order. */
  drain(): Bytes[] {
    return this.#frames.splice(0);
  }

  /** Drop what waits and send nothing any more. */
  end(): void {
    this.ended = true;
    this.drain();
  }
}
