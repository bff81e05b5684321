/**
 * One MFP connection as a pipe: frames in, events and bytes out (spec/mfp.md, section 8). Pure.
 *
 * Feed it with `receive`, call `tick` at `nextDeadline`, send what `outbox.drain` gives. It owns no socket,
 * clock or timer; time is an argument, in seconds. Every conversation, whoever opened it, has a number, its
 * `exchange`.
 *
 * What the peer may not do throws `RemoteProtocolError`: the connection cannot be trusted any more.
 */

import { BinaryKind, Protocol, Service } from "../codes.ts";
import { RemoteProtocolError } from "../errors.ts";
import { Announced } from "./announced.ts";
import { decode } from "./codec.ts";
import { type Event, EventType } from "./events.ts";
import { count, Kind, type UnderWay } from "./exchanges.ts";
import type { BinaryFrame, Bytes, MessageFrame, RequestFrame, ResponseFrame } from "./frames.ts";
import { lost, type Outcome, Verdicts } from "./verdicts.ts";

/** The rules of one connection; the same on both sides of it. */
export class Connection extends Verdicts {
  /**
   * Take one frame; what it means to the owner, if anything.
   *
   * Throws `MalformedFrame`: these bytes are no frame; `RemoteProtocolError`: a frame that may not come now;
   * `PeerMisbehaved`: a frame that came once too often.
   */
  receive(data: Bytes, now: number): Outcome {
    const { settings, liveness } = this;
    if (data.length > settings.maxFrameBytes) {
      throw new RemoteProtocolError("over max_frame_bytes");
    }
    const frame = decode(data, settings.checksums, settings);
    liveness.heard = now;
    if (frame.type === Protocol.SERVICE) return this.onService(frame, now);
    liveness.used = now;
    if (frame.type === Protocol.REQUEST) return this.#onRequest(frame, now);
    if (frame.type === Protocol.RESPONSE) return this.#onResponse(frame, now);
    if (frame.type === Protocol.BINARY) return this.#onBinary(frame, now);
    return this.#onMessage(frame, now);
  }

