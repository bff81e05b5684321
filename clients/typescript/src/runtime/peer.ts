/** `Peer`: the other end of a connection, to ask and to be asked by. */

import { ConfigError, RequestAborted, RequestTimeout } from "../errors.ts";
import type { Connection } from "../mfp/connection.ts";
import { encode, type Envelope } from "../mfp/envelope.ts";
import type { Settings } from "../mfp/settings.ts";
import type { Endpoints, Handler, Reply, StreamHandler } from "./endpoints.ts";
import { OutStream, type Progress } from "./outstream.ts";
import { contentOf, type FilesToSend, pack, read, type ReceivedFiles } from "./payloads.ts";
import { Reconnecting } from "./reconnect.ts";
import { limited, now } from "./signals.ts";

interface Message {
  readonly endpoint: string;
  readonly data?: unknown;
  /** Ends the waiting, with its reason; the peer is told where it has to be. */
  readonly signal?: AbortSignal;
}

interface WithFiles {
  readonly files?: FilesToSend;
}

interface Waits {
  /** Seconds, from the call on, also while there is no connection. */
  readonly timeout?: number;
}

interface Acked {
  /** Resolve when the peer has received and verified it. */
  readonly ack?: boolean;
}

export type Request = Message & WithFiles & Waits;
export type Send = Message & WithFiles & Waits & Acked;
export type Announce = Message & Required<WithFiles> & Acked;

export interface Stream extends Message {
  /** The key of the file that the chunks belong to; else they are numbered. */
  readonly key?: number;
  /** Called as the peer says what it has received, some time after each 256 KiB, and at the end. */
  readonly onprogress?: (progress: Progress) => void;
}

export interface Upload extends Message {
  readonly file: Blob;
  readonly onprogress?: (progress: Progress & { readonly total: number }) => void;
}

/** The other end of one connection after another. Made by `connect`, not by hand. */
export class Peer extends Reconnecting {
  readonly #endpoints: Endpoints;
  readonly #settings: Settings;

  constructor(endpoints: Endpoints, settings: Settings) {
    super();
    this.#endpoints = endpoints;
    this.#settings = settings;
  }

  /** Call `handler` for messages and requests to `endpoint`; returns how to end that. */
  on<T = any>(endpoint: string, handler: Handler<T>): () => void {
    return this.#endpoints.on(endpoint, handler);
  }

  /** Call `handler` for streams to `endpoint`; returns how to end that. */
  onStream(endpoint: string, handler: StreamHandler): () => void {
    return this.#endpoints.onStream(endpoint, handler);
  }

  /**
   * Ask `endpoint` and wait for its answer.
   *
   * Throws `EndpointError`: the answer is an error; `RequestTimeout`: none came in `timeout` seconds;
   * `RequestAborted`: the peer will not answer; `ConnectionClosed`: the connection ended first;
   * `LimitExceeded`: too big for one frame, or too many requests wait.
   */
  async request<T = any>(request: Request): Promise<Reply<T, ReceivedFiles>> {
    const { endpoint, timeout, signal } = request;
    const began = now();
    const packed = pack(request);
    const seconds = timeout ?? this.#settings.requestTimeout;
    try {
      // Once it is sent, the machine minds the time.
      const [answer] = await this.#within(seconds, signal, async (limit) => {
        const wire = await this.present(limit);
        const files = await wire.load(packed);
        const until = began + (timeout ?? Math.min(seconds, wire.patience));
        return wire.say((connection) => {
          wire.mind(until);
          const id = connection.request(packed.payload, files, now(), until - now());
          const answer = wire.outcome<Reply<T, ReceivedFiles>>(id, signal);
          answer.catch(() => {}); // if nobody is left to hear of it
          return [answer];
        }, limit);
      });
      return await answer;
    } catch (error) {
      if (!(error instanceof RequestTimeout)) throw error;
      throw new RequestTimeout(`${endpoint}: ${error.message}`);
    }
  }

  /**
   * Tell `endpoint` something; with `ack` resolve when the peer has received and verified it.
   *
   * That is not to say that it has a use for it: a message that nobody takes is acknowledged all the same.
   */
  async send(message: Send): Promise<void> {
    const { timeout = Infinity, ack: needAck = false, signal } = message;
    const packed = pack(message);
    await this.#within(timeout, signal, async (limit) => {
      const wire = await this.present(limit);
      const files = await wire.load(packed);
      const say = (connection: Connection) => connection.message(packed.payload, files, { needAck });
      const id = await wire.say(say, limit);
      if (needAck) await wire.outcome(id, limit);
    });
  }

  /**
   * Tell `endpoint` something whose files follow, each in a frame of its own, read when its turn comes; with
   * `ack` each is acknowledged before the next one goes.
   *
   * Throws `RequestAborted`: the peer said that it does not take this message.
   */
  async announce(message: Announce): Promise<void> {
    const { ack: needAck = false, signal } = message;
    const { payload, files, sizes } = pack(message);
    const expected = files.map(([key]) => key);
    const wire = await this.present(signal);
    const ref = await wire.say((connection) => {
      connection.checkAnnounced(payload.length, sizes);
      return connection.message(payload, [], { expected, needAck });
    }, signal);
    try {
      if (needAck) await wire.outcome(ref, signal);
      for (const [key, blob] of files) {
        const data = await read(blob);
        const id = await wire.say((connection) => {
          if (connection.isTelling(ref)) return connection.file(ref, key, data, { needAck });
          throw new RequestAborted("the peer does not take it");
        }, signal);
        if (needAck) await wire.outcome(id, signal, ref);
      }
    } catch (error) {
      wire.now((connection) => connection.giveUp(ref));
      throw error;
    }
  }

  /** A stream to `endpoint`; it belongs to one connection and is lost with it. */
  stream(stream: Stream): OutStream {
    return this.#out(stream);
  }

  /** Stream a file of any size to `endpoint`; resolves when the peer has received all of it. */
  async upload({ file, onprogress, ...stream }: Upload): Promise<void> {
    const [content, ...labels] = contentOf(file);
    const out = this.#out({
      ...stream,
      filemap: [[0, ...labels]],
      key: 0,
      onprogress: (progress) => onprogress?.({ ...progress, total: content.size }),
    });
    await content.stream().pipeTo(out);
  }

  #out({ endpoint, data, filemap, ...options }: Stream & Envelope): OutStream {
    const wire = (stop: AbortSignal) => this.present(stop);
    const report = (error: unknown) => this.report(error, endpoint);
    return new OutStream({ ...options, wire, report, payload: encode({ endpoint, data, filemap }) });
  }

  /** Seconds there and back. Throws `RequestTimeout`: no sign of life in `timeout` seconds. */
  async ping({ timeout = 10, signal }: { timeout?: number; signal?: AbortSignal } = {}): Promise<number> {
    return this.#within(timeout, signal, async (limit) => {
      const wire = await this.present(limit);
      return wire.outcome(wire.now((connection) => connection.ping(now()))!, limit);
    });
  }

  /** Do something, unless it takes too long. Throws `ConfigError`: that is no time. */
  #within<T>(
    seconds: number,
    signal: AbortSignal | undefined,
    work: (limit: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const late = () => {
      const { state, failure } = this;
      const why = state === "open" ? "not taken" : `not connected${failure && `: ${failure}`}`;
      return new RequestTimeout(`${why}, in ${seconds} s`);
    };
    if (seconds !== +seconds) throw new ConfigError(`timeout cannot be ${seconds}`);
    return limited(seconds, signal, late, work);
  }
}
