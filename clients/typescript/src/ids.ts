/** 32-bit ids that wrap past the living (spec/mfp.md, section 8.1). Pure. */

export const LAST = 2 ** 32 - 1;

/** Count 1, 2, ... 2^32-1, 1, ...; after the first wrap, pass over ids that are still alive. */
export class Ids {
  #next: number;
  #wrapped: boolean;

  constructor(first = 1) {
    this.#next = first;
    this.#wrapped = first !== 1;
  }

  /** Whether `id` was ever taken; of any id, once they have wrapped. */
  hasGiven(id: number): boolean {
    return this.#wrapped || id < this.#next;
  }

  /** The next free id; `isLive` is only asked once ids can meet again, and far fewer live than there are. */
  take(isLive: (id: number) => boolean): number {
    for (;;) {
      const taken = this.#next;
      const free = !this.#wrapped || !isLive(taken);
      this.#wrapped ||= taken === LAST;
      this.#next = (taken % LAST) + 1;
      if (free) return taken;
    }
  }
}
