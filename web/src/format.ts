/** Numbers, sizes, times and ids for people. */

import { indented, lossy } from "./numbers.ts";

const SIZES = ["B", "kB", "MB", "GB", "TB"];

/** 1,234 as it is, 12,345 as 12.3 k. */
export function count(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) < 10_000) return value.toLocaleString("en", { maximumFractionDigits: value % 1 ? 1 : 0 });
  const units = ["", "k", "M", "G", "T"];
  let unit = 0;
  while (Math.abs(value) >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value.toPrecision(3)} ${units[unit]}`;
}

/** A size in bytes, in thousands. */
export function bytes(value: number): string {
  let unit = 0;
  while (value >= 1000 && unit < SIZES.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${value} B` : `${value.toPrecision(3)} ${SIZES[unit]}`;
}

/** Milliseconds as µs, ms, s or min: three digits. */
export function took(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return "–";
  if (ms === 0) return "0 ms";
  if (ms < 1) return `${digits(ms * 1000)} µs`;
  if (ms < 1000) return `${digits(ms)} ms`;
  if (ms < 120_000) return `${digits(ms / 1000)} s`;
  return `${digits(ms / 60_000)} min`;
}

function digits(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** The time of day of a moment, with milliseconds. */
export function clock(ms: number): string {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const rest = String(at.getMilliseconds()).padStart(3, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${rest}`;
}

/** The same to the second. */
export const seconds = (ms: number): string => clock(ms).slice(0, 8);

/** How long ago that was. */
export function ago(ms: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - ms) / 1000));
  if (seconds < 2) return "now";
  if (seconds < 120) return `${seconds} s ago`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min ago`;
  return `${Math.round(seconds / 3600)} h ago`;
}

/** The beginning of an id in hex. */
export const short = (id: string): string => id.slice(0, 8);

/** A share of all, in percent. */
export function share(part: number, all: number): string {
  if (all === 0 || part === 0) return "0 %";
  const percent = (100 * part) / all;
  return percent < 0.1 ? "< 0.1 %" : `${percent.toPrecision(percent >= 99.95 ? 3 : 2)} %`;
}

/** 1 query, 2 queries. */
export const counted = (value: number, one: string, many = `${one}s`): string => `${count(value)} ${value === 1 ? one : many}`;

/** JSON for reading, if it is some, with the numbers it has; else the text as it is. */
export function pretty(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return lossy(text) === undefined ? JSON.stringify(value, null, 2) : indented(text);
  } catch {
    return text;
  }
}

export interface HexLine {
  readonly at: string;
  readonly hex: readonly string[];
  readonly text: string;
}

/** Bytes given in hex, sixteen a line, with what of them is text. */
export function hexLines(hex: string, width = 16): HexLine[] {
  const lines: HexLine[] = [];
  for (let at = 0; at < hex.length; at += 2 * width) {
    const pairs = hex.slice(at, at + 2 * width).match(/../g) ?? [];
    const text = pairs.map((pair) => {
      const code = Number.parseInt(pair, 16);
      return code >= 32 && code < 127 ? String.fromCharCode(code) : "·";
    });
    lines.push({ at: (at / 2).toString(16).padStart(4, "0"), hex: pairs, text: text.join("") });
  }
  return lines;
}
