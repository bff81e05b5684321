/** Streams that we send: a `WritableStream` of bytes that waits when the peer is slow. */

import { LocalProtocolError } from "../errors.ts";
import { type Bytes, NO_BYTES } from "../mfp/frames.ts";
import type { ChunkOptions } from "../mfp/speaking.ts";
import { attempt, whenAborted } from "./signals.ts";
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
  /** Told when `onprogress` fails. */
  report(error: unknown): void;
}

/** One stream on the wire: opens, chunk by chunk, ends or gives up; how far it is stands in `progress`. */
function sinkOf(flow: Flow, progress: { sent: number; received: number }): UnderlyingSink<Uint8Array> {
  const stop = new AbortController();
  const { signal } = stop;
  let leave = (): void => {};
  let wire: Wire;
  let ref = 0;
  let nextKey = 0;
  let asked = 0;

  const abort = (reason: unknown): void => {
    leave();
    stop.abort(reason);
  };
  /** Send a frame in its turn; its id. */
  const send = (data: Bytes, options: ChunkOptions): Promise<number> =>
    wire.say((connection) => connection.chunk(ref, data, options), signal);
  const told = (received: number): void => {
    progress.received = received;
    if (!signal.aborted) attempt(() => flow.onprogress?.({ ...progress }), flow.report);
  };
  /** What fails gives the stream up, on the wire too. */
  const orAbort = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      abort(error);
      throw error;
    }
  };

  return {
    start: (controller) => {
      const over = (error: unknown): void => {
        controller.error(error);
        abort(error);
      };
      leave = whenAborted(flow.signal, over);
      whenAborted(controller.signal, abort); // at once, which `abort` of a sink is not
      return orAbort(async () => {
        wire = await flow.wire(signal);
        await wire.say((connection) => {
          ref = connection.message(flow.payload, [], { streaming: true });
          wire.outflow.set(ref, over);
        }, signal);
        whenAborted(signal, () => {
          wire.outflow.delete(ref);
          wire.now((connection) => connection.giveUp(ref));
        });
      });
    },

    write: (chunk) =>
      orAbort(async () => {
        if (!ArrayBuffer.isView(chunk)) throw new LocalProtocolError("a stream takes Uint8Array");
        const bytes = new Uint8Array(chunk.buffer as ArrayBuffer, chunk.byteOffset, chunk.byteLength);
        const size = wire.chunkBytes;
        for (let at = 0; at < bytes.length; at += size) {
          const piece = bytes.subarray(at, at + size);
          const sent = progress.sent + piece.length;
          const needAck = sent - asked >= TOLD_BYTES;
          const id = await send(piece, { key: flow.key ?? nextKey++, needAck });
          progress.sent = sent;
          if (needAck) {
            asked = sent;
            wire.outcome(id, undefined, ref).then(() => told(sent), () => {});
          }
        }
      }),

    close: () =>
      orAbort(async () => {
        const id = await send(NO_BYTES, { final: true, needAck: true });
        await wire.outcome(id, signal, ref);
        wire.outflow.delete(ref);
        leave();
        told(progress.sent);
      }),
  };
}

/**
 * A stream of ours: write to it, `pipeTo` it, then close it.
 *
 * A write waits while the peer is slow. `close` resolves when the peer has received everything; `abort` tells
 * it that nothing more comes. When the peer wants no more, the stream errors with `StreamAborted`.
 */
export class OutStream extends WritableStream<Uint8Array> {
  /** How far it is, at any time. */
  readonly progress: Progress;

  constructor(flow: Flow) {
    const progress = { sent: 0, received: 0 };
    super(sinkOf(flow, progress));
    this.progress = progress;
  }
}
