/** Small charts over the last minutes, drawn as SVG. */

import { h, say, svg } from "./dom.ts";

export interface Series {
  readonly label: string;
  /** Which colour: a class of the sheet. */
  readonly tone: string;
  readonly values: readonly (number | null)[];
  readonly area?: boolean;
}

export interface Shape {
  readonly line: string;
  readonly area: string;
  /** Where a value has no neighbour: no line leads there. */
  readonly dots: string;
}

const WIDE = 600;
const HIGH = 100;

/** A round number at or above all values: 1, 2 or 5 times a power of ten. */
export function ceiling(values: readonly (number | null)[]): number {
  const most = Math.max(0, ...values.filter((value) => value !== null));
  if (most === 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= most) ?? most;
}

/** How high a value stands, 0 to 1; with a `least` each doubling takes as much room. */
export function height(value: number, most: number, least = 0): number {
  const share = least > 0 ? Math.log(Math.max(value, least) / least) / Math.log(most / least) : value / most;
  return Math.min(1, Math.max(0, share));
}

/** A path through the values, `slots` of them wide, the last one at the right; gaps where there is none. */
export function shape(values: readonly (number | null)[], most: number, slots: number, least = 0): Shape {
  const step = WIDE / Math.max(1, slots - 1);
  const start = WIDE - step * (values.length - 1);
  let line = "";
  let area = "";
  let dots = "";
  let from = -1;
  values.forEach((value, place) => {
    const x = (start + step * place).toFixed(1);
    if (value === null) {
      from = -1;
      return;
    }
    const y = (HIGH - (HIGH - 4) * height(value, most, least)).toFixed(1);
    const isFirst = from < 0;
    line += `${isFirst ? "M" : "L"}${x} ${y}`;
    area += isFirst ? `M${x} ${HIGH}L${x} ${y}` : `L${x} ${y}`;
    from = place;
    const isLast = (values[place + 1] ?? null) === null;
    if (isLast) area += `L${x} ${HIGH}Z`;
    if (isLast && isFirst) dots += `M${x} ${y}h0`;
  });
  return { line, area, dots };
}

/** One chart: `update` it with what is new. */
export class Chart {
  readonly element: HTMLElement;
  readonly #drawing: SVGElement;
  readonly #legend = h("div", { class: "legend" });
  readonly #top = h("span", { class: "chart-top" });
  readonly #cursor = h("div", { class: "chart-cursor", hidden: true });
  readonly #format: (value: number) => string;
  readonly #most: number;
  readonly #least: number;
  readonly #since = h("span", {});
  #slots = 60;
  #series: readonly Series[] = [];
  #at: number | undefined;

  /** `slots` are seconds at most; with `least`, an axis on which each doubling takes as much room. */
  constructor(title: string, format: (value: number) => string, slots: number, least = 0) {
    this.#format = format;
    this.#most = slots;
    this.#least = least;
    this.#drawing = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    const plot = h(
      "div",
      {
        class: "plot",
        onpointermove: (event: PointerEvent) => this.#point(event, plot),
        onpointerleave: () => this.#leave(),
      },
      this.#drawing,
      this.#top,
      least > 0 ? h("span", { class: "chart-bottom" }, format(least)) : null,
      this.#cursor,
    );
    const scale = h("div", { class: "chart-scale" }, this.#since, h("span", {}, "now"));
    this.element = h("section", { class: "card chart", "aria-label": title }, h("h3", {}, title), this.#legend, plot, scale);
  }

  update(series: readonly Series[]): void {
    this.#series = series;
    const known = Math.max(0, ...series.map(({ values }) => values.length));
    this.#slots = Math.min(this.#most, Math.max(60, 60 * Math.ceil(known / 60)));
    say(this.#since, `${this.#slots / 60} min ago`);
    const most = ceiling(series.flatMap(({ values }) => values));
    const drawn: SVGElement[] = [25, 50, 75].map((y) =>
      svg("line", { x1: 0, x2: WIDE, y1: y, y2: y, class: "grid-line" }),
    );
    for (const { values, tone, area } of series) {
      const made = shape(values, Math.max(most, 10 * this.#least), this.#slots, this.#least);
      if (area) drawn.push(svg("path", { d: made.area, class: `area ${tone}` }));
      drawn.push(svg("path", { d: made.line, class: `line ${tone}` }));
      if (made.dots) drawn.push(svg("path", { d: made.dots, class: `line dots ${tone}` }));
    }
    this.#drawing.replaceChildren(...drawn);
    say(this.#top, this.#format(Math.max(most, 10 * this.#least)));
    this.#tell();
  }

  #tell(): void {
    const entries = this.#series.map(({ label, tone, values }) => {
      const place = this.#at === undefined ? values.length - 1 : values.length - 1 - this.#at;
      const value = values[place];
      const shown = value === null || value === undefined ? "–" : this.#format(value);
      return h("span", { class: "entry" }, h("i", { class: `dot ${tone}` }), `${label} `, h("b", {}, shown));
    });
    const when = this.#at ? h("span", { class: "muted" }, `${this.#at} s ago`) : null;
    this.#legend.replaceChildren(...entries, ...(when ? [when] : []));
  }

  #point(event: PointerEvent, plot: HTMLElement): void {
    const box = plot.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    this.#at = Math.round((1 - share) * (this.#slots - 1));
    this.#cursor.hidden = false;
    this.#cursor.style.left = `${100 * share}%`;
    this.#tell();
  }

  #leave(): void {
    this.#at = undefined;
    this.#cursor.hidden = true;
    this.#tell();
  }
}
