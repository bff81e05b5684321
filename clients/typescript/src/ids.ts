/** 32-bit ids that wrap past the living (spec/mfp.md, section 8.1). Pure. */

import { LimitExceeded } from "./errors.ts";

export const LAST = 2 ** 32 - 1;
const TRIES = 65_536;

/** Count 1, 2, ... 2^32-1, 1, ...; after the first wrap, pass over ids that are still alive. */
export class Ids {
  #next: number;
  readonly #first: number;
  #wrapped: boolean;

  constructor(first = 1) {
    this.#next = this.#first = first;
    this.#wrapped = first !== 1;
  }

  /** How many ids were counted since the first, modulo 2^32-1. */
  get taken(): number {
    return (this.#next - this.#first + LAST) % LAST;
  }

  /** Whether `id` was ever taken; of any id, once they have wrapped. */
  hasGiven(id: number): boolean {
    return this.#wrapped || id < this.#next;
  }

  /** The next free id; `isLive` is only asked once ids can meet again. */
  take(isLive: (id: number) => boolean): number {
    for (let tried = 0; tried < TRIES; tried++) {
      const taken = this.#next;
      const free = !this.#wrapped || !isLive(taken);
      if (taken === LAST) {
        this.#next = 1;
        this.#wrapped = true;
      } else {
        this.#next = taken + 1;
      }
      if (free) return taken;
    }
    throw new LimitExceeded("live ids", TRIES, TRIES + 1, "a long run of ids is alive");
  }
}
