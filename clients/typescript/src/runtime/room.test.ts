import assert from "node:assert/strict";
import { test } from "node:test";
import { Room } from "./room.ts";

test("with room, it is anybody's turn at once", async () => {
  const room = new Room(() => false);
  let sent = false;
  const turn = room.turn(() => (sent = true));
  assert(sent);
  assert.equal(await turn, true);
});

test("without, first come is first served, one at a time while there is room", async () => {
  let free = 0;
  const sent: number[] = [];
  const room = new Room(() => free <= 0);
  const turns = [1, 2, 3].map((n) => room.turn(() => {
    free--;
    return sent.push(n);
  }));
  assert.equal(sent.length, 0);
  free = 2;
  room.look();
  assert.deepEqual(sent, [1, 2]);
  const last = room.turn<number>(() => sent.push(4));
  free = 9;
  await Promise.all([...turns, last]);
  assert.deepEqual(sent, [1, 2, 3, 4]);
});

test("who leaves loses the turn to the next", async () => {
  let full = true;
  const sent: number[] = [];
  const room = new Room(() => full);
  const control = new AbortController();
  const first = room.turn(() => sent.push(1), control.signal);
  const second = room.turn(() => sent.push(2));
  control.abort("gone");
  await assert.rejects(first, (reason) => reason === "gone");
  full = false;
  await second;
  assert.deepEqual(sent, [2]);
  await assert.rejects(room.turn(() => sent.push(3), control.signal));
  assert.deepEqual(sent, [2]);
});

test("what fails in its turn fails for its sender only", async () => {
  let full = true;
  const room = new Room(() => full);
  const bad = room.turn(() => {
    throw new Error("bad");
  });
  const good = room.turn(() => 7);
  full = false;
  await assert.rejects(bad, /bad/);
  assert.equal(await good, 7);
});
