import assert from "node:assert/strict";
import { test } from "node:test";
import { lowered } from "./limits.ts";
import { settingsOf } from "./settings.ts";

const settings = settingsOf({ maxFiles: 10 });

test("the lower of our limit and the told one counts", () => {
  assert.equal(lowered(settings, { files: 5 }).maxFiles, 5);
  assert.equal(lowered(settings, { files: 50 }).maxFiles, 10);
  assert.equal(lowered(settings, { waiting_bytes: 7 }).maxWaitingBytes, 7);
  assert.equal(lowered(settings, {}).maxFiles, 10);
});

for (const nonsense of [-1, 1.5, "5", null, NaN, Infinity, [], true]) {
  test(`nonsense changes nothing: ${JSON.stringify(nonsense)}`, () => {
    assert.equal(lowered(settings, { files: nonsense }).maxFiles, 10);
  });
}

test("a frame of less than 64 bytes is nonsense, none of another limit is not", () => {
  assert.equal(lowered(settings, { frame_bytes: 63 }).maxFrameBytes, settings.maxFrameBytes);
  assert.equal(lowered(settings, { frame_bytes: 64 }).maxFrameBytes, 64);
  assert.equal(lowered(settings, { requests: 0 }).maxRequests, 0);
});
