/** Replay every conversation of a file that is named on the command line; tell how many went otherwise. */

import { readFileSync } from "node:fs";
import { play } from "./replay.ts";
import type { ConversationCase } from "./vectors.ts";

const { cases } = JSON.parse(readFileSync(process.argv[2]!, "utf-8")) as { cases: ConversationCase[] };
let otherwise = 0;
for (const one of cases) {
  try {
    play(one, one.hands ?? []);
  } catch (error) {
    if (otherwise++ < 5) console.log(one.name, error);
  }
}
console.log(`${cases.length} conversations, ${otherwise} otherwise`);
process.exitCode = otherwise ? 1 : 0;
