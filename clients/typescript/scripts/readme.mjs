// The code of README.md as one module, out/readme.ts, to be checked and run like any other.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";

const blocks = [...readFileSync("README.md", "utf-8").matchAll(/^```ts\n(.*?)^```$/gms)];
mkdirSync("out", { recursive: true });
const unfinished = `out/readme.ts.${process.pid}`; // somebody else may be reading the one that is there
writeFileSync(unfinished, blocks.map(([, code]) => code).join("\n"));
renameSync(unfinished, "out/readme.ts");
