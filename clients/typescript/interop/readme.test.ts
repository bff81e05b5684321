/** What README.md shows, word for word, against the gateway that it names. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Gateway } from "./gateways.ts";

test("the code of the README runs and says what it should", async () => {
  const { port } = await Gateway.start();
  const said: unknown[][] = [];
  const { log } = console;
  const Real = globalThis.WebSocket;
  globalThis.WebSocket = class extends Real {
    constructor(url: string, protocols: string[]) {
      super(url.replace("7400", String(port)), protocols);
    }
  } as typeof Real;
  console.log = (...words) => said.push(words);
  try {
    await import("../out/readme.ts");
  } finally {
    console.log = log;
    globalThis.WebSocket = Real;
  }
  assert.deepEqual(said.slice(0, 4), [
    [1],
    [{ reason: "not sold here", item: "tea" }],
    [0, "receipts.txt", "text/plain", 72],
    ["a page"],
  ]);
  const lines = said.map((words) => words.join(" "));
  assert(lines.includes("20 of 20"));
  assert(lines.some((line) => /^20 [0-9a-f]{64}$/.test(line)));
  assert(lines.some((line) => line.startsWith("TimeoutError")));
  assert.match(lines.at(-2)!, /^open [0-9a-f]{16} 0\.\d+/);
  assert.equal(lines.at(-1), "closed");
});
