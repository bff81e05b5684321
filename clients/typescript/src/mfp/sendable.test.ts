import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalProtocolError } from "../errors.ts";
import { cases } from "../testing/vectors.ts";
import { fromPlain } from "./plain.ts";
import { sendable } from "./sendable.ts";

for (const one of cases("unsendable")) {
  test(`not sent: ${one.name}`, () => {
    assert.throws(
      () => sendable(fromPlain(one.frame)),
      (error: unknown) =>
        error instanceof LocalProtocolError && error.message.includes(one.reason),
    );
  });
}

test("every frame of the vectors can be sent", () => {
  for (const { frame } of cases("frame")) sendable(fromPlain(frame));
});
