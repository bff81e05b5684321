import assert from "node:assert/strict";
import { test } from "node:test";
import { PeerMisbehaved } from "../errors.ts";
import { Conduct, Window } from "./conduct.ts";
import { settingsOf } from "./settings.ts";

test("as many as allowed in any span, one more is too many", () => {
  const window = new Window("things", 2, 10);
  window.count(0);
  window.count(1);
  assert.throws(() => window.count(9.9, "that"), (error: unknown) => {
    assert(error instanceof PeerMisbehaved);
    assert.equal(error.message, "more than 2 things in 10 s; the last: that");
    return true;
  });
  window.count(10);
  assert.throws(() => window.count(10.5), PeerMisbehaved);
  window.count(11);
});

test("each kind has its own setting", () => {
  const conduct = new Conduct(settingsOf({ maxPings: 1, maxStrays: 2 }));
  conduct.pings.count(0);
  assert.throws(() => conduct.pings.count(0), PeerMisbehaved);
  conduct.strays.count(0);
  conduct.strays.count(0);
  assert.throws(() => conduct.strays.count(0), PeerMisbehaved);
  conduct.strikes.count(0);
  conduct.cancels.count(0);
});
