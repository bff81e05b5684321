import assert from "node:assert/strict";
import { test } from "node:test";

// Node's own passes too; the page's has to notice what Node's would.
const different: [unknown, unknown][] = [
  [1, "1"],
  [0, -0],
  [{ a: 1 }, { a: 2 }],
  [{ a: 1 }, { a: 1, b: undefined }],
  [{ a: undefined }, { b: undefined }],
  [[1, 2], [2, 1]],
  [[1], { 0: 1, length: 1 }],
  [Uint8Array.of(1), Uint8Array.of(2)],
  [Uint8Array.of(1), [1]],
  [new Map([[1, 2]]), new Map([[1, 3]])],
  [new Set([1]), new Set([2])],
  [new Error("a"), new TypeError("a")],
];

test("what differs is not equal", () => {
  for (const [a, b] of different) {
    assert.throws(() => assert.deepEqual(a, b), Error, String(a));
    assert.deepEqual(a, a);
  }
  assert.deepEqual({ a: [Uint8Array.of(1)] }, { a: [Uint8Array.of(1)] });
});

test("nothing thrown is noticed, and so is something else", async () => {
  const fails = () => {
    throw new TypeError("this");
  };
  assert.throws(fails, TypeError);
  assert.throws(() => assert.throws(() => 1, TypeError));
  assert.throws(() => assert.throws(fails, RangeError));
  assert.throws(() => assert.throws(fails, /that/));
  assert.throws(() => assert.throws(fails, () => false));
  await assert.rejects(assert.rejects(Promise.resolve(1), TypeError));
  await assert.rejects(assert.rejects(async () => fails(), /that/));
});
