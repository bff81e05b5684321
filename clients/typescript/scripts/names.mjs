// Look for letters that let the bundle compress well, and keep them in names.json:
//
//   node scripts/names.mjs [SECONDS] [SEED]
//
// Which letters they are changes nothing but the size; after larger changes some other ones may save a few bytes.

import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { GROUPS, minified } from "./minified.mjs";

const FILE = new URL("names.json", import.meta.url);
const LETTERS = [..."tesirnaohlcudfmpgwybvxkqzABCDEFGHIJKLMNOP"];
const [seconds = 60, first = 1] = process.argv.slice(2).map(Number);
const names = [...new Set(GROUPS.flat())].sort();
const apart = names.map((name) => {
  const beside = new Set(GROUPS.filter((group) => group.includes(name)).flat());
  return names.flatMap((other, n) => (other !== name && beside.has(other) ? [n] : []));
});

/** The bundle with something in the place of each name that is found again. */
const marked = Object.fromEntries(names.map((name, n) => [name, `Q${n}Q`]));
const pieces = (await minified("src/index.ts", {}, marked)).text.split(/Q(\d+)Q/);
const size = (letters) =>
  gzipSync(pieces.map((piece, n) => (n % 2 ? letters[piece] : piece)).join(""), { level: 9 }).length;

let seed = first;
const random = (below) => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return (seed >>> 8) % below;
};

const before = JSON.parse(readFileSync(FILE, "utf-8"));
let best = [];
names.forEach((name, n) => {
  const taken = apart[n].map((other) => best[other]);
  const kept = before[name];
  best[n] = kept && !taken.includes(kept) ? kept : LETTERS.find((letter) => !taken.includes(letter));
});
let least = size(best);
console.log(`names.json: ${least} bytes to begin with`);
for (const until = Date.now() + 1000 * seconds; Date.now() < until; ) {
  const tried = [...best];
  const [n, letter] = [random(names.length), LETTERS[random(LETTERS.length)]];
  if (random(2)) {
    // Another letter for one name; who has it and stands beside takes the one that becomes free.
    tried[n] = letter;
    for (const other of apart[n]) if (best[other] === letter) tried[other] = best[n];
    if (names.some((_, one) => apart[one].some((other) => tried[one] === tried[other]))) continue;
  } else {
    // Two letters change places everywhere.
    const swapped = { [letter]: best[n], [best[n]]: letter };
    tried.forEach((one, at) => (tried[at] = swapped[one] ?? one));
  }
  const found = size(tried);
  if (found <= least) [best, least] = [tried, found];
}
console.log(`names.json: ${least} bytes now`);
writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(names.map((name, n) => [name, best[n]])), null, 1)}\n`);
