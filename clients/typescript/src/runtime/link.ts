/** What carries frames: a WebSocket of a browser or of Node, or whatever looks like one. */

import { CloseCode } from "../codes.ts";

/** Waiting to be sent on one link: above this we stop producing. */
export const SOFT_BYTES = 256 * 1024;

/** As much of a WebSocket as is used here. */
export interface Socket {
  binaryType: string;
  readonly bufferedAmount: number;
  readonly protocol: string;
  onopen: ((event: any) => void) | null;
  onmessage: ((event: any) => void) | null;
  onerror: ((event: any) => void) | null;
  onclose: ((event: any) => void) | null;
  send(data: Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
}

export type SocketClass = new (url: string, protocols: string[]) => Socket;

/**
 * End a connection, and tell the other side why.
 *
 * A page may close with 1000 or with a code from 3000 to 4999 only: 1002 is said as 4002, and so on. A reason has
 * room for 123 bytes, which is 41 characters of any script.
 */
export function hangUp(socket: Socket, code: number, reason: string): void {
  const isOurs = code === CloseCode.OK || (code >= 3000 && code < 5000);
  socket.close(isOurs ? code : 4000 + (code % 1000), reason.slice(0, 41));
}
