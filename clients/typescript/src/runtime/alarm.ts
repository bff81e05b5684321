/** One timer that rings at the next deadline of a machine. */

import { later, now } from "./signals.ts";

/** Rings once for each deadline set; a later deadline waits until the earlier one has rung. */
export class Alarm {
  /** When it will ring. */
  due = Infinity;
  readonly #ring: () => void;
  #stop = () => {};

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  /** Ring at `deadline`, unless an earlier one is set. */
  set(deadline: number): void {
    if (this.due <= deadline) return;
    this.cancel();
    this.due = deadline;
    this.#stop = later(deadline - now(), () => {
      this.due = Infinity;
      this.#ring();
    });
  }

  /** Do not ring. */
  cancel(): void {
    this.#stop();
    this.due = Infinity;
  }
}
