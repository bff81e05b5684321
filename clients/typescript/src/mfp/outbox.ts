/** Frames on their way out: ids, limits and bytes (spec/mfp.md, 8.1). Pure. */

import { Service } from "../codes.ts";
import { ConnectionClosed, LimitExceeded } from "../errors.ts";
import { Ids } from "../ids.ts";
import { encode } from "./encoder.ts";
import type { Bytes, Frame } from "./frames.ts";
import type { Limits } from "./limits.ts";
import type { Settings } from "./settings.ts";

export const FRAME_OVERHEAD = 32; // head, id, ref, two sizes and a checksum, rounded up

/** Encodes what a connection sends and keeps it until it is drained. */
export class Outbox {
  closed = false;
  /** What the peer takes, as far as we know. */
  peer: Limits;
  readonly ids: Ids;
  /** Conversations so far, whoever began them: each has its number. */
  exchanges = 0;
  #frames: Bytes[] = [];
  #checksums: Settings["checksums"];
  #services = 0;
  readonly #isLive: (id: number) => boolean;

  constructor(settings: Settings, isLive: (id: number) => boolean, firstId: number) {
    this.peer = settings;
    this.#checksums = settings.checksums;
    if (settings.verifyAlways) this.seal();
    this.#isLive = isLive;
    this.ids = new Ids(firstId);
  }

  /** Send no frame without a checksum any more, service frames included, unless checksums are off. */
  seal(): void {
    if (this.#checksums.mode === "flag") this.#checksums = { ...this.#checksums, mode: "always" };
  }

  /** A free id of ours. */
  newId(): number {
    return this.ids.take(this.#isLive);
  }

  /** Grows with every frame other than acks, aborts and the like. */
  get sent(): number {
    return this.ids.taken - this.#services;
  }

  /** Queue one frame. Throws `ConnectionClosed`, or `LocalProtocolError` for what no frame can carry. */
  send(frame: Frame): void {
    if (this.closed) throw new ConnectionClosed();
    this.#frames.push(encode(frame, this.#checksums));
  }

  /** Queue a service frame; a ping, which is about itself, needs no `ref`. Its id. */
  service(code: Service, ref?: number, own = false): number {
    const id = this.newId();
    this.#services++;
    this.send({ type: "service", id, code, ref: ref ?? id, own });
    return id;
  }

  /** Refuse what no frame of this connection can carry, by sizes alone, before a byte is copied. */
  checkSizes(payload: number, files: readonly number[], expected = 0): void {
    const { maxPayloadBytes, maxFiles } = this.peer;
    const hint = "max_payload_bytes; send bigger things as files or as a stream";
    check("bytes of one payload", maxPayloadBytes, payload, hint);
    check("files of one message", maxFiles, files.length || expected, "max_files");
    this.checkFrame(files.reduce((sum, size) => sum + size + 8, payload + 4 * expected));
  }

  /** Refuse a frame that would carry so many bytes. */
  checkFrame(bytes: number): void {
    const hint = "max_frame_bytes; send bigger things as a stream";
    check("bytes of one frame", this.peer.maxFrameBytes, bytes + FRAME_OVERHEAD, hint);
  }

  /** Take everything that waits, in order. */
  drain(): Bytes[] {
    return this.#frames.splice(0);
  }

  /** Drop what waits and send nothing any more. */
  close(): void {
    this.closed = true;
    this.drain();
  }
}

/** Throw `LimitExceeded` for what is more than allowed; `hint` names the setting, and the way out. */
export function check(limit: string, allowed: number, got: number, hint: string): void {
  if (got > allowed) throw new LimitExceeded(limit, allowed, got, hint);
}
