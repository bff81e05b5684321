/** Streams that we send: a `WritableStream` of bytes that waits when the peer is slow. */

import { LocalProtocolError } from "../errors.ts";
import type { Connection } from "../mfp/connection.ts";
import { type Bytes, NO_BYTES } from "../mfp/frames.ts";
import type { ChunkOptions } from "../mfp/speaking.ts";
import { whenAborted } from "./signals.ts";
import type { Wire } from "./wire.ts";

/** The peer is asked to say what it has after so many bytes. */
const TOLD_BYTES = 256 * 1024;

/** How far a stream is, in bytes. */
export interface Progress {
  /** Handed to the connection. */
  readonly sent: number;
  /** What the peer has received and verified, as far as it said. */
  readonly received: number;
}

/** What a stream is made of. */
export interface Flow {
  /** The connection it goes over, once there is one. */
  wire(signal: AbortSignal): Promise<Wire>;
  /** The envelope that opens it. */
  readonly payload: Bytes;
  /** The key of the file that the chunks belong to; else they are numbered. */
  readonly key?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onprogress?: ((progress: Progress) => void) | undefined;
}

/** One stream on the wire: opens, chunk by chunk, ends or gives up. */
class Sink implements UnderlyingSink<Uint8Array> {
  sent = 0;
  received = 0;
  readonly #flow: Flow;
  readonly #stop = new AbortController();
  #leave = (): void => {};
  #wire!: Wire;
  #ref = 0;
  #nextKey = 0;
  #asked = 0;

  constructor(flow: Flow) {
    this.#flow = flow;
  }

  async start(controller: WritableStreamDefaultController): Promise<void> {
    const { payload, wire, signal } = this.#flow;
    const stop = this.#stop.signal;
    const over = (error: unknown): void => {
      controller.error(error);
      this.abort(error);
    };
    this.#leave = whenAborted(signal, over);
    whenAborted(controller.signal, (reason) => this.abort(reason));
    this.#wire = await wire(stop);
    this.#ref = await this.#wire.say((connection) => {
      const ref = connection.message(payload, [], { streaming: true });
      this.#wire.outflow.set(ref, over);
      return ref;
    }, stop);
    whenAborted(stop, () => this.#giveUp());
  }

  async write(chunk: Uint8Array): Promise<void> {
    if (!ArrayBuffer.isView(chunk)) throw new LocalProtocolError("a stream takes bytes: Uint8Array");
    const bytes = new Uint8Array(chunk.buffer as ArrayBuffer, chunk.byteOffset, chunk.byteLength);
    const size = this.#wire.chunkBytes;
    for (let at = 0; at < bytes.length; at += size) {
      const piece = bytes.subarray(at, at + size);
      const sent = this.sent + piece.length;
      const needAck = sent - this.#asked >= TOLD_BYTES;
      const id = await this.#send(piece, { key: this.#flow.key ?? this.#nextKey++, needAck });
      this.sent = sent;
      if (needAck) {
        this.#asked = sent;
        this.#wire.outcome(id, undefined, this.#ref).then(() => this.#progress(sent), () => {});
      }
    }
  }

  async close(): Promise<void> {
    const id = await this.#send(NO_BYTES, { final: true, needAck: true });
    await this.#wire.outcome(id, this.#stop.signal, this.#ref);
    this.#wire.outflow.delete(this.#ref);
    this.#leave();
    this.#progress(this.sent);
  }

  abort(reason: unknown): void {
    this.#leave();
    this.#stop.abort(reason);
  }

  /** Send a frame in its turn; its id. */
  #send(data: Bytes, options: ChunkOptions): Promise<number> {
    const say = (connection: Connection) => connection.chunk(this.#ref, data, options);
    return this.#wire.say(say, this.#stop.signal);
  }

  #giveUp(): void {
    this.#wire.outflow.delete(this.#ref);
    this.#wire.now((connection) => connection.giveUp(this.#ref));
  }

  #progress(received: number): void {
    this.received = received;
    this.#flow.onprogress?.({ sent: this.sent, received });
  }
}

/**
 * A stream of ours: write to it, `pipeTo` it, then close it.
 *
 * A write waits while the peer is slow. `close` resolves when the peer has received everything; `abort` tells
 * it that nothing more comes. When the peer wants no more, the stream errors with `StreamAborted`.
 */
export class OutStream extends WritableStream<Uint8Array> {
  readonly #sink: Sink;

  constructor(flow: Flow) {
    const sink = new Sink(flow);
    super(sink);
    this.#sink = sink;
  }

  /** How far it is. */
  get progress(): Progress {
    const { sent, received } = this.#sink;
    return { sent, received };
  }
}
