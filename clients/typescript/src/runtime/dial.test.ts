import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectFailed } from "../errors.ts";
import { aTurn, eventually, stopTheClock } from "../testing/eventually.ts";
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
  await assert.rejects(connect(URL, { WebSocket: Stranger }), /it does not speak mfp/);
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

test("what the listener says of itself is known from the start", async () => {
  const { WebSocket } = new MemoryListener();
  const client = await connect(URL, { WebSocket });
  assert.equal(client.link, "5f0c9a1be27d4433");
  assert.equal((client.hello as { version: number }).version, 1);
  await client.close();
});

test("who says nothing of itself is spoken to without, after a second", async (t) => {
  const pass = await stopTheClock(t);
  const listener = new MemoryListener();
  listener.hello = undefined;
  listener.endpoints.on("echo", (data) => data);
  let isOpen = false;
  const connecting = connect(URL, { WebSocket: listener.WebSocket });
  void connecting.then(() => (isOpen = true));
  await eventually(() => listener.sockets.length);
  pass(0.9);
  await aTurn();
  assert.equal(isOpen, false);
  pass(0.1);
  const client = await connecting;
  assert.deepEqual([client.state, client.link, client.hello], ["open", "", undefined]);
  assert.equal((await client.request({ endpoint: "echo", data: 7 })).data, 7);
  await client.close();
});

test("a connection that ends before the hello, or because of it, is a failure to connect", async () => {
  const listener = new MemoryListener();
  listener.hello = undefined;
  const { WebSocket } = listener;
  listener.onpeer = (_peer, socket) => setImmediate(() => socket.close(4000, "go away"));
  await assert.rejects(connect(URL, { WebSocket }), (error: unknown) => {
    assert(error instanceof ConnectFailed);
    assert.match(error.message, /connection closed \(4000: go away\)/);
    return true;
  });
  listener.onpeer = (_peer, socket) => setImmediate(() => socket.send(new Uint8Array(5)));
  await assert.rejects(connect(URL, { WebSocket }), ConnectFailed);
  assert.equal(listener.sockets[1]!.other!.closedWith?.[0], 4002);
  for (const peer of listener.peers) await peer.closed;
});

test("a signal gives the first connection up while the hello is waited for", async () => {
  const listener = new MemoryListener();
  listener.hello = undefined;
  const control = new AbortController();
  listener.onpeer = () => setImmediate(() => control.abort("enough"));
  const connecting = connect(URL, { WebSocket: listener.WebSocket, signal: control.signal });
  await assert.rejects(connecting, (reason) => reason === "enough");
  assert.deepEqual(listener.sockets[0]!.other!.closedWith, [1000, ""]);
  await listener.peers[0]!.closed;
});

test("a signal that aborts as the hello comes leaves no connection open, or one that is handed out", async () => {
  const met = new Set<string>();
  for (let turns = 0; turns < 12; turns += 1) {
    const listener = new MemoryListener();
    const control = new AbortController();
    listener.onpeer = (_peer, { other }) =>
      queueMicrotask(() => {
        const heard = other!.onmessage!;
        other!.onmessage = async (event) => {
          heard(event);
          for (let turn = 0; turn < turns; turn += 1) await undefined;
          control.abort("enough");
        };
      });
    const { WebSocket } = listener;
    const client = await connect(URL, { WebSocket, signal: control.signal }).catch((reason) => reason);
    await aTurn();
    const isOpen = listener.sockets[0]!.other!.closedWith === undefined;
    assert.equal(isOpen ? client.state : client, isOpen ? "open" : "enough", `after ${turns}`);
    met.add(isOpen ? "open" : "closed");
    if (isOpen) await client.close();
    else await listener.peers[0]!.closed;
  }
  assert.equal(met.size, 2);
});

test("a token that never comes is a failure to connect, in time", async (t) => {
  const pass = await stopTheClock(t);
  const { WebSocket, offered } = new MemoryListener();
  let give = (_token: string): void => {};
  const token = () => new Promise<string>((resolve) => (give = resolve));
  const connecting = connect(URL, { WebSocket, token });
  pass(10);
  await assert.rejects(connecting, (error: unknown) => {
    assert(error instanceof ConnectFailed);
    return /no answer in 10 s/.test(error.message);
  });
  give("too late");
  await aTurn();
  assert.deepEqual(offered, []);
});
