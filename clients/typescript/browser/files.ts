/** The files of spec/ that the tests read, for a browser: whoever opened the page left them in `SPEC`. */

declare global {
  /** What each file holds, by its path in spec/. */
  var SPEC: Readonly<Record<string, string>>;
  /** What the build calls fields that are internal: the tests' own fields of that name are called so too. */
  var NAMES: Readonly<Record<string, string>>;
}

/** Let JSON have the build's names; not what an application would say, which is JSON for the client too. */
function renamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamed);
  if (Object(value) !== value) return value;
  const entries = Object.entries(value as object);
  return Object.fromEntries(
    entries.map(([key, inner]) => [NAMES[key] ?? key, key === "envelope" ? inner : renamed(inner)]),
  );
}

export function join(...parts: string[]): string {
  return parts.filter((part) => part && part !== "..").join("/");
}

export function readdirSync(folder: string): string[] {
  const inside = Object.keys(SPEC).filter((path) => path.startsWith(`${folder}/`.replace("spec/", "")));
  return inside.map((path) => path.split("/").at(-1)!);
}

export function readFileSync(path: string): string {
  const text = SPEC[path.replace("spec/", "")];
  if (text === undefined) throw new Error(`no such file: ${path}`);
  return JSON.stringify(renamed(JSON.parse(text)));
}
