/** Conversations as data, replayed with real connections: every byte and event as written, none beside. */

import assert from "node:assert/strict";
import { Service } from "../codes.ts";
import * as errors from "../errors.ts";
import { type Event, EventType } from "../mfp/events.ts";
import type { Bytes, Frame } from "../mfp/frames.ts";
import { fromHex, toHex, toPlain } from "../mfp/plain.ts";
import { settingsOf } from "../mfp/settings.ts";
import { agreed, camel } from "./vectors.ts";
import type { ConversationCase, Side, Step } from "./vectors.ts";
import { Watched } from "./watched.ts";

const OTHER = { A: "B", B: "A" } as const;
const utf8 = new TextEncoder();

/** An event as the vectors write it. */
function told(event: Event): Record<string, unknown> {
  const { type, exchange, ref, id, code, byPeer, reason, roundTrip, leftOut, frame } = event as Partial<
    Record<string, any>
  > & { type: EventType };
  const value = {
    type: EventType[type].toLowerCase(),
    exchange,
    ref,
    id,
    code: code && type !== EventType.CONNECTION_OVER ? Service[code as Service].toLowerCase() : code,
    by_peer: byPeer,
    reason,
    round_trip: roundTrip,
    left_out: leftOut?.length ? leftOut : undefined,
    frame: frame && toPlain(frame as Frame),
  };
  return JSON.parse(JSON.stringify(value)) as Record<string, unknown>; // without what is undefined
}

/** One side and what it has sent, seen and refused, but nobody has asked for yet. */
class Machine {
  readonly wire: string[] = [];
  readonly seen: Record<string, unknown>[] = [];
  readonly refused: Error[] = [];
  readonly connection: Watched;

  constructor(one: ConversationCase, side: Side) {
    const given = Object.entries(one.settings?.[side] ?? {}).map(([name, value]) => [camel(name), value]);
    const settings = settingsOf({
      checksums: agreed(one),
      verifyAlways: one.verify_always ?? false,
      keepalive: Infinity, // no ping comes by itself, unless a case says so
      ...Object.fromEntries(given),
    });
    this.connection = new Watched(settings, one.first_id?.[side] ?? 1);
  }

  receive(data: Bytes, now: number): void {
    try {
      const event = this.connection.receive(data, now);
      if (event) this.seen.push(told(event));
    } catch (error) {
      if (!(error instanceof errors.RemoteProtocolError)) throw error;
      this.refused.push(error);
    }
  }

  do(step: Step, now: number): unknown {
    const { ref, id, key, data = "", payload: text, timeout, ...given } = step.with ?? {};
    const { expected = [], streaming = false, final = false } = given;
    const connection = this.connection;
    const bytes = fromHex(data);
    const payload = utf8.encode(text);
    const flags = { needAck: !!given.need_ack, checksum: !!given.checksum };
    switch (step.does) {
      case "request":
        return connection.request(payload, [], now, timeout, flags);
      case "message":
        return connection.message(payload, [], { ...flags, expected, streaming });
      case "file":
        return connection.file(ref!, key!, bytes, flags);
      case "chunk":
        return connection.chunk(ref!, bytes, { ...flags, key, final });
      case "respond":
        return connection.respond(ref!, payload, [], flags);
      case "refuse":
        return connection.refuse(ref!);
      case "cancel":
        return connection.cancel(id!);
      case "give_up":
        return connection.giveUp(ref!);
      case "abort_stream":
        return connection.abortStream(ref!);
      case "ping":
        return connection.ping(now);
      default:
        throw new Error(`cannot do ${step.does}`);
    }
  }
}

/** Two sides and the wire between them; a side written by hand has no machine. */
class Replay {
  now = 0;
  readonly machines = new Map<Side, Machine>();

  constructor(one: ConversationCase, hands: readonly Side[]) {
    for (const side of ["A", "B"] as const) {
      if (!hands.includes(side)) this.machines.set(side, new Machine(one, side));
    }
  }

  step(step: Step): void {
    const machine = this.machines.get(step.side!);
    if (step.now !== undefined) {
      this.now = step.now;
      for (const { connection, seen } of this.machines.values()) {
        seen.push(...connection.tick(this.now).map(told));
      }
    } else if (step.sends !== undefined) {
      const data = fromHex(step.sends);
      if (machine) assert.equal(machine.wire.shift(), toHex(data));
      this.machines.get(OTHER[step.side!])?.receive(data, this.now);
    } else if (machine) {
      this.look(machine, step);
    }
    for (const { connection, wire } of this.machines.values()) {
      wire.push(...connection.outbox.drain().map(toHex));
    }
  }

  look(machine: Machine, step: Step): void {
    if (step.sees !== undefined) {
      assert.deepEqual(machine.seen.shift(), step.sees);
    } else if (step.does === undefined) {
      const refusal = machine.refused.shift();
      assert.equal(refusal?.constructor, errors[step.error as "MalformedFrame"]);
      assert(refusal?.message.includes(step.refuses!), refusal?.message);
    } else if (step.fails !== undefined) {
      assert.throws(
        () => machine.do(step, this.now),
        (error: unknown) => {
          const ours = error instanceof errors.LocalProtocolError || error instanceof errors.StreamAborted;
          return ours && error.message.includes(step.fails!);
        },
      );
    } else {
      const result = machine.do(step, this.now);
      if ("gives" in step) assert.equal(result ?? null, step.gives);
    }
  }

  end(one: ConversationCase): void {
    for (const [side, { connection, wire, seen, refused }] of this.machines) {
      assert.deepEqual({ wire, seen, refused }, { wire: [], seen: [], refused: [] });
      assert.equal(connection.pending, one.pending?.[side] ?? connection.pending);
      assert.equal(connection.ignored, one.ignored?.[side] ?? connection.ignored);
      connection.end();
      assert.equal(connection.pending, 0);
    }
  }
}

/** Replay a conversation; sides in `hands` have no machine, their bytes come from the case. */
export function play(one: ConversationCase, hands: readonly Side[]): void {
  const replay = new Replay(one, hands);
  for (const step of one.steps) replay.step(step);
  replay.end(one);
}
