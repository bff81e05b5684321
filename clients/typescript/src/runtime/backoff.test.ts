import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError } from "../errors.ts";
import { backoffOf, delay } from "./backoff.ts";

test("anything from 0 to the longest wait, which doubles up to a bound", () => {
  const backoff = backoffOf({});
  assert.equal(delay(backoff, 0, () => 0), 0);
  assert.deepEqual([0, 1, 2, 3].map((n) => delay(backoff, n, () => 1)), [0.1, 0.2, 0.4, 0.8]);
  assert.equal(delay(backoff, 7, () => 0.5), 5);
  assert.equal(delay(backoff, 100_000, () => 1), 10);
});

for (const wrong of [{ first: 0 }, { first: 11 }, { factor: 1 }, { most: NaN }]) {
  test(`cannot be: ${JSON.stringify(wrong)}`, () => {
    assert.throws(() => backoffOf(wrong), ConfigError);
  });
}
