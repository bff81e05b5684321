/** Frames as they pass, and before: filtered by the gateway, bounded here, explained when asked. */

import { add, fill, h, say } from "../dom.ts";
import { ALL, DIRECTIONS, type Filter, isBeginning, isEverything, isUser, KINDS, PROTOCOLS, read, write } from "../filter.ts";
import { bytes, clock, count, counted, seconds, short } from "../format.ts";
import { quoted, shell } from "../hints.ts";
import type { Session } from "../session.ts";
import type { Explained, Line, Past } from "../told.ts";
import { badge, command, complaint, heading, pressed, type View } from "../view.ts";
import { explanation } from "./explain.ts";

const MOST = 500;

export class Frames implements View {
  readonly element = h("div", { class: "view" });
  readonly #session: Session;
  readonly #body = h("tbody");
  readonly #status = h("p", { class: "muted" });
  readonly #scroller = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "frames" });
  readonly #empty = h("div", { class: "empty" });
  readonly #trouble = h("div");
  readonly #panel = h("aside", { class: "card panel", hidden: true, "aria-label": "one frame" });
  readonly #pause: HTMLButtonElement;
  readonly #older = h("button", { type: "button", class: "older", title: "older frames (o)", hidden: true, onclick: () => void this.#showOlder() }, "Older frames");
  readonly #name: HTMLInputElement;
  readonly #link: HTMLInputElement;
  readonly #user: HTMLInputElement;
  readonly #kind: HTMLSelectElement;
  readonly #calls: HTMLInputElement;
  readonly #problems: HTMLInputElement;
  readonly #toggles = new Map<string, HTMLInputElement>();
  #filter: Filter = ALL;
  /** What is wrong with what was typed: then nothing fits. */
  #wrong = "";
  #isSeen = false;
  #isPaused = false;
  #asking = 0;
  /** How many are listed at most: more once somebody wants older ones. */
  #most = MOST;
  #dropped = 0;
  /** Since when frames that fit are listed. */
  #since = Date.now();
  /** The row before which older ones are to be had; null: before those that are listed; nothing: there are none. */
  #before: number | null | undefined;
  /** Whoever asked for older ones before this changed gets them too late. */
  #turn = 0;
  /** The newest row that is known of, and the one from which on frames are listed unless older ones are asked for. */
  #newest = 0;
  #floor = 0;
  /** Older ones are on their way: the end of the list stays where they belong. */
  #isWaiting = false;
  #wasShown: HTMLElement | undefined;

