import assert from "node:assert/strict";
import { test } from "node:test";
import { Remembered } from "./remembered.ts";

test("the last ones are remembered, older ones forgotten", () => {
  const past = new Remembered(3);
  for (let id = 1; id <= 10; id++) past.add(id, id * 10);
  assert.deepEqual([10, 9, 8, 7].map((id) => past.get(id)), [100, 90, 80, 70]);
  assert.equal(past.get(3), 0);
});

test("what is popped is forgotten, in both generations", () => {
  const past = new Remembered(1);
  past.add(1, 10);
  past.add(2, 20);
  past.add(1, 30);
  assert.equal(past.pop(1), 30);
  assert.equal(past.pop(1), 0);
  assert.equal(past.pop(2), 20);
});

test("everything can be forgotten", () => {
  const past = new Remembered(1);
  past.add(1, 10);
  past.add(2, 20);
  past.clear();
  assert.deepEqual([past.get(1), past.get(2)], [0, 0]);
});
