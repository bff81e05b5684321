/** The answering half of a connection: from an event to a handler, and from what it returns to a response. */

import { ErrorCode } from "../codes.ts";
import { EndpointError, LimitExceeded, RequestAborted } from "../errors.ts";
import { EventType, type MessageReceived, type RequestReceived, type StreamOpened } from "../mfp/events.ts";
import { type Call, type Endpoints, Reply } from "./endpoints.ts";
import { type FilesToSend, type Opened, pack, unpack } from "./payloads.ts";
import type { Peer } from "./peer.ts";
import { InStream } from "./streams.ts";
import type { Wire } from "./wire.ts";

interface Answer {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly files?: FilesToSend;
}

/** An error of ours: before any handler was called, or instead of what it did. */
class Refusal extends EndpointError {
  constructor(code: ErrorCode, message: string) {
    super({ code, message });
  }
}

/** Runs handlers for one connection and sends their answers. */
export class Serving {
  readonly #wire: Wire;
  readonly #peer: Peer;
  readonly #endpoints: Endpoints;
  /** One for each handler that runs. */
  readonly #running = new Set<AbortController>();
  /** Those of them that somebody waits for. */
  readonly #answers = new Map<number, AbortController>();

  constructor(wire: Wire, peer: Peer, endpoints: Endpoints) {
    this.#wire = wire;
    this.#peer = peer;
    this.#endpoints = endpoints;
  }

  /** Answer what the peer asks, deliver what it tells; a message that nobody takes is refused. */
  async call(event: RequestReceived | MessageReceived, opened: Opened): Promise<void> {
    const { id } = event.frame;
    const isRequest = event.type === EventType.REQUEST_RECEIVED;
    const control = new AbortController();
    if (isRequest) this.#answers.set(id, control);
    let answer: Answer;
    try {
      const result = await this.#run(event, opened, control);
      answer = result instanceof Reply ? result : { data: result };
    } catch (error) {
      if (control.signal.aborted) return;
      if (!isRequest && error instanceof Refusal) this.#wire.now((connection) => connection.refuse(id));
      answer = this.#failure(opened, error, isRequest || error instanceof Refusal);
    }
    if (isRequest) await this.#answer(id, control, opened, answer);
  }

  /** Run the handler that reads it; a stream that nobody reads is aborted. */
  async stream(event: StreamOpened, { endpoint, data }: Opened): Promise<void> {
    const { id } = event.frame;
    const { inflow } = this.#wire;
    const stream = new InStream(endpoint, data, () => {
      inflow.forget(id);
      this.#wire.now((connection) => connection.abortStream(id));
    });
    inflow.add(id, stream);
    try {
      await this.#endpoints.findStream(endpoint)?.(stream);
    } catch (error) {
      if (error !== stream.error) this.#peer.report(error, endpoint); // else the sender's doing
    } finally {
      stream.abort(); // if the handler left early, or there is none, the sender should not go on
    }
  }

  /** Nobody waits for this answer any more. */
  cancel(ref: number): void {
    this.#answers.get(ref)?.abort(new RequestAborted("nobody waits"));
    this.#answers.delete(ref);
  }

  /** The link is gone: nobody will hear an answer. */
  end(error: Error): void {
    this.#answers.clear();
    for (const control of this.#running) control.abort(error);
  }

  async #run(
    event: RequestReceived | MessageReceived,
    opened: Opened,
    control: AbortController,
  ): Promise<unknown> {
    const { endpoint, data, bad } = opened;
    const running = this.#running;
    if (bad) throw new Refusal(ErrorCode.BAD_REQUEST, bad);
    const handler = this.#endpoints.find(endpoint);
    if (!handler) {
      const streamed = this.#endpoints.findStream(endpoint) ? "; it takes streams" : "";
      throw new Refusal(ErrorCode.UNKNOWN_ENDPOINT, `no endpoint ${JSON.stringify(endpoint)} here${streamed}`);
    }
    if (running.size >= this.#wire.settings.maxRequests) {
      throw new Refusal(ErrorCode.BUSY, "too many handlers");
    }
    const call: Call = {
      endpoint,
      peer: this.#peer,
      isRequest: event.type === EventType.REQUEST_RECEIVED,
      signal: control.signal,
      leftOut: new Map((event as MessageReceived).leftOut),
    };
    running.add(control);
    try {
      return await handler(data, unpack(event.frame.files, opened), call);
    } finally {
      running.delete(control);
    }
  }

  /** Send an answer, unless nobody waits for it any more. */
  async #answer(ref: number, control: AbortController, opened: Opened, answer: Answer): Promise<void> {
    const { endpoint } = opened;
    const { data, error, files } = answer;
    const wire = this.#wire;
    try {
      const packed = pack({ endpoint, data, error, files });
      const blobs = await wire.load(packed);
      await wire.say((connection) => {
        if (this.#answers.get(ref) !== control) return; // the peer may have given up, and used the id again
        connection.respond(ref, packed.payload, blobs);
        this.#answers.delete(ref);
      });
    } catch (failure) {
      if (wire.ended) return;
      const instead = this.#failure(opened, failure);
      if (error === undefined) return this.#answer(ref, control, opened, instead);
      this.#answers.delete(ref);
      wire.now((connection) => connection.refuse(ref)); // not even that it failed can be said
    }
  }

  /** The application's own error value, or one of ours that gives nothing away. */
  #failure({ endpoint }: Opened, error: unknown, isAnswer = true): Answer {
    if (error instanceof EndpointError && isAnswer) return { error: error.value ?? null };
    this.#peer.report(error, endpoint);
    const told =
      error instanceof LimitExceeded
        ? new Refusal(ErrorCode.LIMIT, `too big: ${error.message}`)
        : new Refusal(ErrorCode.INTERNAL, "the handler failed");
    return { error: told.value };
  }
}
