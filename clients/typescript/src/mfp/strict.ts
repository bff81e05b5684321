/** What `JSON.parse` lets pass and an envelope may not have (spec/mfp.md, section 7). Pure. */

/** Arrays and objects inside each other, inside the envelope's own object. */
export const MAX_DEPTH = 64;

const HALF_PAIR = /\p{Surrogate}/u;
const TOKENS = /"[^"]*"|[{}[\],]|-?\d[^\s,}\]]*/g;

/**
 * Why `json` is not strict, or nothing. It was parsed already: that its brackets, strings and numbers are
 * right is known.
 */
export function fault(json: string): string | undefined {
  const open: (Set<string> | false)[] = []; // the keys of each object around; an array has none
  let isKey = false;
  // Without escapes, a string ends with the next quote; what was escaped is looked at where it stands.
  for (const { 0: token, index } of json.replace(/\\./g, "..").matchAll(TOKENS)) {
    if (token[0] === '"') {
      let text = json.slice(index + 1, index + token.length - 1);
      if (text.includes("\\")) text = JSON.parse(`"${text}"`) as string;
      if (HALF_PAIR.test(text)) return "lone surrogate";
      if (isKey) {
        const keys = open.at(-1) as Set<string>;
        if (keys.has(text)) return `duplicate key ${JSON.stringify(text.slice(0, 100))}`;
        keys.add(text);
      }
      isKey = false;
    } else if (token === "{" || token === "[") {
      if (open.length > MAX_DEPTH) return `nested deeper than ${MAX_DEPTH} levels`;
      isKey = token === "{";
      open.push(isKey && new Set());
    } else if (token === ",") {
      isKey = !!open.at(-1);
    } else if (token === "}" || token === "]") {
      open.pop();
    } else if (!isFinite(+token)) {
      return "number out of range";
    }
  }
  return undefined;
}
