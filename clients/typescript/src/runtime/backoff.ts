/** How long to wait before the next try: longer each time, and never all clients at once. Pure. */

import { ConfigError } from "../errors.ts";

/** Exponential, with full jitter: after n tries anything from 0 to `first * factor**n`, or `most`. */
export interface Backoff {
  /** The longest first wait, in seconds. */
  readonly first: number;
  /** The longest wait; also how long a connection has to last for the next wait to be a first one again. */
  readonly most: number;
  /** How much longer each wait may be than the one before. */
  readonly factor: number;
}

/** The defaults with what is given instead. Throws `ConfigError` for what cannot be. */
export function backoffOf(given: Partial<Backoff>): Backoff {
  const backoff = { first: 0.1, most: 10, factor: 2, ...given };
  const { first, most, factor } = backoff;
  if (!(first > 0 && first <= most && factor > 1)) {
    throw new ConfigError("reconnect: want 0 < first <= most, factor > 1");
  }
  return backoff;
}

/** Seconds to wait after so many tries that came to nothing; `random` gives numbers from 0 up to 1. */
export function delay({ first, most, factor }: Backoff, tries: number, random: () => number): number {
  return Math.min(most, first * factor ** tries) * random();
}
