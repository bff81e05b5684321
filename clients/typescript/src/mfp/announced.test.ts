import assert from "node:assert/strict";
import { test } from "node:test";
import { BinaryKind, Protocol } from "../codes.ts";
import { Announced } from "./announced.ts";
import type { BinaryFrame, MessageFrame } from "./frames.ts";
import { fromHex, fromPlain } from "./plain.ts";
import { type Settings, settingsOf } from "./settings.ts";

function announced(settings: Partial<Settings> = {}): Announced {
  const frame = fromPlain({ type: "message", id: 1, payload: "70", expected: [5, 3] }) as MessageFrame;
  return new Announced(frame, 9, settingsOf(settings), 0);
}

function file(key: number, data = "aa", final = false): BinaryFrame {
  return { type: Protocol.BINARY, id: 2, ref: 1, kind: BinaryKind.EXPECTED, key, data: fromHex(data), final };
}

test("files come in any order and are delivered in the announced one", () => {
  const set = announced();
  assert.equal(set.accept(file(3), 0, 1), false);
  assert.equal(set.accept(file(5, "bb", true), 0, 2), true);
  const { frame, leftOut, exchange } = set.delivered("never");
  assert.deepEqual(frame.files.map(([key]) => key), [5, 3]);
  assert.deepEqual([leftOut, exchange], [[], 9]);
});

test("each file that is waited for gives more time, no other does", () => {
  const set = announced({ progressTimeout: 10, badFiles: "deliver" });
  assert.equal(set.deadline, 10);
  set.accept(file(3), 0, 4);
  assert.equal(set.deadline, 14);
  set.accept(file(3), 0, 8);
  set.accept(file(77), 0, 8);
  assert.equal(set.deadline, 14);
});

test("keys that were not announced are noted up to a bound", () => {
  const set = announced({ badFiles: "deliver", maxFiles: 2 });
  for (const key of [70, 71, 72, 73, 3, 3]) set.accept(file(key), 0, 1);
  const { leftOut, frame } = set.delivered("did not come");
  assert.deepEqual(frame.files.map(([key]) => key), [3]);
  assert.deepEqual(leftOut, [
    [3, "came twice"],
    [5, "did not come"],
    [70, "was not announced"],
    [71, "was not announced"],
  ]);
});
