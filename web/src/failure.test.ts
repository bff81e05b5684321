import assert from "node:assert/strict";
import { test } from "node:test";
import { isAllSaid } from "./failure.ts";

test("a code and a message, or a text, are said in words", () => {
  assert.ok([{ code: "application", message: "no" }, { code: 7, message: "no" }, { message: "no" }, "no"].every(isAllSaid));
});

test("whatever has more to it is not", () => {
  assert.ok(![{ code: "a", message: "no", at: 3 }, { code: "a" }, { code: {}, message: "no" }, { message: 1 }, ["no"], 7, null].some(isAllSaid));
});
