/** One connection: the machine, its socket, its turns and its timer; what it says and waits for. */

import { CloseCode, Service } from "../codes.ts";
import { ConnectionClosed, EndpointError, RemoteProtocolError } from "../errors.ts";
import { RequestAborted, RequestTimeout, StreamAborted } from "../errors.ts";
import { window } from "../mfp/conduct.ts";
import { Connection } from "../mfp/connection.ts";
import { type Event, EventType, type PongReceived } from "../mfp/events.ts";
import type { BodyFrame, Files } from "../mfp/frames.ts";
import { HELLO, type Told, understand } from "../mfp/negotiation.ts";
import { FRAME_OVERHEAD } from "../mfp/outbox.ts";
import type { Settings } from "../mfp/settings.ts";
import { Alarm } from "./alarm.ts";
import { type Endpoints, Reply } from "./endpoints.ts";
import { hangUp, type Socket, SOFT_BYTES } from "./link.ts";
import { openPayload, type Packed, read, unpack } from "./payloads.ts";
import type { Peer } from "./peer.ts";
import { Room } from "./room.ts";
import { Serving } from "./serving.ts";
import { later, now, waitFor, type Waiter } from "./signals.ts";
import { Inflow } from "./streams.ts";

/** What one frame of a stream carries: small enough that others get their turn. */
const CHUNK_BYTES = 64 * 1024;

/** A socket that is not closed by then, after we closed it, is left to itself. */
const CLOSE_SECONDS = 3;

/**
 * So many requests that we give up in such a time we say so of: a listener takes twice as many in half of it,
 * streams and other things among them, and some may be held up on their way.
 */
const MOST_CANCELS = 50;
const CANCEL_SECONDS = 20;

/** What a connection is made of, beside its socket. */
export interface Terms {
  readonly settings: Settings;
  /** Whether our frames carry a checksum. */
  readonly sealed: boolean;
  readonly endpoints: Endpoints;
  readonly peer: Peer;
}

