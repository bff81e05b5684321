/** The answering half of a connection: from an event to a handler, and from what it returns to a response. */

import { ErrorCode } from "../codes.ts";
import { BadEnvelope, EndpointError, LimitExceeded, RequestAborted } from "../errors.ts";
import { type Envelope, libraryError } from "../mfp/envelope.ts";
import type { MessageReceived, RequestReceived, StreamOpened } from "../mfp/events.ts";
import { type Call, type Endpoints, Reply } from "./endpoints.ts";
import { type FilesToSend, pack, unpack } from "./payloads.ts";
import type { Peer } from "./peer.ts";
import { InStream } from "./streams.ts";
import type { Wire } from "./wire.ts";

/** The endpoint named in the answer to a request that named none. */
const NO_ENVELOPE = "framehub.error";

type Opened = Envelope | BadEnvelope;

interface Answer {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly files?: FilesToSend;
}

/** An error of ours, before any handler was called. */
class Refusal extends EndpointError {
  constructor(code: ErrorCode, message: string) {
    super(libraryError(code, message));
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

  /** Answer what the peer asks. */
  async request(event: RequestReceived, opened: Opened): Promise<void> {
    const ref = event.frame.id;
    const control = new AbortController();
    this.#answers.set(ref, control);
    let answer: Answer;
    try {
      const result = await this.#call(event, opened, control);
      answer = result instanceof Reply ? result : { data: result };
    } catch (error) {
      if (control.signal.aborted) return;
      answer = this.#failure(opened, error);
    }
    await this.#answer(ref, control, opened, answer);
  }

  /** Deliver; what nobody takes is refused. */
  async message(event: MessageReceived, opened: Opened): Promise<void> {
    const control = new AbortController();
    try {
      await this.#call(event, opened, control);
    } catch (error) {
      if (control.signal.aborted) return;
      if (error instanceof Refusal) this.#wire.now((connection) => connection.refuse(event.frame.id));
      else this.#peer.onerror(error, endpointOf(opened));
    }
  }

  /** Run the handler that reads it; a stream that nobody reads is aborted. */
  async stream(event: StreamOpened, opened: Opened): Promise<void> {
    const ref = event.frame.id;
    const handler = this.#endpoints.findStream(endpointOf(opened));
    const abort = () => {
      this.#wire.inflow.forget(ref);
      this.#wire.now((connection) => connection.abortStream(ref));
    };
    if (opened instanceof BadEnvelope || !handler) {
      abort();
      return;
    }
    const stream = new InStream(opened.endpoint, opened.data, this.#wire.inflow, abort);
    this.#wire.inflow.add(ref, stream);
    try {
      await handler(stream);
    } catch (error) {
      if (error !== stream.error) this.#peer.onerror(error, opened.endpoint); // else the sender's doing
    } finally {
      stream.abort(); // if the handler left early, the sender should not go on
    }
  }

  /** Nobody waits for this answer any more. */
  cancel(ref: number): void {
    this.#answers.get(ref)?.abort(new RequestAborted("nobody waits for this answer any more"));
    this.#answers.delete(ref);
  }

  /** The link is gone: nobody will hear an answer. */
  close(error: Error): void {
    this.#answers.clear();
    for (const control of this.#running) control.abort(error);
  }

  async #call(
    event: RequestReceived | MessageReceived,
    opened: Opened,
    control: AbortController,
  ): Promise<unknown> {
    if (opened instanceof BadEnvelope) throw new Refusal(ErrorCode.BAD_REQUEST, opened.message);
    const { endpoint, data } = opened;
    const handler = this.#endpoints.find(endpoint);
    if (!handler) {
      const streamed = this.#endpoints.findStream(endpoint) ? "; it takes streams" : "";
      const message = `no endpoint ${JSON.stringify(endpoint)} here${streamed}`;
      throw new Refusal(ErrorCode.UNKNOWN_ENDPOINT, message);
    }
    if (this.#running.size >= this.#wire.settings.maxRequests) {
      throw new Refusal(ErrorCode.BUSY, "too many handlers are running");
    }
    const call: Call = {
      endpoint,
      peer: this.#peer,
      isRequest: event.type === "request_received",
      signal: control.signal,
      leftOut: new Map(event.type === "message_received" ? event.leftOut : []),
    };
    this.#running.add(control);
    try {
      return await handler(data, unpack(event.frame.files, opened), call);
    } finally {
      this.#running.delete(control);
    }
  }

  /** Send an answer, unless nobody waits for it any more. */
  async #answer(ref: number, control: AbortController, opened: Opened, answer: Answer): Promise<void> {
    const { data, error, files } = answer;
    const wire = this.#wire;
    try {
      const packed = pack({ endpoint: endpointOf(opened), data, error }, files);
      const blobs = await wire.load(packed);
      await wire.say((connection) => {
        if (this.#answers.get(ref) !== control) return; // the peer may have given up, and used the id again
        connection.respond(ref, packed.payload, blobs);
        this.#answers.delete(ref);
      });
    } catch (failure) {
      if (wire.closed) return;
      if (error === undefined) {
        await this.#answer(ref, control, opened, this.#failure(opened, failure));
      } else {
        this.#peer.onerror(failure, endpointOf(opened));
        this.#answers.delete(ref);
        wire.now((connection) => connection.refuse(ref)); // not even that it failed can be said
      }
    }
  }

  /** The application's own error value, or one of ours that gives nothing away. */
  #failure(opened: Opened, error: unknown): Answer {
    if (error instanceof EndpointError) return { error: error.value ?? null };
    this.#peer.onerror(error, endpointOf(opened));
    return {
      error:
        error instanceof LimitExceeded
          ? libraryError(ErrorCode.LIMIT, `the answer is too big: ${error.message}`)
          : libraryError(ErrorCode.INTERNAL, "the handler failed"),
    };
  }
}

function endpointOf(opened: Opened): string {
  return opened instanceof BadEnvelope ? NO_ENVELOPE : opened.endpoint;
}
