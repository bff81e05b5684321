import assert from "node:assert/strict";
import { test } from "node:test";
import { Protocol } from "../codes.ts";
import { cases } from "../testing/vectors.ts";
import { fromHex, fromPlain, toHex, toPlain } from "./plain.ts";

test("what is written as JSON is read as the same frame", () => {
  for (const { frame } of cases("frame")) assert.deepEqual(toPlain(fromPlain(frame)), frame);
});

test("what is left out is false, zero or empty", () => {
  const { type, ...rest } = fromPlain({ type: "binary", id: 1, ref_id: 2, kind: "none" });
  const flags = { final: false, needAck: false, checksum: false };
  assert.deepEqual({ ...rest }, { id: 1, ref: 2, kind: 0, key: undefined, data: new Uint8Array(0), ...flags });
  assert.equal(type, Protocol.BINARY);
});

test("hex may have spaces", () => {
  assert.equal(toHex(fromHex("00 ff 0a")), "00ff0a");
  assert.equal(toHex(fromHex("")), "");
});
