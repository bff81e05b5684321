import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalProtocolError } from "../errors.ts";
import { decode } from "../mfp/envelope.ts";
import { fromHex, fromPlain } from "../mfp/plain.ts";
import type { BodyFrame } from "../mfp/frames.ts";
import { type FilesToSend, type FileToSend, openPayload, pack, read, unpack } from "./payloads.ts";

test("files are bytes, buffers or blobs, and named in the envelope", async () => {
  const bytes = Uint8Array.of(9, 1, 2, 9).subarray(1, 3);
  const given = new Map([
    [0, { bin: bytes, name: "a.bin", type: "x/y" }],
    [5, { bin: Uint8Array.of(3).buffer }],
    [2, { bin: new File(["hi"], "me.txt", { type: "text/plain" }) }],
    [3, { bin: new Blob(["hi"]), name: "b" }],
    [4, new File(["me"], "it.self", { type: "a/b" })],
    [6, Uint8Array.of(7)],
  ] as [number, FileToSend | Blob][]);
  const packed = pack({ endpoint: "a", data: 1, files: given });
  const files = await Promise.all(packed.files.map(async ([key, blob]) => [key, await read(blob)] as const));
  assert.deepEqual(packed.sizes, [2, 1, 2, 2, 2, 1]);
  const content = files.map(([key, blob]) => [key, ...blob]);
  assert.deepEqual(content, [[0, 1, 2], [5, 3], [2, 104, 105], [3, 104, 105], [4, 109, 101], [6, 7]]);
  assert.deepEqual(decode(packed.payload, files).filemap, [
    [0, "a.bin", "x/y"],
    [5, "", ""],
    [2, "me.txt", "text/plain"],
    [3, "b", ""],
    [4, "it.self", "a/b"],
    [6, "", ""],
  ]);
});

test("what is no file is told", () => {
  for (const wrong of [undefined, null, "text", 7, {}, { bin: "text" }, { bin: [1, 2] }, { bin: null }]) {
    const files = new Map([[3, wrong]]) as FilesToSend;
    assert.throws(() => pack({ endpoint: "a", files }), (error: unknown) => {
      assert(error instanceof LocalProtocolError, String(wrong));
      assert.equal(error.message, "file 3: want bytes or a Blob");
      return true;
    });
  }
  for (const wrong of [[], {}, new Set(), [new Blob()]]) {
    const files = wrong as unknown as FilesToSend;
    assert.throws(() => pack({ endpoint: "a", files }), /files: want a Map/);
  }
});

test("without files there is no filemap", () => {
  assert.deepEqual(decode(pack({ endpoint: "a" }).payload), { endpoint: "a" });
});

test("a file that nobody named has empty names", () => {
  const files = unpack([[1, fromHex("aa")], [2, fromHex("bb")]], { endpoint: "a", filemap: [[2, "b", "c"]] });
  assert.deepEqual(files.get(1), { bin: fromHex("aa"), name: "", type: "" });
  assert.deepEqual(files.get(2), { bin: fromHex("bb"), name: "b", type: "c" });
});

test("what is no envelope is told, not thrown", () => {
  const empty = fromPlain({ type: "message", id: 1 }) as BodyFrame;
  assert.match(openPayload(empty).bad!, /no envelope/);
});
