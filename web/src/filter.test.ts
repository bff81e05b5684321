import assert from "node:assert/strict";
import { test } from "node:test";
import { ALL, read, write } from "./filter.ts";

test("a filter in the address is read as it was written", () => {
  const filter = { ...ALL, protocols: ["mfp", "hub"], kinds: ["request"], name: "a b&c", link: "3fa9", user: 7, calls: true, problems: true };
  assert.deepEqual(read(write(filter)), filter);
  assert.equal(write(ALL), "");
});

test("what makes no sense is left out", () => {
  assert.deepEqual(read("protocols=http,mfp&link=xyz&user=-1&problems=yes&calls=2"), { ...ALL, protocols: ["mfp"] });
  assert.equal(read("user=65535").user, 65535);
  assert.equal(read("user=65536").user, null);
});
