/** Streams that go, over a real connection to `InStream`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalProtocolError, StreamAborted } from "../errors.ts";
import { eventually } from "../testing/eventually.ts";
import { pair } from "../testing/sockets.ts";
import type { Progress } from "./outstream.ts";

const bytes = (size: number) => Uint8Array.from({ length: size }, (_, n) => n * 7);

test("a file of any size is uploaded, and how far it is is told", async () => {
  const { client, listener } = await pair();
  const content = bytes(3_000_000);
  const read = new Promise<[Uint8Array, unknown]>((resolve) => {
    listener.endpoints.onStream("up", async (stream) => resolve([await stream.read(), stream.data]));
  });
  const told: (Progress & { total: number })[] = [];
  const file = new File([content], "big.bin", { type: "x/y" });
  await client.upload({ endpoint: "up", data: 1, file, onprogress: (so) => told.push(so) });
  const [came, data] = await read;
  assert(Buffer.from(came).equals(content));
  assert.equal(data, 1);
  assert(told.length > 5);
  assert(told.every(({ sent, received, total }) => received <= sent && sent <= total));
  assert.deepEqual(told.at(-1), { sent: 3_000_000, received: 3_000_000, total: 3_000_000 });
  await client.close();
});

test("a writer waits while the peer does not read, and small things get their turn", async () => {
  const { client, socket, listener } = await pair();
  let size = 0;
  listener.endpoints.onStream("up", async (stream) => {
    for await (const { data } of stream) size += data.length;
  });
  listener.endpoints.on("small", () => size);
  const line = socket.other!;
  line.stalled = true;
  const out = client.stream({ endpoint: "up" });
  const uploading = new Blob([bytes(2_000_000)]).stream().pipeTo(out);
  await eventually(() => line.bufferedAmount > 256 * 1024);
  assert(line.bufferedAmount < 256 * 1024 + 70_000);
  const asked = client.request<number>({ endpoint: "small" });
  line.stalled = false;
  assert((await asked).data < 1_000_000);
  await uploading;
  assert.equal(size, 2_000_000);
  assert.deepEqual(out.progress, { sent: 2_000_000, received: 2_000_000 });
  await client.close();
});

test("a stream that nobody reads is aborted, also when all of it was sent already", async () => {
  const { client } = await pair();
  const upload = client.upload({ endpoint: "nobody", file: new Blob(["x"]) });
  await assert.rejects(upload, StreamAborted);
  await client.close();
});

test("an upload is given up by a signal, while it waits too", async () => {
  const { client, socket, listener } = await pair();
  listener.endpoints.onStream("up", async (stream) => void (await stream.read().catch(() => {})));
  socket.other!.stalled = true;
  const control = new AbortController();
  const file = new Blob([bytes(2_000_000)]);
  const upload = client.upload({ endpoint: "up", file, signal: control.signal });
  await eventually(() => socket.other!.bufferedAmount > 256 * 1024);
  control.abort("enough");
  await assert.rejects(upload, (reason) => reason === "enough");
  await assert.rejects(client.upload({ endpoint: "up", file, signal: control.signal }));
  await client.close();
});

test("many acknowledgements under way are lawful, and no leak", async () => {
  const { client, socket, listener } = await pair();
  const warnings: unknown[] = [];
  const noted = (warning: Error) => warnings.push(warning);
  process.on("warning", noted);
  listener.endpoints.onStream("up", async (stream) => void (await stream.read()));
  socket.stalled = true;
  const out = client.stream({ endpoint: "up" });
  const writer = out.getWriter();
  for (let n = 0; n < 20; n++) await writer.write(bytes(256 * 1024));
  assert.equal(out.progress.received, 0);
  socket.stalled = false;
  await writer.close();
  assert.equal(out.progress.received, 20 * 256 * 1024);
  await client.close();
  process.off("warning", noted);
  assert.deepEqual(warnings, []);
});

test("a stream takes bytes only; what else is written ends it for the reader too", async () => {
  const { client, listener } = await pair();
  const ended = new Promise<unknown>((resolve) => {
    listener.endpoints.onStream("up", (stream) => stream.read().catch(resolve));
  });
  const writer = client.stream({ endpoint: "up" }).getWriter();
  writer.closed.catch(() => {});
  await writer.write(bytes(10));
  await assert.rejects(writer.write("text" as unknown as Uint8Array), LocalProtocolError);
  assert((await ended) instanceof StreamAborted);
  await client.close();
});

test("a progress callback that fails is told to its owner, and the upload goes on", async () => {
  const { client, listener } = await pair();
  listener.endpoints.onStream("up", async (stream) => void (await stream.read()));
  const told: [unknown, string][] = [];
  client.onerror = (error, where) => told.push([error, where]);
  const mine = new Error("mine");
  const file = new Blob([bytes(1000)]);
  const sync = () => {
    throw mine;
  };
  await client.upload({ endpoint: "up", file, onprogress: sync });
  await client.upload({ endpoint: "up", file, onprogress: () => Promise.reject(mine) });
  await eventually(() => told.length === 2);
  assert.deepEqual(told, [[mine, "up"], [mine, "up"]]);
  await client.close();
});

test("nothing is told of a stream that was given up", async () => {
  const { client, socket, listener } = await pair();
  listener.endpoints.onStream("up", (stream) => stream.read().catch(() => {}));
  socket.stalled = true;
  const told: Progress[] = [];
  const writer = client.stream({ endpoint: "up", onprogress: (so) => told.push(so) }).getWriter();
  writer.closed.catch(() => {});
  await writer.write(bytes(300 * 1024));
  await writer.abort("enough");
  socket.stalled = false;
  await client.ping();
  assert.deepEqual(told, []);
  await client.close();
});
