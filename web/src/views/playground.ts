/** Call something: a form from its schema, files, the answer, the frames that made it, and the time it took. */

import { EndpointError, type FileToSend } from "framehub";
import { decoded } from "../address.ts";
import { add, fill, h } from "../dom.ts";
import { isAllSaid } from "../failure.ts";
import { bytes, took } from "../format.ts";
import { beginning } from "../hints.ts";
import { isRounded } from "../numbers.ts";
import type { Overheard } from "../overheard.ts";
import { Misfit } from "../schema.ts";
import type { Answer, Caller, Session } from "../session.ts";
import type { Callable, State, Story } from "../told.ts";
import { badge, command, complaint, heading, storyLink, type View } from "../view.ts";
import { CallForm, type Filled } from "./form.ts";
import { takes } from "./lists.ts";
import { picture } from "./story.ts";

/** Where some endpoints that take a stream say what they made of it. */
const DONE = "upload.done";
const IMAGES = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;

export class Playground implements View {
  readonly element = h("div", { class: "view" });
  readonly #session: Session;
  readonly #search = h("input", { type: "search", placeholder: "find", "aria-label": "find something to call", spellcheck: false, oninput: () => this.#list() });
  readonly #choices = h("nav", { class: "choices", "aria-label": "what can be called" });
  readonly #form = h("div", { class: "stack" });
  readonly #result = h("div", { class: "stack", "aria-live": "polite" });
  readonly #trace = h("div", { class: "stack" });
  #callables: readonly Callable[] = [];
  #wanted = "";
  #chosen: Callable | undefined;
  #filling: CallForm | undefined;
  #isSeen = false;
  #urls: string[] = [];

