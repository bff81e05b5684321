/** One MFP connection, the half that its owner speaks to: what we ask, tell, answer and give up. Pure. */

import { BinaryKind, Protocol, Service } from "../codes.ts";
import { LocalProtocolError, StreamAborted } from "../errors.ts";
import { count, Exchanges, Kind } from "./exchanges.ts";
import type { BinaryFrame, Bytes, Files, MessageFrame, RequestFrame, ResponseFrame } from "./frames.ts";
import { check, type Limits, lowered } from "./limits.ts";
import type { Told } from "./negotiation.ts";
import { IN_A_STREAM } from "./outbox.ts";

/** What a frame of ours says beside its content. */
export interface Flags {
  readonly needAck?: boolean;
  readonly checksum?: boolean;
}

export interface MessageOptions extends Flags {
  readonly expected?: readonly number[];
  readonly streaming?: boolean;
}

export interface ChunkOptions extends Flags {
  readonly key?: number | undefined;
  readonly final?: boolean;
}

type Unsent<F> = Omit<F, "id">;

/** What its owner may do about a connection. */
export class Speaking extends Exchanges {
  /** Ask; the id under which the answer will be told. */
  request(
    payload: Bytes,
    files: Files,
    now: number,
    timeout = this.patience,
    flags?: Flags,
  ): number {
    this.#checkCount(Kind.REQUEST, "maxRequests");
    this.outbox.checkSizes(payload.length, sizesOf(files));
    const request: Unsent<RequestFrame> = { type: Protocol.REQUEST, payload, files, ...flags };
    return this.#begin(request, Kind.REQUEST, now + timeout);
  }

  /** Tell; files of `expected` keys follow by `file`, the chunks of a stream by `chunk`. */
  message(payload: Bytes, files: Files = [], options: MessageOptions = {}): number {
    const { expected = [], streaming = false } = options;
    this.outbox.checkSizes(payload.length, sizesOf(files), expected.length);
    if (streaming) this.#checkCount(Kind.STREAM, "maxStreams");
    if (expected.length) {
      this.#checkRoom(payload.length);
      this.#checkCount(Kind.SET, "maxAnnounced");
    }
    const message: Unsent<MessageFrame> = {
      type: Protocol.MESSAGE, payload, files, ...options, expected, streaming,
    };
    if (streaming || expected.length) return this.#begin(message, streaming ? Kind.STREAM : Kind.SET);
    const exchange = ++this.outbox.exchanges;
    const id = this.#send(message, exchange);
    this.#done(id, exchange);
    return id;
  }

  /** One announced file of our message `ref`; the last missing one ends it. */
  file(ref: number, key: number, data: Bytes, flags?: Flags): number {
    const set = this.ours.get(ref);
    if (!set?.missing.has(key)) {
      throw new LocalProtocolError(`message ${ref} does not wait for file ${key}`);
    }
    this.#checkRoom(data.length);
    const final = set.missing.size === 1;
    const id = this.#binary({ ref, kind: BinaryKind.EXPECTED, key, data, final, ...flags }, set.exchange);
    set.missing.delete(key);
    set.bytes += data.length;
    return id;
  }

  /** The next chunk of our stream `ref`: of the file `key`, or data that is no file. */
  chunk(ref: number, data: Bytes, options: ChunkOptions = {}): number {
    const { key, final = false } = options;
    const stream = this.ours.get(ref);
    if (stream?.kind !== Kind.STREAM) throw new StreamAborted(`stream ${ref} is not open`);
    const unkeyed = final && !data.length ? BinaryKind.NONE : BinaryKind.DATA;
    const kind = key === undefined ? unkeyed : BinaryKind.STREAMING;
    return this.#binary({ ref, kind, data, ...options, final }, stream.exchange);
  }

  /** Abort an announced message or a stream of ours; false if it was over. */
  giveUp(ref: number): boolean {
    const { kind = Kind.REQUEST } = this.ours.get(ref) ?? {};
    return kind !== Kind.REQUEST && !!this.endOurs(ref, Service.ABORT);
  }

  /** Give up a request of ours that still waits, and say so if we may; false if it was settled before. */
  cancel(id: number): boolean {
    const request = this.ours.get(id);
    if (request?.kind !== Kind.REQUEST) return false;
    this.leave(id, request, Service.ABORT);
    return true;
  }

