/** What a listener says by itself, and what comes of it: announced files, streams, aborts, restarts. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { before, test } from "node:test";
import { connect, ConnectionClosed, type Peer, StreamAborted } from "framehub";
import { Gateway } from "./gateways.ts";

const APP = "back:endpoints";
let gateway: Gateway;

before(async () => {
  gateway = await Gateway.start(APP);
});

async function connected(work: (peer: Peer) => Promise<void>): Promise<void> {
  const peer = await connect(gateway.url, { checksum: "crc32" });
  try {
    await work(peer);
  } finally {
    await peer.close();
  }
}

const pushed = (peer: Peer, endpoint: string) =>
  new Promise<any>((resolve) => {
    const off = peer.on(endpoint, (data) => {
      off();
      resolve(data);
    });
  });

for (const data of [null, 0, "日本 🤔", { a: [1.5, -2e100, true] }, 2 ** 53 - 1]) {
  test(`as it was said: ${JSON.stringify(data)}`, () =>
    connected(async (peer) => {
      assert.deepEqual((await peer.request({ endpoint: "echo", data })).data, data);
    }));
}

test("announced files arrive in either direction", () =>
  connected(async (peer) => {
    const seen = pushed(peer, "album.seen");
    const files = new Map([
      [9, { bin: new Uint8Array(100_000), name: "a", type: "x/y" }],
      [2, { bin: new Blob(["hi"]), name: "b" }],
    ]);
    await peer.announce({ endpoint: "album", data: 7, files, ack: true });
    assert.deepEqual(await seen, { data: 7, files: [[9, "a", "x/y", 100_000], [2, "b", "", 2]] });

    const came = new Promise<unknown>((resolve) => {
      peer.on("album", (data, files) => {
        resolve([data, [...files].map(([key, { name, type, bin }]) => [key, name, type, bin.length])]);
      });
    });
    await peer.request({ endpoint: "announce.back" });
    assert.deepEqual(await came, [{ n: 2 }, [[5, "5.txt", "text/plain", 4], [1, "1.txt", "", 0]]]);
  }));

test("a stream comes chunk by chunk, and whole", () =>
  connected(async (peer) => {
    const read = new Promise<string>((resolve) => {
      peer.onStream("feed", async (stream) => {
        const sum = createHash("sha256");
        for await (const { data } of stream) sum.update(data);
        assert.deepEqual(stream.data, { chunks: 100 });
        resolve(sum.digest("hex"));
      });
    });
    const { data } = await peer.request({ endpoint: "stream.back", data: { chunks: 100 } });
    assert.equal(await read, data);
  }));

test("a reader that leaves aborts the sender", () =>
  connected(async (peer) => {
    let chunks = 0;
    peer.onStream("feed", async (stream) => {
      for await (const _ of stream) if (++chunks === 3) break;
    });
    const { data } = await peer.request({ endpoint: "stream.back", data: { chunks: 100_000 } });
    assert.deepEqual([data, chunks], ["aborted", 3]);
  }));

test("a listener that leaves aborts our stream, and nothing else", () =>
  connected(async (peer) => {
    const file = new Blob([new Uint8Array(8 * 2 ** 20)]);
    const upload = peer.upload({ endpoint: "upload", data: { at_most: 100_000 }, file });
    await assert.rejects(upload, StreamAborted);
    await assert.rejects(peer.upload({ endpoint: "nobody", file }), StreamAborted);
    const done = pushed(peer, "upload.done");
    await peer.upload({ endpoint: "upload", file: new File(["hi"], "hi.txt") });
    const sha256 = createHash("sha256").update("hi").digest("hex");
    assert.deepEqual(await done, { bytes: 2, sha256, keys: 1 });
  }));

test("what we give up is given up there", () =>
  connected(async (peer) => {
    const control = new AbortController();
    const sleeping = pushed(peer, "sleeping");
    const asked = peer.request({ endpoint: "sleep", data: "mine", signal: control.signal });
    await sleeping;
    control.abort("enough");
    await assert.rejects(asked, (reason) => reason === "enough");
    const givenUp = async () => (await peer.request<string[]>({ endpoint: "given.up" })).data;
    while (!(await givenUp()).includes("mine"));
    const out = peer.stream({ endpoint: "upload" }).getWriter();
    await out.write(new Uint8Array(10));
    await out.abort("enough");
    assert(await peer.ping() > 0);
  }));

test("many at once", () =>
  connected(async (peer) => {
    const asked = Array.from({ length: 1000 }, (_, data) => peer.request({ endpoint: "echo", data }));
    assert((await Promise.all(asked)).every(({ data }, n) => data === n));
  }));

test("a gateway that is killed and started again is reached again, and nothing is sent twice", async () => {
  const first = await Gateway.start(APP);
  const peer = await connect(first.url);
  const states: string[] = [];
  peer.onstate = (state) => states.push(state);
  const pending = peer.request({ endpoint: "sleep" });
  pending.catch(() => {});
  await peer.ping();
  const { link } = peer;
  await first.kill();
  await assert.rejects(pending, ConnectionClosed);
  const waits = peer.request({ endpoint: "echo", data: "still here", timeout: 60 });
  const second = await Gateway.start(APP, first.port);
  assert.equal((await waits).data, "still here");
  await peer.ping();
  assert.notEqual(peer.link, link);
  assert.deepEqual((await peer.request({ endpoint: "given.up" })).data, []);
  assert.deepEqual(states, ["connecting", "open"]);
  await peer.close();
  await second.kill();
});

test("a gateway that stops says goodbye", async () => {
  const leaving = await Gateway.start(APP);
  const peer = await connect(leaving.url, { reconnect: false });
  leaving.stop();
  const error = await peer.closed;
  assert(error instanceof ConnectionClosed);
  assert.equal(error.code, 1001);
});
