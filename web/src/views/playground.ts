/** Call something: a form from its schema, files, the answer, the frames that made it, and the time it took. */

import { EndpointError, type FileToSend } from "framehub";
import { add, fill, h, say } from "../dom.ts";
import { bytes, took } from "../format.ts";
import { dataOf, type FormField, plan, type Plan } from "../schema.ts";
import type { Answer, Session } from "../session.ts";
import type { Callable, State, Story } from "../told.ts";
import { badge, command, complaint, heading, storyLink, type View } from "../view.ts";
import { takes } from "./lists.ts";
import { picture } from "./story.ts";

const IMAGES = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;

export class Playground implements View {
  readonly element = h("div", { class: "view" });
  readonly #session: Session;
  readonly #search = h("input", { type: "search", placeholder: "find", "aria-label": "find something to call", spellcheck: false, oninput: () => this.#list() });
  readonly #choices = h("nav", { class: "choices", "aria-label": "what can be called" });
  readonly #form = h("div", { class: "stack" });
  readonly #result = h("div", { class: "stack", "aria-live": "polite" });
  #callables: readonly Callable[] = [];
  #wanted = "";
  #chosen: Callable | undefined;
  #isSeen = false;
  #urls: string[] = [];

  constructor(session: Session) {
    this.#session = session;
    const side = h("section", { class: "card chooser" }, this.#search, this.#choices);
    add(this.element, heading("Playground", "Call an endpoint, a function or a service, as a client would. Calls are recorded."),
      h("div", { class: "play" }, side, h("div", { class: "stack" }, this.#form, this.#result)));
  }

  show(rest: string): void {
    this.#isSeen = true;
    const wanted = decodeURIComponent(rest);
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
    if (chosen && chosen.name !== this.#chosen?.name) this.#choose(chosen);
    else if (!chosen && !this.#chosen) this.#nothing();
  }

  #list(): void {
    const text = this.#search.value.trim().toLowerCase();
    const groups = ["endpoint", "function", "service"].map((called) => {
      const some = this.#callables.filter((one) => one.called === called && one.name.toLowerCase().includes(text));
      const links = some.map((one) => h("a", { href: `#/playground/${encodeURIComponent(one.name)}`, title: one.doc, "aria-current": one.name === this.#wanted ? "true" : undefined }, one.name, one.mode === "call" ? null : h("small", {}, one.mode)));
      return h("div", { class: "group" }, h("h3", {}, `${called}s`), ...(links.length ? links : [h("p", { class: "muted" }, "none")]));
    });
    fill(this.#choices, ...groups);
  }

  #nothing(): void {
    const lost = this.#wanted ? h("p", {}, `There is no ${this.#wanted} here now.`) : h("p", {}, "Choose something to call.");
    const hint = this.#callables.length ? null : h("p", { class: "muted" }, "No functions yet: ", command("framehub worker jobs:worker"));
    fill(this.#form, h("section", { class: "card empty" }, lost, hint));
    fill(this.#result);
  }

  #choose(callable: Callable): void {
    this.#chosen = callable;
    this.#list();
    fill(this.#result);
    const form = new CallForm(callable);
    const button = h("button", { type: "submit", class: "primary", title: "Ctrl+Enter" }, callable.mode === "stream" && callable.called === "endpoint" ? "Stream" : "Call");
    const stop = h("button", { type: "button", hidden: true }, "Give up");
    const time = h("input", { type: "number", min: "0.1", step: "any", value: "30", class: "seconds", "aria-label": "seconds to wait" });
    const send = async (event: Event) => {
      event.preventDefault();
      button.disabled = true;
      stop.hidden = false;
      const given = new AbortController();
      stop.onclick = () => given.abort(new Error("given up"));
      await this.#call(callable, form, Number(time.value) || 30, given.signal);
      button.disabled = false;
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

  async #call(callable: Callable, form: CallForm, seconds: number, signal: AbortSignal): Promise<void> {
    for (const url of this.#urls.splice(0)) URL.revokeObjectURL(url);
    let request: { data: unknown; files: Map<number, FileToSend> };
    try {
      request = form.request();
    } catch (error) {
      fill(this.#result, h("section", { class: "card" }, complaint(error)));
      return;
    }
    fill(this.#result, h("section", { class: "card" }, h("p", { class: "muted" }, "Waiting for the answer…")));
    let link = "";
    const began = performance.now();
    const shown = h("section", { class: "card answer" });
    try {
      const peer = await this.#session.caller(seconds);
      try {
        await peer.ping(); // the first frame of the call is not the first of the connection: it is timed alone
        link = peer.link;
        const asked = performance.now();
        const upload = request.files.get(0);
        if (callable.mode === "stream" && callable.called === "endpoint" && upload) {
          await this.#stream(peer, callable.name, request.data, upload, signal, shown);
        } else {
          const answer: Answer = await peer.request({ endpoint: callable.name, ...request, timeout: seconds, signal });
          this.#answered(shown, answer, performance.now() - asked);
        }
      } finally {
        await peer.close();
      }
    } catch (error) {
      const value = error instanceof EndpointError ? error.value : undefined;
      fill(shown, h("h2", {}, value === undefined ? (error as Error).name === "RequestTimeout" ? "No answer in time" : "Failed" : "Error", " ", badge(took(performance.now() - began), "bad")), complaint(error));
      if (value !== undefined) add(shown, h("pre", { class: "payload", tabindex: "0" }, JSON.stringify(value, null, 2)));
    }
    fill(this.#result, shown);
    if (link) void this.#story(link, shown);
  }

  async #stream(peer: Awaited<ReturnType<Session["caller"]>>, endpoint: string, data: unknown, upload: FileToSend, signal: AbortSignal, shown: HTMLElement): Promise<void> {
    const heard: unknown[] = [];
    peer.on("upload.done", (told) => void heard.push(told));
    const bar = h("progress", { max: 1, value: 0, class: "full" });
    fill(this.#result, h("section", { class: "card" }, h("p", {}, "Sending…"), bar));
    const asked = performance.now();
    const file = upload.bin as File;
    await peer.upload({ endpoint, data, file, signal, onprogress: ({ received, total }) => (bar.value = total ? received / total : 1) });
    await new Promise((done) => setTimeout(done, 50));
    fill(shown, h("h2", {}, "Taken ", badge(took(performance.now() - asked), "good")), h("p", {}, `${bytes(file.size)} streamed, and acknowledged.`));
    if (heard.length) add(shown, h("pre", { class: "payload", tabindex: "0" }, JSON.stringify(heard[0], null, 2)));
  }

  #answered(shown: HTMLElement, { data, files }: Answer, ms: number): void {
    fill(shown, h("h2", {}, "Answer ", badge(took(ms), "good")));
    if (data !== undefined && !(data === null && files.size)) add(shown, h("pre", { class: "payload", tabindex: "0" }, JSON.stringify(data, null, 2)));
    for (const [key, file] of files) {
      const url = URL.createObjectURL(new Blob([file.bin as Uint8Array<ArrayBuffer>], { type: IMAGES.test(file.type) ? file.type : "application/octet-stream" }));
      this.#urls.push(url);
      const name = file.name || `file-${key}`;
      add(shown, h("p", { class: "file" }, h("a", { href: url, download: name }, name), ` ${bytes(file.bin.length)} `, h("span", { class: "muted" }, file.type)));
      if (IMAGES.test(file.type)) add(shown, h("img", { src: url, alt: name, class: "shown" }));
      else if (/^(text\/|application\/json)/.test(file.type) && file.bin.length < 20_000) add(shown, h("pre", { class: "payload", tabindex: "0" }, new TextDecoder().decode(file.bin)));
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
        add(this.#result, head, picture(story, (event) => (location.hash = `#/conversation/${event.exchange ?? story.exchange}`)));
        return;
      } catch {
        // not written yet
      }
    }
    add(this.#result, h("p", { class: "muted" }, "Its frames are not in the journal."));
  }
}

/** The fields of one function. */
class CallForm {
  readonly element = h("div", { class: "fields-form" });
  readonly #plan: Plan;
  readonly #texts = new Map<string, () => string>();
  readonly #files = new Map<string, HTMLInputElement>();
  readonly #callable: Callable;

  constructor(callable: Callable) {
    this.#callable = callable;
    this.#plan = plan(callable);
    for (const field of this.#plan.fields) add(this.element, this.#field(field));
    if (this.#plan.anyFiles) {
      const input = h("input", { type: "file", multiple: true });
      const names = h("span", { class: "muted" });
      input.onchange = () => say(names, [...(input.files ?? [])].map(({ name, size }) => `${name} (${bytes(size)})`).join(", "));
      this.#files.set("", input);
      add(this.element, h("label", { class: "field" }, h("span", { class: "name" }, "files ", h("small", {}, "any number")), input, names));
    }
    if (!this.element.childElementCount) add(this.element, h("p", { class: "muted" }, "It takes nothing."));
  }

  /** What was filled in. Throws what is wrong with it. */
  request(): { data: unknown; files: Map<number, FileToSend> } {
    const texts = new Map([...this.#texts].map(([name, read]) => [name, read()]));
    const chosen: FileToSend[] = [];
    for (const [name, input] of this.#files) {
      const some = [...(input.files ?? [])];
      const field = this.#plan.fields.find((one) => one.name === name);
      if (field?.required && !some.length) throw new Error(`${name}: choose a file`);
      chosen.push(...some.map((file) => ({ bin: file, name: file.name, type: file.type || "application/octet-stream" })));
    }
    const isBody = !this.#plan.byName && this.#plan.fields[0]?.kind === "text";
    if (isBody) {
      if (!chosen.length) chosen.push({ bin: new TextEncoder().encode(texts.get("body") ?? ""), name: "", type: "application/octet-stream" });
      return { data: null, files: new Map(chosen.map((file, key) => [key, file])) };
    }
    const data = dataOf(this.#plan, texts);
    return { data: data === undefined ? null : data, files: new Map(chosen.map((file, key) => [key, file])) };
  }

  #field(field: FormField): HTMLElement {
    const name = h("span", { class: "name" }, field.name, field.required ? h("b", { title: "needed" }, " *") : null, " ", h("small", {}, field.type));
    const about = field.about ? h("small", { class: "muted" }, field.about) : null;
    return h("label", { class: "field" }, name, this.#input(field), about);
  }

  #input(field: FormField): HTMLElement {
    const { kind, initial, required, choices } = field;
    if (kind === "file" || kind === "files") {
      const input = h("input", { type: "file", multiple: kind === "files" });
      this.#files.set(field.name, input);
      return input;
    }
    if (kind === "boolean" || kind === "choice") {
      const options = kind === "boolean" ? ["true", "false"].map((value) => [value, value] as const) : choices.map((choice, at) => [String(at), JSON.stringify(choice)] as const);
      const first = required ? [] : [h("option", { value: "" }, initial ? `default: ${initial}` : "–")];
      const input = h("select", {}, ...first, ...options.map(([value, text]) => h("option", { value }, text)));
      this.#texts.set(field.name, () => input.value);
      return input;
    }
    if (kind === "json") {
      const rows = this.#plan.byName ? "2" : "5";
      const input = h("textarea", { rows: Number(rows), class: "mono", spellcheck: false, placeholder: initial || hint(this.#callable, field) });
      this.#texts.set(field.name, () => input.value);
      return input;
    }
    const isNumber = kind === "integer" || kind === "number";
    const input = h("input", { type: "text", inputMode: isNumber ? "decimal" : "text", placeholder: initial ? `default: ${initial}` : "", class: isNumber ? "mono" : "", spellcheck: false, autocomplete: "off" });
    this.#texts.set(field.name, () => input.value);
    return input;
  }
}

function hint({ called }: Callable, { type }: FormField): string {
  if (called === "endpoint") return '{"text": "hello"}';
  return type === "any" ? "JSON" : type;
}
