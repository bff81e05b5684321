import assert from "node:assert/strict";
import { test } from "node:test";
import { Protocol, Service } from "../codes.ts";
import { ConnectionClosed, LimitExceeded } from "../errors.ts";
import { FRAME_OVERHEAD, Outbox } from "./outbox.ts";
import { toHex } from "./plain.ts";
import { type Settings, settingsOf } from "./settings.ts";

function outbox(settings: Partial<Settings> = {}): Outbox {
  return new Outbox(settingsOf(settings), () => false);
}

test("frames are drained in order, once", () => {
  const box = outbox();
  box.service(Service.ACK, 7);
  box.service(Service.PING, undefined, true);
  assert.deepEqual(box.drain().map(toHex), ["210000000100000007", "2f0000000200000002"]);
  assert.deepEqual(box.drain(), []);
});

test("what is no service frame is counted as sent", () => {
  const box = outbox();
  box.service(Service.ACK, 7);
  assert.equal(box.said, 0);
  box.send({ type: Protocol.REQUEST, id: 1, payload: new Uint8Array(0), files: [] });
  assert.equal(box.said, 1);
});

test("nothing goes out when it is closed", () => {
  const box = outbox();
  box.service(Service.ACK, 7);
  box.end();
  assert.deepEqual(box.drain(), []);
  assert.throws(() => box.service(Service.ACK, 7), ConnectionClosed);
});

test("sealed, every frame has a checksum; not where they are off", () => {
  for (const [mode, size] of [["flag", 13], ["off", 9]] as const) {
    const box = outbox({ checksums: { mode, algorithm: "crc32" } });
    box.seal();
    box.service(Service.ACK, 7);
    assert.equal(box.drain()[0]!.length, size);
  }
});

test("each limit holds at n and refuses n + 1, by its name", () => {
  const box = outbox({ maxFrameBytes: 1000, maxPayloadBytes: 500, maxFiles: 3 });
  const refused = (hint: RegExp) => (error: unknown) =>
    error instanceof LimitExceeded && hint.test(error.message);
  box.checkSizes(500, []);
  assert.throws(() => box.checkSizes(501, []), refused(/max_payload_bytes.*stream/));
  box.checkSizes(0, [1, 1, 1]);
  assert.throws(() => box.checkSizes(0, [0, 0, 0, 0]), refused(/max_files/));
  assert.throws(() => box.checkSizes(0, [], 4), refused(/max_files/));
  box.checkSizes(0, [1000 - FRAME_OVERHEAD - 8]);
  assert.throws(() => box.checkSizes(0, [1000 - FRAME_OVERHEAD - 7]), refused(/max_frame_bytes/));
  box.checkFrame(1000 - FRAME_OVERHEAD);
  assert.throws(() => box.checkFrame(1001 - FRAME_OVERHEAD), refused(/max_frame_bytes/));
});
