/** How the gateway is: rates, latencies, errors, what is called most and what failed last. */

import { Chart } from "../chart.ts";
import { add, fill, h, say } from "../dom.ts";
import { bytes, count, counted, seconds, share, took } from "../format.ts";
import { beginning } from "../hints.ts";
import type { Session } from "../session.ts";
import { Table } from "../table.ts";
import type { Callable, Failure, Named, Point, State } from "../told.ts";
import { badge, command, heading, outcomeBadge, storyLink, type View } from "../view.ts";

const SLOTS = 300;

function tile(label: string): { element: HTMLElement; value: HTMLElement; note: HTMLElement } {
  const value = h("div", { class: "value" }, "–");
  const note = h("div", { class: "note" });
  return { element: h("div", { class: "card tile" }, h("div", { class: "label" }, label), value, note), value, note };
}

export function callLink(name: string, called: string): HTMLElement {
  return h("a", { href: `#/playground/${encodeURIComponent(name)}`, title: `call this ${called}` }, name);
}

export class Overview implements View {
  readonly element = h("div", { class: "view" });
  readonly #notice = h("div", { class: "notices" });
  readonly #frames = tile("Frames per second");
  readonly #calls = tile("Calls per second");
  readonly #latency = tile("Latency, p95");
  readonly #errors = tile("Failed, last minute");
  readonly #open = tile("Connections");
  readonly #pending = tile("Under way");
  readonly #traffic = new Chart("Frames per second", count, SLOTS);
  readonly #outcomes = new Chart("Calls per second", count, SLOTS);
  readonly #times = new Chart("Latency", took, SLOTS, 0.01);
  readonly #links = new Chart("Open connections", count, SLOTS);
  readonly #nothingCalled = h("p");
  readonly #nothingFailed = h("p");
  readonly #named: Table<Named>;
  readonly #failures: Table<Failure>;
  readonly #session: Session;
  #points: Point[] = [];
  #isSeen = false;

