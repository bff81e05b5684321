/** An announced message of the peer's: its files come in frames of their own (spec/mfp.md, 8.4). Pure. */

import { BinaryKind } from "../codes.ts";
import { EventType, type MessageReceived } from "./events.ts";
import { Kind } from "./exchanges.ts";
import type { BinaryFrame, Bytes, MessageFrame } from "./frames.ts";
import type { Settings } from "./settings.ts";

/** One announced message, the files that have come, and what is wrong with the others. */
export class Announced {
  readonly kind = Kind.SET;
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
      return kind || !final ? "is no announced file" : undefined;
    }
    if (!this.#missing.has(key!)) return this.#isAnnounced(key!) ? "came twice" : "was not announced";
    return held + data.length > most ? `is over max_waiting_bytes, ${most}` : undefined;
  }

  #isAnnounced(key: number): boolean {
    return this.#frame.expected.includes(key);
  }

  /** Why a frame of this message loses it, or is left out of it; undefined if it is right. */
  fault(frame: BinaryFrame, held: number): string | undefined {
    const { kind, key } = frame;
    const isFile = kind === BinaryKind.EXPECTED;
    const bad = this.#bad(frame, held);
    if (bad) return `${isFile ? `key ${key}` : "a binary frame"} ${bad}`;
    const missing = this.#missing.size - +isFile;
    const early = this.#settings.badFiles === "drop" && frame.final && missing;
    return early ? `ended with ${missing} files missing` : undefined;
  }

  /** Keep a file, or note why it is left out. Whether the message is to be delivered now. */
  accept(frame: BinaryFrame, held: number, now: number): boolean {
    const { kind, key, data } = frame;
    const { maxFiles, progressTimeout } = this.#settings;
    const leftOut = this.#leftOut;
    const bad = this.#bad(frame, held);
    if (kind === BinaryKind.EXPECTED) {
      if (!bad) {
        this.#files.set(key!, data);
        this.bytes += data.length;
      } else if (this.#isAnnounced(key!) || leftOut.size < maxFiles) {
        // Keys that were not announced are noted up to a bound; of one that came twice the first file stays.
        leftOut.set(key!, leftOut.get(key!) ?? bad);
      }
      if (this.#missing.delete(key!)) this.deadline = now + progressTimeout;
    }
    return frame.final || !this.#missing.size;
  }

  /** The message with the files that came, in the announced order, and why others are left out. */
  delivered(why: string): MessageReceived {
    const { expected } = this.#frame;
    const leftOut = [...this.#missing].map((key) => [key, why] as const);
    const files = expected.filter((key) => this.#files.has(key));
    return {
      type: EventType.MESSAGE_RECEIVED,
      frame: { ...this.#frame, files: files.map((key) => [key, this.#files.get(key)!]) },
      leftOut: [...new Map([...leftOut, ...this.#leftOut])].sort(([a], [b]) => a - b),
      exchange: this.exchange,
    };
  }
}
