import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ConfigError, ConnectionClosed, EndpointError, LimitExceeded, LocalProtocolError, RequestAborted, RequestTimeout,
} from "../errors.ts";
import { eventually } from "../testing/eventually.ts";
import { pair } from "../testing/sockets.ts";
import { type Call, Reply } from "./endpoints.ts";

const never = () => new Promise<never>(() => {});

test("an answer comes to its question, whatever the order", async () => {
  const { client, listener } = await pair();
  listener.endpoints.on("wait", async (ms: number) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return ms;
  });
  const asked = [30, 1, 15].map((data) => client.request<number>({ endpoint: "wait", data }));
  assert.deepEqual((await Promise.all(asked)).map(({ data }) => data), [30, 1, 15]);
  await client.close();
});

for (const data of [null, false, 0, "", [], {}, undefined, "日本 🤔"]) {
  test(`said and answered: ${JSON.stringify(data)}`, async () => {
    const { client, listener } = await pair();
    listener.endpoints.on("echo", (said) => said);
    assert.deepEqual((await client.request({ endpoint: "echo", data })).data, data);
    await client.close();
  });
}

test("files go both ways, with their names", async () => {
  const { client, listener } = await pair();
  listener.endpoints.on("store", (_data, files) => {
    const { bin, name, type } = files.get(7)!;
    return new Reply({ name, type }, new Map([[0, { bin: bin.map((byte) => byte + 1), name: "b" }]]));
  });
  const files = new Map([[7, { bin: Uint8Array.of(1, 2), name: "a", type: "x/y" }]]);
  const reply = await client.request({ endpoint: "store", files });
  assert.deepEqual(reply.data, { name: "a", type: "x/y" });
  assert.deepEqual([...reply.files.get(0)!.bin], [2, 3]);
  assert.equal(reply.files.get(0)!.name, "b");
  await client.close();
});

test("both ends ask and are asked", async () => {
  const { client, server, listener } = await pair();
  client.on("who", () => "a page");
  listener.endpoints.on("ask back", async (_data, _files, { peer }: Call) => {
    return `it is ${(await peer.request({ endpoint: "who" })).data}`;
  });
  assert.equal((await client.request({ endpoint: "ask back" })).data, "it is a page");
  assert.equal((await server.request({ endpoint: "who" })).data, "a page");
  await client.close();
});

test("an error that is answered is thrown with its value", async () => {
  const { client, listener } = await pair();
  listener.endpoints.on("no", () => {
    throw new EndpointError({ reason: "not sold here" });
  });
  await assert.rejects(client.request({ endpoint: "no" }), (error: unknown) => {
    assert(error instanceof EndpointError);
    assert.deepEqual(error.value, { reason: "not sold here" });
    return true;
  });
  await client.close();
});

test("a request without an answer in time is given up, and its handler told", async () => {
  const { client, listener } = await pair();
  const told = new Promise((resolve) => {
    listener.endpoints.on("slow", (_data, _files, { signal }: Call) => {
      signal.addEventListener("abort", () => resolve(signal.reason));
      return never();
    });
  });
  await assert.rejects(client.request({ endpoint: "slow", timeout: 0.02 }), (error: unknown) => {
    assert(error instanceof RequestTimeout);
    assert.match(error.message, /^slow: no answer in time/);
    return true;
  });
  assert((await told) instanceof RequestAborted);
  await client.close();
});

test("an answerer that takes too long says so itself", async () => {
  const { client, listener } = await pair({ requestTimeout: 0.02 });
  listener.endpoints.on("slow", never);
  await assert.rejects(client.request({ endpoint: "slow" }), /slow: the peer gave up/);
  await client.close();
});

test("a signal takes a request back", async () => {
  const { client, listener } = await pair();
  const control = new AbortController();
  const told = new Promise<void>((resolve) => {
    listener.endpoints.on("slow", (_data, _files, { signal }: Call) => {
      control.abort("enough");
      signal.addEventListener("abort", () => resolve());
      return never();
    });
  });
  const asked = client.request({ endpoint: "slow", signal: control.signal });
  await assert.rejects(asked, (reason) => reason === "enough");
  await told;
  const { signal } = control;
  await assert.rejects(client.request({ endpoint: "slow", signal }), (reason) => reason === "enough");
  await client.close();
});

test("a message needs no answer; acknowledged, it has come", async () => {
  const { client, listener } = await pair();
  const heard: unknown[] = [];
  listener.endpoints.on("note", (data) => heard.push(data));
  await client.send({ endpoint: "note", data: 1 });
  await client.send({ endpoint: "note", data: 2, ack: true });
  assert.deepEqual(heard, [1, 2]);
  await client.send({ endpoint: "nobody takes this", ack: true });
  await client.close();
});

test("an acknowledgement may be waited for in vain, for some time", async () => {
  const { client, socket } = await pair();
  socket.stalled = true;
  await assert.rejects(client.send({ endpoint: "note", ack: true, timeout: 0.02 }), RequestTimeout);
  socket.stalled = false;
  assert(await client.ping() >= 0);
  await client.close();
});

test("announced files arrive whole, in their order, with their names", async () => {
  const { client, listener } = await pair();
  const came = new Promise<unknown[]>((resolve) => {
    listener.endpoints.on("album", (data, files) => {
      resolve([data, [...files].map(([key, { name, bin }]) => [key, name, bin.length])]);
    });
  });
  const files = new Map([
    [3, { bin: new Uint8Array(10), name: "a" }],
    [1, { bin: new Blob(["hello"]), name: "b" }],
  ]);
  await client.announce({ endpoint: "album", data: { n: 2 }, files, ack: true });
  assert.deepEqual(await came, [{ n: 2 }, [[3, "a", 10], [1, "b", 5]]]);
  await client.close();
});

