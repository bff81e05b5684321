// One ESM bundle, minified, for browsers and Node: dist/framehub.js, and the copy in framehub's wheel.
//
//   node scripts/build.mjs            build both
//   node scripts/build.mjs --check    build nothing; fail if the wheel's copy is not what would be built
//
// The bundle's first line has the beginning of the SHA-256 of what it was made from, so that a test without Node can tell
// whether it is stale (tests/architecture/test_client_is_fresh.py reckons it the same way).

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { gzipSync } from "node:zlib";
import { minified } from "./minified.mjs";

const MOST_BYTES = 12 * 1024;
const OWN = "dist/framehub.js";
const SHIPPED = "../../src/framehub/console/static/framehub.js";

/** Everything that decides what is built, in a fixed order. */
function sources() {
  const inside = readdirSync("src", { recursive: true }).map((file) => `src/${file}`);
  const ours = inside.filter((file) => file.endsWith(".ts") && !/\.test\.ts$|^src\/testing\//.test(file));
  return [...ours, "package-lock.json", "scripts/build.mjs", "scripts/minified.mjs", "scripts/names.json"].sort();
}

function stamp() {
  const sum = createHash("sha256");
  for (const file of sources()) sum.update(`${file}\0`).update(readFileSync(file)).update("\0");
  return sum.digest("hex").slice(0, 12);
}

async function bundle() {
  const { text } = await minified("src/index.ts");
  const { version, license } = JSON.parse(readFileSync("package.json", "utf-8"));
  return `// framehub ${version} ${license} ${stamp()}\n${text}`;
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const text = await bundle();
const size = gzipSync(text).length; // as servers do it; a higher level gives less
console.log(`framehub.js: ${text.length} bytes, ${size} gzipped, at most ${MOST_BYTES}`);
if (size > MOST_BYTES) {
  console.error(`framehub.js: ${size - MOST_BYTES} bytes too many`);
  process.exit(1);
}
if (process.argv.includes("--check")) {
  if (readFileSync(SHIPPED, "utf-8") !== text) {
    console.error(`${SHIPPED} is stale: npm run build`);
    process.exit(1);
  }
} else {
  write(OWN, text);
  write(SHIPPED, text);
}
