/** What the peer's service frames say of what is under way on a connection (spec/mfp.md, 4 and 8). Pure. */

import { Service } from "../codes.ts";
import { type Event, EventType, type MessageLost, type StreamLost } from "./events.ts";
import { Kind, type UnderWay } from "./exchanges.ts";
import type { ServiceFrame } from "./frames.ts";
import { Speaking } from "./speaking.ts";

export type Outcome = Event | undefined;

/** Takes acks, pings, timeouts, aborts and unknowns. */
export class Verdicts extends Speaking {
  protected onService(frame: ServiceFrame, now: number): Outcome {
    const { code, ref, own } = frame;
    if (code === Service.PING) {
      this.conduct.pings(now);
      this.outbox.exchanges++;
      this.outbox.service(Service.ACK, ref);
      return undefined;
    }
    if (own) {
      if (code === Service.ACK || code === Service.UNKNOWN) return this.ignore(frame, now);
      const over = this.endTheirs(ref);
      if (over) {
        this.conduct.cancels(now);
        return over.kind === Kind.REQUEST
          ? { type: EventType.REQUEST_CANCELLED, ref, code, byPeer: true, exchange: over.exchange }
          : lost(over, ref, "the sender gave it up");
      }
      this.dropped.pop(ref);
      if (this.pastTheirs.get(ref)) return undefined;
      // Nothing of theirs has this id: taken as ours, since a known peer sets the own bit here (8.5).
    }
    const verdict = code === Service.ACK ? this.#acked(ref, now) : this.#refused(ref, code);
    if (!verdict && !this.pastOurs.get(ref)) this.ignore(frame, now);
    return verdict;
  }

  #acked(id: number, now: number): Outcome {
    const ping = this.pings.get(id);
    const exchange = this.acks.get(id);
    this.pings.delete(id);
    this.acks.delete(id);
    if (ping) return { type: EventType.PONG_RECEIVED, id, roundTrip: now - ping[1], exchange: ping[0] };
    return exchange ? { type: EventType.ACKNOWLEDGED, id, exchange } : undefined;
  }

  /** A timeout, abort or unknown about something that we sent. */
  #refused(id: number, code: Service): Outcome {
    const over = this.endOurs(id);
    if (over?.kind === Kind.REQUEST) {
      return { type: EventType.REQUEST_FAILED, id, code, byPeer: true, exchange: over.exchange };
    }
    if (over) {
      const type = over.kind === Kind.STREAM ? EventType.STREAM_REFUSED : EventType.MESSAGE_REFUSED;
      return { type, id, exchange: over.exchange };
    }
    const exchange = code === Service.ABORT ? this.told.pop(id) : 0;
    const last = this.pastOurs.get(id);
    if (!exchange || (last && last !== exchange)) return undefined; // ids wrapped: it is about a later one
    this.acks.delete(id);
    this.pastOurs.add(id, exchange);
    return { type: EventType.MESSAGE_REFUSED, id, exchange };
  }

  /** A service frame about nothing that we remember, lawful one by one, suspicious in crowds; what we sent long ago may still be spoken of. */
  protected ignore(frame: ServiceFrame, now: number): undefined {
    if (frame.own || !this.outbox.ids.hasGiven(frame.ref)) {
      this.conduct.strays(now, "a service frame of nothing");
    }
  }
}

/** An announced message or a stream of the peer's that will never be whole. */
export function lost({ kind, exchange }: UnderWay, ref: number, reason: string): MessageLost | StreamLost {
  return { type: kind === Kind.SET ? EventType.MESSAGE_LOST : EventType.STREAM_LOST, ref, reason, exchange };
}
