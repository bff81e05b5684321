import assert from "node:assert/strict";
import { test } from "node:test";
import { Overheard, payloadOf } from "./overheard.ts";

const bytes = (...parts: (number[] | Uint8Array | string)[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => [...(typeof part === "string" ? new TextEncoder().encode(part) : part)]));
const text = (payload: Uint8Array | undefined): string | undefined => payload && new TextDecoder().decode(payload);
const ID = [0, 0, 0, 1];
const size = (value: number | string): number[] => [0, 0, 0, typeof value === "number" ? value : value.length];
const response = (json: string): Uint8Array => bytes([0b1010_0001], ID, ID, size(json), json);
const message = (json: string): Uint8Array => bytes([0b0100_0001], ID, size(json), json);

test("the payload of a frame is where its head says", () => {
  const file = [0, 0, 0, 7, 0, 0, 0, 2];
  assert.equal(text(payloadOf(message("{}"))), "{}");
  assert.equal(text(payloadOf(bytes([0b0110_0001], ID, size("{}"), "{}"))), "{}");
  assert.equal(text(payloadOf(bytes([0b1010_0111], ID, ID, size("{}"), size(8), "{}", file, "xy"))), "{}");
  assert.equal(text(payloadOf(bytes([0, 0, 0], response("[1]")).subarray(3))), "[1]");
  const without = [bytes([0b0010_0111], ID, ID), bytes([0b1010_0000], ID, ID), bytes([0b1000_0001], ID, ID, "data"), bytes([0b0100_0001], ID), bytes()];
  assert.deepEqual(without.map(payloadOf), without.map(() => undefined));
});

test("an answer shows the numbers of the wire, where the browser has others", () => {
  const heard = new Overheard();
  heard.take(response('{"endpoint":"f","data":{"id":9007199254740993}}'));
  heard.take(bytes([0b0010_0111], ID, ID)); // a service frame says nothing
  assert.equal(heard.answer("data", { id: 9007199254740992 }), '{\n  "id": 9007199254740993\n}');
  assert.equal(heard.answer("data", { id: 1 }), '{\n  "id": 1\n}');
  heard.take(response('{"endpoint":"f","error":{"code":"application","value":18446744073709551615}}'));
  assert.match(heard.answer("error", { value: 2 ** 64 }), /18446744073709551615/);
});

test("a message by the endpoint it is to", () => {
  const heard = new Overheard();
  for (const endpoint of ["other", "done"]) heard.take(message(`{"endpoint":"${endpoint}","data":[9007199254740993,"${endpoint}"]}`));
  assert.equal(heard.message("done", [2 ** 53, "done"]), '[\n  9007199254740993,\n  "done"\n]');
  assert.equal(heard.message("gone", [2 ** 53]), '[\n  "about 9007199254740992"\n]');
});

test("it listens to sockets of its class", () => {
  const heard = new Overheard();
  class Base extends EventTarget {
    readonly url: string;
    constructor(url: string, _protocols?: string[]) {
      super();
      this.url = url;
    }
  }
  const Socket = heard.socket(Base as unknown as typeof WebSocket);
  const socket = new Socket("ws://x/", ["mfp.v1"]) as unknown as Base;
  socket.dispatchEvent(new MessageEvent("message", { data: response('{"endpoint":"f","data":1e400}').buffer }));
  assert.equal(heard.answer("data", Infinity), "1e400");
});
