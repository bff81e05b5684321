import assert from "node:assert/strict";
import { test } from "node:test";
import * as errors from "../errors.ts";
import { agreed, cases } from "../testing/vectors.ts";
import { decode, encode } from "./codec.ts";
import { fromHex, fromPlain, toPlain } from "./plain.ts";

for (const one of cases("frame")) {
  const bytes = fromHex(one.hex);

  test(`read: ${one.name}`, () => {
    const frame = decode(bytes, agreed(one), { verifyAlways: one.verify_always ?? false });
    assert.deepEqual(toPlain(frame), one.frame);
    assert.deepEqual(frame, fromPlain(one.frame));
  });
}

for (const one of cases("malformed")) {
  test(`refused: ${one.name}`, () => {
    const allowed = {
      verifyAlways: one.verify_always ?? false,
      ...(one.max_files !== undefined && { maxFiles: one.max_files }),
      ...(one.max_payload !== undefined && { maxPayloadBytes: one.max_payload }),
    };
    assert.throws(
      () => decode(fromHex(one.hex), agreed(one), allowed),
      (error: unknown) => {
        assert(error instanceof errors.MalformedFrame);
        assert.equal(error.constructor, errors[one.error.type as "MalformedFrame"]);
        assert(error.reason.includes(one.error.reason), error.reason);
        assert.equal(error.offset, one.error.offset);
        return true;
      },
    );
  });
}

/** Numbers that look random and are the same in every run. */
function* numbers(seed: number): Generator<number, never> {
  for (;;) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    yield seed >>> 8;
  }
}

test("any bytes parse or throw the documented error, and what parses is written the same", () => {
  const random = numbers(1);
  const next = (below: number) => random.next().value % below;
  let read = 0;
  for (let n = 0; n < 50_000; n++) {
    const bytes = Uint8Array.from({ length: next(40) }, () => (next(3) ? next(4) : next(256)));
    if (bytes.length) bytes[0] = next(256);
    const checksums = { mode: (["off", "flag"] as const)[next(2)]!, algorithm: "xor8" } as const;
    try {
      const frame = decode(bytes, checksums);
      const again = encode(frame, checksums);
      assert.deepEqual(decode(again, checksums), frame);
      read++;
    } catch (error) {
      assert(error instanceof errors.MalformedFrame, String(error));
    }
  }
  assert(read > 1_000, String(read));
});

test("every frame of the vectors, cut anywhere or one bit changed, parses or is refused", () => {
  for (const one of cases("frame")) {
    const bytes = fromHex(one.hex);
    for (let at = 0; at < bytes.length; at++) {
      for (const changed of [bytes.slice(0, at), bytes.with(at, bytes[at]! ^ (1 << at % 8))]) {
        try {
          decode(changed, agreed(one));
        } catch (error) {
          assert(error instanceof errors.MalformedFrame, String(error));
        }
      }
    }
  }
});

test("in mode always every change of a single bit is found", () => {
  for (const algorithm of ["crc32", "xor8"] as const) {
    const checksums = { mode: "always", algorithm } as const;
    const bytes = encode(fromPlain({ type: "request", id: 7, payload: "00112233" }), checksums);
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const at = bit >> 3;
      const changed = bytes.with(at, bytes[at]! ^ (1 << (bit & 7)));
      assert.throws(() => decode(changed, checksums), errors.MalformedFrame);
    }
  }
});

test("frames are read where they stand in a larger buffer", () => {
  const frame = fromPlain({ type: "message", id: 7, payload: "70", files: [[3, 2, "aabb"]] });
  const bytes = encode(frame, { mode: "always", algorithm: "crc32" });
  const around = new Uint8Array(bytes.length + 10);
  around.set(bytes, 7);
  const view = around.subarray(7, 7 + bytes.length);
  const found = decode(view, { mode: "always", algorithm: "crc32" });
  assert.deepEqual(toPlain(found), { ...toPlain(frame), flags: { checksum: true, need_ack: false } });
});
