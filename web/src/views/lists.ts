/** Who is connected, which services, functions and workers there are: tables that keep up. */

import { add, h, say } from "../dom.ts";
import { bytes, count, counted, took } from "../format.ts";
import { shell } from "../hints.ts";
import type { Session } from "../session.ts";
import { Table } from "../table.ts";
import { typeName } from "../schema.ts";
import type { Callable, Named, State } from "../told.ts";
import { badge, command, framesLink, heading, type View } from "../view.ts";
import { callLink } from "./overview.ts";

/** A view that asks for its part of the state while it is seen. */
abstract class Asking<T> implements View {
  readonly element = h("div", { class: "view" });
  protected readonly session: Session;
  #isSeen = false;
  #isAsking = false;

  constructor(session: Session) {
    this.session = session;
  }

  show(): void {
    this.#isSeen = true;
    void this.#ask();
  }

  hide(): void {
    this.#isSeen = false;
  }

  update(_state: State): void {
    if (this.#isSeen) void this.#ask();
  }

  async #ask(): Promise<void> {
    if (this.#isAsking || this.session.status !== "open") return;
    this.#isAsking = true;
    try {
      this.tell(await this.ask());
    } catch {
      // The connection went: the page says so, and asks again when it is back.
    } finally {
      this.#isAsking = false;
    }
  }

  protected abstract ask(): Promise<T>;
  protected abstract tell(told: T): void;
}

interface Mfp {
  readonly link: string;
  readonly user: number;
  readonly pending: number;
  readonly exchanges: number;
}

interface HubClient {
  readonly link: string;
  readonly user: number;
  readonly version: number;
  readonly streams: number;
  readonly held_bytes: number;
}

interface Told {
  readonly mfp_open: number;
  readonly mfp_opened: number;
  readonly hub_open: number;
  readonly refused: Readonly<Record<string, number>>;
  readonly mfp: readonly Mfp[];
  readonly hub: readonly HubClient[];
}

const user = (number: number): string => (number === 0 ? "–" : String(number));

export class Connections extends Asking<Told> {
  readonly #counts = h("p", { class: "muted" });
  readonly #mfp = new Table<Mfp>(
    "MFP connections",
    [
      { title: "Link", cell: ({ link }) => framesLink(link) },
      { title: "User", class: "number", cell: (row) => user(row.user) },
      { title: "Under way", class: "number", cell: ({ pending }) => count(pending) },
      { title: "Conversations", class: "number wide", cell: ({ exchanges }) => count(exchanges) },
    ],
    h("p", {}, "Nobody is connected by MFP."),
  );
  readonly #hub = new Table<HubClient>(
    "Clients of the hub",
    [
      { title: "Link", cell: ({ link }) => framesLink(link) },
      { title: "User", class: "number", cell: (row) => user(row.user) },
      { title: "Version", class: "number", cell: ({ version }) => version },
      { title: "Streams", class: "number", cell: ({ streams }) => count(streams) },
      { title: "Waiting", class: "number wide", cell: ({ held_bytes: held }) => bytes(held) },
    ],
    h("p", {}, "The hub has no clients."),
  );

  constructor(session: Session) {
    super(session);
    add(
      this.element,
      heading("Connections", "Who is connected by WebSocket. A link's name leads to its frames."),
      this.#counts,
      h("section", { class: "card" }, h("h2", {}, "MFP"), this.#mfp.element),
      h("section", { class: "card" }, h("h2", {}, "Hub"), this.#hub.element),
    );
  }

  protected ask(): Promise<Told> {
    return this.session.ask<Told>("connections");
  }

  protected tell(told: Told): void {
    const refused = Object.entries(told.refused).map(([status, times]) => `${times} × HTTP ${status}`);
    const listed = told.mfp.length < told.mfp_open ? `, the first ${count(told.mfp.length)} are listed` : "";
    say(
      this.#counts,
      `${count(told.mfp_open)} open${listed} · ${count(told.mfp_opened)} so far` +
        (refused.length ? ` · refused: ${refused.join(", ")}` : ""),
    );
    const welcome = this.session.welcome;
    this.#mfp.whenEmpty(h("p", {}, "Nobody is connected by MFP."), welcome ? command(shell("framehub ping", "mfp", welcome.addresses)) : null);
    this.#mfp.update(told.mfp, ({ link }) => link);
    this.#hub.update(told.hub, ({ link }) => link);
  }
}

interface Instance {
  readonly link: string;
  readonly service: number;
  readonly name: string;
  readonly version: number;
  readonly streams: number;
  readonly is_leaving: boolean;
}

interface ServicesTold {
  readonly is_on: boolean;
  readonly streams: number;
  readonly held_bytes: number;
  readonly instances: readonly Instance[];
}

type Both<T> = readonly [T, readonly Callable[]];

const aboutColumns = (named: () => readonly Named[]) => [
  { title: "Name", class: "named", cell: (row: Callable) => callLink(row.name, row.called) },
  { title: "Takes", class: "mono soft wraps", cell: (row: Callable) => takes(row) },
  { title: "Gives", class: "mono soft", cell: (row: Callable) => (row.result ? typeName(row.result) : "any") },
  { title: "p95", class: "number", cell: (row: Callable) => took(named().find(({ name }) => name === row.name)?.p95) },
  { title: "About", class: "wide soft", cell: (row: Callable) => row.doc.split("\n")[0] ?? "" },
];

/** The parameters in one line. */
export function takes({ parameters }: Callable): string {
  const properties = parameters?.["properties"];
  if (typeof properties !== "object" || properties === null) return parameters ? typeName(parameters) : "any";
  const required: unknown[] = Array.isArray(parameters?.["required"]) ? parameters["required"] : [];
  const each = Object.entries(properties).map(([name, schema]) => `${name}${required.includes(name) ? "" : "?"}: ${typeName(schema)}`);
  return each.join(", ") || "nothing";
}

export class Services extends Asking<Both<ServicesTold>> {
  #named: readonly Named[] = [];
  readonly #counts = h("p", { class: "muted" });
  readonly #instances = new Table<Instance>(
    "Instances of services",
    [
      { title: "Service", class: "number", cell: ({ service }) => service },
      { title: "Name", class: "wide", cell: ({ name }) => name || "–" },
      { title: "Link", cell: ({ link }) => framesLink(link) },
      { title: "Version", class: "number", cell: ({ version }) => version },
      { title: "Streams", class: "number", cell: ({ streams }) => count(streams) },
      { title: "", cell: (row) => (row.is_leaving ? badge("leaving", "warn") : badge("here", "good")) },
    ],
    h("p", {}, "No service is here yet."),
  );
  readonly #functions = new Table<Callable>("Functions of services", aboutColumns(() => this.#named), h("p", {}, "No service has named its functions."));

  constructor(session: Session) {
    super(session);
    add(
      this.element,
      heading("Services", "Long conversations, at the hub. A function's name leads to the playground."),
      this.#counts,
      h("section", { class: "card" }, h("h2", {}, "Instances"), this.#instances.element),
      h("section", { class: "card" }, h("h2", {}, "Functions"), this.#functions.element),
    );
  }

  override update(state: State): void {
    this.#named = state.named;
    super.update(state);
  }

  protected ask(): Promise<Both<ServicesTold>> {
    return Promise.all([this.session.ask<ServicesTold>("services"), this.session.ask<Callable[]>("callables")]);
  }

  protected tell([told, callables]: Both<ServicesTold>): void {
    say(this.#counts, told.is_on ? `${counted(told.streams, "stream")} open · ${bytes(told.held_bytes)} waiting` : "This gateway has no hub.");
    const to = this.session.welcome?.addresses;
    if (!told.is_on) this.#instances.whenEmpty(h("p", {}, "This gateway has no hub, so no service can connect."));
    else if (to) this.#instances.whenEmpty(...starting("No service is here yet. Start one:", shell("framehub service MODULE:NAME", "services", to), shell("framehub service framehub.gateway.sample_service:service", "services", to)));
    this.#instances.update(told.instances, ({ link }) => link);
    this.#functions.update(callables.filter(({ called }) => called === "service"), ({ name }) => name);
  }
}

interface WorkerTold {
  readonly link: string;
  readonly functions: number;
  readonly queries: number;
  readonly window: number;
  readonly is_leaving: boolean;
}

interface FunctionsTold {
  readonly is_on: boolean;
  readonly pending: number;
  readonly held_bytes: number;
  readonly functions: readonly { readonly name: string; readonly workers: number; readonly waiting: number }[];
  readonly workers: readonly WorkerTold[];
}

export class Functions extends Asking<Both<FunctionsTold>> {
  #named: readonly Named[] = [];
  #waiting = new Map<string, { workers: number; waiting: number }>();
  readonly #counts = h("p", { class: "muted" });
  readonly #functions: Table<Callable>;
  readonly #workers = new Table<WorkerTold>(
    "Workers",
    [
      { title: "Link", cell: ({ link }) => framesLink(link) },
      { title: "Functions", class: "number", cell: ({ functions }) => functions },
      { title: "Queries", class: "number", cell: ({ queries, window }) => `${queries} of ${window}` },
      { title: "Load", class: "wide", cell: ({ queries, window }) => load(queries, window) },
      { title: "", cell: (row) => (row.is_leaving ? badge("leaving", "warn") : badge("here", "good")) },
    ],
    h("p", {}, "No worker is here yet."),
  );

  constructor(session: Session) {
    super(session);
    const [name, ...rest] = aboutColumns(() => this.#named);
    this.#functions = new Table<Callable>(
      "Functions",
      [
        name!,
        { title: "Workers", class: "number", cell: (row) => this.#waiting.get(row.name)?.workers ?? 0 },
        { title: "Waiting", class: "number", cell: (row) => this.#waiting.get(row.name)?.waiting ?? 0 },
        ...rest,
      ],
      h("p", {}, "No functions yet."),
    );
    add(
      this.element,
      heading("Functions", "What workers offer to everybody. A name leads to the playground."),
      this.#counts,
      h("section", { class: "card" }, h("h2", {}, "Functions"), this.#functions.element),
      h("section", { class: "card" }, h("h2", {}, "Workers"), this.#workers.element),
    );
  }

  override update(state: State): void {
    this.#named = state.named;
    super.update(state);
  }

  protected ask(): Promise<Both<FunctionsTold>> {
    return Promise.all([this.session.ask<FunctionsTold>("functions"), this.session.ask<Callable[]>("callables")]);
  }

  protected tell([told, callables]: Both<FunctionsTold>): void {
    say(
      this.#counts,
      told.is_on ? `${counted(told.pending, "query", "queries")} without an answer · ${bytes(told.held_bytes)} kept` : "This gateway has no remote functions.",
    );
    this.#waiting = new Map(told.functions.map((one) => [one.name, one]));
    this.#hint(told.is_on);
    this.#functions.update(callables.filter(({ called }) => called === "function"), ({ name }) => name);
    this.#workers.update(told.workers, ({ link }) => link);
  }

  #hint(isOn: boolean): void {
    const to = this.session.welcome?.addresses;
    if (!isOn) {
      this.#functions.whenEmpty(h("p", {}, "This gateway has no remote functions."));
      this.#workers.whenEmpty(h("p", {}, "No worker can connect here."));
    } else if (to) {
      const command = shell("framehub worker MODULE:NAME", "workers", to);
      this.#functions.whenEmpty(...starting("No functions yet. A worker brings them:", command, shell("framehub worker framehub.gateway.sample_functions:worker", "workers", to)));
      this.#workers.whenEmpty(...starting("No worker is here yet. Start one:", command));
    }
  }
}

/** How to begin: the command, and one that needs nothing of one's own. */
function starting(what: string, own: string, sample = ""): HTMLElement[] {
  const more = sample ? [h("p", { class: "muted" }, "The sample: "), command(sample)] : [];
  return [h("p", {}, what), command(own), ...more];
}

function load(queries: number, window: number): HTMLElement {
  return h("progress", { max: Math.max(1, window), value: queries, title: `${queries} of ${window}`, "aria-label": `${queries} of ${window}` });
}

