import assert from "node:assert/strict";
import { test } from "node:test";
import * as codes from "./codes.ts";
import { specFile } from "./testing/vectors.ts";

test("every enum is as spec/codes.json has it", () => {
  const spec = specFile("codes.json") as Record<string, Record<string, number | string>>;
  for (const [name, members] of Object.entries(codes)) {
    // A number's enum also maps back to the names.
    const own = Object.entries(members).filter(([key]) => Number.isNaN(Number(key)));
    assert.deepEqual(Object.fromEntries(own), spec[name], name);
  }
});
