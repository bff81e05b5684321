/** The built client against `framehub serve --app framehub.gateway.sample:endpoints`. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { openAsBlob } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { connect, ConnectFailed, ConnectionClosed, EndpointError, RequestTimeout } from "framehub";
import type { Checksum, Peer } from "framehub";
import { folder, framehub, Gateway } from "./gateways.ts";

let gateway: Gateway;

before(async () => {
  gateway = await Gateway.start();
});

async function connected(work: (peer: Peer) => Promise<void>, checksum?: Checksum): Promise<void> {
  const peer = await connect(gateway.url, checksum && { checksum });
  try {
    await work(peer);
  } finally {
    await peer.close();
  }
}

const code = (wanted: string) => (error: unknown) =>
  error instanceof EndpointError && (error.value as { code: string }).code === wanted;

test("a question is answered", () =>
  connected(async (peer) => {
    const { data } = await peer.request({ endpoint: "chat", data: { room: "a", text: "Hello" } });
    assert.deepEqual(data, { room: "a", messages: 1, length: 5 });
  }));

test("errors come with their values", () =>
  connected(async (peer) => {
    const asked = peer.request({ endpoint: "stock.price", data: "tea" });
    await assert.rejects(asked, (error: unknown) => {
      assert(error instanceof EndpointError);
      assert.deepEqual(error.value, { reason: "not sold here", item: "tea" });
      return true;
    });
    await assert.rejects(peer.request({ endpoint: "broken" }), code("internal"));
    await assert.rejects(peer.request({ endpoint: "nobody" }), code("unknown_endpoint"));
  }));

for (const checksum of [undefined, "crc32", "xor8", "crc32.always", "xor8.always"] as const) {
  test(`files go both ways, with ${checksum ?? "no checksum"}`, () =>
    connected(async (peer) => {
      const bin = Uint8Array.from({ length: 100_000 }, (_, n) => n);
      const files = new Map([
        [3, { bin, name: "a.bin", type: "application/octet-stream" }],
        [1, { bin: new File(["hi"], "b.txt", { type: "text/plain" }) }],
        [2, { bin: new Uint8Array(0), name: "empty" }],
      ]);
      const reply = await peer.request({ endpoint: "files.store", files });
      assert.deepEqual(reply.data, { stored: 3, bytes: 100_002 });
      const receipts = reply.files.get(0)!;
      assert.deepEqual([receipts.name, receipts.type], ["receipts.txt", "text/plain"]);
      const sum = createHash("sha256").update(bin).digest("hex");
      assert(new TextDecoder().decode(receipts.bin).startsWith(`${sum}  a.bin\n`));
    }, checksum));
}

test("the hello is understood", () =>
  connected(async (peer) => {
    await peer.ping();
    assert.match(peer.link, /^[0-9a-f]{16}$/);
    const { version, limits } = peer.hello as { version: number; limits: Record<string, number> };
    assert.deepEqual([version, limits["files"]], [1, 64]);
  }));

test("a listener asks back, and pushes", () =>
  connected(async (peer) => {
    peer.on("who.are.you", () => "a page");
    assert.deepEqual((await peer.request({ endpoint: "ask.back" })).data, { you_are: "a page" });
  }));

test("a file of any size is uploaded in little memory, with progress, and its sum is pushed", () =>
  connected(async (peer) => {
    const size = 256 * 2 ** 20;
    const path = join(folder, "large.bin");
    const file = await open(path, "w");
    const sum = createHash("sha256");
    const piece = Buffer.alloc(2 ** 20);
    for (let n = 0; n < size; n += piece.length) {
      piece.writeUInt32BE(n);
      sum.update(piece);
      await file.write(piece, 0, 4, n); // with holes: it takes little room on disk
    }
    await file.truncate(size);
    await file.close();
    const done = new Promise<unknown>((resolve) => peer.on("upload.done", resolve));
    const before = process.memoryUsage().rss;
    let [most, received, times] = [0, 0, 0];
    await peer.upload({
      endpoint: "files.upload",
      file: await openAsBlob(path),
      onprogress: (progress) => {
        assert(progress.received >= received && progress.total === size);
        received = progress.received;
        times++;
        most = Math.max(most, process.memoryUsage().rss);
      },
    });
    assert.equal(received, size);
    assert(times > 100, String(times));
    assert.deepEqual(await done, { bytes: size, sha256: sum.digest("hex") });
    assert(most - before < size / 2, `${Math.round((most - before) / 2 ** 20)} MiB more`);
  }));

test("a small request does not wait for a large stream", () =>
  connected(async (peer) => {
    const out = peer.stream({ endpoint: "files.upload" });
    const uploading = new Blob([new Uint8Array(32 * 2 ** 20)]).stream().pipeTo(out);
    const asked = await peer.request({ endpoint: "stock.price", data: "pear" });
    assert.deepEqual(asked.data, { item: "pear", cents: 95 });
    assert(out.progress.received < 32 * 2 ** 20);
    await uploading;
  }));

test("time and signals end a request, the connection stays", () =>
  connected(async (peer) => {
    const slow = { endpoint: "report.build", data: { seconds: 60 } };
    await assert.rejects(peer.request({ ...slow, timeout: 0.1 }), RequestTimeout);
    const signal = AbortSignal.timeout(50);
    await assert.rejects(peer.request({ ...slow, signal }), { name: "TimeoutError" });
    assert.deepEqual((await peer.request({ endpoint: "report.build" })).data, { pages: 12 });
  }));

test("a listener's own time limit is kept to", async () => {
  const hasty = await Gateway.start(undefined, 0, "--request-timeout", "0.3");
  const peer = await connect(hasty.url);
  await peer.ping();
  const slow = { endpoint: "report.build", data: { seconds: 60 } };
  await assert.rejects(peer.request(slow), RequestTimeout);
  await assert.rejects(peer.request({ ...slow, timeout: 60 }), /the peer gave up/);
  await peer.close();
  await hasty.kill();
});

test("a token lets us in, until it is revoked", async () => {
  const tokens = join(folder, "tokens.toml");
  const token = framehub("token", "add", "--tokens", tokens, "--user", "7", "--name", "page");
  const guarded = await Gateway.start(undefined, 0, "--tokens", tokens);
  await assert.rejects(connect(guarded.url), ConnectFailed);
  await assert.rejects(connect(guarded.url, { token: `${token}x` }), ConnectFailed);
  const peer = await connect(guarded.url, { token, checksum: "crc32" });
  assert.deepEqual((await peer.request({ endpoint: "report.build" })).data, { pages: 12 });
  framehub("token", "revoke", "--tokens", tokens, "page");
  const error = await peer.closed;
  assert(error instanceof ConnectionClosed);
  assert.deepEqual([error.code, error.reason], [1008, "token revoked"]);
  await guarded.kill();
});

test("a wrong path and a closed port are failures to connect", async () => {
  await assert.rejects(connect(gateway.url.replace("/mfp", "/nothing")), ConnectFailed);
  await assert.rejects(connect("ws://127.0.0.1:9/mfp"), ConnectFailed);
});
