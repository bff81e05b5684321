/** Elements without markup: text is text, and nothing of a peer's is ever read as HTML. */

export type Child = Node | string | number | null | undefined | false;
type Props = Record<string, unknown>;

const SVG = "http://www.w3.org/2000/svg";

/** An element: `on...` are listeners, `class` and `data-...` attributes, all else is set as a property if there is one. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) set(made, name, value);
  add(made, ...children);
  return made;
}

/** An element of a drawing. */
export function svg(tag: string, attributes: Record<string, string | number> = {}, ...children: Child[]): SVGElement {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  add(made, ...children);
  return made;
}

function set(element: HTMLElement, name: string, value: unknown): void {
  if (value === undefined || value === null || (value === false && !(name in element))) return;
  if (name.startsWith("on")) {
    element.addEventListener(name.slice(2), value as EventListener);
  } else if (name === "class" || name.includes("-") || name === "for" || name === "role") {
    element.setAttribute(name, String(value));
  } else if (name in element) {
    (element as unknown as Props)[name] = value;
  } else {
    element.setAttribute(name, String(value));
  }
}

export function add(parent: Node, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** These children instead of those that are there. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  add(parent, ...children);
}

/** Text instead of what is there, if it is another: what has not changed is not drawn again. */
export function say(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
