/** What the parts of the page have in common. */

import { h } from "./dom.ts";
import { short } from "./format.ts";
import type { State } from "./told.ts";

export interface View {
  readonly element: HTMLElement;
  /** It is on the screen now; `rest` is what stands behind its name in the address. */
  show?(rest: string): void;
  hide?(): void;
  /** Something has changed: a second is over. */
  update?(state: State): void;
  /** Another connection: what the gateway was asked to send has to be asked for again. */
  again?(): void;
  /** A key was pressed outside of any field; true: it was meant for this view. */
  key?(event: KeyboardEvent): boolean;
}

/** A title, what it is about, and what stands beside it. */
export function heading(title: string, about: string, ...beside: Node[]): HTMLElement {
  return h(
    "header",
    { class: "heading" },
    h("div", {}, h("h1", { tabindex: "-1" }, title), h("p", { class: "muted" }, about)),
    ...(beside.length ? [h("div", { class: "beside" }, ...beside)] : []),
  );
}

/** A link to a conversation. */
export function storyLink(exchange: string, text = "timeline"): HTMLElement {
  return h("a", { href: `#/conversation/${exchange}`, class: "story-link", title: `conversation ${exchange}` }, text);
}

/** A link to the frames of a connection. */
export function framesLink(link: string): HTMLElement {
  return h("a", { href: `#/frames/link=${link}`, class: "mono", title: `frames of ${link}` }, short(link));
}

export function badge(text: string, tone = ""): HTMLElement {
  return h("span", { class: `badge ${tone}` }, text);
}

const TONES: Readonly<Record<string, string>> = { ok: "good", error: "bad", timeout: "warn", aborted: "warn", open: "info" };

/** How something ended. */
export const outcomeBadge = (outcome: string, code = ""): HTMLElement =>
  badge(code && code !== outcome ? `${outcome} · ${code}` : outcome, TONES[outcome] ?? "");

/** Something to type into a shell. */
export function command(text: string): HTMLElement {
  return h("code", { class: "command" }, text);
}

/** What went wrong, for whoever asked. */
export function complaint(error: unknown): HTMLElement {
  return h("p", { class: "complaint", role: "alert" }, error instanceof Error ? error.message : String(error));
}

/** Whether a key does to something what a click would. */
export function pressed(event: KeyboardEvent): boolean {
  if (event.key !== "Enter" && event.key !== " ") return false;
  event.preventDefault();
  return true;
}