  /** Want no more of a stream of the peer's; false if it was over. */
  abortStream(ref: number): boolean {
    const stream = this.theirs.get(ref);
    if (stream?.kind !== Kind.STREAM) return false;
    this.drop(ref, stream.exchange);
    return true;
  }

  /** Answer the peer's request; undefined, and nothing is sent, if it no longer waits. */
  respond(ref: number, payload: Bytes, files: Files = [], flags?: Flags): number | undefined {
    const asked = this.theirs.get(ref);
    if (asked?.kind !== Kind.REQUEST) return undefined;
    this.outbox.checkSizes(payload.length, sizesOf(files));
    const response: Unsent<ResponseFrame> = { type: Protocol.RESPONSE, ref, payload, files, ...flags };
    const id = this.#send(response, asked.exchange);
    this.pastOurs.add(id, asked.exchange);
    this.endTheirs(ref);
    return id;
  }

  /** Tell the peer that its request or message will not be worked on. */
  refuse(ref: number): void {
    if (this.theirs.get(ref)?.kind === Kind.REQUEST) this.endTheirs(ref);
    this.outbox.service(Service.ABORT, ref);
  }

  /** Ask for a sign of life; the id under which the pong will be told. */
  ping(now: number): number {
    const [id, exchange] = this.pinged();
    this.pings.set(id, [exchange, now]);
    return id;
  }

  /** Wait no longer for the pong or the acknowledgement of `id`; one that comes late is ignored. */
  forget(id: number): void {
    this.pastOurs.add(id, this.acks.get(id) ?? this.pings.get(id)?.[0] ?? this.pastOurs.get(id));
    this.acks.delete(id);
    this.pings.delete(id);
  }

  /** Whether our announced message or stream `ref` goes on: not if the peer refused it. */
  isTelling(ref: number): boolean {
    return this.ours.has(ref);
  }

  /** The peer told what it takes: ask for no more, and wait no longer than it works. */
  keepTo({ limits, requestTimeout }: Told): void {
    this.outbox.accepts = lowered(this.settings, limits);
    this.patience = Math.min(this.patience, requestTimeout);
  }

  /** Throw `LimitExceeded` for an announced message that this peer can never take, by sizes alone. */
  checkAnnounced(payload: number, files: readonly number[]): void {
    for (const size of files) this.outbox.checkFrame(size);
    this.#checkHeld(files.reduce((sum, size) => sum + size, payload));
  }

  #begin(
    frame: Unsent<RequestFrame> | Unsent<MessageFrame>,
    kind: Kind,
    deadline = Infinity,
  ): number {
    const exchange = ++this.outbox.exchanges;
    const missing = new Set(frame.type === Protocol.MESSAGE ? frame.expected : []);
    const id = this.#send(frame, exchange);
    this.ours.set(id, { kind, exchange, deadline, missing, bytes: frame.payload.length });
    return id;
  }

  #binary(frame: Omit<BinaryFrame, "id" | "type">, exchange: number): number {
    this.outbox.checkFrame(frame.data.length);
    const id = this.#send({ type: Protocol.BINARY, ...frame }, exchange);
    if (frame.final) {
      this.ours.delete(frame.ref);
      this.#done(frame.ref, exchange);
    }
    return id;
  }

  #send(
    frame: Unsent<RequestFrame> | Unsent<MessageFrame> | Unsent<ResponseFrame> | Unsent<BinaryFrame>,
    exchange: number,
  ): number {
    const id = this.outbox.newId();
    this.outbox.send({ ...frame, id });
    if (frame.needAck) this.acks.set(id, exchange);
    return id;
  }

  #done(id: number, exchange: number): void {
    this.told.add(id, exchange);
    this.pastOurs.add(id, exchange);
  }

  #checkCount(kind: Kind, limit: keyof Limits): void {
    check(this.outbox.accepts, limit, count(this.ours, kind) + 1);
  }

  /** Refuse what the peer would not hold until its message is whole. */
  #checkRoom(size: number): void {
    for (const { kind, bytes } of this.ours.values()) if (kind === Kind.SET) size += bytes;
    this.#checkHeld(size);
  }

  #checkHeld(size: number): void {
    check(this.outbox.accepts, "maxWaitingBytes", size, IN_A_STREAM);
  }
}

function sizesOf(files: Files): number[] {
  return files.map(([, blob]) => blob.length);
}
