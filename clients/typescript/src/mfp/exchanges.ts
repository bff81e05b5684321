/**
 * What is under way on one MFP connection, in both directions, and what of it is remembered. Pure.
 *
 * `speaking.ts` is what its owner may do about it, `verdicts.ts` and `connection.ts` what the peer does.
 */

import { Service } from "../codes.ts";
import type { Announced } from "./announced.ts";
import { type Conduct, conductOf } from "./conduct.ts";
import { Liveness } from "./liveness.ts";
import { Outbox } from "./outbox.ts";
import { Remembered } from "./remembered.ts";
import type { Settings } from "./settings.ts";
import { Unknowns } from "./unknowns.ts";

/** What goes on; when time is over, the first are the first to be given up. */
export enum Kind {
  REQUEST = 1,
  SET,
  STREAM,
}

/** A request, an announced message or a stream that goes on. */
export interface UnderWay {
  readonly kind: Kind;
  readonly exchange: number;
  readonly deadline: number;
}

/** One of ours: of an announced message the keys that are missing, and what the peer holds of it. */
export interface Ours extends UnderWay {
  deadline: number;
  readonly missing: Set<number>;
  bytes: number;
}

/** The tables of one connection; each conversation in them ends once. */
export class Exchanges {
  readonly settings: Settings;
  /** Seconds after which a request of ours is given up that names no time of its own. */
  patience: number;
  /** What waits to be sent; the owner drains it. */
  readonly outbox: Outbox;
  /** Asked for each request of ours that is given up; false: it is not told. */
  mayCancel = (): boolean => true;
  protected readonly liveness: Liveness;
  // What we sent, by our ids.
  protected readonly ours = new Map<number, Ours>();
  /** The exchange of each frame of ours that is to be acknowledged. */
  protected readonly acks = new Map<number, number>();
  protected readonly pings = new Map<number, readonly [exchange: number, sent: number]>();
  protected readonly pastOurs: Remembered;
  /** Messages that were told, but may still be refused. */
  protected readonly told: Remembered;
  /** Requests that we gave up: one answer to each is no fault, the peer could not know. */
  protected readonly givenUp: Remembered;
  // What the peer sent, by its ids.
  protected readonly theirs = new Map<number, UnderWay | Announced>();
  protected readonly pastTheirs: Remembered;
  /** Messages in one frame: there is nothing of them to give up, so they are kept apart (8.5). */
  protected readonly heard: Remembered;
  protected readonly unknowns: Unknowns;
  protected readonly conduct: Conduct;
  /** Transfers that we aborted: what of them is still on its way is no fault. */
  protected readonly dropped: Remembered;

  constructor(settings: Settings) {
    const isLive = (id: number) => this.ours.has(id) || this.acks.has(id) || this.pings.has(id);
    const remembered = () => new Remembered(settings.remembered);
    this.settings = settings;
    this.patience = settings.requestTimeout;
    this.outbox = new Outbox(settings, isLive);
    this.pastOurs = remembered();
    this.told = remembered();
    this.givenUp = remembered();
    this.pastTheirs = remembered();
    this.heard = remembered();
    this.unknowns = new Unknowns(this.outbox);
    this.conduct = conductOf(settings);
    this.dropped = remembered();
    // Any frame is an answer to such a ping, so its pong is not waited for.
    const knock = () => this.pastOurs.add(...this.pinged());
    this.liveness = new Liveness(settings, this.outbox, knock);
  }

  /** Forget everything: nothing is sent, received or waited for any more. */
  end(): void {
    this.outbox.end();
    this.liveness.lookAt = Infinity;
    for (const table of Object.values(this) as { clear?(): void }[]) table.clear?.();
  }

  /** Send a ping; its id and exchange. */
  protected pinged(): [id: number, exchange: number] {
    return [this.outbox.service(Service.PING, undefined, true), ++this.outbox.exchanges];
  }

  /** One of ours is over; if we say so ourselves, `code` is what we say. */
  protected endOurs(id: number, code?: Service): Ours | undefined {
    const over = this.ours.get(id);
    if (!over) return undefined;
    this.ours.delete(id);
    this.acks.delete(id);
    this.pastOurs.add(id, over.exchange);
    if (code) {
      if (over.kind === Kind.REQUEST) this.givenUp.add(id, over.exchange);
      this.outbox.service(code, id, true);
    }
    return over;
  }

  /**
   * Give up a request of ours, and say so.
   *
   * If that may not be said, it waits on for the peer's sake alone: what comes of it is nobody's business.
   */
  protected leave(id: number, request: Ours, code: Service): void {
    if (this.mayCancel()) this.endOurs(id, code);
    else request.deadline = Infinity;
  }

  /** One of theirs is over. */
  protected endTheirs(ref: number): UnderWay | Announced | undefined {
    const over = this.theirs.get(ref);
    if (over) this.pastTheirs.add(ref, over.exchange);
    this.theirs.delete(ref);
    return over;
  }

  /** Tell the peer to stop one of theirs; unless nothing more can come, remember that something may. */
  protected drop(ref: number, exchange: number, inFlight = true): undefined {
    this.theirs.delete(ref);
    this.pastTheirs.add(ref, exchange);
    if (inFlight) this.dropped.add(ref, exchange);
    this.outbox.service(Service.ABORT, ref);
  }
}

/** How many of a kind are under way. */
export function count(table: ReadonlyMap<number, UnderWay>, kind: Kind): number {
  let found = 0;
  for (const one of table.values()) if (one.kind === kind) found++;
  return found;
}
