/** The keys that do something, in a dialog. */

import { h } from "./dom.ts";

const KEYS: readonly (readonly [string, string])[] = [
  ["1 … 7", "go to a view, in the order of the menu"],
  ["/", "filter, find or search in this view"],
  ["p", "pause frames, and go on"],
  ["c", "clear the list of frames"],
  ["o", "list older frames"],
  ["j  k  ↓  ↑", "next and previous frame; Enter explains it"],
  ["Ctrl Enter", "call, in the playground"],
  ["Esc", "close what is open beside"],
  ["t", "light or dark"],
  ["?", "these keys"],
];

export function helpDialog(): HTMLDialogElement {
  const rows = KEYS.map(([keys, what]) => h("tr", {}, h("th", { scope: "row" }, ...keys.split(" ").filter(Boolean).flatMap((key) => [h("kbd", {}, key), " "])), h("td", {}, what)));
  const close = h("button", { type: "button", class: "primary", onclick: () => dialog.close() }, "Close");
  const dialog = h("dialog", { "aria-label": "keys" }, h("h2", {}, "Keys"), h("table", {}, h("tbody", {}, ...rows)), h("div", { class: "actions" }, close));
  return dialog;
}
