/** Whose turn it is to send while a link is full: first come, first served, a frame at a time. */

import { waitFor } from "./signals.ts";

/** A WebSocket does not say when its buffer empties: it is looked at this often, and when a frame comes. */
const LOOK_MS = 5;

/** Room on a link. A stream that always has more to send goes to the end of the queue with each frame. */
export class Room {
  readonly #isFull: () => boolean;
  readonly #queue: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(isFull: () => boolean) {
    this.#isFull = isFull;
  }

  /** Call `send` when there is room and all who came earlier have had a turn; at once, if that is now. */
  async turn<T>(send: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (!this.#queue.length && !this.#isFull()) return send();
    let entry = () => {};
    return waitFor<T>(
      signal,
      ({ settle, fail }) => {
        entry = () => {
          try {
            settle(send());
          } catch (error) {
            fail(error);
          }
        };
        this.#queue.push(entry);
        this.look();
      },
      () => this.#queue.splice(this.#queue.indexOf(entry) >>> 0, 1),
    );
  }

  /** Let go who can; look again soon if somebody still waits. */
  look(): void {
    while (this.#queue.length && !this.#isFull()) this.#queue.shift()!();
    if (!this.#queue.length || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.look();
    }, LOOK_MS);
  }
}
