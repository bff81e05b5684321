import assert from "node:assert/strict";
import { test } from "node:test";
import { attempt, later, limited, now, waitFor, whenAborted } from "./signals.ts";

test("a signal ends the waiting with its reason, after leaving", async () => {
  const control = new AbortController();
  const left: string[] = [];
  const waiting = waitFor(control.signal, () => left.push("begun"), () => left.push("left"));
  control.abort("enough");
  await assert.rejects(waiting, (reason) => reason === "enough");
  assert.deepEqual(left, ["begun", "left"]);
});

test("an aborted signal lets nothing begin", async () => {
  const begun: string[] = [];
  const waiting = waitFor(AbortSignal.abort("no"), () => begun.push("begun"), () => begun.push("left"));
  await assert.rejects(waiting, (reason) => reason === "no");
  assert.deepEqual(begun, ["left"]);
});

test("what is settled is left alone by the signal", async () => {
  const control = new AbortController();
  const waiting = waitFor<number>(control.signal, ({ settle }) => settle(7), () => assert.fail("left"));
  assert.equal(await waiting, 7);
  control.abort();
});

test("a callback for a signal can be called off", () => {
  const control = new AbortController();
  whenAborted(control.signal, () => assert.fail("called"))();
  control.abort();
  let reason: unknown;
  whenAborted(control.signal, (why) => (reason = why));
  assert.equal(reason, control.signal.reason);
});

test("work that takes too long is told so", async () => {
  const late = new Error("late");
  const work = (limit: AbortSignal) => waitFor(limit, () => {}, () => {});
  await assert.rejects(limited(0.001, undefined, () => late, work), (error) => error === late);
});

test("work in time is not, and what it follows may abort it", async () => {
  const never = () => new Error("never");
  assert.equal(await limited(Infinity, undefined, never, async () => 7), 7);
  const waiting = (limit: AbortSignal) => waitFor(limit, () => {}, () => {});
  const aborted = AbortSignal.abort("no");
  await assert.rejects(limited(60, aborted, never, waiting), (reason) => reason === "no");
});

test("later may be never, or called off", async () => {
  later(Infinity, () => assert.fail("called"))();
  later(0, () => assert.fail("called"))();
  const before = now();
  await new Promise<void>((resolve) => later(0, resolve));
  assert(now() >= before);
});

test("work that does not heed its signal is left alone", async () => {
  const late = new Error("late");
  let give = (_value: number): void => {};
  const deaf = () => new Promise<number>((resolve) => (give = resolve));
  await assert.rejects(limited(0.001, undefined, () => late, deaf), (error) => error === late);
  give(7);
  const control = new AbortController();
  let fail = (_error: Error): void => {};
  const failing = () => new Promise<number>((_, reject) => (fail = reject));
  const waiting = limited(60, control.signal, () => late, failing);
  control.abort("enough");
  fail(new Error("nobody hears"));
  await assert.rejects(waiting, (reason) => reason === "enough");
});

test("whatever an attempt ends with, its caller goes on", async () => {
  const told: unknown[] = [];
  const mine = new Error("mine");
  attempt(() => 7, (error) => told.push(error));
  attempt(() => {
    throw mine;
  }, (error) => told.push(error));
  await new Promise<void>((resolve) => {
    attempt(() => Promise.reject(mine), (error) => resolve(void told.push(error)));
  });
  assert.deepEqual(told, [mine, mine]);
});
