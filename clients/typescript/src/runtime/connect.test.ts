import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError } from "../errors.ts";
import { MemoryListener, pair } from "../testing/sockets.ts";
import { connect, type ConnectOptions } from "./connect.ts";

const URL = "ws://memory/mfp";

test("the sub-protocol names the checksum, and a token stands beside it", async () => {
  const { WebSocket, offered } = new MemoryListener();
  await (await connect(URL, { WebSocket })).close();
  await (await connect(URL, { WebSocket, checksum: "xor8", token: "s3cret" })).close();
  assert.deepEqual(offered, [["mfp"], ["mfp.xor8", "token.czNjcmV0"]]);
});

for (const checksum of ["crc32", "xor8", "crc32.always", "xor8.always"] as const) {
  test(`requests with files over ${checksum}`, async () => {
    const { client, listener } = await pair({}, { checksum });
    listener.endpoints.on("sum", (data, files) => [data, files.get(3)?.bin.length]);
    const files = new Map([[3, { bin: new Uint8Array(1000) }]]);
    assert.deepEqual((await client.request({ endpoint: "sum", data: 1, files })).data, [1, 1000]);
    await client.close();
  });
}

test("what cannot be asked for is refused before anything is opened", async () => {
  const { WebSocket, offered } = new MemoryListener();
  const wrongs: ConnectOptions[] = [
    { checksum: "md5" as "crc32" },
    { timeout: 0 },
    { limits: { maxFiles: 0 } },
    { reconnect: { first: 0 } },
  ];
  for (const wrong of wrongs) {
    await assert.rejects(connect(URL, { WebSocket, ...wrong }), ConfigError);
  }
  assert.equal(offered.length, 0);
});

test("null is no token", async () => {
  const { WebSocket, offered } = new MemoryListener();
  await (await connect(URL, { WebSocket, token: null })).close();
  assert.deepEqual(offered, [["mfp"]]);
});