test("an announced message that is not taken stops, and one that is given up makes room", async () => {
  const { client, socket } = await pair({ maxAnnounced: 1 });
  const files = new Map([[1, { bin: new Uint8Array(10) }], [2, { bin: new Uint8Array(10) }]]);
  const control = new AbortController();
  const message = { endpoint: "a", files, ack: true };
  const first = client.announce({ ...message, signal: control.signal });
  first.catch(() => {});
  socket.stalled = true; // its acknowledgements do not come
  const second = client.announce(message);
  second.catch(() => {});
  await eventually(() => socket.bufferedAmount === 27); // two acknowledgements and an abort
  control.abort("enough");
  await assert.rejects(first, (reason) => reason === "enough");
  socket.stalled = false;
  await assert.rejects(second, RequestAborted);
  await client.announce(message);
  await client.close();
});

test("what is too big for a frame is refused before it is sent, naming the way out", async () => {
  const { client, listener } = await pair({}, { limits: { maxFrameBytes: 1000, maxWaitingBytes: 1500 } });
  const large = new Map([[0, { bin: new Uint8Array(1000) }]]);
  listener.endpoints.on("a", () => 1);
  for (const refused of [
    client.request({ endpoint: "a", data: "x".repeat(1000) }),
    client.request({ endpoint: "a", files: large }),
    client.send({ endpoint: "a", files: large }),
    client.announce({ endpoint: "a", files: large }),
  ]) {
    await assert.rejects(refused, (error: unknown) => {
      return error instanceof LimitExceeded && /stream/.test(error.message);
    });
  }
  const some = new Map([0, 1].map((key) => [key, { bin: new Uint8Array(800) }]));
  await assert.rejects(client.announce({ endpoint: "a", files: some }), /max_waiting_bytes/);
  assert.equal((await client.request({ endpoint: "a" })).data, 1);
  await client.close();
});

test("what JSON cannot carry is refused", async () => {
  const { client } = await pair();
  await assert.rejects(client.request({ endpoint: "a", data: 1n }), LocalProtocolError);
  await assert.rejects(client.request({ endpoint: "" }), LocalProtocolError);
  await client.close();
});

test("a ping takes some time, and not for ever", async () => {
  const { client, socket } = await pair();
  assert((await client.ping()) > 0);
  socket.stalled = true;
  await assert.rejects(client.ping({ timeout: 0.02 }), RequestTimeout);
  const control = new AbortController();
  const pinged = client.ping({ signal: control.signal });
  setImmediate(() => control.abort("enough"));
  await assert.rejects(pinged, (reason) => reason === "enough");
  await client.close();
});

test("closing fails everything at once, on both ends", async () => {
  const { client, server, listener } = await pair();
  let running = 0;
  const slow = () => (running++, never());
  listener.endpoints.on("slow", slow);
  client.on("slow", slow);
  const asked = [client.request({ endpoint: "slow" }), server.request({ endpoint: "slow" })];
  for (const one of asked) one.catch(() => {});
  await eventually(() => running === 2);
  await client.close(1000, "bye");
  for (const one of asked) await assert.rejects(one, ConnectionClosed);
  assert.equal(client.state, "closed");
  await assert.rejects(client.request({ endpoint: "slow" }), ConnectionClosed);
  await assert.rejects(client.ping(), ConnectionClosed);
  assert.equal(((await client.closed) as ConnectionClosed).reason, "bye");
  await server.closed;
});

test("what cannot be asked for is told, and nothing is sent", async () => {
  const { client, socket } = await pair();
  const before = socket.other!.bufferedAmount;
  for (const timeout of ["5", NaN, null, {}] as unknown as number[]) {
    await assert.rejects(client.send({ endpoint: "a", timeout }), ConfigError);
    await assert.rejects(client.ping({ timeout }), ConfigError);
    if (timeout === null) continue; // none of its own
    await assert.rejects(client.request({ endpoint: "a", timeout }), /timeout cannot be/);
  }
  const file = "path/to/file" as unknown as Blob;
  const files = new Map([[0, file]]);
  await assert.rejects(client.upload({ endpoint: "a", file }), LocalProtocolError);
  await assert.rejects(client.announce({ endpoint: "a", files }), LocalProtocolError);
  await assert.rejects(client.request({ endpoint: "a", files }), LocalProtocolError);
  assert.equal(socket.other!.bufferedAmount, before);
  await client.close();
});

test("a request that was just sent is taken back as well", async () => {
  const { client, listener, socket } = await pair();
  const told = new Promise<void>((resolve) => {
    listener.endpoints.on("slow", (_data, _files, { signal }: Call) => {
      signal.addEventListener("abort", () => resolve());
      return never();
    });
  });
  const control = new AbortController();
  const line = socket.other!;
  const send = line.send.bind(line);
  line.send = (data) => {
    send(data);
    queueMicrotask(() => control.abort("enough"));
  };
  const asked = client.request({ endpoint: "slow", signal: control.signal });
  await assert.rejects(asked, (reason) => reason === "enough");
  await told;
  await client.close();
});

test("a file that takes long to read is not waited for beyond the time", async () => {
  const { client, listener } = await pair();
  listener.endpoints.on("a", () => 1);
  const slow = new Blob(["x"]);
  slow.arrayBuffer = never;
  const { arrayBuffer } = Blob.prototype;
  Blob.prototype.arrayBuffer = never;
  const asked = client.request({ endpoint: "a", files: new Map([[0, slow]]), timeout: 0.02 });
  await assert.rejects(asked, RequestTimeout);
  Blob.prototype.arrayBuffer = arrayBuffer;
  await client.close();
});
