import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError } from "../errors.ts";
import { settingsOf } from "./settings.ts";

test("the defaults are those of the spec", () => {
  const settings = settingsOf({});
  assert.equal(settings.maxFrameBytes, 16 * 2 ** 20);
  assert.equal(settings.maxRequests, 1024);
  assert.equal(settings.requestTimeout, 30);
  assert.equal(settings.keepalive, 20);
});

test("times may be infinite", () => {
  assert.equal(settingsOf({ keepalive: Infinity }).keepalive, Infinity);
});

const wrong: Record<string, unknown>[] = [
  { maxFiles: 0 },
  { maxFiles: -1 },
  { maxFiles: NaN },
  { maxFiles: "many" },
  { maxFrameBytes: 63 },
  { noSuchThing: 1 },
  { verifyAlways: true, checksums: { mode: "off", algorithm: "crc32" } },
];
for (const given of wrong) {
  test(`cannot be: ${Object.entries(given)[0]}`, () => {
    assert.throws(() => settingsOf(given), ConfigError);
  });
}

test("the least frame is 64 bytes", () => {
  assert.equal(settingsOf({ maxFrameBytes: 64 }).maxFrameBytes, 64);
});
