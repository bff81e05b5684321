/** The vector files of spec/vectors/mfp as the tests read them: the same that Python replays. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Checksums } from "../mfp/checksum.ts";
import type { Plain } from "../mfp/plain.ts";

const SPEC = join(process.cwd(), "..", "..", "spec"); // npm runs scripts in clients/typescript
const VECTORS = join(SPEC, "vectors", "mfp");

interface Case {
  readonly name: string;
  readonly checksum?: Partial<Checksums>;
  readonly verify_always?: boolean;
}

export interface FrameCase extends Case {
  readonly hex: string;
  readonly frame: Plain;
  readonly asked?: Plain;
  readonly canonical?: boolean;
}

export interface MalformedCase extends Case {
  readonly hex: string;
  readonly error: { readonly type: string; readonly reason: string; readonly offset: number };
  readonly max_files?: number;
  readonly max_payload?: number;
}

export interface UnsendableCase extends Case {
  readonly frame: Plain;
  readonly reason: string;
}

export interface EnvelopeCase extends Case {
  readonly payload?: string;
  readonly payload_hex?: string;
  readonly files?: readonly number[];
  readonly envelope?: {
    readonly endpoint: string;
    readonly data?: unknown;
    readonly error?: unknown;
    readonly filemap?: readonly (readonly [number, string, string])[];
  };
  readonly reason?: string;
  readonly canonical?: boolean;
  readonly hex?: string;
}

export type Side = "A" | "B";

/** What something is done with. */
export interface Given {
  readonly ref?: number;
  readonly id?: number;
  readonly key?: number;
  readonly data?: string;
  readonly payload?: string;
  readonly timeout?: number;
  readonly expected?: readonly number[];
  readonly streaming?: boolean;
  readonly final?: boolean;
  readonly need_ack?: boolean;
  readonly checksum?: boolean;
}

export interface Step {
  readonly now?: number;
  readonly side?: Side;
  readonly does?: string;
  readonly with?: Given;
  readonly gives?: unknown;
  readonly fails?: string;
  readonly sends?: string;
  readonly sees?: Readonly<Record<string, unknown>>;
  readonly refuses?: string;
  readonly error?: string;
}

export interface ConversationCase extends Case {
  readonly hands?: readonly Side[];
  readonly settings?: Partial<Record<Side, Readonly<Record<string, unknown>>>>;
  readonly first_id?: Partial<Record<Side, number>>;
  readonly steps: readonly Step[];
  readonly pending?: Partial<Record<Side, number>>;
  readonly ignored?: Partial<Record<Side, number>>;
}

interface Kinds {
  frame: FrameCase;
  malformed: MalformedCase;
  unsendable: UnsendableCase;
  envelope: EnvelopeCase;
  conversation: ConversationCase;
}

/** All cases of one kind, of every file. */
export function cases<K extends keyof Kinds>(kind: K): Kinds[K][] {
  const files = readdirSync(VECTORS).filter((name) => name.endsWith(".json"));
  const found = files
    .sort()
    .map((name) => JSON.parse(readFileSync(join(VECTORS, name), "utf-8")))
    .filter((file) => file.kind === kind)
    .flatMap((file) => file.cases as Kinds[K][]);
  if (found.length === 0) throw new Error(`no cases of kind ${kind} in ${VECTORS}`);
  return found;
}

/** The checksums of a case. */
export function agreed({ checksum }: Case): Checksums {
  return { mode: "flag", algorithm: "crc32", ...checksum };
}

/** A JSON file of spec/. */
export function specFile(name: string): unknown {
  return JSON.parse(readFileSync(join(SPEC, name), "utf-8"));
}

/** `maxFrameBytes` for `max_frame_bytes`. */
export function camel(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}
