// The code of README.md as one module, out/readme.ts, to be checked and run like any other.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const blocks = [...readFileSync("README.md", "utf-8").matchAll(/^```ts\n(.*?)^```$/gms)];
mkdirSync("out", { recursive: true });
writeFileSync("out/readme.ts", blocks.map(([, code]) => code).join("\n"));
