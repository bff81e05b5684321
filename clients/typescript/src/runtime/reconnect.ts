/**
 * One connection after another: it is made again whenever it is lost.
 *
 * Nothing is ever sent twice by itself: what was pending when the connection went fails with
 * `ConnectionClosed`, and whether to ask again is for the caller to say. What is asked while there is no
 * connection waits for one.
 */

import { CloseCode } from "../codes.ts";
import { ConnectionClosed, type FramehubError } from "../errors.ts";
import { type Backoff, delay } from "./backoff.ts";
import { attempt, later, now, waitFor, type Waiter } from "./signals.ts";
import type { Wire } from "./wire.ts";

export type State = "connecting" | "open" | "closed";

/** How to connect once. */
export type Dial = (signal: AbortSignal | undefined) => Promise<Wire>;

/** How to wait before the next try, after a connection was lost like that; undefined: there is none. */
export type Again = (lost: ConnectionClosed) => Backoff | undefined;

/** Keeps a connection, until it is over for good. */
export class Reconnecting {
  /** `open`; `connecting` while it is lost; `closed` when it is over for good. */
  state: State = "connecting";
  /** Called with every new state. */
  onstate: ((state: State) => void) | null | undefined;
  /** Called with an error of a handler, and where; by default it goes to the console. */
  onerror: ((error: unknown, where: string) => void) | null = (error, where) =>
    console.error(`framehub: ${where} failed:`, error);
  /** Resolves when it is over for good, and says why. */
  readonly closed: Promise<FramehubError>;
  /** The present connection, or the last one. */
  protected wire: Wire | undefined;
  /** Why the last try failed. */
  protected failure = "";
  readonly #stop = new AbortController();
  readonly #waiting = new Set<Waiter<Wire>>();
  #ended!: (error: FramehubError) => void;

  constructor() {
    this.closed = new Promise((resolve) => (this.#ended = resolve));
  }

  /** The name of the present connection, or of the last one, in the listener's journal. */
  get link(): string {
    return this.wire?.told.link ?? "";
  }

  /** What the listener said of itself on this connection, once it has. */
  get hello(): unknown {
    return this.wire?.greeting;
  }

  /** Connect for the first time, with no second try; then again, as long as `again` says how to wait. */
  async start(dial: Dial, again: Again, signal?: AbortSignal): Promise<void> {
    this.#opened(await dial(signal));
    void this.#keep(dial, again);
  }

  /** End it for good; everything pending or waiting fails with `ConnectionClosed`. */
  async close(code: number = CloseCode.OK, reason = ""): Promise<void> {
    this.#end(new ConnectionClosed(code, reason));
    this.wire?.close(code, reason);
    await this.wire?.gone;
  }

  /** The present connection; wait for one if there is none. */
  protected async present(signal: AbortSignal | undefined): Promise<Wire> {
    const { wire } = this;
    this.#stop.signal.throwIfAborted();
    if (wire && !wire.ended) return wire;
    let mine: Waiter<Wire>;
    const begin = (waiter: Waiter<Wire>) => void this.#waiting.add((mine = waiter));
    return waitFor(signal, begin, () => this.#waiting.delete(mine));
  }

  async #keep(dial: Dial, again: Again): Promise<void> {
    const stop = this.#stop.signal;
    for (let tries = 0; ; ) {
      const since = now();
      const lost = await this.wire!.lost;
      const backoff = again(lost);
      if (!backoff) this.#end(lost);
      if (stop.aborted || !backoff) return;
      this.#move("connecting");
      if (now() - since >= backoff.most) tries = 0;
      while (this.state === "connecting") {
        let cancel = (): void => {};
        try {
          const wait = delay(backoff, tries++, Math.random);
          await waitFor<void>(stop, ({ settle }) => (cancel = later(wait, settle)), () => cancel());
          this.#opened(await dial(stop));
        } catch (error) {
          if (stop.aborted) return;
          this.failure = (error as Error).message;
        }
      }
    }
  }

  #opened(wire: Wire): void {
    if (this.state === "closed") return wire.close(CloseCode.OK, "");
    this.wire = wire;
    this.failure = "";
    this.#move("open");
    for (const waiter of this.#waiting) waiter.settle(wire);
    this.#waiting.clear();
  }

  #end(error: FramehubError): void {
    if (this.state === "closed") return;
    this.#stop.abort(error);
    for (const waiter of this.#waiting) waiter.fail(error);
    this.#waiting.clear();
    this.#move("closed");
    this.#ended(error);
  }

  #move(state: State): void {
    this.state = state;
    attempt(() => this.onstate?.(state), (error) => this.report(error, "onstate"));
  }

  /** @internal Hand an error of the application's to `onerror`, which may be absent or fail itself. */
  report(error: unknown, where: string): void {
    attempt(() => this.onerror?.(error, where), console.error);
  }
}
