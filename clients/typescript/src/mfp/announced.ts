/** An announced message of the peer's: its files come in frames of their own (spec/mfp.md, 8.4). Pure. */

import { BinaryKind } from "../codes.ts";
import type { MessageReceived } from "./events.ts";
import type { BinaryFrame, Bytes, MessageFrame } from "./frames.ts";
import { KIND_NAMES } from "./layout.ts";
import type { Settings } from "./settings.ts";

/** One announced message, the files that have come, and what is wrong with the others. */
export class Announced {
  readonly kind = "set";
  readonly exchange: number;
  deadline: number;
  /** Held until it is whole. */
  bytes: number;
  readonly #frame: MessageFrame;
  readonly #settings: Settings;
  readonly #missing: Set<number>;
  readonly #files = new Map<number, Bytes>();
  readonly #leftOut = new Map<number, string>();

  constructor(frame: MessageFrame, exchange: number, settings: Settings, now: number) {
    this.exchange = exchange;
    this.deadline = now + settings.progressTimeout;
    this.bytes = frame.payload.length;
    this.#frame = frame;
    this.#settings = settings;
    this.#missing = new Set(frame.expected);
  }

  /** Why a frame is no file of this message, or nothing; a bare end is not bad. `held`: bytes, by all. */
  #bad({ kind, key, data, final }: BinaryFrame, held: number): string | undefined {
    const most = this.#settings.maxWaitingBytes;
    if (kind !== BinaryKind.EXPECTED) {
      return kind === BinaryKind.NONE && final ? undefined : "has no place in an announced message";
    }
    if (!this.#missing.has(key!)) {
      return this.#frame.expected.includes(key!) ? "came twice" : "was not announced";
    }
    return held + data.length > most ? `is over max_waiting_bytes, ${most}` : undefined;
  }

  /** Why a frame of this message loses it, or is left out of it; undefined if it is right. */
  fault(frame: BinaryFrame, held: number): string | undefined {
    const isFile = frame.kind === BinaryKind.EXPECTED;
    const bad = this.#bad(frame, held);
    const name = isFile ? `key ${frame.key}` : `a binary frame of kind ${KIND_NAMES[frame.kind]}`;
    if (bad) return `${name} ${bad}`;
    const missing = this.#missing.size - +isFile;
    const early = this.#settings.badFiles === "drop" && frame.final && missing;
    return early ? `ended with ${missing} files missing` : undefined;
  }

  /** Keep a file, or note why it is left out. Whether the message is to be delivered now. */
  received(frame: BinaryFrame, held: number, now: number): boolean {
    const { kind, key, data } = frame;
    const bad = this.#bad(frame, held);
    if (kind === BinaryKind.EXPECTED) {
      if (!bad) {
        this.#files.set(key!, data);
        this.bytes += data.length;
      } else if (!this.#leftOut.has(key!)) {
        // Keys that were not announced are noted up to a bound; of one that came twice the first file stays.
        const isAnnounced = this.#frame.expected.includes(key!);
        if (isAnnounced || this.#leftOut.size < this.#settings.maxFiles) this.#leftOut.set(key!, bad);
      }
      if (this.#missing.delete(key!)) this.deadline = now + this.#settings.progressTimeout;
    }
    return frame.final || !this.#missing.size;
  }

  /** The message with the files that came, in the announced order, and why others are left out. */
  delivered(why: string): MessageReceived {
    const frame = this.#frame;
    const leftOut = new Map([...[...this.#missing].map((key) => [key, why] as const), ...this.#leftOut]);
    return {
      type: "message_received",
      frame: { ...frame, files: [...this.#files].sort(byPlaceIn(frame.expected)) },
      leftOut: [...leftOut].sort(([a], [b]) => a - b),
      exchange: this.exchange,
    };
  }
}

function byPlaceIn(keys: readonly number[]): (a: [number, Bytes], b: [number, Bytes]) => number {
  return ([a], [b]) => keys.indexOf(a) - keys.indexOf(b);
}
