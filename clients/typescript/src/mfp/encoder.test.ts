import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalProtocolError } from "../errors.ts";
import { agreed, cases } from "../testing/vectors.ts";
import { encode } from "./encoder.ts";
import { fromHex, fromPlain, toHex } from "./plain.ts";

for (const one of cases("frame")) {
  const bytes = fromHex(one.hex);

  test(`written: ${one.name}`, () => {
    const written = toHex(encode(fromPlain(one.frame), agreed(one)));
    assert.equal(written === toHex(bytes), one.canonical ?? true);
    if (one.asked) assert.equal(toHex(encode(fromPlain(one.asked), agreed(one))), toHex(bytes));
  });
}

test("a number of more than 32 bits is not sent", () => {
  const frame = fromPlain({ type: "request", id: 2 ** 32 });
  assert.throws(() => encode(frame), LocalProtocolError);
});

test("a key that is no number of 32 bits is not sent", () => {
  for (const key of [-1, 1.5, NaN, 2 ** 32, "1" as unknown as number]) {
    const frame = fromPlain({ type: "message", id: 1, expected: [key] });
    assert.throws(() => encode(frame), /is no number of 32 bits/);
  }
});
