/** Telling the peer that a frame of its refers to nothing (spec/mfp.md, 8.2 and 8.4). Pure. */

import { Service } from "../codes.ts";
import type { Outbox } from "./outbox.ts";

const QUIET_SECONDS = 5;
const BOUND = 512;

/** Says `unknown` at most once about the same ref in some seconds; remembers the last few refs. */
export class Unknowns {
  readonly #outbox: Outbox;
  readonly #said = new Map<number, number>();

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  /** A frame of the peer's referred to `key`, negative for ids of its own; `id` is what the answer names. */
  tell(id: number, key: number, now: number): void {
    const said = this.#said;
    if (now < said.get(key)! + QUIET_SECONDS) return;
    said.delete(key);
    if (said.size >= BOUND) said.delete(said.keys().next().value!);
    said.set(key, now);
    this.#outbox.service(Service.UNKNOWN, id);
  }

  /** Forget everything. */
  clear(): void {
    this.#said.clear();
  }
}
