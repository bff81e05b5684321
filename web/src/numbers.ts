/** Numbers of JSON that a browser cannot hold: what it would make of them is another number. Pure. */

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/;
const DIGITS = /^-?\d+$/;

/** The words, numbers, strings and signs of a text of JSON, and where they stand. */
function* tokens(text: string): Generator<readonly [string, number]> {
  const begin = /[-+.\w]+|["[\]{},:]/g;
  for (let found = begin.exec(text); found !== null; found = begin.exec(text)) {
    if (found[0] === '"') begin.lastIndex = behind(text, found.index);
    yield [text.slice(found.index, begin.lastIndex), found.index];
  }
}

/** Where a string that begins here is over. */
function behind(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

/** The first number in a text of JSON that a browser would send as another one. */
export function lossy(text: string): string | undefined {
  for (const [token] of tokens(text)) if (/^-?\d/.test(token) && isChanged(token)) return token;
  return undefined;
}

/** An integer, however written, has to stay what it is, in digits if it is in digits; a fraction one, rounded like any. */
function isChanged(token: string): boolean {
  const value = Number(token);
  const sent = String(value);
  if (sent === token) return false;
  const typed = decimal(token);
  if (typed === undefined) return false; // no number of JSON
  if (!Number.isFinite(value)) return true;
  if (typed.power < 0) return Number.isInteger(value);
  const { digits, power } = decimal(sent)!;
  return digits !== typed.digits || power !== typed.power || (DIGITS.test(token) && !DIGITS.test(sent));
}

/** A number of JSON as digits with no zeros around them, and the power of ten of the last one: below 0, it is a fraction. */
function decimal(token: string): { digits: string; power: number } | undefined {
  const found = NUMBER.exec(token);
  if (found === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = found;
  const all = whole + fraction;
  let [from, to] = [0, all.length];
  while (from < to && all[from] === "0") from += 1;
  while (from < to && all[to - 1] === "0") to -= 1;
  if (from === to) return { digits: "0", power: 0 };
  return { digits: sign + all.slice(from, to), power: Number(exponent) + whole.length - to };
}

/** Whether a value that was read has numbers that may have been others. */
export function isRounded(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
  return typeof value === "object" && value !== null && Object.values(value).some(isRounded);
}

/** A value as JSON; where a number may have been another, it says so. */
export function written(value: unknown, indent?: number): string {
  const honest = (_name: string, one: unknown) => (typeof one === "number" && isRounded(one) ? `about ${one}` : one);
  return JSON.stringify(value, honest, indent) ?? "";
}

/** JSON over several lines, each number in it as it stands. */
export function indented(text: string): string {
  let depth = 0;
  let before = "";
  let made = "";
  const broken = () => `\n${"  ".repeat(depth)}`;
  for (const [token] of tokens(text)) {
    const closes = token === "}" || token === "]";
    if (closes) depth -= 1;
    const isFirst = before === "{" || before === "[";
    if (before === "," || (isFirst ? !closes : closes)) made += broken();
    made += token === ":" ? ": " : token;
    if (token === "{" || token === "[") depth += 1;
    before = token;
  }
  return made;
}

/** What stands behind a name in the outermost object of a text of JSON, as it stands there. */
export function member(text: string, name: string): string | undefined {
  let depth = 0;
  let before = "";
  let key = "";
  let from = -1;
  let found: string | undefined;
  for (const [token, index] of tokens(text)) {
    if (token === "}" || token === "]") depth -= 1;
    if (from >= 0 && (depth === 0 || (depth === 1 && token === ","))) {
      if (key === name) found = text.slice(from, index).trim();
      from = -1;
    }
    if (depth === 1 && token === ":") {
      key = JSON.parse(before) as string;
      from = index + 1;
    }
    if (token === "{" || token === "[") depth += 1;
    before = token;
  }
  return found;
}
