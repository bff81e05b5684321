import assert from "node:assert/strict";
import { test } from "node:test";
import { Alarm } from "./alarm.ts";
import { now } from "./signals.ts";

test("it rings once, at the earliest deadline", async () => {
  let rings = 0;
  await new Promise<void>((resolve) => {
    const alarm = new Alarm(() => {
      rings++;
      assert.equal(alarm.due, Infinity);
      resolve();
    });
    alarm.set(now() + 60);
    alarm.set(now() + 0.001);
    alarm.set(now() + 120);
  });
  assert.equal(rings, 1);
});

test("cancelled, it does not ring", async () => {
  const alarm = new Alarm(() => assert.fail("rang"));
  alarm.set(now());
  alarm.cancel();
  await new Promise((resolve) => setTimeout(resolve, 5));
  alarm.set(Infinity);
  assert.equal(alarm.due, Infinity);
});
