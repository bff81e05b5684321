/** A bounded memory of ids (spec/mfp.md, section 8.1). Pure. */

/**
 * The last `bound` to twice `bound` ids with the exchange of each; older ones are forgotten at once.
 *
 * Two generations instead of one queue: remembering costs one insertion, forgetting nothing.
 */
export class Remembered {
  readonly #bound: number;
  #young = new Map<number, number>();
  #old = this.#young;

  constructor(bound: number) {
    this.#bound = bound;
  }

  /** Remember `id`. */
  add(id: number, exchange: number): void {
    if (this.#young.size >= this.#bound) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(id, exchange);
  }

  /** The exchange of `id`, or 0. */
  get(id: number): number {
    return this.#young.get(id) ?? this.#old.get(id) ?? 0;
  }

  /** The exchange of `id`, or 0; forget it. */
  pop(id: number): number {
    const exchange = this.get(id);
    this.#young.delete(id);
    this.#old.delete(id);
    return exchange;
  }

  /** Forget everything. */
  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
