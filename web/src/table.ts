/** A table whose rows come again each second: rows keep their elements, so that focus and selection stay. */

import { type Child, fill, h } from "./dom.ts";

export interface Column<T> {
  readonly title: string;
  /** `number` is right-aligned, `wide` takes what is left, `mono` is for ids. */
  readonly class?: string;
  readonly cell: (row: T) => Child;
}

/** Rows by key; a message where there are none. */
export class Table<T> {
  readonly element: HTMLElement;
  readonly #columns: readonly Column<T>[];
  readonly #body = h("tbody");
  readonly #empty: HTMLElement;
  readonly #scroller: HTMLElement;
  readonly #rows = new Map<string, HTMLTableRowElement>();

  constructor(label: string, columns: readonly Column<T>[], ...empty: Child[]) {
    this.#columns = columns;
    this.#empty = h("div", { class: "empty" }, ...empty);
    const head = h("tr", {}, ...columns.map((one) => h("th", { scope: "col", class: one.class ?? "" }, one.title)));
    this.#scroller = h(
      "div",
      { class: "scroller", tabindex: "0", role: "region", "aria-label": label },
      h("table", {}, h("thead", {}, head), this.#body),
    );
    this.element = h("div", { class: "table" }, this.#scroller, this.#empty);
  }

  /** What stands there while there are no rows, if it is something else by now. */
  whenEmpty(...children: Child[]): void {
    const told = h("div", {}, ...children);
    if (told.innerHTML !== this.#empty.innerHTML) fill(this.#empty, ...told.childNodes);
  }

  update(rows: readonly T[], key: (row: T) => string): void {
    this.#empty.hidden = rows.length > 0;
    this.#scroller.hidden = rows.length === 0;
    const seen = new Set<string>();
    rows.forEach((row, place) => {
      const own = key(row);
      seen.add(own);
      let line = this.#rows.get(own);
      if (!line) {
        line = h("tr", {}, ...this.#columns.map((one) => h("td", { class: one.class ?? "" })));
        this.#rows.set(own, line);
      }
      this.#columns.forEach((column, at) => refresh(line.cells[at]!, column.cell(row)));
      if (this.#body.children[place] !== line) this.#body.insertBefore(line, this.#body.children[place] ?? null);
    });
    for (const [own, line] of this.#rows) {
      if (seen.has(own)) continue;
      line.remove();
      this.#rows.delete(own);
    }
  }
}

function refresh(cell: HTMLElement, child: Child): void {
  if (child instanceof Element) {
    const old = cell.firstElementChild;
    if (!old || cell.childNodes.length !== 1 || old.outerHTML !== child.outerHTML) fill(cell, child);
  } else if (cell.textContent !== String(child ?? "")) {
    fill(cell, child);
  }
}
