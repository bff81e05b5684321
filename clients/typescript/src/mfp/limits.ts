/**
 * How much one side takes of the other (spec/mfp.md, sections 9 and 9.3). Pure.
 *
 * Each side keeps to its own settings, and to what the peer told in its hello where that is less.
 */

import { LEAST_FRAME_BYTES, type Settings } from "./settings.ts";

/** The settings that a hello tells, and their names there. */
const TOLD = {
  maxFrameBytes: "frame_bytes",
  maxPayloadBytes: "payload_bytes",
  maxFiles: "files",
  maxRequests: "requests",
  maxAnnounced: "announced",
  maxStreams: "streams",
  maxWaitingBytes: "waiting_bytes",
} as const;

export type Limits = Readonly<Record<keyof typeof TOLD, number>>;

/** Our limits, or what the peer told where that is less; what is no sensible number counts as not told. */
export function lowered(settings: Settings, told: Readonly<Record<string, unknown>>): Limits {
  const limits = { ...settings } as Record<string, unknown>;
  for (const [name, key] of Object.entries(TOLD) as [keyof Limits, string][]) {
    const value = told[key] as number;
    const least = name === "maxFrameBytes" ? LEAST_FRAME_BYTES : 0;
    if (Number.isInteger(value) && value >= least) limits[name] = Math.min(settings[name], value);
  }
  return limits as Limits;
}
