import assert from "node:assert/strict";
import { test } from "node:test";
import { ceiling, height, shape } from "./chart.ts";

test("the top of a chart is a round number", () => {
  assert.deepEqual([[], [0], [0.3], [7, null, 3], [200], [201]].map(ceiling), [1, 1, 0.5, 10, 200, 500]);
});

test("the last value stands at the right, and earlier ones to its left", () => {
  assert.equal(shape([0, 10], 10, 3).line, "M300.0 100.0L600.0 4.0");
});

test("on an axis of doublings, ten times is as far from one as from a hundred", () => {
  assert.deepEqual([1, 10, 100, 0.1, 1000].map((value) => height(value, 100, 1)), [0, 0.5, 1, 0, 1]);
  assert.equal(height(25, 100), 0.25);
});

test("a value without neighbours is a dot, others are none", () => {
  assert.equal(shape([10, null, 10, 10, null, 10], 10, 6).dots, "M0.0 4.0h0M600.0 4.0h0");
  assert.equal(shape([10, 10], 10, 6).dots, "");
});

test("where nothing is known, there is a gap", () => {
  const { line, area } = shape([10, null, 10, 10], 10, 4);
  assert.equal(line, "M0.0 4.0M400.0 4.0L600.0 4.0");
  assert.equal(area, "M0.0 100L0.0 4.0L0.0 100ZM400.0 100L400.0 4.0L600.0 4.0L600.0 100Z");
});
