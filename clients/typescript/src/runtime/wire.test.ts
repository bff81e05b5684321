import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionClosed, RemoteProtocolError } from "../errors.ts";
import { encode } from "../mfp/codec.ts";
import { fromHex, fromPlain } from "../mfp/plain.ts";
import { aTurn, eventually, stopTheClock } from "../testing/eventually.ts";
import { MemoryListener, pair } from "../testing/sockets.ts";
import { connect } from "./connect.ts";
import type { Call } from "./endpoints.ts";

const bad: [name: string, data: Uint8Array<ArrayBuffer> | string, code: number][] = [
  ["bytes that are no frame", fromHex("00 00000001"), 4002],
  ["a wrong checksum", fromHex("70 00000001 00000000"), 4007],
  ["a text message", "hello", 4003],
];
for (const [name, data, code] of bad) {
  test(`${name}: the connection ends with ${code}`, async () => {
    const { client, socket } = await pair({}, { checksum: "crc32", reconnect: false });
    socket.send(data as Uint8Array<ArrayBuffer>);
    const error = await client.closed;
    assert(error instanceof ConnectionClosed);
    assert.equal(error.code + 3000, code);
    assert.equal(socket.other!.closedWith?.[0], code);
  });
}

test("a peer that says nothing any more is pinged, then left", async () => {
  const { client, socket } = await pair({}, { reconnect: false, limits: { keepalive: 0.02 } });
  const asked = client.request({ endpoint: "a" });
  asked.catch(() => {});
  socket.stalled = true;
  const error = await client.closed;
  assert(error instanceof ConnectionClosed);
  assert.equal(error.code, 1001);
  assert.match(error.reason, /no sign of life/);
  await assert.rejects(asked, ConnectionClosed);
});

test("a connection that nobody uses is closed where that was asked for", async () => {
  const { client } = await pair({}, { reconnect: false, limits: { idleTimeout: 0.02 } });
  assert.equal(((await client.closed) as ConnectionClosed).code, 1000);
});

test("faults that time brings to light count as well", async () => {
  const strict = { badFiles: "deliver", progressTimeout: 0.02, maxStrikes: 1 } as const;
  const { socket } = await pair(strict, { reconnect: false });
  for (const id of [70_000, 70_001]) {
    socket.other!.send(encode(fromPlain({ type: "message", id, payload: "68", expected: [1] })));
  }
  await eventually(() => socket.closedWith);
  assert.equal(socket.closedWith?.[0], 4008);
});

test("the hello tells limits, time and the link's name, once", async () => {
  const listener = new MemoryListener();
  const limits = { files: 1, frame_bytes: 5000 };
  listener.hello = { version: 1, request_timeout: 0.03, limits, link: "5f0c9a1be27d4433" };
  listener.onpeer = (peer) => void peer.send({ endpoint: "framehub.hello", data: { limits: { files: 0 } } });
  listener.endpoints.on("slow", () => new Promise(() => {}));
  listener.endpoints.on("count", (_data, files) => files.size);
  const client = await connect("ws://memory/mfp", { WebSocket: listener.WebSocket });
  await client.ping();
  assert.equal(client.link, "5f0c9a1be27d4433");
  assert.equal((client.hello as { version: number }).version, 1);
  const one = new Map([[0, { bin: new Uint8Array(1) }]]);
  assert.equal((await client.request({ endpoint: "count", files: one, timeout: 60 })).data, 1);
  const two = new Map([...one, [1, { bin: new Uint8Array(1) }]]);
  await assert.rejects(client.request({ endpoint: "count", files: two }), /max_files/);
  await assert.rejects(client.request({ endpoint: "slow" }), /slow: no answer in time/);
  let most = 0;
  listener.endpoints.onStream("up", async (stream) => {
    for await (const { data } of stream) most = Math.max(most, data.length);
  });
  await client.upload({ endpoint: "up", file: new Blob(["x".repeat(20_000)]) });
  assert(most > 4000 && most < 5000);
  await client.close();
});

test("an answer that is no envelope fails its request", async () => {
  const { client, socket } = await pair();
  socket.onmessage = ({ data }) => {
    const id = new DataView(data).getUint32(1);
    socket.send(encode(fromPlain({ type: "response", id: 1, ref_id: id, payload: "68" })));
  };
  await assert.rejects(client.request({ endpoint: "a" }), (error: unknown) =>
    error instanceof RemoteProtocolError && /bad answer/.test(error.message));
  await client.close();
});

test("an acknowledgement goes before the application sees anything", async () => {
  const { client, socket } = await pair();
  const order: string[] = [];
  const say = socket.other!.send.bind(socket.other);
  socket.other!.send = (data) => {
    order.push(`sent ${(data as Uint8Array)[0]!.toString(16)}`);
    say(data);
  };
  client.on("note", () => void order.push("handled"));
  const payload = Buffer.from('{"endpoint":"note"}').toString("hex");
  socket.send(encode(fromPlain({ type: "message", id: 9, payload, flags: { need_ack: true } })));
  await client.ping();
  assert.deepEqual(order.filter((what) => what !== "sent 2f"), ["sent 21", "handled"]);
  await client.close();
});

test("a thousand requests at once are a thousand answers", async () => {
  const { client, listener } = await pair();
  listener.endpoints.on("echo", async (data) => data);
  const asked = Array.from({ length: 1000 }, (_, data) => client.request<number>({ endpoint: "echo", data }));
  const answers = await Promise.all(asked);
  assert(answers.every(({ data }, n) => data === n));
  await client.close();
});

test("who takes back many requests keeps its connection: some go on unheard", async () => {
  const { client, listener } = await pair();
  let [asked, cancelled] = [0, 0];
  const answers: (() => void)[] = [];
  listener.endpoints.on("slow", (_data, _files, { signal }: Call) => {
    asked++;
    signal.addEventListener("abort", () => cancelled++);
    return new Promise<void>((resolve) => answers.push(resolve));
  });
  for (let n = 0; n < 300; n += 100) {
    const control = new AbortController();
    const { signal } = control;
    const some = Array.from({ length: 100 }, () => client.request({ endpoint: "slow", signal }));
    await eventually(() => asked === n + 100);
    control.abort("enough");
    for (const one of some) await assert.rejects(one, (reason) => reason === "enough");
  }
  await client.ping();
  assert.deepEqual([client.state, cancelled, listener.peers.length], ["open", 50, 1]);
  for (const answer of answers) answer();
  assert((await client.ping()) >= 0);
  await client.close();
});

test("a socket that does not close is left alone after a while", async (t) => {
  const pass = await stopTheClock(t);
  const { client, server, socket } = await pair();
  const line = socket.other!;
  const close = line.close.bind(line);
  line.close = () => {};
  let isClosed = false;
  const closing = client.close().then(() => (isClosed = true));
  assert.equal(client.state, "closed");
  pass(2.999);
  await aTurn();
  assert.equal(isClosed, false);
  pass(0.001);
  await closing;
  close(1000);
  await server.closed;
});
