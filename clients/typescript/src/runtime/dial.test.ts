import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectFailed } from "../errors.ts";
import { MemoryListener, MemorySocket } from "../testing/sockets.ts";
import { connect } from "./connect.ts";

const URL = "ws://memory/mfp";

test("nobody there is told, with no second try", async () => {
  const listener = new MemoryListener();
  listener.isOpen = false;
  await assert.rejects(connect(URL, { WebSocket: listener.WebSocket }), (error: unknown) => {
    assert(error instanceof ConnectFailed);
    assert.equal(error.message, `cannot connect to ${URL}: nobody there`);
    return true;
  });
  assert.equal(listener.offered.length, 1);
});

test("a listener that speaks something else is left", async () => {
  const made: MemorySocket[] = [];
  class Stranger extends MemorySocket {
    constructor() {
      super();
      made.push(this);
      setImmediate(() => this.onopen?.({}));
    }
  }
  await assert.rejects(connect(URL, { WebSocket: Stranger }), /it speaks nothing, not mfp/);
  assert.deepEqual(made[0]?.closedWith, [1000, ""]);
});

test("a signal gives the first connection up", async () => {
  const made: MemorySocket[] = [];
  class Silent extends MemorySocket {
    constructor() {
      super();
      made.push(this);
    }
  }
  const control = new AbortController();
  const connecting = connect(URL, { WebSocket: Silent, signal: control.signal });
  setImmediate(() => control.abort("enough"));
  await assert.rejects(connecting, (reason) => reason === "enough");
  assert(made[0]?.closedWith);
});

test("an address that is none is told", async () => {
  class Picky extends MemorySocket {
    constructor() {
      super();
      throw new SyntaxError("no such scheme");
    }
  }
  const connecting = connect("gopher://x", { WebSocket: Picky });
  await assert.rejects(connecting, /cannot connect to gopher:\/\/x: no such/);
});

test("a token that cannot be had is a failure to connect", async () => {
  const { WebSocket, offered } = new MemoryListener();
  const token = () => Promise.reject(new Error("signed out"));
  await assert.rejects(connect(URL, { WebSocket, token }), /cannot connect to .*: signed out/);
  assert.equal(offered.length, 0);
});
