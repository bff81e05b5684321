/** Who comes with a token gets in. It stays in this tab, and is gone with it. */

import { fill, h } from "./dom.ts";
import type { Session } from "./session.ts";
import { command, complaint } from "./view.ts";

export function loginForm(session: Session): HTMLElement {
  const token = h("input", { type: "password", autocomplete: "off", spellcheck: false, required: true, "aria-label": "admin token", placeholder: "admin token" });
  const wrong = h("div", {});
  if (session.reason) fill(wrong, complaint(session.reason));
  const form = h(
    "form",
    {
      class: "card login",
      onsubmit: (event: Event) => {
        event.preventDefault();
        void session.signIn(token.value);
      },
    },
    h("h1", {}, "framehub"),
    h("p", {}, "This admin port asks for a token."),
    token,
    wrong,
    h("button", { type: "submit", class: "primary" }, "Sign in"),
    h("p", { class: "muted" }, "It is kept in this tab only. Whoever runs the gateway makes one with"),
    command("framehub token add --tokens admin.tokens --user 1 --name ME"),
  );
  queueMicrotask(() => token.focus());
  return form;
}
