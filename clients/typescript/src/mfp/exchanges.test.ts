import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionClosed } from "../errors.ts";
import { count, Kind } from "./exchanges.ts";
import { NO_BYTES } from "./frames.ts";
import { fromHex } from "./plain.ts";
import { settingsOf } from "./settings.ts";
import { Watched } from "../testing/watched.ts";

const made = (firstId = 1) => new Watched(settingsOf({ keepalive: Infinity }), firstId);

test("ids pass over frames whose acknowledgement is waited for", () => {
  const connection = made(2 ** 32 - 1);
  connection.message(NO_BYTES, [], { needAck: true });
  assert.equal(connection.ping(0), 1);
  const other = made(2 ** 32 - 1);
  other.request(NO_BYTES, [], 0);
  for (let n = 0; n < 3; n++) other.message(NO_BYTES);
  assert.equal(other.message(NO_BYTES), 4);
});

test("nothing is kept after the end, and nothing can be said", () => {
  const connection = made();
  connection.receive(fromHex("60 00000001"), 0);
  connection.receive(fromHex("44 00000002"), 0);
  connection.receive(fromHex("42 00000003 00000004 00000007"), 0);
  connection.request(NO_BYTES, [], 0);
  connection.ping(0);
  assert.equal(connection.pending, 5);
  connection.end();
  assert.equal(connection.pending, 0);
  assert.equal(connection.nextDeadline, Infinity);
  assert.deepEqual(connection.outbox.drain(), []);
  assert.throws(() => connection.message(NO_BYTES), ConnectionClosed);
});

test("what is under way is counted by its kind", () => {
  const one = { exchange: 1, deadline: 0 };
  const table = new Map([
    [1, { kind: Kind.REQUEST, ...one } as const],
    [2, { kind: Kind.STREAM, ...one } as const],
    [3, { kind: Kind.REQUEST, ...one } as const],
  ]);
  assert.deepEqual([count(table, Kind.REQUEST), count(table, Kind.STREAM), count(table, Kind.SET)], [2, 1, 0]);
});
