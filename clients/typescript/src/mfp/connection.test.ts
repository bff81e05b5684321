/** Conversations as data, replayed with real connections: every byte and event as written, none beside. */

import { test } from "node:test";
import { play } from "../testing/replay.ts";
import { cases } from "../testing/vectors.ts";

for (const one of cases("conversation")) {
  test(`as written: ${one.name}`, () => play(one, one.hands ?? []));
  // Against bytes that came from somewhere else, each side behaves as it does against its like.
  if (!one.hands?.length) {
    test(`B alone: ${one.name}`, () => play(one, ["A"]));
    test(`A alone: ${one.name}`, () => play(one, ["B"]));
  }
}
