/**
 * Streams that come: `InStream` to read one, and the bound on what waits to be read.
 *
 * A page cannot stop reading its WebSocket, so what waits is bounded otherwise: when unread streams hold more
 * than `maxWaitingBytes`, the one that holds most is aborted.
 */

import { BinaryKind } from "../codes.ts";
import { type FramehubError, LocalProtocolError, StreamAborted } from "../errors.ts";
import type { BinaryFrame, Bytes } from "../mfp/frames.ts";
import { read } from "./payloads.ts";

/** What a waiting chunk takes beside its bytes: empty ones are not free. */
const CHUNK_COST = 256;

/** One piece of a stream: of the file `key`, or data that is no file. */
export interface Chunk {
  readonly data: Bytes;
  readonly key: number | undefined;
}

/**
 * A stream of the peer's: `for await (const chunk of stream)`.
 *
 * Iterating ends where the sender ended it. If it was cut off, iterating throws `StreamAborted` or
 * `ConnectionClosed` after the chunks that had come. Leaving the loop early aborts it. Who comes second gets a
 * `LocalProtocolError`.
 */
export class InStream implements AsyncIterable<Chunk> {
  readonly endpoint: string;
  /** What the message that opened the stream said. */
  readonly data: any;
  /** Why it was cut off, if it was. */
  error: FramehubError | undefined;
  /** Bytes that came and nobody has read. */
  waitingBytes = 0;
  readonly #chunks: Chunk[] = [];
  readonly #abort: () => void;
  #isOver = false;
  #isRead = false;
  #wake = () => {};

  constructor(endpoint: string, data: unknown, abort: () => void) {
    this.endpoint = endpoint;
    this.data = data;
    this.#abort = abort;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Chunk, void, undefined> {
    if (this.#isRead) throw new LocalProtocolError("a stream is read once");
    this.#isRead = true;
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk) {
          this.waitingBytes -= chunk.data.length + CHUNK_COST;
          yield chunk;
        } else if (this.error) {
          throw this.error;
        } else if (this.#isOver) {
          return;
        } else {
          await new Promise<void>((resolve) => (this.#wake = resolve));
        }
      }
    } finally {
      this.abort();
    }
  }

  /** All that is still to come, as one; for streams that are known to be small. */
  async read(): Promise<Bytes> {
    const parts: Bytes[] = [];
    for await (const { data } of this) parts.push(data);
    return read(new Blob(parts));
  }

  /** Want no more of it: what waits and what is on its way is dropped, the sender stops. */
  abort(): void {
    this.discard(new StreamAborted("we aborted it"));
  }

  // --- for the connection -----------------------------------------------------------------------------

  /** @internal The next frame. */
  feed({ kind, key, data, final }: BinaryFrame): void {
    if (kind !== BinaryKind.NONE) {
      this.#chunks.push({ data, key });
      this.waitingBytes += data.length + CHUNK_COST;
    }
    this.#isOver = final;
    this.#wake();
  }

  /** @internal Nothing more will come; what has come can still be read. */
  lose(error: FramehubError): void {
    this.#isOver = true;
    this.error = error;
    this.#wake();
  }

  /** @internal Drop what nobody has read; unless that was the end anyway, reading on throws `error`. */
  discard(error: FramehubError): void {
    if (!this.#isOver) this.#abort();
    if (!this.#isOver || this.#chunks.length) this.error ??= error;
    this.#isOver = true;
    this.#chunks.length = 0;
    this.waitingBytes = 0;
    this.#wake();
  }
}

/** The peer's streams, and how much of them waits to be read. */
export class Inflow {
  readonly #most: number;
  readonly #open = new Map<number, InStream>();
  /** Those with chunks that wait; the sender may have ended them long ago, and used their ids again. */
  readonly #unread = new Set<InStream>();

  constructor(most: number) {
    this.#most = most;
  }

  /** A stream whose chunks will come. */
  add(ref: number, stream: InStream): void {
    this.#open.set(ref, stream);
  }

  /** No chunk of this one will come any more. */
  forget(ref: number): void {
    this.#open.delete(ref);
  }

  /** Hand a frame to its stream; when too much waits, whoever holds most of it loses its stream. */
  feed(frame: BinaryFrame): void {
    const stream = this.#open.get(frame.ref)!;
    const unread = this.#unread;
    if (frame.final) this.forget(frame.ref);
    stream.feed(frame);
    unread.add(stream);
    for (let worst = stream, bytes = Infinity; bytes > this.#most; ) {
      bytes = 0;
      for (const one of unread) {
        const { waitingBytes } = one;
        if (!waitingBytes) unread.delete(one);
        if (waitingBytes > worst.waitingBytes) worst = one;
        bytes += waitingBytes;
      }
      if (bytes > this.#most) {
        worst.discard(new StreamAborted("unread: over maxWaitingBytes"));
      }
    }
  }

  /** One stream is cut off. */
  lose(ref: number, error: FramehubError): void {
    this.#open.get(ref)?.lose(error);
    this.forget(ref);
  }

  /** All of them are. */
  end(error: FramehubError): void {
    for (const ref of this.#open.keys()) this.lose(ref, error);
  }
}
