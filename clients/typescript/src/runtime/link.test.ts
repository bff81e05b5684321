import assert from "node:assert/strict";
import { test } from "node:test";
import { MemorySocket } from "../testing/sockets.ts";
import { hangUp } from "./link.ts";

test("a page says 1000 and its own codes as they are, and others as codes of its own", () => {
  const codes = [[1000, 1000], [3000, 3000], [4123, 4123], [4999, 4999], [1002, 4002], [1008, 4008], [5000, 4000], [0, 4000]];
  for (const [code, said] of codes as [number, number][]) {
    const socket = new MemorySocket();
    hangUp(socket, code, "why");
    assert.deepEqual(socket.closedWith, [said, "why"]);
  }
});

test("a reason of any script fits into 123 bytes", () => {
  const socket = new MemorySocket();
  hangUp(socket, 1002, "日本".repeat(50));
  assert.equal(socket.closedWith?.[1].length, 41);
});
