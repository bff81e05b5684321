/** The form of one function: its fields, what was filled in, and what is wrong with it, at the field it is about. */

import type { FileToSend } from "framehub";
import { add, h, say } from "../dom.ts";
import { bytes } from "../format.ts";
import { dataOf, filesOf, type FormField, Misfit, plan, type Plan } from "../schema.ts";
import type { Callable } from "../told.ts";

type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export interface Filled {
  readonly data: unknown;
  readonly files: Map<number, FileToSend>;
}

export class CallForm {
  readonly element = h("div", { class: "fields-form" });
  readonly #plan: Plan;
  readonly #inputs = new Map<string, Input>();
  readonly #wrong = new Map<string, HTMLElement>();

  constructor(callable: Callable) {
    this.#plan = plan(callable);
    for (const field of this.#plan.fields) add(this.element, this.#field(field, this.#input(field, callable)));
    if (this.#plan.anyFiles) {
      const input = h("input", { type: "file", multiple: true });
      const names = h("span", { class: "muted" });
      input.onchange = () => say(names, [...(input.files ?? [])].map(({ name, size }) => `${name} (${bytes(size)})`).join(", "));
      this.#inputs.set("", input);
      add(this.element, h("label", { class: "field" }, h("span", { class: "name" }, "files ", h("small", {}, "any number")), input, names));
    }
    if (!this.element.childElementCount) add(this.element, h("p", { class: "muted" }, "It takes nothing."));
  }

  /** What was filled in. Throws a `Misfit`: what is wrong with it. */
  request(): Filled {
    const files = filesOf(this.#plan, (name) => [...((this.#inputs.get(name) as HTMLInputElement).files ?? [])]);
    const sent = new Map([...files].map(([key, file]) => [key, { bin: file, name: file.name, type: file.type || "application/octet-stream" } as FileToSend]));
    const texts = new Map([...this.#inputs].map(([name, { value }]) => [name, value]));
    if (this.#plan.byName || this.#plan.fields[0]?.kind !== "text") return { data: dataOf(this.#plan, texts), files: sent };
    const body = texts.get("body") ?? "";
    if (body && sent.size) throw new Misfit("body", "text or a file, not both");
    if (!sent.size) sent.set(0, { bin: new TextEncoder().encode(body), name: "", type: "application/octet-stream" });
    return { data: null, files: sent };
  }

  /** Say at its field what is wrong, and go there; nothing is wrong any more without one. */
  complain(misfit?: Misfit): void {
    for (const [name, wrong] of this.#wrong) {
      const input = this.#inputs.get(name);
      const isIt = name === misfit?.field;
      say(wrong, isIt ? misfit.message : "");
      wrong.hidden = !isIt;
      if (isIt) input?.setAttribute("aria-invalid", "true");
      else input?.removeAttribute("aria-invalid");
      if (isIt) input?.focus();
    }
  }

  #field(field: FormField, input: Input): HTMLElement {
    const [about, wrong] = [`about-${this.#wrong.size}`, `wrong-${this.#wrong.size}`];
    this.#inputs.set(field.name, input);
    this.#wrong.set(field.name, h("small", { id: wrong, class: "wrong", role: "alert", hidden: true }));
    input.setAttribute("aria-describedby", field.about ? `${wrong} ${about}` : wrong);
    if (field.required) input.setAttribute("aria-required", "true");
    input.addEventListener("input", () => this.complain());
    const name = h("span", { class: "name" }, field.name, field.required ? h("b", { title: "needed" }, " *") : null, " ", h("small", {}, field.type));
    return h("div", { class: "field" }, h("label", {}, name, input), this.#wrong.get(field.name), field.about ? h("small", { id: about, class: "muted" }, field.about) : null);
  }

  #input({ kind, initial, required, nullable, choices, example }: FormField, { called }: Callable): Input {
    const instead = initial ? `default: ${initial}` : required && nullable ? "null" : "";
    if (kind === "file" || kind === "files") return h("input", { type: "file", multiple: kind === "files" });
    if (kind === "boolean" || kind === "choice") {
      const options = kind === "boolean" ? ["true", "false"].map((value) => [value, value] as const) : choices.map((choice, at) => [String(at), JSON.stringify(choice)] as const);
      const first = h("option", { value: "" }, instead || (required ? "choose one" : "–"));
      return h("select", {}, first, ...options.map(([value, text]) => h("option", { value }, text)));
    }
    if (kind === "json") {
      const shape = example || (called === "endpoint" ? '{"text": "hello"}' : "");
      return h("textarea", { rows: this.#plan.byName ? 2 : 5, class: "mono", spellcheck: false, placeholder: instead || (shape ? `for example ${shape}` : "JSON") });
    }
    const isNumber = kind === "integer" || kind === "number";
    return h("input", { type: "text", inputMode: isNumber ? "decimal" : "text", placeholder: instead, class: isNumber ? "mono" : "", spellcheck: false, autocomplete: "off" });
  }
}
