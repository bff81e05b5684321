import assert from "node:assert/strict";
import { test } from "node:test";
import * as errors from "./errors.ts";
import * as framehub from "./index.ts";

test("the names that users import are these", () => {
  const others = ["Endpoints", "InStream", "OutStream", "Peer", "Reply", "connect"];
  assert.deepEqual(Object.keys(framehub).sort(), [...others, ...Object.keys(errors)].sort());
});
