import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionClosed, RequestTimeout } from "../errors.ts";
import { eventually } from "../testing/eventually.ts";
import { MemoryListener, pair } from "../testing/sockets.ts";
import { connect } from "./connect.ts";
import type { Peer } from "./peer.ts";
import type { State } from "./reconnect.ts";

const quick = { first: 0.001, most: 0.005 };

function cut(listener: MemoryListener, code?: number, reason?: string): void {
  const socket = listener.sockets.at(-1)!;
  socket.cut(code, reason);
  socket.other!.cut(code, reason);
}

async function until(peer: Peer, state: State): Promise<void> {
  if (peer.state === state) return;
  await new Promise<void>((resolve) => {
    peer.onstate = (now) => {
      if (now === state) resolve();
    };
  });
}

test("what is lost is made again; what was pending fails, what is asked meanwhile waits", async () => {
  const { client, listener } = await pair({}, { reconnect: quick });
  listener.endpoints.on("echo", (data) => data);
  listener.endpoints.on("slow", () => new Promise(() => {}));
  client.on("who", () => "the same");
  const states: State[] = [];
  client.onstate = (state) => states.push(state);
  const pending = client.request({ endpoint: "slow" });
  pending.catch(() => {});
  await client.ping();
  listener.isOpen = false;
  cut(listener);
  await assert.rejects(pending, ConnectionClosed);
  const waits = client.request({ endpoint: "echo", data: 7 });
  await eventually(() => listener.offered.length > 3);
  listener.isOpen = true;
  assert.equal((await waits).data, 7);
  assert.deepEqual(states, ["connecting", "open"]);
  assert.equal((await listener.peers.at(-1)!.request({ endpoint: "who" })).data, "the same");
  await client.close();
  assert.deepEqual(states, ["connecting", "open", "closed"]);
});

test("who is closed as a connection is made again stays so, and the connection goes", async () => {
  for (let turns = 0; turns < 16; turns += 1) {
    const { client, listener } = await pair({}, { reconnect: quick });
    listener.onpeer = (_peer, { other }) =>
      queueMicrotask(() => {
        const heard = other!.onmessage!;
        other!.onmessage = async (event) => {
          heard(event);
          for (let turn = 0; turn < turns; turn += 1) await undefined;
          await client.close();
        };
      });
    cut(listener);
    await client.closed;
    await eventually(() => listener.sockets[1]?.other!.closedWith);
    assert.equal(client.state, "closed", `after ${turns}`);
  }
});

test("while there is none, time and signals still count", async () => {
  const { client, listener } = await pair({}, { reconnect: quick });
  listener.isOpen = false;
  cut(listener);
  await until(client, "connecting");
  const control = new AbortController();
  const send = client.send({ endpoint: "a", signal: control.signal });
  await assert.rejects(client.request({ endpoint: "a", timeout: 0.05 }), (error: unknown) => {
    assert(error instanceof RequestTimeout);
    assert.match(error.message, /a: not connected: cannot connect to .*: nobody there, in 0.05 s/);
    return true;
  });
  control.abort("enough");
  await assert.rejects(send, (reason) => reason === "enough");
  const stream = client.stream({ endpoint: "a" }).getWriter();
  stream.closed.catch(() => {});
  const announce = client.announce({ endpoint: "a", files: new Map() });
  const closed = client.close();
  await assert.rejects(announce, ConnectionClosed);
  await assert.rejects(stream.closed, ConnectionClosed);
  await closed;
  assert.equal(client.state, "closed");
});

test("asked not to, it is over with the first connection", async () => {
  const { client, listener } = await pair({}, { reconnect: false });
  cut(listener);
  const error = await client.closed;
  assert(error instanceof ConnectionClosed);
  assert.equal(error.code, 1006);
  assert.equal(client.state, "closed");
  assert.equal(listener.offered.length, 1);
});

test("a token is asked for again for each connection", async () => {
  const listener = new MemoryListener();
  let n = 0;
  const token = async () => `t${n++}`;
  const client = await connect("ws://memory/mfp", { WebSocket: listener.WebSocket, token, reconnect: quick });
  cut(listener);
  await until(client, "connecting");
  await until(client, "open");
  assert.deepEqual(listener.offered.map((names) => names[1]), ["token.dDA", "token.dDE"]);
  await client.close();
});

test("told 1008 with a token that stays the same, there is no next try", async () => {
  const listener = new MemoryListener();
  const options = { WebSocket: listener.WebSocket, reconnect: quick };
  const fixed = await connect("ws://memory/mfp", { ...options, token: "t" });
  cut(listener, 1008, "token revoked");
  assert.match(String(await fixed.closed), /1008: token revoked/);
  assert.equal(fixed.state, "closed");
  const renewed = await connect("ws://memory/mfp", { ...options, token: () => "t" });
  cut(listener, 1008, "token revoked");
  await until(renewed, "connecting");
  await until(renewed, "open");
  await renewed.close();
});

test("told 1008 for another reason, it connects again", async () => {
  const listener = new MemoryListener();
  const options = { WebSocket: listener.WebSocket, reconnect: quick, token: "t" };
  const client = await connect("ws://memory/mfp", options);
  cut(listener, 1008, "too many strikes");
  await until(client, "connecting");
  await until(client, "open");
  await client.close();
});

test("a callback that throws is nobody's end", async () => {
  const { client, listener } = await pair({}, { reconnect: quick });
  const told: unknown[] = [];
  client.onerror = (error) => told.push(error);
  client.onstate = (state) => {
    if (state === "connecting") throw new Error("mine");
  };
  cut(listener);
  await eventually(() => told.length);
  await until(client, "open");
  assert.match(String(told), /mine/);
  client.onstate = () => Promise.reject(new Error("mine, later"));
  await client.close();
  assert.equal(client.state, "closed");
  await eventually(() => told.length === 2);
  assert.match(String(told), /mine, later/);
});

test("who is told of errors may fail too, or not be there", async (t) => {
  const { client } = await pair();
  const said: unknown[] = [];
  t.mock.method(console, "error", (error: unknown) => said.push(error));
  const mine = new Error("mine");
  client.onstate = () => {
    throw new Error("not heard");
  };
  client.onerror = () => {
    throw mine;
  };
  client.report(new Error("any"), "where");
  client.onerror = () => Promise.reject(mine) as never;
  client.report(new Error("any"), "where");
  await eventually(() => said.length === 2);
  client.onerror = null;
  client.report(new Error("any"), "where");
  await client.close();
  assert.deepEqual(said, [mine, mine]);
});

test("an application closes with a code and a reason of its own", async () => {
  const { client, server, socket } = await pair();
  await client.close(4001, "signed out");
  assert.deepEqual(socket.other!.closedWith, [4001, "signed out"]);
  assert.match(String(await server.closed), /4001: signed out/);
});

test("closed while it connects again, it stays closed", async () => {
  const { client, listener } = await pair({}, { reconnect: { first: 60, most: 60 } });
  cut(listener);
  await until(client, "connecting");
  await client.close();
  await client.close();
  assert.equal(client.state, "closed");
  assert.equal(listener.offered.length, 1);
});
