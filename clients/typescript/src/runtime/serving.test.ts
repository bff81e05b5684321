import assert from "node:assert/strict";
import { test } from "node:test";
import { BinaryKind, Protocol } from "../codes.ts";
import { EndpointError, RequestAborted } from "../errors.ts";
import { encode } from "../mfp/codec.ts";
import { fromHex, fromPlain } from "../mfp/plain.ts";
import { eventually } from "../testing/eventually.ts";
import { pair } from "../testing/sockets.ts";
import { type Call, Reply } from "./endpoints.ts";

const code = (wanted: string) => (error: unknown) =>
  error instanceof EndpointError && (error.value as { code: string }).code === wanted;

test("an endpoint that nobody serves is answered so", async () => {
  const { client, listener } = await pair();
  listener.endpoints.onStream("up", () => {});
  await assert.rejects(client.request({ endpoint: "x" }), code("unknown_endpoint"));
  await assert.rejects(client.request({ endpoint: "up" }), /it takes streams/);
  await client.close();
});

test("a handler that fails gives nothing away, and is told to its owner", async () => {
  const { client, server, listener } = await pair();
  const told: [unknown, string][] = [];
  server.onerror = (error, endpoint) => told.push([error, endpoint]);
  const secret = new Error("the inside");
  listener.endpoints.on("sync", () => {
    throw secret;
  });
  listener.endpoints.on("async", async () => Promise.reject(secret));
  listener.endpoints.on("big", () => 1n);
  for (const endpoint of ["sync", "async", "big"]) {
    await assert.rejects(client.request({ endpoint }), (error: unknown) => {
      assert(code("internal")(error));
      assert(!(error as Error).message.includes("inside"));
      return true;
    });
  }
  await client.send({ endpoint: "sync", ack: true });
  assert.deepEqual(told.map(([, endpoint]) => endpoint), ["sync", "async", "big", "sync"]);
  assert.equal(told[0]![0], secret);
  await client.close();
});

test("an answer that is too big is an error that says so", async () => {
  const { client, server, listener } = await pair({ maxFrameBytes: 1000 });
  server.onerror = () => {};
  listener.endpoints.on("big", () => "x".repeat(1000));
  listener.endpoints.on("files", () => new Reply(1, new Map([[0, { bin: new Blob(["x".repeat(1000)]) }]])));
  await assert.rejects(client.request({ endpoint: "big" }), code("limit"));
  await assert.rejects(client.request({ endpoint: "files" }), code("limit"));
  await client.close();
});

test("an error that cannot be said is a refusal", async () => {
  const { client, server, listener } = await pair();
  server.onerror = () => {};
  listener.endpoints.on("no", () => {
    throw new EndpointError(1n);
  });
  await assert.rejects(client.request({ endpoint: "no" }), RequestAborted);
  await client.close();
});

test("an error of nothing is an error all the same", async () => {
  const { client, listener } = await pair();
  listener.endpoints.on("no", () => {
    throw new EndpointError(undefined);
  });
  await assert.rejects(client.request({ endpoint: "no" }), (error: unknown) =>
    error instanceof EndpointError && error.value === null);
  await client.close();
});

test("handlers of messages are told when the connection is gone", async () => {
  const { client, listener } = await pair();
  const call = new Promise<Call>((resolve) => {
    listener.endpoints.on("note", (_data, _files, given: Call) => {
      resolve(given);
      return new Promise(() => {});
    });
  });
  await client.send({ endpoint: "note" });
  const { signal, isRequest, endpoint } = await call;
  assert.deepEqual([isRequest, endpoint], [false, "note"]);
  await client.close();
  await eventually(() => signal.aborted);
});

test("too many handlers at once: the rest is refused, and later taken again", async () => {
  const { client, listener } = await pair({ maxRequests: 2 });
  const ends: (() => void)[] = [];
  listener.endpoints.on("note", () => new Promise<void>((resolve) => ends.push(resolve)));
  for (let n = 0; n < 3; n++) await client.send({ endpoint: "note", ack: true });
  assert.equal(ends.length, 2);
  await assert.rejects(client.request({ endpoint: "note" }), code("busy"));
  for (const end of ends) end();
  await client.send({ endpoint: "note", ack: true });
  assert.equal(ends.length, 3);
  await client.close();
});

test("a payload that is no envelope is answered, and the connection stays", async () => {
  const { client, socket, listener } = await pair();
  listener.endpoints.on("a", () => 1);
  const answers: string[] = [];
  const own = socket.other!.onmessage!;
  socket.other!.onmessage = (event) => {
    answers.push(Buffer.from(event.data).toString());
    own(event);
  };
  // Ids far away, so that the real client's are not among them.
  socket.other!.send(encode(fromPlain({ type: "request", id: 70_000, payload: "68" })));
  socket.other!.send(encode(fromPlain({ type: "message", id: 70_001, payload: "68" })));
  socket.other!.send(encode(fromPlain({ type: "message", id: 70_002, payload: "68", streaming: true })));
  assert.equal((await client.request({ endpoint: "a" })).data, 1);
  assert.match(answers[0]!, /"endpoint":"framehub.error","error":\{"code":"bad_request"/);
  assert.equal(answers.filter((frame) => frame[0] === "#").length, 2); // 0x23: abort
  await client.close();
});

test("in crowds they end it", async () => {
  const { client, socket } = await pair({ maxStrikes: 2 });
  for (let id = 70_000; id < 70_003; id++) {
    socket.other!.send(encode(fromPlain({ type: "message", id, payload: "68" })));
  }
  const lost = await new Promise((resolve) => (client.onstate = resolve));
  assert.equal(lost, "connecting");
  assert.equal(socket.closedWith?.[0], 4008);
  await client.close();
});

test("files left out are told to the handler", async () => {
  const { client, socket, listener } = await pair({ badFiles: "deliver" });
  const told = new Promise<Call["leftOut"]>((resolve) => {
    listener.endpoints.on("album", (_data, _files, call: Call) => resolve(call.leftOut));
  });
  const payload = Buffer.from('{"endpoint":"album"}').toString("hex");
  socket.other!.send(encode(fromPlain({ type: "message", id: 9, payload, expected: [7, 8] })));
  const kind = BinaryKind.EXPECTED;
  const data = fromHex("aa");
  socket.other!.send(encode({ type: Protocol.BINARY, id: 10, ref: 9, kind, key: 7, data, final: true }));
  assert.deepEqual([...(await told)], [[8, "did not come before the end"]]);
  await client.close();
});

test("a handler that fails is answered for, whoever is told of it", async () => {
  const { client, server, listener } = await pair();
  listener.endpoints.on("broken", () => {
    throw new Error("the inside");
  });
  server.onerror = null;
  await assert.rejects(client.request({ endpoint: "broken" }), code("internal"));
  server.onerror = () => {
    throw new Error("it fails as well");
  };
  const { error } = console;
  const said: unknown[] = [];
  console.error = (...words) => said.push(...words);
  await assert.rejects(client.request({ endpoint: "broken" }), code("internal"));
  console.error = error;
  assert.match(String(said), /it fails as well/);
  await client.close();
});
