/** The machine where the shared conversations do not reach: limits told by the peer, ids, memory. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "../codes.ts";
import { LimitExceeded, LocalProtocolError } from "../errors.ts";
import { EventType } from "./events.ts";
import { NO_BYTES } from "./frames.ts";
import { fromHex } from "./plain.ts";
import { type Settings, settingsOf } from "./settings.ts";
import { Watched } from "../testing/watched.ts";

const quiet = { keepalive: Infinity } as const;
const made = (settings: Partial<Settings> = {}) => new Watched(settingsOf({ ...quiet, ...settings }));
const told = (limits: Record<string, unknown>, requestTimeout = Infinity) => {
  return { limits, requestTimeout, link: "" };
};

test("a hello lowers limits and time, and never raises them", () => {
  const connection = made({ requestTimeout: 5 });
  connection.keepTo(told({ requests: 1 }, 3));
  connection.keepTo(told({ requests: 1 }, 30));
  assert.equal(connection.patience, 3);
  connection.request(NO_BYTES, [], 0);
  assert.throws(() => connection.request(NO_BYTES, [], 0), LimitExceeded);
  assert.equal(connection.pending, 1);
});

test("announced messages are bounded in number and in bytes", () => {
  const connection = made();
  connection.keepTo(told({ announced: 2, waiting_bytes: 4 }));
  assert.throws(() => connection.checkAnnounced(1, [2, 2]), LimitExceeded);
  connection.checkAnnounced(1, [1, 2]);
  const ref = connection.message(fromHex("00"), [], { expected: [1, 2] });
  connection.message(NO_BYTES, [], { expected: [1] });
  assert.throws(() => connection.message(NO_BYTES, [], { expected: [1] }), /max_announced/);
  connection.file(ref, 1, fromHex("0000"));
  assert.throws(() => connection.file(ref, 2, fromHex("0000")), /max_waiting_bytes/);
  connection.file(ref, 2, fromHex("00"));
  assert.equal(connection.pending, 1);
  assert.throws(() => connection.file(ref, 2, fromHex("00")), LocalProtocolError);
});

test("a request is not given up as a stream, nor a stream cancelled as a request", () => {
  const connection = made();
  const request = connection.request(NO_BYTES, [], 0);
  const stream = connection.message(NO_BYTES, [], { streaming: true });
  assert.equal(connection.giveUp(request), false);
  assert.equal(connection.cancel(stream), false);
  assert.equal(connection.pending, 2);
  assert.equal(connection.cancel(request), true);
  assert.equal(connection.giveUp(stream), true);
  assert.equal(connection.pending, 0);
});

test("the next deadline is the earliest of both sides", () => {
  const connection = made({ requestTimeout: 10, progressTimeout: 4 });
  assert.equal(connection.nextDeadline, Infinity);
  connection.request(NO_BYTES, [], 0, 7);
  assert.equal(connection.nextDeadline, 7);
  connection.receive(fromHex("42 00000003 00000004 00000007"), 1);
  assert.equal(connection.nextDeadline, 5);
});

test("announced bytes count while they wait, and are let go with their message", () => {
  const connection = made({ maxWaitingBytes: 3, maxStrikes: 100 });
  const announce = (id: number) => fromHex(`43 0000000${id} 00000001 00000004 00 00000007`);
  for (const id of [1, 2, 3]) connection.receive(announce(id), 0);
  connection.outbox.drain();
  connection.receive(announce(4), 0);
  assert.equal(connection.outbox.drain().length, 1);
  connection.receive(fromHex("2b 00000005 00000001"), 0);
  connection.receive(announce(6), 0);
  assert.equal(connection.outbox.drain().length, 0);
});

test("a request that may not be said to be given up waits on, and its answer is nobody's fault", () => {
  const connection = made({ requestTimeout: 5 });
  let left = 1;
  connection.mayCancel = () => left-- > 0;
  const [said, cancelled, late] = [0, 1, 2].map((at) => connection.request(NO_BYTES, [], at));
  connection.outbox.drain();
  assert.equal(connection.cancel(said!), true);
  assert.equal(connection.outbox.drain().length, 1);
  assert.equal(connection.cancel(cancelled!), true);
  assert.deepEqual(connection.tick(7), [
    { type: EventType.REQUEST_FAILED, id: late, code: Service.TIMEOUT, byPeer: false, exchange: 3 },
  ]);
  assert.deepEqual(connection.outbox.drain(), []);
  assert.equal(connection.pending, 2);
  assert.deepEqual([connection.nextDeadline, connection.tick(1000)], [Infinity, []]);
  for (const id of [cancelled, late]) {
    const answer = connection.receive(fromHex(`a0 0000000${id} 0000000${id}`), 1000);
    assert.equal((answer as { ref: number }).ref, id);
  }
  assert.deepEqual([connection.pending, connection.outbox.drain()], [0, []]);
});

test("a stream is given up aloud: the peer holds something for it", () => {
  const connection = made();
  connection.mayCancel = () => false;
  const stream = connection.message(NO_BYTES, [], { streaming: true });
  connection.outbox.drain();
  assert.equal(connection.giveUp(stream), true);
  assert.equal(connection.giveUp(stream), false);
  assert.equal(connection.outbox.drain().length, 1);
});
