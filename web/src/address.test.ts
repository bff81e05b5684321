import assert from "node:assert/strict";
import { test } from "node:test";
import { decoded } from "./address.ts";

test("names come back from the address; what cannot have been encoded stays", () => {
  const names = ["math.divide", "a b/ä", "100%", "%"];
  assert.deepEqual(names.map((name) => decoded(encodeURIComponent(name))), names);
  assert.deepEqual(["%", "%zz", "100%", "%E0%A4"].map(decoded), ["%", "%zz", "100%", "%E0%A4"]);
});
