/** What the gateway tells a page: the shapes of its answers (src/framehub/gateway/console.py). */

export interface Point {
  readonly t: number;
  readonly frames: number;
  readonly rows: number;
  readonly bytes: number;
  readonly calls: number;
  readonly failed: number;
  readonly refused: number;
  /** Connections by MFP, and clients of the hub; nothing: that was before the gateway was up. */
  readonly open: number | null;
  readonly hub: number | null;
  readonly watched: boolean;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export interface Named {
  readonly called: string;
  readonly name: string;
  readonly calls: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly recent: number;
  readonly recent_failed: number;
  readonly last: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export interface Failure {
  readonly at: number;
  readonly called: string;
  readonly name: string;
  readonly outcome: string;
  readonly code: string;
  readonly ms: number;
  readonly exchange: string;
}

export interface State {
  readonly at: number;
  readonly ready: boolean;
  readonly reason: string | null;
  readonly pending: number;
  readonly buffered_bytes: number;
  readonly connections: { readonly mfp_open: number; readonly mfp_opened: number; readonly hub_open: number };
  readonly services: { readonly is_on: boolean; readonly streams: number };
  readonly functions: { readonly is_on: boolean; readonly pending: number; readonly workers_open: number };
  readonly journal: {
    readonly is_on: boolean;
    readonly node?: string;
    readonly appended?: number;
    readonly durable?: number;
    readonly backlog_bytes?: number;
    readonly dropped?: number;
    readonly failed?: string | null;
  };
  readonly named: readonly Named[];
  readonly failures: readonly Failure[];
  /** Of all calls of the last minute. */
  readonly minute: { readonly p50: number | null; readonly p95: number | null; readonly p99: number | null };
  /** From when on calls are known. */
  readonly since: number;
  readonly skipped: number;
  readonly watchers: number;
  readonly point?: Point;
}

/** Where the gateway is, and its journal; null: it has none of these. */
export interface Addresses {
  readonly mfp: string;
  readonly services: string | null;
  readonly clients: string | null;
  readonly workers: string | null;
  readonly journal: string | null;
}

export interface Welcome extends State {
  readonly version: string;
  readonly inside: boolean;
  readonly points: readonly Point[];
  readonly ready_line: string;
  readonly addresses: Addresses;
}

export interface Line {
  readonly seq: number;
  readonly at: number;
  readonly link: string;
  readonly protocol: string;
  readonly direction: string;
  readonly party: string;
  readonly kind: string;
  readonly says: string;
  readonly name: string;
  readonly user: number;
  readonly id: number | null;
  readonly bytes: number;
  readonly files: number;
  readonly error: string | null;
  readonly refused: string | null;
  readonly exchange: string | null;
  readonly preview?: string;
}

/** Frames of the past, the newest first. */
export interface Past {
  readonly lines: readonly Line[];
  /** Everything from this row on was looked at. */
  readonly before: number;
  /** When that was; nothing if nothing was looked at. */
  readonly at: number | null;
  /** Whether there are rows before that. */
  readonly more: boolean;
}

export interface Field {
  readonly name: string;
  readonly value: string;
  readonly at: number;
  readonly bytes: number;
}

export interface Explained extends Line {
  readonly node: string;
  readonly recorded: string;
  readonly coder: string | null;
  readonly parent: string | null;
  readonly fields: readonly Field[];
  readonly raw: string;
  readonly text: string;
  readonly malformed: string;
}

export interface Lane {
  readonly id: string;
  readonly party: string;
  readonly link: string;
}

export interface StoryEvent extends Line {
  readonly node: string;
  readonly after: number;
  readonly from: string;
  readonly to: string;
}

export interface Part {
  readonly exchange: string;
  readonly parent: string | null;
  readonly called?: string;
  readonly name: string;
  readonly outcome: string;
  readonly code?: string;
  readonly ms: number | null;
  readonly opened?: number;
  readonly closed?: number | null;
}

export interface Story {
  readonly exchange: string;
  readonly began: number;
  readonly lanes: readonly Lane[];
  readonly parts: readonly Part[];
  readonly events: readonly StoryEvent[];
  readonly left_out: number;
  readonly sentences: readonly { readonly text: string; readonly kind: string }[];
  readonly ms: number;
  readonly journal: string;
}

export type Schema = Readonly<Record<string, any>>;

export interface Callable {
  readonly name: string;
  readonly called: string;
  readonly mode: string;
  readonly doc: string;
  readonly parameters?: Schema | null;
  readonly result?: Schema | null;
  readonly coders?: readonly string[];
  readonly workers?: number;
}
