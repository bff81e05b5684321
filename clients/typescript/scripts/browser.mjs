// The tests of the codec and of the machine as one script for a page, out/browser.js: built as the client is,
// so that what a page replays the vectors with is minified like the module that pages get.

import { mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { minified } from "./minified.mjs";

const tests = ["src", "src/mfp", "browser"].flatMap((directory) =>
  readdirSync(directory).filter((file) => file.endsWith(".test.ts")).map((file) => `./${directory}/${file}`),
);
const { text, names } = await minified(undefined, {
  entryPoints: undefined,
  stdin: { contents: tests.map((file) => `import "${file}";`).join("\n"), resolveDir: "." },
  alias: {
    "node:assert/strict": resolve("browser/assert.ts"),
    "node:test": resolve("browser/test.ts"),
    "node:fs": resolve("browser/files.ts"),
    "node:path": resolve("browser/files.ts"),
  },
  define: { "process.cwd": "String" },
  ignoreAnnotations: true, // package.json says that nothing here has effects: tests are all effect
});
mkdirSync("out", { recursive: true });
const unfinished = `out/browser.js.${process.pid}`; // somebody else may be reading the one that is there
writeFileSync(unfinished, `globalThis.NAMES = ${JSON.stringify(names)};\n${text}`);
renameSync(unfinished, "out/browser.js");
