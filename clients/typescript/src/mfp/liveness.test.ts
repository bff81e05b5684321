import assert from "node:assert/strict";
import { test } from "node:test";
import { Liveness } from "./liveness.ts";
import { settingsOf } from "./settings.ts";

function made(keepalive: number, idleTimeout = Infinity): [Liveness, { said: number; knocks: number }] {
  const seen = { said: 0, knocks: 0 };
  return [new Liveness(settingsOf({ keepalive, idleTimeout }), seen, () => seen.knocks++), seen];
}

test("where both times are infinite nobody looks", () => {
  assert.equal(made(Infinity)[0].lookAt, Infinity);
});

test("a silent peer is pinged once, then looked at twice before it is dead", () => {
  const [liveness, seen] = made(8);
  assert.equal(liveness.look(0, false), undefined);
  assert.equal(liveness.lookAt, 8);
  liveness.look(8, false);
  assert.deepEqual([seen.knocks, liveness.lookAt], [1, 15]);
  liveness.look(15, false);
  assert.deepEqual([seen.knocks, liveness.lookAt], [1, 16]);
  assert.equal(liveness.look(16, false)?.code, 1001);
  assert.equal(liveness.lookAt, Infinity);
});

test("any frame is a sign of life", () => {
  const [liveness, seen] = made(8);
  liveness.look(0, false);
  liveness.look(8, false);
  liveness.heard = 9;
  assert.equal(liveness.look(16, false), undefined);
  assert.equal(liveness.lookAt, 17);
  assert.equal(seen.knocks, 1);
});

test("a page that slept first reads what came meanwhile", () => {
  const [liveness] = made(8);
  liveness.look(0, false);
  liveness.look(8, false);
  assert.equal(liveness.look(5000, false), undefined);
  assert.equal(liveness.lookAt, 5001);
  assert.equal(liveness.look(5001, false)?.code, 1001);
});

test("what nobody uses is closed; requests under way and frames sent are use, pings are none", () => {
  const [liveness, seen] = made(Infinity, 60);
  liveness.look(0, false);
  liveness.heard = 30;
  assert.equal(liveness.look(59, true), undefined);
  assert.equal(liveness.lookAt, 119);
  seen.said++;
  assert.equal(liveness.look(118, false), undefined);
  assert.equal(liveness.look(178, false)?.reason, "not used for 60 s");
});

test("a ping that came before the first look is no reason to close", () => {
  const [liveness] = made(20, 60);
  liveness.heard = 0;
  assert.equal(liveness.look(1, false), undefined);
});
