/** One conversation as a picture: who took part, what passed between them, and what that means. */

import { add, h, svg } from "../dom.ts";
import { bytes, clock, counted, short, took } from "../format.ts";
import type { Lane, Story, StoryEvent } from "../told.ts";
import { badge, outcomeBadge, pressed, storyLink } from "../view.ts";

const ROW = 34;
const NARROW = 820;
const TOP = 16;

/** The verdict, the picture and its parts; `onframe` is told which frame was chosen. */
export function picture(story: Story, onframe: (event: StoryEvent, row: HTMLElement) => void): HTMLElement {
  const shown = h("div", { class: "story" });
  add(shown, verdict(story), parts(story), diagram(story, onframe));
  return shown;
}

function verdict(story: Story): HTMLElement {
  const root = story.parts[0];
  const title = h("h2", {}, root?.name ?? "", " ", root ? outcomeBadge(root.outcome, root.code ?? "") : null);
  const sentences = story.sentences.map(({ text, kind }) => h("li", { class: `said ${kind}` }, text));
  return h("section", { class: "card verdict" }, title, h("p", { class: "muted" }, `began ${clock(story.began)}, ${new Date(story.began).toLocaleDateString("sv")}`), h("ol", {}, ...sentences));
}

/** Each exchange as a bar over the common time. */
function parts(story: Story): HTMLElement {
  const whole = Math.max(story.ms, ...story.parts.map(({ opened = 0, ms }) => opened + (ms ?? 0)), 0.001);
  const rows = story.parts.map((part) => {
    const from = (100 * (part.opened ?? 0)) / whole;
    const wide = Math.max(0.5, (100 * (part.ms ?? 0)) / whole);
    const bar = svg("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { x: 0, y: 4, width: 100, height: 2, class: "bar-rail" }),
      svg("rect", { x: Math.min(from, 99.5), y: 1, width: Math.min(wide, 100 - Math.min(from, 99.5)), height: 8, rx: 1, class: `bar-fill ${part.outcome}` }));
    const own = part.exchange === story.exchange;
    return h("tr", { class: own ? "chosen" : "" },
      h("td", {}, own ? h("b", {}, part.name) : storyLink(part.exchange, part.name || short(part.exchange))),
      h("td", {}, part.called ? badge(part.called) : null),
      h("td", { class: "wide" }, bar),
      h("td", { class: "number" }, took(part.ms)),
      h("td", {}, part.outcome ? outcomeBadge(part.outcome, part.code ?? "") : null));
  });
  return h("section", { class: "card" }, h("h2", {}, "Parts"), h("div", { class: "scroller" }, h("table", { class: "parts" }, h("tbody", {}, ...rows))));
}

/** Lanes side by side, time downwards; each frame is an arrow and a line of text. */
function diagram(story: Story, onframe: (event: StoryEvent, row: HTMLElement) => void): HTMLElement {
  const { lanes, events } = story;
  const place = new Map(lanes.map((lane, at) => [lane.id, at]));
  const high = TOP + ROW * events.length + 8;
  const lane = innerWidth <= NARROW ? 56 : 88;
  const width = lane * lanes.length;
  const at = (id: string) => lane * (place.get(id) ?? 0) + lane / 2;
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${high}`, width, height: high, class: "arrows", "aria-hidden": "true" });
  for (const { id, party } of lanes) add(drawing, svg("line", { x1: at(id), x2: at(id), y1: 0, y2: high, class: `life ${party}` }));
  const rows = events.map((event, number) => {
    const y = TOP + ROW * number + ROW / 2;
    const problem = event.error || event.refused || event.says === "timeout" || event.says === "abort";
    add(drawing, arrow(at(event.from), at(event.to), y, problem ? "problem" : event.protocol));
    const open = () => onframe(event, row);
    const before = number === 0 ? 0 : event.after - (events[number - 1]?.after ?? 0);
    const row: HTMLElement = h("div", { class: `event ${problem ? "problem" : ""} ${event.from === event.to ? "inner" : ""}`, tabindex: "0", role: "button", onclick: open, onkeydown: (press: KeyboardEvent) => pressed(press) && open() },
      h("span", { class: "after", title: clock(event.at) }, `+${took(event.after)}`),
      h("span", { class: `waited ${before > 20 ? "long" : ""}` }, number === 0 ? "" : took(before)),
      h("span", { class: "what" }, badge(event.protocol, event.protocol), ` ${event.says}`, event.error ? badge(event.error, "bad") : null),
      h("span", { class: "size" }, event.bytes ? bytes(event.bytes) : ""),
      h("span", { class: "carries mono" }, event.preview ?? ""));
    return row;
  });
  const heads = lanes.map((one) => h("div", { class: `lane ${one.party}` }, laneName(one)));
  const left = story.left_out ? h("p", { class: "muted" }, `${counted(story.left_out, "frame")} in between ${story.left_out === 1 ? "is" : "are"} not shown.`) : null;
  return h("section", { class: "card" },
    h("h2", {}, "Frames"),
    h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "frames of this conversation" },
      h("div", { class: "diagram" },
        h("div", { class: "lanes" }, ...heads), h("div", { class: "events-head muted" }, h("span", {}, "after"), h("span", {}, "waited"), h("span", {}, "frame"), h("span", {}, ""), h("span", {}, "contents")),
        h("div", { class: "drawing" }, drawing as unknown as Node), h("div", { class: "events" }, ...rows))),
    left);
}

function laneName({ party, link }: Lane): HTMLElement {
  return h("span", {}, h("b", {}, party), link ? h("small", { class: "mono" }, short(link)) : h("small", {}, "this node"));
}

function arrow(from: number, to: number, y: number, tone: string): SVGElement {
  if (from === to) return svg("circle", { cx: from, cy: y, r: 4, class: `arrow-self ${tone}` });
  const by = to > from ? -1 : 1;
  const tip = `M${to} ${y}l${7 * by} -4v8z`;
  return svg("g", { class: `arrow ${tone}` }, svg("line", { x1: from, x2: to + 4 * by, y1: y, y2: y }), svg("path", { d: tip }));
}
