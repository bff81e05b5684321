/**
 * What a connection tells its owner (spec/mfp.md, section 8). Pure.
 *
 * Every frame received causes at most one event. `exchange` numbers the conversation on its connection.
 */

import type { Service } from "../codes.ts";
import type { BinaryFrame, MessageFrame, RequestFrame, ResponseFrame } from "./frames.ts";

/** What happened; a number, since it is only ever compared. */
export enum EventType {
  MESSAGE_RECEIVED = 1,
  REQUEST_RECEIVED,
  RESPONSE_RECEIVED,
  REQUEST_FAILED,
  REQUEST_CANCELLED,
  MESSAGE_REFUSED,
  MESSAGE_LOST,
  STREAM_OPENED,
  STREAM_CHUNK,
  STREAM_LOST,
  STREAM_REFUSED,
  ACKNOWLEDGED,
  PONG_RECEIVED,
  CONNECTION_OVER,
}

interface About {
  readonly exchange: number;
}

/** A message; the announced files (`frame.expected`) that came are attached, `leftOut` says which did not. */
export interface MessageReceived extends About {
  readonly type: EventType.MESSAGE_RECEIVED;
  readonly frame: MessageFrame;
  readonly leftOut: readonly (readonly [key: number, why: string])[];
}

/** The peer asks; answer with `respond` or `refuse`. */
export interface RequestReceived extends About {
  readonly type: EventType.REQUEST_RECEIVED;
  readonly frame: RequestFrame;
}

/** The answer to our request `ref`. */
export interface ResponseReceived extends About {
  readonly type: EventType.RESPONSE_RECEIVED;
  readonly ref: number;
  readonly frame: ResponseFrame;
}

/** Our request `id` ends without an answer: by timeout, abort or unknown; `byPeer` says whose. */
export interface RequestFailed extends About {
  readonly type: EventType.REQUEST_FAILED;
  readonly id: number;
  readonly code: Service;
  readonly byPeer: boolean;
}

/** The peer's request `ref` needs no answer: it gave up (`byPeer`), or we are out of time. */
export interface RequestCancelled extends About {
  readonly type: EventType.REQUEST_CANCELLED;
  readonly ref: number;
  readonly code: Service;
  readonly byPeer: boolean;
}

/** The peer will not take our message `id`. */
export interface MessageRefused extends About {
  readonly type: EventType.MESSAGE_REFUSED;
  readonly id: number;
}

/** An announced message of the peer will never be whole; `reason` says why, the peer was told. */
export interface MessageLost extends About {
  readonly type: EventType.MESSAGE_LOST;
  readonly ref: number;
  readonly reason: string;
}

/** The peer begins a stream; its chunks follow. */
export interface StreamOpened extends About {
  readonly type: EventType.STREAM_OPENED;
  readonly frame: MessageFrame;
}

/** The next frame of a stream of the peer's; a `final` one ends it. */
export interface StreamChunk extends About {
  readonly type: EventType.STREAM_CHUNK;
  readonly frame: BinaryFrame;
}

/** A stream of the peer's will never end as it should; `reason` says why. */
export interface StreamLost extends About {
  readonly type: EventType.STREAM_LOST;
  readonly ref: number;
  readonly reason: string;
}

/** The peer wants no more of our stream `id`: nothing more may be sent of it. */
export interface StreamRefused extends About {
  readonly type: EventType.STREAM_REFUSED;
  readonly id: number;
}

/** The peer has received and verified our frame `id`. */
export interface Acknowledged extends About {
  readonly type: EventType.ACKNOWLEDGED;
  readonly id: number;
}

/** The peer answered our ping `id`. */
export interface PongReceived extends About {
  readonly type: EventType.PONG_RECEIVED;
  readonly id: number;
  readonly roundTrip: number;
}

/** Close the connection: the peer is dead, or nobody uses it. Told by `tick` only. */
export interface ConnectionOver extends About {
  readonly type: EventType.CONNECTION_OVER;
  readonly code: number;
  readonly reason: string;
}

export type Event =
  | MessageReceived
  | RequestReceived
  | ResponseReceived
  | RequestFailed
  | RequestCancelled
  | MessageRefused
  | MessageLost
  | StreamOpened
  | StreamChunk
  | StreamLost
  | StreamRefused
  | Acknowledged
  | PongReceived
  | ConnectionOver;
