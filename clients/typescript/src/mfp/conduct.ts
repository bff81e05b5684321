/**
 * What a peer may do now and then, but not in crowds (spec/mfp.md, 8.8). Pure.
 *
 * Each kind is counted in a window that slides: as many as its setting says in any such span of time. One
 * more is `PeerMisbehaved`, which ends the connection. A window remembers no more times than it allows.
 */

import { PeerMisbehaved } from "../errors.ts";
import type { Settings } from "./settings.ts";

/** At most `most` of something in any `seconds`. */
export class Window {
  readonly #what: string;
  readonly #most: number;
  readonly #seconds: number;
  readonly #times: number[] = [];

  constructor(what: string, most: number, seconds: number) {
    this.#what = what;
    this.#most = most;
    this.#seconds = seconds;
  }

  /** One more. Throws `PeerMisbehaved` if it is one too many. */
  count(now: number, why = ""): void {
    const times = this.#times;
    if (times.length >= this.#most) {
      if (now < times[0]! + this.#seconds) {
        throw new PeerMisbehaved(this.#what, this.#most, this.#seconds, why);
      }
      times.shift();
    }
    times.push(now);
  }
}

/** Counts what one peer does. */
export class Conduct {
  /** Faults: each was told to the peer in its own way. */
  readonly strikes: Window;
  /** Exchanges that the peer gave up before they were answered. */
  readonly cancels: Window;
  readonly pings: Window;
  /** Frames about what is over, or never was. */
  readonly strays: Window;

  constructor(settings: Settings) {
    this.strikes = new Window("strikes", settings.maxStrikes, 10);
    this.cancels = new Window("cancelled exchanges", settings.maxCancels, 10);
    this.pings = new Window("pings", settings.maxPings, 1);
    this.strays = new Window("frames about nothing known", settings.maxStrays, 1);
  }
}
