/** The page: a menu, one view at a time, and how the connection is. */

import { add, fill, h, say } from "./dom.ts";
import { helpDialog } from "./help.ts";
import { loginForm } from "./login.ts";
import { Session } from "./session.ts";
import { applyTheme, toggleTheme } from "./theme.ts";
import type { State } from "./told.ts";
import type { View } from "./view.ts";
import { Conversation } from "./views/conversation.ts";
import { Frames } from "./views/frames.ts";
import { Connections, Functions, Services } from "./views/lists.ts";
import { Overview } from "./views/overview.ts";
import { Playground } from "./views/playground.ts";

const STATUS = { connecting: "connecting", open: "live", lost: "reconnecting", login: "signed out" } as const;

class Page {
  readonly #session = new Session();
  readonly #overview = new Overview(this.#session);
  readonly #views: readonly (readonly [string, string, View])[];
  readonly #menu = h("nav", { class: "menu", "aria-label": "views" });
  readonly #main = h("main", { id: "main", tabindex: "-1" });
  readonly #status = h("span", { class: "status", role: "status" });
  readonly #node = h("span", { class: "node" });
  readonly #lost = h("p", { class: "lost", role: "alert", hidden: true });
  readonly #out = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.#session.signOut() }, "Sign out");
  readonly #help = helpDialog();
  #view: View | undefined;

  constructor() {
    const session = this.#session;
    this.#views = [
      ["overview", "Overview", this.#overview],
      ["frames", "Frames", new Frames(session)],
      ["playground", "Playground", new Playground(session)],
      ["conversation", "Conversation", new Conversation(session)],
      ["connections", "Connections", new Connections(session)],
      ["services", "Services", new Services(session)],
      ["functions", "Functions", new Functions(session)],
    ];
    add(this.#menu, ...this.#views.map(([name, title], at) => h("a", { href: `#/${name}`, "data-view": name }, h("span", {}, title), h("kbd", { "aria-hidden": "true" }, String(at + 1)))));
    const top = h("header", { class: "top" },
      h("a", { href: "#/overview", class: "brand" }, h("img", { src: "icon.svg", alt: "", width: 22, height: 22 }), "framehub"),
      this.#node, this.#status, h("span", { class: "grow" }), this.#out,
      h("button", { type: "button", class: "quiet", onclick: toggleTheme, title: "light or dark (t)", "aria-label": "light or dark" }, "◐"),
      h("button", { type: "button", class: "quiet", onclick: () => this.#help.showModal(), title: "keys (?)", "aria-label": "keys" }, "?"));
    add(document.body, h("a", { href: "#main", class: "skip", onclick: (event: Event) => {
      event.preventDefault();
      this.#enter();
    } }, "Skip to the view"), top, this.#menu, this.#lost, this.#main, this.#help);
    session.onstatus = () => this.#changed();
    session.onstate = (state) => this.#told(state);
    addEventListener("hashchange", () => this.#route());
    addEventListener("keydown", (event) => this.#key(event));
    void session.start();
  }

  #changed(): void {
    const { status, reason, welcome } = this.#session;
    say(this.#status, STATUS[status]);
    this.#status.dataset["is"] = status;
    document.body.classList.toggle("alone", status === "login");
    this.#lost.hidden = status !== "lost";
    say(this.#lost, status === "lost" ? `No connection to the gateway: figures stand still. ${reason}` : "");
    this.#out.hidden = !(status === "open" && this.#session.hasToken);
    this.#menu.hidden = status === "login";
    if (status === "login") {
      this.#view?.hide?.();
      this.#view = undefined;
      fill(this.#main, loginForm(this.#session));
    }
    if (status !== "open" || !welcome) return;
    say(this.#node, `${welcome.journal.node ?? "no journal"} · ${welcome.version}`);
    this.#overview.remember(welcome.points);
    if (this.#view) this.#view.again?.();
    else this.#route();
  }

  #told(state: State): void {
    for (const [, , view] of this.#views) view.update?.(state);
  }

  #route(): void {
    if (this.#session.status === "login" || !this.#session.welcome) return;
    const [name = "", ...rest] = location.hash.replace(/^#\//, "").split("/");
    const found = this.#views.find(([one]) => one === name);
    const [own, title, view] = found ?? this.#views[0]!;
    if (name && !found) history.replaceState(null, "", `#/${own}`);
    for (const link of this.#menu.querySelectorAll("a")) {
      if (link.dataset["view"] !== own) {
        link.removeAttribute("aria-current");
      } else {
        link.setAttribute("aria-current", "page");
        this.#menu.scrollLeft = link.offsetLeft - (this.#menu.clientWidth - link.offsetWidth) / 2; // on a narrow screen
      }
    }
    document.title = `${title} · framehub`;
    if (this.#view !== view) {
      this.#view?.hide?.();
      this.#view = view;
      const isAwaited = document.activeElement === this.#main;
      fill(this.#main, view.element);
      scrollTo(0, 0);
      if (isAwaited) this.#enter();
    }
    view.show?.(rest.join("/"));
  }

  /** To the view by keyboard: to its title, or to where that will be while nothing is there yet. */
  #enter(): void {
    (this.#main.querySelector<HTMLElement>("h1") ?? this.#main).focus();
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || this.#help.open) return;
    const on = event.target as HTMLElement;
    if (on.matches("input, textarea, select")) {
      if (event.key === "Escape") on.blur();
      return;
    }
    const place = Number(event.key) - 1;
    const chosen = this.#views[place];
    if (chosen) location.hash = `#/${chosen[0]}`;
    else if (event.key === "?") this.#help.showModal();
    else if (event.key === "t") toggleTheme();
    else if (!this.#view?.key?.(event)) return;
    event.preventDefault();
  }
}

applyTheme();
new Page();
