/** Streams that come, over a real connection from `OutStream`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionClosed, LocalProtocolError, StreamAborted } from "../errors.ts";
import { eventually } from "../testing/eventually.ts";
import { pair } from "../testing/sockets.ts";
import type { Chunk, InStream } from "./streams.ts";

const bytes = (size: number) => Uint8Array.from({ length: size }, (_, n) => n * 7);

test("chunks come in order, numbered, and the end is the end", async () => {
  const { client, listener } = await pair();
  const read = new Promise<[InStream, Chunk[]]>((resolve) => {
    listener.endpoints.onStream("up", async (stream) => {
      const chunks: Chunk[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      resolve([stream, chunks]);
    });
  });
  const writer = client.stream({ endpoint: "up", data: { name: "x" } }).getWriter();
  await writer.write(Uint8Array.of(1));
  await writer.write(new Uint8Array(0));
  await writer.write(bytes(70_000));
  await writer.close();
  const [stream, chunks] = await read;
  assert.deepEqual([stream.endpoint, stream.data, stream.error], ["up", { name: "x" }, undefined]);
  assert.deepEqual(chunks.map(({ key, data }) => [key, data.length]), [[0, 1], [1, 65_536], [2, 4_464]]);
  await client.close();
});

test("a reader that leaves early ends it for the writer", async () => {
  const { client, listener } = await pair();
  const errors: (unknown)[] = [];
  listener.endpoints.onStream("up", async (stream) => {
    for await (const _ of stream) break;
    errors.push(stream.error);
  });
  const writer = client.stream({ endpoint: "up" }).getWriter();
  await writer.write(Uint8Array.of(1));
  await assert.rejects(writer.closed, StreamAborted);
  await assert.rejects(writer.write(Uint8Array.of(2)), StreamAborted);
  assert(errors[0] instanceof StreamAborted);
  assert.equal((await client.ping()) > 0, true);
  await client.close();
});

test("a writer that gives up cuts it off for the reader, after what had come", async () => {
  for (const how of ["abort", "signal"]) {
    const { client, listener } = await pair();
    const control = new AbortController();
    const seen: unknown[] = [];
    const over = new Promise<void>((resolve) => {
      listener.endpoints.onStream("up", async (stream) => {
        try {
          for await (const { data } of stream) seen.push(...data);
        } catch (error) {
          seen.push(error);
          resolve();
        }
      });
    });
    const writer = client.stream({ endpoint: "up", signal: control.signal }).getWriter();
    await writer.write(Uint8Array.of(1));
    if (how === "abort") await writer.abort("enough");
    else control.abort("enough");
    await assert.rejects(writer.closed, (reason) => reason === "enough");
    await over;
    assert.equal(seen[0], 1);
    assert(seen[1] instanceof StreamAborted);
    assert.equal(seen.length, 2);
    await client.close();
  }
});

test("a stream is lost with its connection, at both ends", async () => {
  const { client, listener } = await pair({}, { reconnect: false });
  const failed = new Promise((resolve) => {
    listener.endpoints.onStream("up", (stream) => stream.read().catch(resolve));
  });
  const writer = client.stream({ endpoint: "up" }).getWriter();
  await writer.write(Uint8Array.of(1));
  writer.closed.catch(() => {});
  await client.ping();
  listener.sockets[0]!.cut();
  listener.sockets[0]!.other!.cut();
  await assert.rejects(writer.closed, ConnectionClosed);
  assert((await failed) instanceof ConnectionClosed);
});

test("what nobody reads is bounded: the one that holds most is aborted, others go on", async () => {
  const { client, listener } = await pair({ maxWaitingBytes: 300_000 });
  let go = () => {};
  const idle = new Promise<void>((resolve) => (go = resolve));
  const ends: [string, unknown][] = [];
  listener.endpoints.onStream("idle", async (stream) => {
    await idle;
    await stream.read().catch((error: unknown) => ends.push(["idle", error]));
  });
  listener.endpoints.onStream("busy", async (stream) => {
    ends.push(["busy", (await stream.read()).length]);
  });
  const slow = client.upload({ endpoint: "idle", file: new Blob([bytes(1_000_000)]) });
  const fast = client.upload({ endpoint: "busy", file: new Blob([bytes(1_000_000)]) });
  await assert.rejects(slow, StreamAborted);
  await fast;
  go();
  await eventually(() => ends.length === 2);
  assert.deepEqual(ends[0], ["busy", 1_000_000]);
  assert.match(String(ends[1]![1]), /unread/);
  await client.close();
});

test("a handler's own fault is told to its owner and aborts the stream", async () => {
  const { client, server, listener } = await pair();
  const told = new Promise((resolve) => (server.onerror = resolve));
  listener.endpoints.onStream("up", () => {
    throw new Error("bad");
  });
  await assert.rejects(client.upload({ endpoint: "up", file: new Blob([bytes(500_000)]) }), StreamAborted);
  assert.match(String(await told), /bad/);
  await client.close();
});

test("streams go from a listener to a page as well, with a key of their own", async () => {
  const { client, server } = await pair();
  const read = new Promise<Chunk[]>((resolve) => {
    client.onStream("feed", async (stream) => {
      const chunks: Chunk[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      resolve(chunks);
    });
  });
  const writer = server.stream({ endpoint: "feed", key: 77 }).getWriter();
  await writer.write(Uint8Array.of(1));
  await writer.write(Uint8Array.of(2));
  await writer.close();
  assert.deepEqual((await read).map(({ key, data }) => [key, ...data]), [[77, 1], [77, 2]]);
  await client.close();
});

test("a stream is read once; who comes second is told, and takes nothing", async () => {
  const { client, listener } = await pair();
  const read = new Promise<Uint8Array>((resolve) => {
    listener.endpoints.onStream("up", async (stream) => {
      const whole = stream.read();
      await assert.rejects(stream.read(), LocalProtocolError);
      resolve(await whole);
      await assert.rejects(stream.read(), LocalProtocolError);
    });
  });
  const writer = client.stream({ endpoint: "up" }).getWriter();
  await writer.write(Uint8Array.of(1, 2));
  await writer.close();
  assert.deepEqual([...(await read)], [1, 2]);
  await client.close();
});
