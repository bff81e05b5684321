/** One conversation by its id: asked for by a link from elsewhere, or typed in. */

import { decoded } from "../address.ts";
import { add, fill, h } from "../dom.ts";
import type { Session } from "../session.ts";
import type { Explained, Failure, State, Story, StoryEvent } from "../told.ts";
import { command, complaint, heading, outcomeBadge, storyLink, type View } from "../view.ts";
import { seconds, took } from "../format.ts";
import { quoted } from "../hints.ts";
import { Table } from "../table.ts";
import { explanation } from "./explain.ts";
import { picture } from "./story.ts";

export class Conversation implements View {
  readonly element = h("div", { class: "view" });
  readonly #session: Session;
  readonly #name = h("input", { type: "search", class: "grow mono", placeholder: "conversation, or LINK:ID", "aria-label": "conversation", spellcheck: false, autocomplete: "off" });
  readonly #shown = h("div", { class: "stack" });
  readonly #frame = h("aside", { class: "card panel", hidden: true, "aria-label": "one frame" });
  readonly #failures: Table<Failure>;
  #chosen: HTMLElement | undefined;
  #asked = "";

  constructor(session: Session) {
    this.#session = session;
    const form = h("form", { class: "filters", onsubmit: (event: Event) => {
      event.preventDefault();
      location.hash = `#/conversation/${encodeURIComponent(this.#name.value.trim())}`;
      if (this.#asked === this.#name.value.trim()) void this.#ask();
    } }, this.#name, h("button", { type: "submit", class: "primary" }, "Show"));
    this.#failures = new Table<Failure>("Failures to look at", [
      { title: "When", class: "mono", cell: (row) => seconds(row.at) },
      { title: "Name", class: "wide", cell: (row) => row.name },
      { title: "Outcome", cell: (row) => outcomeBadge(row.outcome, row.code === "application" ? "" : row.code) },
      { title: "After", class: "number spare", cell: (row) => took(row.ms) },
      { title: "", cell: (row) => storyLink(row.exchange, "why?") },
    ], h("p", {}, "Nothing failed of late."), h("p", { class: "muted" }, "Links lead here from the overview (“why?”), from frames and from the playground."));
    add(this.element, heading("Conversation", "Everything that belongs to one call, across client, gateway, worker and service."), form, h("div", { class: "with-panel" }, this.#shown, this.#frame));
  }

  show(rest: string): void {
    this.#asked = this.#name.value = decoded(rest);
    this.#frame.hidden = true;
    void this.#ask();
  }

  update(state: State): void {
    this.#failures.update(state.failures, ({ exchange, at }) => `${exchange} ${at}`);
  }

  again(): void {
    if (!this.#shown.childElementCount) void this.#ask();
  }

  key(event: KeyboardEvent): boolean {
    if (event.key === "/") this.#name.focus();
    else if (event.key === "Escape" && !this.#frame.hidden) this.#close();
    else return false;
    return true;
  }

  async #ask(): Promise<void> {
    const asked = this.#asked;
    if (asked === "") {
      fill(this.#shown, h("section", { class: "card" }, h("h2", {}, "Failed"), this.#failures.element));
      return;
    }
    if (this.#session.status !== "open") return;
    fill(this.#shown, h("p", { class: "muted" }, "Reading the journal…"));
    try {
      const story = await this.#session.ask<Story>("story", asked);
      if (asked !== this.#asked) return;
      const again = h("p", { class: "muted" }, "The same in a shell: ", command(`framehub story ${story.exchange} --journal ${quoted(story.journal)}`));
      fill(this.#shown, picture(story, (event, row) => void this.#explain(event, row)), again);
    } catch (error) {
      const hint = h("p", { class: "muted" }, "A conversation is 32 hex digits, the beginning of them if that is unique, or LINK:ID with the id of the client’s frame. What retention has removed is gone.");
      fill(this.#shown, h("section", { class: "card" }, complaint(error), hint));
    }
  }

  #close(): void {
    this.#frame.hidden = true;
    this.#chosen?.classList.remove("chosen");
    this.#chosen?.focus();
  }

  async #explain(event: StoryEvent, row: HTMLElement): Promise<void> {
    const close = h("button", { type: "button", class: "quiet", "aria-label": "close", title: "close (Esc)", onclick: () => this.#close() }, "✕");
    const title = h("header", {}, h("h2", {}, event.says), close);
    this.#chosen?.classList.remove("chosen");
    this.#chosen = row;
    row.classList.add("chosen");
    this.#frame.hidden = false;
    const told = h("div", {}, h("p", { class: "muted" }, "…"));
    fill(this.#frame, title, told);
    if (document.activeElement === row) close.focus();
    try {
      fill(told, explanation(await this.#session.ask<Explained>("frame", event.seq)));
    } catch (error) {
      fill(told, complaint(error));
    }
  }
}
