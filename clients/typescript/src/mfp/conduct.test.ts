import assert from "node:assert/strict";
import { test } from "node:test";
import { PeerMisbehaved } from "../errors.ts";
import { atMost, conductOf, window } from "./conduct.ts";
import { settingsOf } from "./settings.ts";

test("as many as allowed in any span, one more is too many", () => {
  const count = atMost("things", 2, 10);
  count(0);
  count(1);
  assert.throws(() => count(9.9, "that"), (error: unknown) => {
    assert(error instanceof PeerMisbehaved);
    assert.equal(error.message, "more than 2 things in 10 s; the last: that");
    return true;
  });
  count(10);
  assert.throws(() => count(10.5), PeerMisbehaved);
  count(11);
});

test("each kind has its own setting", () => {
  const conduct = conductOf(settingsOf({ maxPings: 1, maxStrays: 2 }));
  conduct.pings(0);
  assert.throws(() => conduct.pings(0), PeerMisbehaved);
  conduct.strays(0);
  conduct.strays(0);
  assert.throws(() => conduct.strays(0), PeerMisbehaved);
  conduct.strikes(0);
  conduct.cancels(0);
});

test("what would be too much does not count", () => {
  const fits = window(2, 10);
  assert.deepEqual([fits(0), fits(1), fits(2), fits(9.9)], [true, true, false, false]);
  assert.deepEqual([fits(10), fits(10.5), fits(11), fits(11)], [true, false, true, false]);
});
