/**
 * How much one side takes of the other (spec/mfp.md, sections 9 and 9.3). Pure.
 *
 * Each side keeps to its own settings, and to what the peer told in its hello where that is less.
 */

import { LimitExceeded } from "../errors.ts";
import { LEAST_FRAME_BYTES, type Settings } from "./settings.ts";

/** The settings that a hello tells. */
export type Limits = Pick<
  Settings,
  | "maxFrameBytes"
  | "maxPayloadBytes"
  | "maxFiles"
  | "maxRequests"
  | "maxAnnounced"
  | "maxStreams"
  | "maxWaitingBytes"
>;

/** `max_frame_bytes` for `maxFrameBytes`: how the spec and other languages call it. */
function specName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Our limits, or what the peer told where that is less; what is no sensible number counts as not told. */
export function lowered(settings: Settings, told: Readonly<Record<string, unknown>>): Limits {
  const limits = { ...settings } as unknown as Record<string, number>;
  for (const name in settings) {
    const value = told[specName(name).slice(4)] as number; // its name there: without max_
    const least = name === "maxFrameBytes" ? LEAST_FRAME_BYTES : 0;
    if (Number.isInteger(value) && value >= least) limits[name] = Math.min(limits[name]!, value);
  }
  return limits as unknown as Limits;
}

/** Throw `LimitExceeded` for what is more than a limit allows; `advice` is the way out. */
export function check(limits: Limits, name: keyof Limits, got: number, advice = ""): void {
  if (got > limits[name]) throw new LimitExceeded(specName(name), limits[name], got, advice);
}