  #onRequest(frame: RequestFrame, now: number): Outcome {
    const { maxRequests, requestTimeout } = this.settings;
    const exchange = this.#open(frame.id);
    const isFull = count(this.theirs, Kind.REQUEST) >= maxRequests;
    if (isFull) this.strike(now, "over max_requests");
    this.#acknowledge(frame);
    if (isFull) return this.drop(frame.id, exchange, false);
    this.theirs.set(frame.id, { kind: Kind.REQUEST, exchange, deadline: now + requestTimeout });
    return { type: EventType.REQUEST_RECEIVED, frame, exchange };
  }

  #onResponse(frame: ResponseFrame, now: number): Outcome {
    const { id, ref } = frame;
    const asked = this.ours.get(ref)?.kind === Kind.REQUEST ? this.endOurs(ref) : undefined;
    if (!asked && !this.givenUp.pop(ref)) {
      this.#blame(now, "a response to nothing", this.outbox.ids.hasGiven(ref));
    }
    this.#acknowledge(frame);
    if (asked) return { type: EventType.RESPONSE_RECEIVED, ref, frame, exchange: asked.exchange };
    this.unknowns.tell(id, ref, now);
    return undefined;
  }

  #onMessage(frame: MessageFrame, now: number): Outcome {
    const { id, streaming, expected, payload } = frame;
    const { maxStreams, maxAnnounced, maxWaitingBytes } = this.settings;
    const exchange = this.#open(id);
    const tooMany = streaming && count(this.theirs, Kind.STREAM) >= maxStreams;
    const tooMuch = expected.length && (count(this.theirs, Kind.SET) >= maxAnnounced ||
      this.#held + payload.length > maxWaitingBytes);
    if (tooMany) this.strike(now, "over max_streams");
    if (tooMuch) this.strike(now, "over max_announced");
    this.#acknowledge(frame);
    if (tooMany || tooMuch) return this.drop(id, exchange);
    if (expected.length) {
      this.theirs.set(id, new Announced(frame, exchange, this.settings, now));
      return undefined;
    }
    if (streaming) {
      this.theirs.set(id, { kind: Kind.STREAM, exchange, deadline: Infinity });
      return { type: EventType.STREAM_OPENED, frame, exchange };
    }
    this.heard.add(id, exchange);
    return { type: EventType.MESSAGE_RECEIVED, frame, leftOut: [], exchange };
  }

  #onBinary(frame: BinaryFrame, now: number): Outcome {
    const { ref, final } = frame;
    const about = this.theirs.get(ref);
    const isSet = about instanceof Announced;
    const isStream = about?.kind === Kind.STREAM;
    const isDropped = this.dropped.get(ref);
    const known = this.pastTheirs.get(ref) || this.heard.get(ref);
    const misplaced = isStream && frame.kind === BinaryKind.EXPECTED && "an announced file in a stream";
    const fault = isSet ? about.fault(frame, this.#held) : misplaced;
    // Blame the peer for a frame that has no place, before anything comes of it.
    if (fault) this.strike(now, fault);
    else if (!isSet && !isStream && !isDropped) this.#blame(now, "a binary frame of nothing", known > 0);
    this.#acknowledge(frame);
    if (!isSet && !isStream) {
      if (!isDropped) this.unknowns.tell(ref, -ref, now);
      else if (final) this.dropped.pop(ref);
      return undefined;
    }
    const { exchange } = about!;
    if (fault && (isStream || this.settings.badFiles === "drop")) {
      this.drop(ref, exchange, !final);
      return lost(about!, ref, fault);
    }
    if (!isSet) {
      if (final) this.endTheirs(ref);
      return { type: EventType.STREAM_CHUNK, frame, exchange };
    }
    if (!about.accept(frame, this.#held, now)) return undefined;
    this.endTheirs(ref);
    if (!final) this.dropped.add(ref, exchange); // more follows, it says: that is no fault either
    return about.delivered("did not come before the end");
  }

  /** Bytes of announced messages that wait for files. */
  get #held(): number {
    let held = 0;
    for (const one of this.theirs.values()) if (one instanceof Announced) held += one.bytes;
    return held;
  }

  #acknowledge({ id, needAck }: { readonly id: number; readonly needAck?: boolean }): void {
    if (needAck) this.outbox.service(Service.ACK, id);
  }

  /** A frame about what is over is a stray; one about what never was, a fault. */
  #blame(now: number, why: string, known: boolean): void {
    (known ? this.conduct.strays : this.conduct.strikes)(now, why);
  }

  /** Count a fault of the peer's; the owner sees some, such as a payload that is no envelope. */
  strike(now: number, why: string): void {
    this.conduct.strikes(now, why);
  }

  /** When to call `tick`; Infinity: not at all. */
  get nextDeadline(): number {
    let first = this.liveness.lookAt;
    for (const table of [this.ours, this.theirs]) {
      for (const { deadline } of table.values()) first = Math.min(first, deadline);
    }
    return first;
  }

  /**
   * Give up what is overdue, tell the peer, and say what was given up.
   *
   * A `ConnectionOver` among it says to close the connection: the peer is dead, or nobody uses it.
   */
  tick(now: number): Event[] {
    const events: Event[] = [];
    const code = Service.TIMEOUT;
    const { ours, theirs, liveness } = this;
    for (const [id, one] of overdue(ours, now)) {
      this.leave(id, one, code);
      events.push({ type: EventType.REQUEST_FAILED, id, code, byPeer: false, exchange: one.exchange });
    }
    for (const [ref, one] of overdue(theirs, now)) {
      const { exchange } = one;
      if (one instanceof Announced) {
        this.drop(ref, exchange);
        events.push(
          this.settings.badFiles === "drop"
            ? lost(one, ref, "no file came in time")
            : one.delivered("did not come in time"),
        );
      } else {
        this.endTheirs(ref);
        this.outbox.service(code, ref);
        events.push({ type: EventType.REQUEST_CANCELLED, ref, code, byPeer: false, exchange });
      }
    }
    if (now >= liveness.lookAt) {
      const waiting = count(ours, Kind.REQUEST) + count(theirs, Kind.REQUEST) > 0;
      const over = liveness.look(now, waiting);
      if (over) events.push(over);
    }
    return events;
  }

  /** Begin a conversation of the peer's under an id that nothing living has. */
  #open(id: number): number {
    if (this.theirs.has(id)) throw new RemoteProtocolError(`id ${id} is still in use`);
    this.dropped.pop(id);
    return ++this.outbox.exchanges;
  }
}

/** What is to be given up: requests, then announced messages, the longest overdue first. */
function overdue<T extends UnderWay>(table: ReadonlyMap<number, T>, now: number): [number, T][] {
  return [...table]
    .filter(([, { deadline }]) => deadline <= now)
    .sort(([, { kind, deadline }], [, other]) =>
      kind - other.kind || deadline - other.deadline);
}
