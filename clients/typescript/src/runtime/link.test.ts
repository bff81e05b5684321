import assert from "node:assert/strict";
import { test } from "node:test";
import { MemorySocket } from "../testing/sockets.ts";
import { hangUp } from "./link.ts";

test("a page says 1000 as it is, and other codes as codes of its own", () => {
  for (const [code, said] of [[1000, 1000], [1002, 4002], [1008, 4008]] as const) {
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
