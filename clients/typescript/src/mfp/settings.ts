/** What one MFP connection keeps to: agreed at its opening, the same for both sides of the machine. Pure. */

import { ConfigError } from "../errors.ts";
import { BY_FLAG, type Checksums } from "./checksum.ts";

const MIB = 2 ** 20;
export const LEAST_FRAME_BYTES = 64;

/** Limits and times; the names are those of spec/mfp.md, section 9.3. Times are in seconds. */
export interface Settings {
  /** Mode and algorithm of the checksums. */
  readonly checksums: Checksums;
  /** Verify every frame that comes, whatever its checksum bit says, and send none without a checksum. */
  readonly verifyAlways: boolean;
  /** Until a request without an answer is given up, on the asking and on the answering side. */
  readonly requestTimeout: number;
  /** Bytes of one whole frame, both ways. */
  readonly maxFrameBytes: number;
  /** Bytes of the payload of one message, request or response, both ways. */
  readonly maxPayloadBytes: number;
  /** Files attached to, or announced by, one frame. */
  readonly maxFiles: number;
  /** Requests waiting for an answer, each way. */
  readonly maxRequests: number;
  /** Open streams, each way. */
  readonly maxStreams: number;
  /** Announced messages waiting for their files. */
  readonly maxAnnounced: number;
  /** Bytes of announced messages and their files, held until each is whole; and of streams, until read. */
  readonly maxWaitingBytes: number;
  /** How long an announced message may go without a new file. */
  readonly progressTimeout: number;
  /** Faults of the peer in any 10 s that do not end the connection by themselves. */
  readonly maxStrikes: number;
  /** Requests, streams and announced messages that the peer gives up in any 10 s. */
  readonly maxCancels: number;
  /** Pings of the peer in any second. */
  readonly maxPings: number;
  /** Frames of the peer in any second about what is over, or never was. */
  readonly maxStrays: number;
  /** Silence before the peer is pinged, and again before it counts as dead; Infinity: never. */
  readonly keepalive: number;
  /** Time without any frame but service frames before the connection is closed; Infinity: never. */
  readonly idleTimeout: number;
  /** What a wrong, repeated or missing announced file does: lose its message, or be left out of it. */
  readonly badFiles: "drop" | "deliver";
  /** Finished ids remembered on each side, so that what comes late is told from what never was. */
  readonly remembered: number;
}

const DEFAULTS: Settings = {
  checksums: BY_FLAG,
  verifyAlways: false,
  requestTimeout: 30,
  maxFrameBytes: 16 * MIB,
  maxPayloadBytes: 16 * MIB,
  maxFiles: 64,
  maxRequests: 1_024,
  maxStreams: 64,
  maxAnnounced: 64,
  maxWaitingBytes: 16 * MIB,
  progressTimeout: 30,
  maxStrikes: 16,
  maxCancels: 100,
  maxPings: 100,
  maxStrays: 100,
  keepalive: 20,
  idleTimeout: Infinity,
  badFiles: "drop",
  remembered: 4_096,
};

/** The defaults with what is given instead. Throws `ConfigError` for a setting that cannot be. */
export function settingsOf(given: Partial<Settings>): Settings {
  for (const [name, value] of Object.entries(given)) {
    const usual: unknown = DEFAULTS[name as keyof Settings];
    const least = name === "maxFrameBytes" ? LEAST_FRAME_BYTES : Number.MIN_VALUE;
    if (typeof usual !== typeof value || (typeof value === "number" && !(value >= least))) {
      throw new ConfigError(`${name} cannot be ${value}`);
    }
  }
  const settings = { ...DEFAULTS, ...given };
  if (settings.verifyAlways && settings.checksums.mode === "off") {
    throw new ConfigError("verifyAlways: checksums are off");
  }
  return settings;
}
