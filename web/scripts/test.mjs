// Build every *.test.ts and run it with Node's own test runner; pure modules only, no DOM.

import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(new URL("../../clients/typescript/package.json", import.meta.url));
const { build } = require("esbuild");
const found = readdirSync("src", { recursive: true }).filter((file) => file.endsWith(".test.ts"));
if (found.length === 0) throw new Error("no tests found");
rmSync("out", { recursive: true, force: true });
await build({
  entryPoints: found.map((file) => join("src", file)),
  outdir: "out",
  outbase: "src",
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  sourcemap: "inline",
  logLevel: "warning",
});
const built = found.map((file) => join("out", file.replace(/\.ts$/, ".mjs")));
const done = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...built], { stdio: "inherit" });
process.exit(done.status ?? 1);