  constructor(session: Session) {
    this.#session = session;
    const changed = () => this.#changed();
    const field = (label: string, placeholder: string, wide = "") =>
      h("input", { type: "search", placeholder, "aria-label": label, oninput: changed, class: wide, spellcheck: false, autocomplete: "off", maxLength: 256 });
    this.#name = field("name of an endpoint, function or service", "endpoint, function, service", "grow");
    this.#link = field("beginning of a link", "link");
    this.#user = h("input", { type: "number", min: "0", max: "65535", placeholder: "user", "aria-label": "user", oninput: changed });
    this.#calls = h("input", { type: "checkbox", onchange: changed });
    this.#problems = h("input", { type: "checkbox", onchange: changed });
    const kinds = Object.entries(KINDS).map(([protocol, names]) =>
      h("optgroup", { label: protocol === "all" ? "links" : protocol }, ...names.map((name) => h("option", { value: name }, name.replaceAll("_", " ")))),
    );
    this.#kind = h("select", { "aria-label": "kind", onchange: changed }, h("option", { value: "" }, "every kind"), ...kinds);
    this.#pause = h("button", { type: "button", onclick: () => this.#setPaused(!this.#isPaused), title: "pause (p)" }, "Pause");
    const clear = h("button", { type: "button", onclick: () => this.#onClear(), title: "clear the list (c)" }, "Clear");
    const bar = h(
      "form",
      { class: "filters", role: "search", "aria-label": "filter frames", onsubmit: (event: Event) => event.preventDefault() },
      this.#toggleGroup("protocol", PROTOCOLS),
      this.#toggleGroup("direction", DIRECTIONS),
      this.#kind,
      this.#name,
      this.#link,
      this.#user,
      h("label", { class: "check", title: "no keep-alive, nobody who comes and goes" }, this.#calls, "calls only"),
      h("label", { class: "check" }, this.#problems, "problems only"),
    );
    const head = ["Time", "Link", "", "Frame", "Name", "User", "Size", "Contents"].map((title, at) =>
      h("th", { scope: "col", class: ["", "", "", "", "", "number", "number", "wide"][at] ?? "" }, title),
    );
    const table = h("table", { class: "lines" }, h("thead", {}, h("tr", {}, ...head)), this.#body);
    add(this.#scroller, table);
    const list = h("div", { class: "card list" }, this.#scroller, this.#empty, this.#trouble, this.#older);
    add(
      this.element,
      heading("Frames", "Every frame as it is recorded, the newest first. Choose one to have it explained.", this.#pause, clear),
      bar,
      this.#status,
      h("div", { class: "with-panel" }, list, this.#panel),
    );
    session.onframes = (rows, dropped) => this.#take(rows, dropped);
    this.#tell();
  }

  show(rest: string): void {
    this.#isSeen = true;
    this.#filter = read(rest);
    this.#wrong = "";
    this.#floor = 0;
    this.#fillForm();
    if (rest) this.#address();
    this.#anew();
  }

  hide(): void {
    this.#isSeen = false;
    void this.#watch(null);
  }

  again(): void {
    if (this.#isSeen && !this.#isPaused) this.#anew();
  }

  key(event: KeyboardEvent): boolean {
    switch (event.key) {
      case "p":
        this.#setPaused(!this.#isPaused);
        return true;
      case "c":
        this.#onClear();
        return true;
      case "o":
        if (!this.#older.hidden) this.#older.click();
        return true;
      case "/":
        this.#name.focus();
        return true;
      case "Escape":
        if (this.#panel.hidden) return false;
        this.#close();
        return true;
      case "j":
      case "k":
        this.#step(event.key === "j" ? 1 : -1);
        return true;
      case "ArrowDown":
      case "ArrowUp":
        if (!this.#scroller.contains(document.activeElement)) return false;
        this.#step(event.key === "ArrowDown" ? 1 : -1);
        return true;
      default:
        return false;
    }
  }

  #toggleGroup(name: string, choices: readonly string[]): HTMLElement {
    const made = choices.map((choice) => {
      const box = h("input", { type: "checkbox", onchange: () => this.#changed() });
      this.#toggles.set(choice, box);
      return h("label", { class: "toggle" }, box, h("span", {}, choice));
    });
    return h("fieldset", { class: "toggles" }, h("legend", { class: "hidden" }, name), ...made);
  }

  #fillForm(): void {
    const { protocols, directions, kinds, name, link, user, calls, problems } = this.#filter;
    for (const [choice, box] of this.#toggles) box.checked = protocols.includes(choice) || directions.includes(choice);
    this.#kind.value = kinds[0] ?? "";
    this.#name.value = name;
    this.#link.value = link;
    this.#user.value = user === null ? "" : String(user);
    this.#calls.checked = calls;
    this.#problems.checked = problems;
  }

  #changed(): void {
    const chosen = (choices: readonly string[]) => choices.filter((choice) => this.#toggles.get(choice)?.checked);
    const [link, user] = [this.#link.value.trim().toLowerCase(), this.#user.value.trim()];
    this.#wrong = !isBeginning(link) ? "link: want hex digits, the beginning of a link's name" : user !== "" && !isUser(user) ? "user: want a number from 0 to 65535" : "";
    this.#filter = {
      ...ALL,
      protocols: chosen(PROTOCOLS),
      directions: chosen(DIRECTIONS),
      kinds: this.#kind.value ? [this.#kind.value] : [],
      name: this.#name.value.trim(),
      link: isBeginning(link) ? link : "",
      user: isUser(user) ? Number(user) : null,
      calls: this.#calls.checked,
      problems: this.#problems.checked,
    };
    this.#address();
    this.#floor = 0;
    this.#anew();
  }

  /** What is filtered by stands in the address, and nothing else. */
  #address(): void {
    const rest = write(this.#filter);
    history.replaceState(null, "", `#/frames${rest && `/${rest}`}`);
  }

  #anew(): void {
    this.#clear();
    void this.#begin();
  }

  /** Whoever clears the list wants to see what comes, until the filter changes. */
  #onClear(): void {
    this.#clear();
    this.#floor = this.#newest + 1;
    this.#before = null;
    this.#tell();
  }

  /** What passes, and what passed. */
  async #begin(): Promise<void> {
    const turn = this.#turn;
    if (this.#wrong) fill(this.#trouble, complaint(new Error(this.#wrong)));
    const before = await this.#watch(this.#isPaused || this.#wrong ? null : this.#filter);
    if (turn === this.#turn && !this.#wrong && this.#session.welcome?.journal.is_on) await this.#showOlder(before, this.#floor);
  }

  /** Have what fits told from now on, or nothing; the row it begins with. */
  async #watch(filter: Filter | null): Promise<number | undefined> {
    if (this.#session.status !== "open") return undefined;
    this.#asking += 1; // what comes before the answer was meant for another filter
    try {
      const { before } = await this.#session.ask<{ before?: number }>("frames.watch", filter);
      if (before) this.#newest = Math.max(this.#newest, before - 1);
      return before;
    } catch (error) {
      if (this.#isSeen) fill(this.#trouble, complaint(error));
      return undefined;
    } finally {
      this.#asking -= 1;
    }
  }

  /** List what passed before a row, or before now, below the rest. */
  async #showOlder(before = this.#before ?? this.#oldest, floor = 0): Promise<void> {
    if (this.#session.status !== "open") return;
    const turn = ++this.#turn;
    this.#older.disabled = this.#isWaiting = true;
    try {
      const past = await this.#session.ask<Past>("frames.past", { wanted: this.#filter, before: before ?? null });
      if (turn !== this.#turn) return;
      const lines = past.lines.filter(({ seq }) => seq >= floor);
      this.#newest = Math.max(this.#newest, past.lines[0]?.seq ?? 0);
      this.#body.append(...lines.map((row) => this.#line(row)));
      this.#most = Math.max(MOST, this.#body.childElementCount);
      this.#before = past.before < floor ? floor : past.more ? past.before : undefined;
      if (past.before >= floor) this.#since = past.at ?? this.#since;
      this.#tell();
    } catch (error) {
      if (turn === this.#turn) fill(this.#trouble, complaint(error));
    } finally {
      if (turn === this.#turn) this.#older.disabled = this.#isWaiting = false;
    }
  }

  get #oldest(): number | undefined {
    const last = this.#body.lastElementChild as HTMLElement | null;
    return last ? Number(last.dataset["seq"]) : undefined;
  }

  #setPaused(paused: boolean): void {
    this.#isPaused = paused;
    say(this.#pause, paused ? "Go on" : "Pause");
    this.#pause.classList.toggle("active", paused);
    if (paused) void this.#watch(null);
    else this.#anew();
    this.#tell();
  }

  #clear(): void {
    this.#body.replaceChildren();
    this.#trouble.replaceChildren();
    this.#turn += 1;
    this.#older.disabled = this.#isWaiting = false;
    this.#before = undefined;
    this.#most = MOST;
    this.#dropped = 0;
    this.#since = Date.now();
    this.#tell();
  }

  #take(rows: readonly Line[], dropped: number): void {
    if (this.#isPaused || !this.#isSeen || this.#asking > 0) return;
    this.#dropped += dropped;
    this.#newest = Math.max(this.#newest, rows.at(-1)?.seq ?? 0);
    this.#body.prepend(...rows.slice(-MOST).reverse().map((row) => this.#line(row)));
    while (!this.#isWaiting && this.#body.childElementCount > this.#most) {
      this.#body.lastElementChild?.remove();
      this.#before = this.#oldest;
    }
    this.#tell();
  }

  #line(row: Line): HTMLElement {
    const problem = row.error ?? row.refused;
    const incoming = row.direction === "in";
    const open = () => void this.#explain(row, line);
    const line: HTMLTableRowElement = h(
      "tr",
      {
        "data-seq": String(row.seq),
        tabindex: "-1",
        class: problem ? "problem" : "",
        onclick: open,
        onkeydown: (event: KeyboardEvent) => pressed(event) && open(),
      },
      h("td", { class: "mono soft" }, clock(row.at)),
      h("td", { class: "mono soft" }, short(row.link)),
      h("td", {}, h("span", { class: `way ${row.direction}`, title: `${incoming ? "from" : "to"} the ${row.party}` }, `${incoming ? "←" : "→"} ${row.party}`)),
      h("td", {}, badge(row.protocol, row.protocol), " ", row.says),
      h("td", { title: row.name }, row.name),
      h("td", { class: "number" }, row.user || ""),
      h("td", { class: "number" }, row.bytes ? bytes(row.bytes) : ""),
      h("td", { class: "wide mono cut" }, problem ? badge(problem, "bad") : null, problem ? " " : null, row.preview ?? ""),
    );
    return line;
  }

  #tell(): void {
    const lost = this.#dropped ? ` · ${count(this.#dropped)} left out, they came too fast` : "";
    const listed = this.#body.childElementCount;
    say(this.#status, `${this.#isPaused ? "Paused · " : ""}${counted(listed, "frame")}${lost}`);
    this.#older.hidden = this.#before === undefined;
    this.#empty.hidden = listed > 0 || this.#wrong !== "";
    if (this.#empty.hidden) return;
    fill(this.#empty, ...this.#nothing());
  }

  /** Why there is nothing to see, and what to do about it. */
  #nothing(): HTMLElement[] {
    const muted = (text: string) => h("p", { class: "muted" }, text);
    const { journal, addresses } = this.#session.welcome ?? {};
    if (journal?.is_on === false) {
      return [h("p", {}, "This gateway records nothing, so there are no frames to see."), muted("Start it with a journal: "), command("framehub serve --journal DIR")];
    }
    if (this.#wrong) return [];
    if (this.#isPaused) return [h("p", {}, "Paused: what passes now is not listed.")];
    const isAll = isEverything(this.#filter);
    const told: HTMLElement[] = [h("p", {}, `${isAll ? "Nothing passed" : "Nothing that fits passed"} since ${seconds(this.#since)}.`)];
    if (isAll && addresses) told.push(muted("Make some: "), command(shell("framehub ping", "mfp", addresses)));
    if (addresses?.journal) {
      told.push(muted("All that was recorded, in a shell: "), command(`framehub journal cat ${quoted(addresses.journal)}`));
    }
    return told;
  }

  async #explain(row: Line, line: HTMLElement): Promise<void> {
    this.#wasShown?.classList.remove("chosen");
    this.#wasShown = line;
    line.classList.add("chosen");
    const close = h("button", { type: "button", class: "quiet", onclick: () => this.#close(), "aria-label": "close", title: "close (Esc)" }, "✕");
    const title = h("header", {}, h("h2", {}, `${row.says} `, badge(row.protocol, row.protocol)), close);
    this.#panel.hidden = false;
    const told = h("div", {}, h("p", { class: "muted" }, "…"));
    fill(this.#panel, title, told);
    try {
      fill(told, explanation(await this.#session.ask<Explained>("frame", row.seq)));
    } catch (error) {
      fill(told, complaint(error));
    }
  }

  #close(): void {
    this.#panel.hidden = true;
    this.#wasShown?.classList.remove("chosen");
    this.#wasShown?.focus();
  }

  #step(by: number): void {
    const lines = [...this.#body.children] as HTMLElement[];
    const on = lines.indexOf(document.activeElement as HTMLElement);
    const at = on < 0 && this.#wasShown ? lines.indexOf(this.#wasShown) : on; // or from the one that is explained
    lines[Math.min(lines.length - 1, Math.max(0, at + by))]?.focus();
  }
}
