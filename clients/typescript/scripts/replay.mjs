// node scripts/replay.mjs FILE: replay the conversations of FILE, which are written as spec/vectors has them.

import { spawnSync } from "node:child_process";
import { build } from "esbuild";

const outfile = "out/replay.mjs";
await build({
  entryPoints: ["src/testing/replay_file.ts"],
  outfile,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  sourcemap: "inline",
  logLevel: "warning",
});
const args = ["--enable-source-maps", outfile, ...process.argv.slice(2)];
process.exit(spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1);