/** Sends what the machine says, in turn, and waits for what comes of it. */
export class Wire {
  readonly settings: Settings;
  readonly inflow: Inflow;
  readonly room = new Room(() => !this.ended && this.#socket.bufferedAmount > SOFT_BYTES);
  /** What the listener said of itself, once it has; and what of it can be used. */
  greeting: unknown;
  told: Told = understand({});
  /** Why the connection is gone, if it is. */
  ended: ConnectionClosed | undefined;
  /** Resolves when the connection is gone for us, and when the socket is. */
  readonly lost: Promise<ConnectionClosed>;
  readonly gone: Promise<void>;
  /** Called with each frame that was taken; the first is the hello, where there is one. */
  begun = (): void => {};
  /** Streams of ours, and who is told that one of them is over. */
  readonly outflow = new Map<number, (error: Error) => void>();
  readonly #connection: Connection;
  readonly #socket: Socket;
  readonly #serving: Serving;
  /** Who waits for an answer, an acknowledgement or a pong, by the id of the frame that it is about. */
  readonly #waiting = new Map<number, Waiter<any> & { readonly about: number }>();
  readonly #cancels = window(MOST_CANCELS, CANCEL_SECONDS);
  readonly #alarm = new Alarm(() => this.#tick());
  #goes!: (error: ConnectionClosed) => void;
  #vanish!: () => void;

  constructor(socket: Socket, { settings, sealed, endpoints, peer }: Terms) {
    this.settings = settings;
    this.#socket = socket;
    this.#connection = new Connection(settings);
    this.#connection.mayCancel = () => this.#cancels(now());
    if (sealed) this.#connection.outbox.seal();
    this.inflow = new Inflow(settings.maxWaitingBytes);
    this.#serving = new Serving(this, peer, endpoints);
    this.lost = new Promise((resolve) => (this.#goes = resolve));
    this.gone = new Promise((resolve) => (this.#vanish = resolve));
    socket.onclose = socket.onerror = ({ code = 1006, reason = "" }) => {
      this.#lose(code, reason);
      this.#vanish();
    };
    socket.onmessage = ({ data }) => this.#received(data);
    this.#tick();
  }

  /** Seconds for a request that names none: ours, or the listener's where that is less. */
  get patience(): number {
    return this.#connection.patience;
  }

  /** What one frame of a stream of ours carries at most. */
  get chunkBytes(): number {
    return Math.min(CHUNK_BYTES, this.#connection.outbox.accepts.maxFrameBytes - FRAME_OVERHEAD);
  }

  /** When it is our turn, have the machine say something, and send it. What `say` returns. */
  say<T>(say: (connection: Connection) => T, signal?: AbortSignal): Promise<T> {
    return this.room.turn(() => {
      if (this.ended) throw this.ended;
      return this.now(say) as T;
    }, signal);
  }

  /** The same at once, whoever waits; nothing when the connection is gone. */
  now<T>(say: (connection: Connection) => T): T | undefined {
    if (this.ended) return undefined;
    const said = say(this.#connection);
    this.#flush();
    return said;
  }

  /** Wait for what comes of a frame of ours that is, or belongs to, `about`. A signal takes it back. */
  outcome<T = void>(id: number, signal?: AbortSignal, about = id): Promise<T> {
    return waitFor<T>(
      signal,
      (waiter) => (this.ended ? waiter.fail(this.ended) : this.#waiting.set(id, { ...waiter, about })),
      () => {
        this.#waiting.delete(id);
        this.now((connection) => connection.cancel(id) || connection.forget(id));
      },
    );
  }

  /** The files of what fits into a frame; throws `LimitExceeded` for what does not, before they are read. */
  async load({ payload, files, sizes }: Packed): Promise<Files> {
    this.#connection.outbox.checkSizes(payload.length, sizes);
    return Promise.all(files.map(async ([key, blob]) => [key, await read(blob)] as const));
  }

  /** End the connection; for us it is gone at once, and everything pending fails with `ConnectionClosed`. */
  close(code: number, reason: string): void {
    if (this.ended) return;
    hangUp(this.#socket, code, reason);
    void this.gone.then(later(CLOSE_SECONDS, this.#vanish));
    this.#lose(code, reason);
  }

  #flush(): void {
    for (const frame of this.#connection.outbox.drain()) this.#socket.send(frame);
  }

  #lose(code: number, reason: string): void {
    if (this.ended) return;
    const error = (this.ended = new ConnectionClosed(code, reason));
    this.#alarm.cancel();
    this.#connection.end();
    this.inflow.end(error);
    this.#serving.end(error);
    for (const waiter of this.#waiting.values()) waiter.fail(error);
    for (const over of this.outflow.values()) over(error);
    this.#waiting.clear();
    this.outflow.clear();
    this.room.look();
    this.#goes(error);
  }

  #received(data: ArrayBuffer | string): void {
    if (this.ended) return;
    const { requestTimeout, progressTimeout } = this.settings;
    const at = now();
    if (typeof data === "string") return this.close(CloseCode.UNSUPPORTED, "text");
    this.#hear(() => [this.#connection.receive(new Uint8Array(data), at)]);
    this.room.look();
    if (this.ended) return;
    // What came may have to be given up some day.
    this.#alarm.set(at + Math.min(requestTimeout, progressTimeout));
    this.begun();
  }

  #tick(): void {
    this.#hear(() => this.#connection.tick(now()));
    this.#alarm.set(this.#connection.nextDeadline);
  }

  /** Do what events ask for; a peer that broke the rules is left. */
  #hear(events: () => (Event | undefined)[]): void {
    try {
      for (const event of events()) if (event) this.#handle(event);
      this.#flush();
    } catch (error) {
      if (!(error instanceof RemoteProtocolError)) throw error;
      this.close(error.closeCode, error.message);
    }
  }

  /** Ring in time for what was just asked. */
  mind(deadline: number): void {
    this.#alarm.set(deadline);
  }

  #handle(event: Event): void {
    const { type } = event;
    if (type === EventType.STREAM_CHUNK) {
      this.inflow.feed(event.frame);
    } else if (type === EventType.STREAM_LOST) {
      this.inflow.lose(event.ref, new StreamAborted(event.reason));
    } else if (type === EventType.ACKNOWLEDGED || type === EventType.PONG_RECEIVED) {
      this.#waiter(event.id)?.settle((event as PongReceived).roundTrip);
    } else if (type === EventType.REQUEST_FAILED) {
      this.#waiter(event.id)?.fail(failureOf(event.code, event.byPeer));
    } else if (type === EventType.REQUEST_CANCELLED) {
      this.#serving.cancel(event.ref);
    } else if (type === EventType.MESSAGE_REFUSED || type === EventType.STREAM_REFUSED) {
      this.#refused(event.id);
    } else if (type === EventType.CONNECTION_OVER) {
      this.close(event.code, event.reason);
    } else if (type !== EventType.MESSAGE_LOST) {
      this.#opened(event);
    }
  }

  /** A payload came. */
  #opened(event: Extract<Event, { readonly frame: BodyFrame }>): void {
    const { frame } = event;
    const opened = openPayload(frame);
    const { endpoint, data, bad } = opened;
    if (bad && frame.payload.length) this.#connection.strike(now(), bad);
    this.#flush(); // an acknowledgement goes before the application sees anything
    if (event.type === EventType.RESPONSE_RECEIVED) {
      const waiter = this.#waiter(event.ref);
      if (bad) waiter?.fail(new RemoteProtocolError(`bad answer: ${bad}`));
      else if ("error" in opened) waiter?.fail(new EndpointError(opened.error));
      else waiter?.settle(new Reply(data, unpack(frame.files, opened)));
    } else if (event.type === EventType.STREAM_OPENED) {
      void this.#serving.stream(event, opened);
    } else if (
      event.type === EventType.MESSAGE_RECEIVED && endpoint === HELLO && this.greeting === undefined
    ) {
      this.greeting = data ?? null;
      this.told = understand(data);
      this.#connection.keepTo(this.told);
    } else {
      void this.#serving.call(event, opened);
    }
  }

  /** The peer does not take a message or a stream: nobody will acknowledge what belongs to it. */
  #refused(ref: number): void {
    const over = this.outflow.get(ref);
    this.outflow.delete(ref);
    const error = over
      ? new StreamAborted("the peer wants no more of it")
      : new RequestAborted("the peer does not take it");
    for (const [id, { about }] of this.#waiting) if (about === ref) this.#waiter(id)!.fail(error);
    over?.(error);
  }

  #waiter(id: number): Waiter<any> | undefined {
    const waiter = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiter;
  }
}

function failureOf(code: Service, byPeer: boolean): Error {
  if (code === Service.TIMEOUT) {
    return new RequestTimeout(byPeer ? "the peer gave up" : "no answer in time");
  }
  return new RequestAborted(code === Service.ABORT ? "the peer refused it" : "the peer does not know it");
}
