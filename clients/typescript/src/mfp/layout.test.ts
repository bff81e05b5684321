import assert from "node:assert/strict";
import { test } from "node:test";
import { BinaryKind } from "../codes.ts";
import { isKeyed, KIND_NAMES } from "./layout.ts";

test("files have keys, data and ends have none", () => {
  const { NONE, EXPECTED, STREAMING, DATA } = BinaryKind;
  assert.deepEqual([NONE, EXPECTED, STREAMING, DATA].map(isKeyed), [false, true, true, false]);
});

test("kinds are called what the codes call them", () => {
  KIND_NAMES.forEach((name, kind) => assert.equal(BinaryKind[kind]?.toLowerCase(), name));
});
