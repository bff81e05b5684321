/** The files of spec/ that the tests read, for a browser: whoever opened the page left them in `SPEC`. */

declare global {
  /** What each file holds, by its path in spec/. */
  var SPEC: Readonly<Record<string, string>>;
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
  return text;
}