  constructor(session: Session) {
    this.#session = session;
    const side = h("section", { class: "card chooser" }, this.#search, this.#choices);
    add(this.element, heading("Playground", "Call an endpoint, a function or a service, as a client would. Calls are recorded."),
      h("div", { class: "play" }, side, h("div", { class: "stack" }, this.#form, this.#result, this.#trace)));
  }

  show(rest: string): void {
    this.#isSeen = true;
    const wanted = decoded(rest);
    if (wanted !== this.#wanted) this.#chosen = undefined;
    this.#wanted = wanted;
    void this.#ask();
  }

  hide(): void {
    this.#isSeen = false;
  }

  update(_state: State): void {
    if (this.#isSeen) void this.#ask();
  }

  key(event: KeyboardEvent): boolean {
    if (event.key !== "/") return false;
    this.#search.focus();
    return true;
  }

  async #ask(): Promise<void> {
    if (this.#session.status !== "open") return;
    if (this.#session.welcome?.inside === false) {
      fill(this.#form, h("section", { class: "card" }, h("p", {}, "Calls from here are off: this gateway’s clients need tokens, and this port asks for none."),
        h("p", { class: "muted" }, "Give the admin port tokens of its own: "), command("framehub serve --tokens users.tokens --admin-tokens admin.tokens")));
      return;
    }
    let found: readonly Callable[];
    try {
      found = await this.#session.ask<Callable[]>("callables");
    } catch {
      return; // the connection went; the page says so
    }
    if (JSON.stringify(found) !== JSON.stringify(this.#callables) || !this.#choices.childElementCount) {
      this.#callables = found;
      this.#list();
    }
    const chosen = found.find(({ name }) => name === this.#wanted);
    if (chosen && !isSame(chosen, this.#chosen)) this.#choose(chosen);
    else if (!chosen && !this.#chosen) this.#nothing();
  }

  #list(): void {
    const focused = this.#choices.contains(document.activeElement) ? document.activeElement?.getAttribute("href") : null;
    const text = this.#search.value.trim().toLowerCase();
    const groups = ["endpoint", "function", "service"].map((called) => {
      const some = this.#callables.filter((one) => one.called === called && one.name.toLowerCase().includes(text));
      const links = some.map((one) => h("a", { href: `#/playground/${encodeURIComponent(one.name)}`, title: one.doc, "aria-current": one.name === this.#wanted ? "true" : undefined }, one.name, one.mode === "call" ? null : h("small", {}, one.mode)));
      return h("div", { class: "group" }, h("h3", {}, `${called}s`), ...(links.length ? links : [h("p", { class: "muted" }, "none")]));
    });
    const { scrollTop } = this.#choices;
    fill(this.#choices, ...groups);
    this.#choices.scrollTop = scrollTop;
    if (focused) this.#choices.querySelector<HTMLElement>(`[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  #forget(): void {
    fill(this.#result);
    fill(this.#trace);
  }

  #nothing(): void {
    const lost = this.#wanted ? h("p", {}, `There is no ${this.#wanted} here now.`) : h("p", {}, "Choose something to call.");
    const welcome = this.#session.welcome;
    const hint = welcome && !this.#callables.length ? beginning([], welcome.addresses) : undefined;
    fill(this.#form, h("section", { class: "card empty" }, lost, hint ? h("p", { class: "muted" }, hint.why, command(hint.command)) : null));
    this.#forget();
  }

  #choose(callable: Callable): void {
    this.#chosen = callable;
    this.#list();
    this.#forget();
    const form = (this.#filling = new CallForm(callable));
    const button = h("button", { type: "submit", class: "primary", title: "Ctrl+Enter" }, isStream(callable) ? "Stream" : "Call");
    const stop = h("button", { type: "button", hidden: true }, "Give up");
    const time = h("input", { type: "number", min: "0.1", step: "any", value: "30", required: true, class: "seconds", "aria-label": "seconds to wait" });
    const send = async (event: Event) => {
      event.preventDefault();
      if (!stop.hidden) return;
      const request = filled(form);
      if (!request) {
        this.#forget(); // what stands below was another call's
        return;
      }
      const given = new AbortController();
      stop.onclick = () => given.abort(new Error("given up"));
      stop.hidden = false;
      button.setAttribute("aria-disabled", "true");
      await this.#call(callable, form, request, Number(time.value), given.signal);
      button.removeAttribute("aria-disabled");
      if (document.activeElement === stop) button.focus();
      stop.hidden = true;
    };
    const element = h("form", { class: "call", onsubmit: (event: Event) => void send(event), onkeydown: (event: KeyboardEvent) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) element.requestSubmit();
    } }, form.element, h("div", { class: "actions" }, button, stop, h("label", {}, "wait at most ", time, " s")));
    const coders = callable.coders?.filter(Boolean).join(" → ");
    fill(this.#form, h("section", { class: "card" },
      h("h2", {}, callable.name, " ", badge(callable.called)),
      callable.doc ? h("p", { class: "doc" }, callable.doc) : null,
      h("p", { class: "muted mono" }, `(${takes(callable)})`, coders ? ` · ${coders}` : ""),
      element));
  }

  /** Make one call; what comes of it is shown as long as its form is. */
  async #call(callable: Callable, form: CallForm, request: Filled, seconds: number, signal: AbortSignal): Promise<void> {
    for (const url of this.#urls.splice(0)) URL.revokeObjectURL(url);
    const show = (...children: HTMLElement[]) => void (this.#filling === form && fill(this.#result, ...children));
    this.#forget();
    show(h("section", { class: "card" }, h("p", { class: "muted" }, "Waiting for the answer…")));
    let link = "";
    let began = performance.now();
    let ms: number | undefined;
    const shown = h("section", { class: "card answer" });
    let heard: Overheard | undefined;
    try {
      const caller: Caller = await this.#session.caller(seconds);
      const { peer } = caller;
      heard = caller.heard;
      try {
        await peer.ping(); // the first frame of the call is not the first of the connection: it is timed alone
        link = peer.link;
        began = performance.now();
        const upload = request.files.get(0);
        if (isStream(callable) && upload) {
          await this.#stream(caller, callable.name, request.data, upload, signal, shown, show);
        } else {
          const answer: Answer = await peer.request({ endpoint: callable.name, ...request, timeout: seconds, signal });
          this.#answered(shown, heard, answer, performance.now() - began);
        }
      } finally {
        ms = performance.now() - began;
        await peer.close();
      }
    } catch (error) {
      const value = error instanceof EndpointError ? error.value : undefined;
      const title = value !== undefined ? "Error" : (error as Error).name === "RequestTimeout" ? "No answer in time" : "Failed";
      fill(shown, h("h2", {}, title, " ", badge(took(ms ?? performance.now() - began), "bad")));
      const isText = value === undefined || !heard || (isAllSaid(value) && !isRounded(value));
      add(shown, isText ? complaint(error) : payload(heard!.answer("error", value)));
    }
    show(shown);
    shown.scrollIntoView({ block: "nearest" });
    if (link) void this.#story(link, shown);
  }

  async #stream({ peer, heard }: Caller, endpoint: string, data: unknown, upload: FileToSend, signal: AbortSignal, shown: HTMLElement, show: (element: HTMLElement) => void): Promise<void> {
    const told: unknown[] = [];
    peer.on(DONE, (data) => void told.push(data));
    const bar = h("progress", { max: 1, value: 0, class: "full", "aria-label": "sent" });
    show(h("section", { class: "card" }, h("p", {}, "Sending…"), bar));
    const asked = performance.now();
    const file = upload.bin as File;
    await peer.upload({ endpoint, data, file, signal, onprogress: ({ received, total }) => (bar.value = total ? received / total : 1) });
    await new Promise((done) => setTimeout(done, 50));
    fill(shown, h("h2", {}, "Taken ", badge(took(performance.now() - asked), "good")), h("p", {}, `${bytes(file.size)} streamed, and acknowledged.`));
    if (told.length) add(shown, payload(heard.message(DONE, told[0])));
  }

  #answered(shown: HTMLElement, heard: Overheard, { data, files }: Answer, ms: number): void {
    fill(shown, h("h2", {}, "Answer ", badge(took(ms), "good")));
    if (data !== undefined && !(data === null && files.size)) add(shown, payload(heard.answer("data", data)));
    for (const [key, file] of files) {
      const url = URL.createObjectURL(new Blob([file.bin as Uint8Array<ArrayBuffer>], { type: IMAGES.test(file.type) ? file.type : "application/octet-stream" }));
      this.#urls.push(url);
      const name = file.name || `file-${key}`;
      add(shown, h("p", { class: "file" }, h("a", { href: url, download: name }, name), ` ${bytes(file.bin.length)} `, h("span", { class: "muted" }, file.type)));
      if (IMAGES.test(file.type)) add(shown, h("img", { src: url, alt: name, class: "shown" }));
      else if (/^(text\/|application\/json)/.test(file.type) && file.bin.length < 20_000) add(shown, payload(new TextDecoder().decode(file.bin)));
    }
  }

  /** What the journal has of it: it is there a moment later. */
  async #story(link: string, answer: HTMLElement): Promise<void> {
    for (let tries = 0; tries < 5; tries += 1) {
      await new Promise((done) => setTimeout(done, 60 * 2 ** tries));
      try {
        const story = await this.#session.ask<Story>("story", `${link}:2`);
        if (!answer.isConnected) return;
        const head = h("p", { class: "muted" }, "The frames it made, as recorded: ", storyLink(story.exchange, "open as a timeline"));
        add(this.#trace, head, picture(story, (event) => (location.hash = `#/conversation/${event.exchange ?? story.exchange}`)));
        return;
      } catch {
        // not written yet
      }
    }
    if (answer.isConnected) add(this.#trace, h("p", { class: "muted" }, "Its frames are not in the journal."));
  }
}

const isStream = ({ mode, called }: Callable): boolean => mode === "stream" && called === "endpoint";

/** Whether a form for the one is a form for the other; how many workers there are is no matter. */
const isSame = (one: Callable, other: Callable | undefined): boolean =>
  JSON.stringify({ ...one, workers: 0 }) === JSON.stringify({ ...other, workers: 0 });

const payload = (text: string): HTMLElement => h("pre", { class: "payload", tabindex: "0" }, text);

/** What was filled in; nothing if it cannot be sent, and its field says why. */
function filled(form: CallForm): Filled | undefined {
  form.complain();
  try {
    return form.request();
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    form.complain(error);
    return undefined;
  }
}
