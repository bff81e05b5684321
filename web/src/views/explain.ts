/** One frame, field by field, beside its bytes. */

import { add, h } from "../dom.ts";
import { bytes, clock, hexLines, pretty } from "../format.ts";
import type { Explained, Field } from "../told.ts";
import { badge, framesLink, storyLink } from "../view.ts";

/** All that is known of a frame; a field and its bytes light up together. */
export function explanation(frame: Explained): HTMLElement {
  const cells: HTMLElement[] = [];
  const dump = h("div", { class: "hex", "aria-label": "the frame's bytes" });
  for (const line of hexLines(frame.raw)) {
    const hex = line.hex.map((pair) => h("span", {}, pair));
    cells.push(...hex);
    add(dump, h("div", {}, h("span", { class: "offset" }, line.at), h("span", { class: "pairs" }, ...hex), h("span", { class: "text" }, line.text)));
  }
  const light = (field: Field | undefined) =>
    cells.forEach((cell, at) => cell.classList.toggle("lit", field !== undefined && at >= field.at && at < field.at + field.bytes));
  const fields = frame.fields.map((field) =>
    h(
      "tr",
      {
        tabindex: "0",
        onpointerenter: () => light(field),
        onpointerleave: () => light(undefined),
        onfocus: () => light(field),
        onblur: () => light(undefined),
      },
      h("th", { scope: "row" }, field.name),
      h("td", { class: "mono" }, field.value),
      h("td", { class: "number muted" }, field.bytes === 1 ? `${field.at}` : `${field.at}–${field.at + field.bytes - 1}`),
    ),
  );
  const shown = h("div", { class: "explained" });
  add(shown, summary(frame));
  if (frame.malformed) add(shown, h("p", { class: "complaint" }, frame.malformed));
  if (frame.refused) add(shown, h("p", { class: "complaint" }, `refused: ${frame.refused}`));
  if (fields.length) {
    const head = h("tr", {}, h("th", { scope: "col" }, "Field"), h("th", { scope: "col" }, "Value"), h("th", { scope: "col", class: "number" }, "Bytes"));
    add(shown, h("table", { class: "fields" }, h("thead", {}, head), h("tbody", {}, ...fields)));
  }
  if (isLegible(frame.text)) add(shown, h("h3", {}, "Payload"), h("pre", { class: "payload", tabindex: "0" }, pretty(frame.text)));
  if (frame.raw) {
    const cut = frame.raw.length / 2 < frame.bytes ? `, the first ${bytes(frame.raw.length / 2)}` : "";
    add(shown, h("h3", {}, `Bytes${cut}`), dump);
  } else {
    const why = frame.recorded === "full" ? "This port shows no contents: it has no tokens, and the gateway has." : "Its contents are not recorded.";
    if (frame.bytes > 0) add(shown, h("p", { class: "muted" }, why));
  }
  return shown;
}

/** Whether there is a text for people; the bytes of others are shown all the same. */
const isLegible = (text: string): boolean => text !== "" && !/[\x00-\x08\x0e-\x1f\x7f]/.test(text);

function summary(frame: Explained): HTMLElement {
  const rows: [string, Node | string][] = [
    ["Time", clock(frame.at)],
    ["Link", framesLink(frame.link)],
    ["Way", `${frame.direction === "in" ? "from" : "to"} the ${frame.party}`],
    ["User", frame.user === 0 ? "–" : String(frame.user)],
    ["Row", `${frame.seq} of ${frame.node}`],
  ];
  if (frame.exchange) rows.push(["Conversation", storyLink(frame.exchange, `${frame.exchange.slice(0, 8)}…`)]);
  if (frame.error) rows.push(["Error", badge(frame.error, "bad")]);
  return h("dl", { class: "facts" }, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}
