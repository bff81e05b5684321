// Look for letters that let the bundle compress well, and keep them in names.json:
//
//   node scripts/names.mjs [SECONDS] [SEED]
//
// Which letters they are changes nothing but the size; after larger changes some other ones may save a few bytes.

import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { GROUPS, minified } from "./minified.mjs";

const FILE = new URL("names.json", import.meta.url);
const LETTERS = [..."tesirnaohlcudfmpgwybvxkqzABCDEFGHIJKLMNOPQRSTUVWXYZ$_"];
const PAIRS = ["at", "en", "is", "or", "to", "it"];
const HEAT = 0.5; // bytes; how much worse a step may be, in the beginning
const [seconds = 60, first = 1] = process.argv.slice(2).map(Number);

const names = [...new Set(GROUPS.flat())].sort();
const apart = names.map((name) => {
  const beside = new Set(GROUPS.filter((group) => group.includes(name)).flat());
  return names.flatMap((other, n) => (other !== name && beside.has(other) ? [n] : []));
});
const before = JSON.parse(readFileSync(FILE, "utf-8"));
const known = [...before.variables, ...LETTERS.filter((letter) => !before.variables.includes(letter))];
const variables = known.concat(LETTERS.flatMap((one) => LETTERS.slice(0, 2).map((two) => one + two)))
  .filter((name, n, all) => all.indexOf(name) === n && !/^(do|if|in|is|of|as)$/.test(name));

/** The bundle with something in the place of each name that is found again: of fields first, then of variables. */
const letters = Object.fromEntries(names.map((name, n) => [name, `Q${n}Q`]));
const placed = variables.map((_, n) => `Q${names.length + n}Q`);
const pieces = (await minified("src/index.ts", {}, { letters, variables: placed })).text.split(/Q(\d+)Q/);
const used = new Set(pieces.filter((_, n) => n % 2).map(Number));
const moving = variables.map((_, n) => n).filter((n) => used.has(names.length + n) && variables[n].length === 1);
/** How large it would be: a field and a variable of one name are written once. */
const size = (chosen) => {
  const text = pieces.map((piece, n) => (n % 2 ? chosen[piece] : piece)).join("");
  return gzipSync(text.replace(/(?<=[{,])([\w$]+):\1(?=[,}])/g, "$1")).length;
};

let seed = first;
const random = (below) => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return (seed >>> 8) % below;
};

/** Another choice, or undefined if it would not do. */
function another(chosen) {
  const tried = [...chosen];
  const kind = random(8);
  if (kind < 2) {
    // Two variables change names.
    const [one, two] = [random, random].map((pick) => names.length + moving[pick(moving.length)]);
    [tried[one], tried[two]] = [chosen[two], chosen[one]];
    return tried;
  }
  const n = random(names.length);
  const letter = [...LETTERS, ...PAIRS][random(LETTERS.length + PAIRS.length)];
  if (kind < 7) {
    // Another letter for one field; who has it and stands beside takes the one that becomes free.
    tried[n] = letter;
    for (const other of apart[n]) if (chosen[other] === letter) tried[other] = chosen[n];
    const clash = names.some((_, one) => apart[one].some((other) => tried[one] === tried[other]));
    return clash ? undefined : tried;
  }
  // Two letters change places everywhere.
  const swapped = { [letter]: chosen[n], [chosen[n]]: letter };
  names.forEach((_, at) => (tried[at] = swapped[chosen[at]] ?? chosen[at]));
  return tried;
}

let now = [];
names.forEach((name, n) => {
  const taken = apart[n].map((other) => now[other]);
  const kept = before.letters[name];
  now[n] = kept && !taken.includes(kept) ? kept : [...LETTERS, ...PAIRS].find((letter) => !taken.includes(letter));
});
now.push(...variables);
let best = now;
let [bytes, least] = [size(now), size(now)];
console.log(`names.json: ${least} bytes to begin with`);
const began = Date.now();
for (let done = 0; done < 1; done = (Date.now() - began) / 1000 / seconds) {
  const tried = another(now);
  if (!tried) continue;
  const found = size(tried);
  const worse = (found - bytes) / (HEAT * (1 - done) ** 2 + 0.05);
  if (worse <= 0 || Math.exp(-worse) * 65_536 > random(65_536)) [now, bytes] = [tried, found];
  if (bytes < least) [best, least] = [now, bytes];
}
console.log(`names.json: ${least} bytes now`);
const chosen = {
  letters: Object.fromEntries(names.map((name, n) => [name, best[n]])),
  variables: best.slice(names.length, names.length + Math.max(...used) - names.length + 1),
};
writeFileSync(FILE, `${JSON.stringify(chosen, null, 1)}\n`);
