import assert from "node:assert/strict";
import { test } from "node:test";
import { Ids, LAST } from "./ids.ts";

const nobody = () => false;

test("ids count from 1, and nobody is asked before they wrap", () => {
  const ids = new Ids();
  const asked = () => assert.fail("asked");
  assert.deepEqual([ids.take(asked), ids.take(asked), ids.take(asked)], [1, 2, 3]);
  assert(ids.hasGiven(3) && !ids.hasGiven(4));
});

test("they wrap to 1, never 0, and pass over the living", () => {
  const ids = new Ids(LAST - 1);
  const live = new Set([LAST, 1, 2]);
  assert.deepEqual([ids.take(nobody), ids.take((id) => live.has(id))], [LAST - 1, 3]);
  assert(ids.hasGiven(77));
});

test("a long run of living ids is passed over", () => {
  assert.equal(new Ids(7).take((id) => id < 100_000), 100_000);
});
