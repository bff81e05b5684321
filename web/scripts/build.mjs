// The page: one ESM bundle that takes the client from ./framehub.js, one sheet, one document.
//
//   node scripts/build.mjs            build into src/framehub/console/static
//   node scripts/build.mjs --check    build nothing; fail if what is there is not what would be built
//
// The script's first line has the SHA-256 of what it was made from, so that a test without Node can tell
// whether it is stale (tests/architecture/test_console_is_fresh.py reckons it the same way).

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const TOOLS = "../clients/typescript/";
const { build, transform } = createRequire(new URL(`../${TOOLS}package.json`, import.meta.url))("esbuild");
const OUT = "../src/framehub/console/static/";

/** Everything that decides what is built, in a fixed order. */
function sources() {
  const inside = readdirSync("src", { recursive: true }).map((file) => `src/${file.replaceAll("\\", "/")}`);
  const ours = inside.filter((file) => /\.(ts|css|html|svg)$/.test(file) && !file.endsWith(".test.ts"));
  return [...ours, "scripts/build.mjs"].sort();
}

function stamp() {
  const sum = createHash("sha256");
  for (const file of sources()) sum.update(`${file}\0`).update(readFileSync(file)).update("\0");
  return sum.digest("hex");
}

const client = {
  name: "client",
  setup: (it) => it.onResolve({ filter: /^framehub$/ }, () => ({ path: "./framehub.js", external: true })),
};

async function script() {
  const { outputFiles } = await build({
    entryPoints: ["src/main.ts"],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    plugins: [client],
    write: false,
  });
  return `// framehub's console, Apache-2.0; sources sha256:${stamp()}\n${outputFiles[0].text}`;
}

async function sheet() {
  const text = readFileSync("src/console.css", "utf-8");
  return (await transform(text, { loader: "css", minify: true, target: "es2022" })).code;
}

const built = {
  "console.js": await script(),
  "console.css": await sheet(),
  "index.html": readFileSync("src/index.html", "utf-8"),
  "icon.svg": readFileSync("src/icon.svg", "utf-8"),
};
for (const [name, text] of Object.entries(built)) console.log(`${name}: ${Buffer.byteLength(text)} bytes`);
for (const [name, text] of Object.entries(built)) {
  if (!process.argv.includes("--check")) {
    writeFileSync(OUT + name, text);
  } else if (readFileSync(OUT + name, "utf-8") !== text) {
    console.error(`${OUT}${name} is stale: make console`);
    process.exit(1);
  }
}
