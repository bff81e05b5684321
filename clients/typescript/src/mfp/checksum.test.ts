import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32, sizeOf, sumOf, xor8 } from "./checksum.ts";

const bytes = new TextEncoder().encode("123456789");

test("CRC-32 is that of zlib", () => {
  assert.equal(crc32(bytes), 0xcbf43926);
  assert.equal(crc32(new Uint8Array()), 0);
});

test("XOR8 is the XOR of all bytes", () => {
  assert.equal(xor8(bytes), 0x31);
  assert.equal(xor8(new Uint8Array()), 0);
});

test("sums stand on the wire big-endian", () => {
  const crc = { mode: "flag", algorithm: "crc32" } as const;
  const xor = { mode: "flag", algorithm: "xor8" } as const;
  assert.deepEqual([...sumOf(bytes, crc)], [0xcb, 0xf4, 0x39, 0x26]);
  assert.deepEqual([...sumOf(bytes, xor)], [0x31]);
  assert.deepEqual([sizeOf(crc), sizeOf(xor)], [4, 1]);
});
