/** Service frames where the shared conversations do not reach: what is forgotten, and what is about whom. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { PeerMisbehaved } from "../errors.ts";
import { NO_BYTES } from "./frames.ts";
import { EventType } from "./events.ts";
import { fromHex } from "./plain.ts";
import { type Settings, settingsOf } from "./settings.ts";
import { Watched } from "../testing/watched.ts";

const made = (settings: Partial<Settings> = {}) =>
  new Watched(settingsOf({ keepalive: Infinity, ...settings }));

test("an acknowledgement that nobody waits for any more is no event and no fault", () => {
  const connection = made({ maxStrays: 1 });
  const message = connection.message(NO_BYTES, [], { needAck: true });
  const ping = connection.ping(0);
  connection.forget(message);
  connection.forget(ping);
  assert.equal(connection.pending, 0);
  for (const ref of ["00000001", "00000002"]) {
    assert.equal(connection.receive(fromHex(`21 00000009 ${ref}`), 0), undefined);
  }
  assert.equal(connection.ignored, 0);
});

test("what we sent long ago may still be spoken of, what we never sent may not", () => {
  const connection = made({ remembered: 1, maxStrays: 1 });
  for (let n = 0; n < 10; n++) connection.message(NO_BYTES);
  for (let n = 0; n < 3; n++) connection.receive(fromHex("22 00000001 00000001"), 0);
  assert.equal(connection.ignored, 3);
  connection.receive(fromHex("22 00000001 00000063"), 0);
  assert.throws(() => connection.receive(fromHex("22 00000001 00000063"), 0), PeerMisbehaved);
});

test("a message that is refused is acknowledged no more", () => {
  const connection = made();
  connection.message(NO_BYTES, [], { needAck: true });
  const refused = connection.receive(fromHex("23 00000001 00000001"), 0);
  assert.deepEqual(refused, { type: EventType.MESSAGE_REFUSED, id: 1, exchange: 1 });
  assert.equal(connection.pending, 0);
  assert.equal(connection.receive(fromHex("21 00000002 00000001"), 0), undefined);
});
