import assert from "node:assert/strict";
import { test } from "node:test";
import { Outbox } from "./outbox.ts";
import { settingsOf } from "./settings.ts";
import { Unknowns } from "./unknowns.ts";

function made(): [Unknowns, Outbox] {
  const outbox = new Outbox(settingsOf({}), () => false);
  return [new Unknowns(outbox), outbox];
}

test("the same ref is answered once in 5 s", () => {
  const [unknowns, outbox] = made();
  unknowns.tell(1, 7, 0);
  unknowns.tell(2, 7, 4.9);
  assert.equal(outbox.drain().length, 1);
  unknowns.tell(3, 7, 5);
  unknowns.tell(4, 8, 5);
  assert.equal(outbox.drain().length, 2);
});

test("only the last 512 are remembered", () => {
  const [unknowns, outbox] = made();
  for (let ref = 1; ref <= 513; ref++) unknowns.tell(ref, ref, 0);
  outbox.drain();
  unknowns.tell(513, 513, 1);
  assert.equal(outbox.drain().length, 0);
  unknowns.tell(1, 1, 1);
  assert.equal(outbox.drain().length, 1);
  unknowns.clear();
  unknowns.tell(1, 1, 1);
  assert.equal(outbox.drain().length, 1);
});
