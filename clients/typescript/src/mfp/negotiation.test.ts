import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError } from "../errors.ts";
import { type Checksum, subprotocol, tokenProtocol, understand } from "./negotiation.ts";

test("a sub-protocol names the checksums", () => {
  assert.deepEqual(subprotocol(undefined), ["mfp", { mode: "off", algorithm: "crc32" }]);
  assert.deepEqual(subprotocol("xor8"), ["mfp.xor8", { mode: "flag", algorithm: "xor8" }]);
  const always = { mode: "always", algorithm: "crc32" };
  assert.deepEqual(subprotocol("crc32.always"), ["mfp.crc32.always", always]);
});

for (const unknown of ["", "md5", "crc32.sometimes", ".always"]) {
  test(`no such checksum: ${unknown}`, () => {
    assert.throws(() => subprotocol(unknown as Checksum), ConfigError);
  });
}

test("a token is base64url without padding", () => {
  assert.equal(tokenProtocol("s3cret"), "token.czNjcmV0");
  assert.equal(tokenProtocol("~~?>"), "token.fn4_Pg");
  assert.equal(tokenProtocol("ключ>>"), "token.0LrQu9GO0Yc-Pg");
});

test("a hello is understood", () => {
  const limits = { files: 3 };
  const told = understand({ version: 1, request_timeout: 5, limits, link: "5f0c9a1be27d4433" });
  assert.deepEqual(told, { requestTimeout: 5, limits, link: "5f0c9a1be27d4433" });
});

for (const nonsense of [undefined, null, 7, "hello", [], { request_timeout: 0, link: "X", limits: 1 }]) {
  test(`nonsense counts as not said: ${JSON.stringify(nonsense)}`, () => {
    const { requestTimeout, limits, link } = understand(nonsense);
    assert.deepEqual([requestTimeout, limits["files"], link], [Infinity, undefined, ""]);
  });
}