  constructor(session: Session) {
    this.#session = session;
    this.#named = new Table<Named>(
      "What is called",
      [
        { title: "Name", class: "wide broken", cell: (row) => h("span", {}, callLink(row.name, row.called), " ", badge(row.called)) },
        { title: "Per min", class: "number", cell: (row) => count(row.recent) },
        { title: "Failed", class: "number", cell: (row) => failed(row) },
        { title: "p50", class: "number", cell: (row) => took(row.p50) },
        { title: "p95", class: "number", cell: (row) => took(row.p95) },
        { title: "p99", class: "number", cell: (row) => took(row.p99) },
      ],
      this.#nothingCalled,
    );
    this.#failures = new Table<Failure>(
      "What failed last",
      [
        { title: "When", class: "mono", cell: (row) => seconds(row.at) },
        { title: "Name", class: "wide broken", cell: (row) => row.name },
        { title: "Outcome", class: "outcome", cell: (row) => outcomeBadge(row.outcome, row.code === "application" ? "" : row.code) },
        { title: "After", class: "number spare", cell: (row) => took(row.ms) },
        { title: "", class: "kept", cell: (row) => storyLink(row.exchange, "why?") },
      ],
      this.#nothingFailed,
    );
    const tiles = [this.#frames, this.#calls, this.#latency, this.#errors, this.#open, this.#pending];
    const charts = [this.#traffic, this.#outcomes, this.#times, this.#links];
    add(
      this.element,
      heading("Overview", "What passes through this gateway now."),
      this.#notice,
      h("div", { class: "tiles" }, ...tiles.map(({ element }) => element)),
      h("div", { class: "charts" }, ...charts.map(({ element }) => element)),
      h("div", { class: "columns" },
        h("section", { class: "card" }, h("h2", {}, "Called"), this.#named.element),
        h("section", { class: "card" }, h("h2", {}, "Failed"), this.#failures.element),
      ),
    );
  }

  /** The past, when a connection begins. */
  remember(points: readonly Point[]): void {
    this.#points = [...points];
  }

  show(): void {
    this.#isSeen = true;
    void this.#hint();
  }

  hide(): void {
    this.#isSeen = false;
  }

  update(state: State): void {
    if (state.point) this.#points = [...this.#points, state.point].slice(-SLOTS);
    const points = this.#points;
    this.#tell(state, points);
    const known = (pick: (point: Point) => number | null) => points.map((point) => (point.watched ? pick(point) : null));
    this.#traffic.update([{ label: "frames", tone: "one", area: true, values: points.map(({ rows }) => rows) }]);
    this.#outcomes.update([
      { label: "all", tone: "one", area: true, values: known(({ calls }) => calls) },
      { label: "failed", tone: "bad", area: true, values: known(({ failed: lost }) => lost) },
    ]);
    this.#times.update([
      { label: "p99", tone: "three", values: known(({ p99 }) => p99) },
      { label: "p95", tone: "two", values: known(({ p95 }) => p95) },
      { label: "p50", tone: "one", values: known(({ p50 }) => p50) },
    ]);
    this.#links.update([
      { label: "MFP", tone: "one", area: true, values: points.map(({ open }) => open) },
      { label: "hub", tone: "two", values: points.map(({ hub }) => hub) },
    ]);
    this.#named.update(state.named, ({ called, name }) => `${called} ${name}`);
    this.#failures.update(state.failures, ({ exchange, at }) => `${exchange} ${at}`);
    if (this.#isSeen && state.named.length === 0) void this.#hint();
  }

  /** What could be called, while nothing was. */
  async #hint(): Promise<void> {
    const { welcome, status } = this.#session;
    if (!welcome || status !== "open") return;
    let callables: readonly Callable[];
    try {
      callables = await this.#session.ask<Callable[]>("callables");
    } catch {
      return; // the page says that the connection went
    }
    const first = beginning(callables, welcome.addresses);
    const words = callables.length && welcome.inside ? ["Try something in the ", h("a", { href: "#/playground" }, "playground"), first ? ", or from a shell: " : "."] : [first?.why ?? ""];
    this.#named.whenEmpty(
      this.#nothingCalled,
      h("p", { class: "muted" }, ...words),
      first ? command(first.command) : null,
    );
  }

  #tell(state: State, points: readonly Point[]): void {
    say(this.#nothingCalled, `Nothing was called since ${seconds(state.since)}.`);
    say(this.#nothingFailed, `Nothing failed since ${seconds(state.since)}.`);
    const recent = points.slice(-10);
    const mean = (pick: (point: Point) => number) => recent.reduce((sum, point) => sum + pick(point), 0) / (recent.length || 1);
    const minute = points.slice(-60);
    const [lost, calls] = [sum(minute, "failed"), sum(minute, "calls")];
    say(this.#frames.value, count(Math.round(mean(({ rows }) => rows) * 10) / 10));
    say(this.#frames.note, `${bytes(Math.round(mean(({ bytes: size }) => size)))}/s`);
    say(this.#calls.value, count(Math.round(mean(({ calls: all }) => all) * 10) / 10));
    say(this.#calls.note, `${count(calls)} last minute`);
    say(this.#latency.value, took(state.minute.p95));
    say(this.#latency.note, "last minute");
    say(this.#errors.value, count(lost));
    say(this.#errors.note, `${share(lost, calls)} of calls`);
    this.#errors.element.classList.toggle("alarmed", lost > 0);
    say(this.#open.value, count(state.connections.mfp_open + state.connections.hub_open));
    say(this.#open.note, `${state.connections.mfp_open} MFP, ${state.connections.hub_open} hub`);
    say(this.#pending.value, count(state.pending));
    say(this.#pending.note, `${bytes(state.buffered_bytes)} held`);
    const told = notices(state);
    if (told.map((one) => one.outerHTML).join("") !== this.#notice.innerHTML) fill(this.#notice, ...told);
  }
}

function notices(state: State): HTMLElement[] {
  const told: HTMLElement[] = [];
  const say = (tone: string, ...text: (string | Node)[]) => void told.push(h("p", { class: `notice ${tone}` }, ...text));
  if (!state.ready) say("bad", `Not ready: ${state.reason ?? "it does not say why"}. New work should go elsewhere.`);
  if (!state.journal.is_on) {
    say("warn", "This gateway records nothing, and frames, latencies and timelines come from the journal. Start it with ", command("framehub serve --journal DIR"));
  } else if (state.journal.dropped) {
    say("warn", `${counted(state.journal.dropped, "row was", "rows were")} not recorded: the disk is too slow.`);
  }
  if (state.skipped > 0) say("info", `${counted(state.skipped, "frame")} passed too fast to be looked at one by one: latencies are those of the others.`);
  return told;
}

function failed({ recent, recent_failed: lost }: Named): HTMLElement | string {
  return lost === 0 ? "0" : h("span", { class: "text-bad", title: share(lost, recent) }, count(lost));
}

const sum = (points: readonly Point[], name: "failed" | "calls"): number =>
  points.reduce((all, point) => all + point[name], 0);

