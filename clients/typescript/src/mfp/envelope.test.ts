import assert from "node:assert/strict";
import { test } from "node:test";
import { Protocol } from "../codes.ts";
import { BadEnvelope, LocalProtocolError } from "../errors.ts";
import { agreed, cases } from "../testing/vectors.ts";
import * as codec from "./codec.ts";
import { decode, encode } from "./envelope.ts";
import { NO_BYTES } from "./frames.ts";
import { fromHex, toHex } from "./plain.ts";

const utf8 = new TextEncoder();

for (const one of cases("envelope")) {
  const payload = one.payload === undefined ? fromHex(one.payload_hex!) : utf8.encode(one.payload);
  const files = (one.files ?? []).map((key) => [key, NO_BYTES] as const);

  test(`said: ${one.name}`, () => {
    if (!one.envelope) {
      assert.throws(
        () => decode(payload, files),
        (error: unknown) => error instanceof BadEnvelope && error.message.includes(one.reason!),
      );
      return;
    }
    assert.deepEqual(decode(payload, files), one.envelope);
    const { filemap = [], ...rest } = one.envelope;
    const written = encode(filemap.length ? { ...rest, filemap } : rest);
    assert.equal(toHex(written) === toHex(payload), one.canonical ?? true);
  });

  if (one.hex !== undefined) {
    test(`found in its frame: ${one.name}`, () => {
      const frame = codec.decode(fromHex(one.hex!), agreed(one));
      assert(frame.type !== Protocol.SERVICE && frame.type !== Protocol.BINARY);
      assert.equal(toHex(frame.payload), toHex(payload));
      assert.deepEqual(frame.files.map(([key]) => key), one.files ?? []);
      assert.equal(toHex(codec.encode(frame, agreed(one))), toHex(fromHex(one.hex!)));
    });
  }
}

const refusals: [name: string, endpoint: string, data: unknown, why: RegExp][] = [
  ["an empty endpoint", "", 1, /an endpoint has a name/],
  ["bytes", "a", new Uint8Array(1), /it is bytes/],
  ["a buffer", "a", new ArrayBuffer(1), /it is bytes/],
  ["a blob", "a", new Blob(["x"]), /it is bytes/],
  ["a big integer", "a", 1n, /cannot be sent as JSON/],
  ["half a surrogate pair", "a", ["\ud800"], /lone surrogate/],
  ["half a pair behind a backslash", "a", "\\\udc00", /lone surrogate/],
];
for (const [name, endpoint, data, why] of refusals) {
  test(`not sent: ${name}`, () => {
    assert.throws(
      () => encode({ endpoint, data }),
      (error: unknown) => error instanceof LocalProtocolError && why.test(error.message),
    );
  });
}

test("what only looks like half a pair is sent", () => {
  for (const data of ["\\ud800", "\ud83e\udd14", "\\\\udfff"]) {
    assert.deepEqual(decode(encode({ endpoint: "a", data })), { endpoint: "a", data });
  }
});

test("not a number is sent as null, undefined as nothing", () => {
  assert.deepEqual(decode(encode({ endpoint: "a", data: [NaN, Infinity] })).data, [null, null]);
  assert.deepEqual(decode(encode({ endpoint: "a", data: undefined })), { endpoint: "a" });
});

test("files that are yet to come may be named ahead, or not", () => {
  const payload = utf8.encode('{"endpoint":"a","filemap":[[7,"a.png","image/png"]]}');
  assert.deepEqual(decode(payload).filemap, [[7, "a.png", "image/png"]]);
  assert.throws(() => decode(payload, []), BadEnvelope);
});

test("a key called __proto__ is data like any other", () => {
  const read = decode(utf8.encode('{"endpoint":"a","data":{"__proto__":{"x":1}}}'));
  assert.equal(({} as Record<string, unknown>)["x"], undefined);
  assert.equal(JSON.stringify(read.data), '{"__proto__":{"x":1}}');
});
