/**
 * What a peer may do now and then, but not in crowds (spec/mfp.md, 8.8). Pure.
 *
 * Each kind is counted in a window that slides: as many as its setting says in any such span of time. One
 * more is `PeerMisbehaved`, which ends the connection. A window remembers no more times than it allows.
 */

import { PeerMisbehaved } from "../errors.ts";
import type { Settings } from "./settings.ts";

/** Counts one more, and says why; throws `PeerMisbehaved` if it is one too many. */
export type Window = (now: number, why?: string) => void;

/** Counts one more of something, unless that would be more than `most` in some `seconds`: false. */
export function window(most: number, seconds: number): (now: number) => boolean {
  const times: number[] = [];
  return (now) => {
    while (times[0]! + seconds <= now) times.shift();
    return times.length < most && times.push(now) > 0;
  };
}

/** At most `most` of something in any `seconds`. */
export function atMost(what: string, most: number, seconds: number): Window {
  const fits = window(most, seconds);
  return (now, why = "") => {
    if (!fits(now)) throw new PeerMisbehaved(what, most, seconds, why);
  };
}

/** Counts what one peer does. */
export interface Conduct {
  /** Faults: each was told to the peer in its own way. */
  readonly strikes: Window;
  /** Exchanges that the peer gave up before they were answered. */
  readonly cancels: Window;
  readonly pings: Window;
  /** Frames about what is over, or never was. */
  readonly strays: Window;
}

export function conductOf(settings: Settings): Conduct {
  return {
    strikes: atMost("strikes", settings.maxStrikes, 10),
    cancels: atMost("cancelled exchanges", settings.maxCancels, 10),
    pings: atMost("pings", settings.maxPings, 1),
    strays: atMost("frames about nothing known", settings.maxStrays, 1),
  };
}
