/** Names and the functions behind them: what handlers are given and give back. */

import { ConfigError } from "../errors.ts";
import { RESERVED } from "../mfp/negotiation.ts";
import type { FilesToSend, ReceivedFiles } from "./payloads.ts";
import type { Peer } from "./peer.ts";
import type { InStream } from "./streams.ts";

/** An answer: what `request` returns, and what a handler returns to attach files to its answer. */
export class Reply<T = unknown, F = FilesToSend> {
  readonly data: T;
  readonly files: F;

  constructor(data: T, files: F) {
    this.data = data;
    this.files = files;
  }
}

/** What a handler may want to know beside data and files. */
export interface Call {
  readonly endpoint: string;
  readonly peer: Peer;
  /** Whether somebody waits for an answer. */
  readonly isRequest: boolean;
  /** Aborted when nobody waits for the answer any more, or the connection is gone. */
  readonly signal: AbortSignal;
  /** Announced files that are not there as they should be, and why (`badFiles: "deliver"`). */
  readonly leftOut: ReadonlyMap<number, string>;
}

/** What it returns, or a promise of it, answers a request; a `Reply` has files. */
export type Handler<T = any> = (data: T, files: ReceivedFiles, call: Call) => unknown;
export type StreamHandler = (stream: InStream) => unknown;

/** A registry of handlers; one may serve several connections. */
export class Endpoints {
  readonly #handlers = new Map<string, Handler>();
  readonly #streams = new Map<string, StreamHandler>();

  /** Call `handler` for messages and requests to `endpoint`; returns how to end that. */
  on<T>(endpoint: string, handler: Handler<T>): () => void {
    return register(this.#handlers, endpoint, handler);
  }

  /** Call `handler` for streams to `endpoint`; returns how to end that. */
  onStream(endpoint: string, handler: StreamHandler): () => void {
    return register(this.#streams, endpoint, handler);
  }

  /** The handler of `endpoint`. */
  find(endpoint: string): Handler | undefined {
    return this.#handlers.get(endpoint);
  }

  /** The handler of streams to `endpoint`. */
  findStream(endpoint: string): StreamHandler | undefined {
    return this.#streams.get(endpoint);
  }
}

function register<H>(table: Map<string, H>, endpoint: string, handler: H): () => void {
  const named = `endpoint ${JSON.stringify(endpoint)}`;
  if (!endpoint || typeof handler !== "function") throw new ConfigError("an endpoint has a name and a function");
  if (endpoint.startsWith(RESERVED)) {
    throw new ConfigError(`${named} is reserved`);
  }
  if (table.has(endpoint)) throw new ConfigError(`${named} has a handler`);
  table.set(endpoint, handler);
  return () => {
    if (table.get(endpoint) === handler) table.delete(endpoint);
  };
}
