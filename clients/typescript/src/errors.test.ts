import assert from "node:assert/strict";
import { test } from "node:test";
import * as errors from "./errors.ts";

test("each error is a FramehubError and has the name of its class", () => {
  for (const [name, kind] of Object.entries(errors)) {
    const error = new (kind as new (...args: any[]) => Error)("a", 1, 2, "b");
    assert(error instanceof errors.FramehubError);
    assert.equal(error.name, name);
  }
});

test("what ends a connection says with which code", () => {
  assert.equal(new errors.MalformedFrame("x", 1).closeCode, 1002);
  assert.equal(new errors.ChecksumFailed("x", 1).closeCode, 1007);
  assert.equal(new errors.PeerMisbehaved("pings", 1, 1).closeCode, 1008);
});

const values: [value: unknown, text: string][] = [
  [{ code: "busy", message: "later" }, "busy: later"],
  [{ message: "later" }, "later"],
  ["no", "no"],
  [null, "null"],
  [{ a: 1 }, '{"a":1}'],
  [undefined, "undefined"],
];
for (const [value, text] of values) {
  test(`an endpoint's error reads: ${text}`, () => {
    const error = new errors.EndpointError(value);
    assert.equal(error.message, text);
    assert.deepEqual(error.value, value);
  });
}

test("a limit names itself, what is allowed and what was asked", () => {
  const error = new errors.LimitExceeded("max_bytes", 5, 6, "; send less");
  assert.equal(error.message, "max_bytes: 6 is over the limit of 5; send less");
  assert.deepEqual([error.limit, error.allowed, error.got], ["max_bytes", 5, 6]);
});
