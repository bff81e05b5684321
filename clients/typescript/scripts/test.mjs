// Build every *.test.ts under the given directory and run it with Node's own test runner.
//
//   node scripts/test.mjs src            what needs nothing but this directory
//   node scripts/test.mjs interop        against real gateways; FRAMEHUB names the command

import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { build } from "esbuild";

function testsIn(directory) {
  const files = readdirSync(directory, { recursive: true });
  return files.filter((file) => file.endsWith(".test.ts")).map((file) => join(directory, file));
}

const [directory] = process.argv.slice(2);
const found = testsIn(directory);
const OUT = `out/${directory}`;
if (found.length === 0) throw new Error("no tests found");
rmSync(OUT, { recursive: true, force: true });
await build({
  entryPoints: found,
  outdir: OUT,
  outbase: directory,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  // The interop tests are of what users get, and not of src, which tsconfig.json has as "framehub".
  alias: { framehub: "../../src/framehub/console/static/framehub.js" },
  tsconfigRaw: {},
  format: "esm",
  platform: "node",
  target: "node20",
  sourcemap: "inline",
  logLevel: "warning",
});
const built = found.map((file) => join(OUT, relative(directory, file).replace(/\.ts$/, ".mjs")));
// Node 20 has its WebSocket behind this flag; later ones have it and take the flag all the same.
const flags = ["--experimental-websocket", "--no-warnings", "--enable-source-maps", "--test-timeout=120000"];
const done = spawnSync(process.execPath, [...flags, "--test", ...built], {
  stdio: "inherit",
  timeout: 600_000,
});
process.exit(done.status ?? 1);
