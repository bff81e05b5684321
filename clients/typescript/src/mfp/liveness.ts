/**
 * Whether the peer still lives, and whether a connection is still used (spec/mfp.md, 8.7). Pure.
 *
 * Nothing is counted per frame: the owner notes when it last heard something, and looks at that now and then.
 * A look that comes early only says when to look again. Silence alone never kills: the peer is pinged first,
 * and then looked at twice, the second time a while after the first. So a clock that jumps, or a page that
 * slept, first reads what came meanwhile.
 */

import { CloseCode } from "../codes.ts";
import { type ConnectionOver, EventType } from "./events.ts";
import type { Settings } from "./settings.ts";

/** Looks at one connection; `lookAt` is when to look again. */
export class Liveness {
  lookAt: number;
  /** When a frame was last heard: one that is no service frame, and any. */
  used = -Infinity;
  heard = -Infinity;
  readonly #silence: number;
  readonly #idle: number;
  readonly #outbox: { readonly said: number };
  readonly #knock: () => void;
  #sent = 0;
  #pinged: number | undefined;
  #lastCall: number | undefined;

  constructor({ keepalive, idleTimeout }: Settings, outbox: { readonly said: number }, knock: () => void) {
    this.#silence = keepalive;
    this.#idle = idleTimeout;
    this.#outbox = outbox;
    this.#knock = knock;
    this.lookAt = Math.min(keepalive, idleTimeout) < Infinity ? 0 : Infinity;
  }

  /** Judge by the last signs of the peer; `waiting`: requests are under way, which have their own time. */
  look(now: number, waiting: boolean): ConnectionOver | undefined {
    const { said } = this.#outbox;
    if (this.lookAt === 0) this.heard = this.used = now; // what was before the first look proves nothing
    if (waiting || said !== this.#sent) {
      this.#sent = said;
      this.used = now;
    }
    const unused = this.used + this.#idle;
    if (now >= unused) return this.#over(CloseCode.OK, `not used for ${this.#idle} s`);
    const due = this.#due(now);
    if (now >= due) {
      return this.#over(CloseCode.GOING_AWAY, `no sign of life for ${2 * this.#silence} s`);
    }
    this.lookAt = Math.min(due, unused);
    return undefined;
  }

  #over(code: CloseCode, reason: string): ConnectionOver {
    this.lookAt = Infinity;
    return { type: EventType.CONNECTION_OVER, code, reason, exchange: 0 };
  }

  /** When to look again for signs of life; not after `now`: there were none, the peer is dead. */
  #due(now: number): number {
    const silence = this.#silence;
    if (this.#pinged === undefined || this.heard >= this.#pinged) {
      this.#pinged = this.#lastCall = undefined;
      if (now < this.heard + silence) return this.heard + silence;
      this.#knock();
      this.#pinged = now;
    }
    const firstCall = this.#pinged + (silence * 7) / 8;
    if (now < firstCall) return firstCall;
    return (this.#lastCall ??= Math.max(this.#pinged + silence, now + silence / 8));
  }
}
