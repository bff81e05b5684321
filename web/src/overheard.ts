/** What came over a connection, as text: a number stands there as it was sent. */

import type { SocketClass } from "framehub";
import { indented, isRounded, member, written } from "./numbers.ts";

const MESSAGE = 2;
const REQUEST = 3;
const RESPONSE = 5;
const PAYLOAD = 0b0001;
const MAP = 0b0010;
const MOST_MESSAGES = 8;

/** The payload of a frame that has one (spec/mfp.md, sections 3 and 4). Pure. */
export function payloadOf(frame: Uint8Array): Uint8Array | undefined {
  const head = frame[0] ?? 0;
  const protocol = head >> 5;
  if (![MESSAGE, REQUEST, RESPONSE].includes(protocol) || !(head & PAYLOAD)) return undefined;
  const at = protocol === RESPONSE ? 9 : 5;
  if (frame.byteLength < at + 4) return undefined;
  const size = new DataView(frame.buffer, frame.byteOffset).getUint32(at);
  const from = at + (head & MAP ? 8 : 4);
  return frame.subarray(from, from + size);
}

/** The last answer and the first messages of a connection. */
export class Overheard {
  #answer: Uint8Array | undefined;
  readonly #messages: Uint8Array[] = [];

  /** A WebSocket class whose frames come by here. */
  socket(base: typeof WebSocket = WebSocket): SocketClass {
    const take = (data: ArrayBuffer) => this.take(new Uint8Array(data));
    return class extends base {
      constructor(url: string, protocols: string[]) {
        super(url, protocols);
        this.addEventListener("message", ({ data }: MessageEvent<ArrayBuffer>) => take(data));
      }
    };
  }

  take(frame: Uint8Array): void {
    const payload = payloadOf(frame);
    if (payload === undefined) return;
    if (frame[0]! >> 5 === RESPONSE) this.#answer = payload;
    else if (this.#messages.length < MOST_MESSAGES) this.#messages.push(payload);
  }

  /** The `data` or `error` of the answer, for reading. */
  answer(name: "data" | "error", value: unknown): string {
    return legible(value, () => this.#answer, name);
  }

  /** The data of the first message to an endpoint of ours, for reading. */
  message(endpoint: string, value: unknown): string {
    return legible(value, () => this.#messages.find((one) => isTo(one, endpoint)), "data");
  }
}

const textOf = (payload: Uint8Array): string => new TextDecoder().decode(payload);

function isTo(payload: Uint8Array, endpoint: string): boolean {
  return member(textOf(payload), "endpoint") === JSON.stringify(endpoint);
}

function legible(value: unknown, find: () => Uint8Array | undefined, name: string): string {
  if (!isRounded(value)) return written(value, 2);
  const payload = find();
  const sent = payload && member(textOf(payload), name);
  return sent === undefined ? written(value, 2) : indented(sent);
}
