/** What `JSON.parse` lets pass and an envelope may not have (spec/mfp.md, section 7). Pure. */

/** Arrays and objects inside each other, inside the envelope's own object. */
export const MAX_DEPTH = 64;

const HALF_PAIR = /\p{Surrogate}/u;
const AFTER_NUMBER = /[^-+.\deE]/g;

/**
 * Why `json` is not strict, or nothing. It was parsed already: that its brackets, strings and numbers are
 * right is known.
 */
export function fault(json: string): string | undefined {
  const open: (Set<string> | undefined)[] = []; // the keys of each object around; an array has none
  let isKey = false;
  for (let at = 0; at < json.length; at++) {
    const char = json[at]!;
    if (char === "{" || char === "[") {
      if (open.length > MAX_DEPTH) return `nested deeper than ${MAX_DEPTH} levels`;
      isKey = char === "{";
      open.push(isKey ? new Set() : undefined);
    } else if (char === "}" || char === "]") {
      open.pop();
    } else if (char === ":") {
      isKey = false;
    } else if (char === ",") {
      isKey = open.at(-1) !== undefined;
    } else if (char === '"') {
      const end = endOfString(json, at);
      const text = textOf(json.slice(at, end + 1));
      if (HALF_PAIR.test(text)) return "half a surrogate pair";
      if (isKey) {
        const keys = open.at(-1)!;
        if (keys.has(text)) return `duplicate key ${JSON.stringify(text.slice(0, 100))}`;
        keys.add(text);
      }
      at = end;
    } else if (char === "-" || (char >= "0" && char <= "9")) {
      AFTER_NUMBER.lastIndex = at;
      const end = AFTER_NUMBER.exec(json)?.index ?? json.length;
      if (!Number.isFinite(Number(json.slice(at, end)))) return "number out of range";
      at = end - 1;
    }
  }
  return undefined;
}

function endOfString(json: string, start: number): number {
  for (let end = start; ; ) {
    end = json.indexOf('"', end + 1);
    let slashes = 0;
    while (json[end - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return end;
  }
}

function textOf(literal: string): string {
  return literal.includes("\\") ? (JSON.parse(literal) as string) : literal.slice(1, -1);
}
