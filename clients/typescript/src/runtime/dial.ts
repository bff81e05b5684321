/** One connection to a listener. */

import { ConnectFailed } from "../errors.ts";
import { tokenProtocol } from "../mfp/negotiation.ts";
import { hangUp, type Socket, type SocketClass } from "./link.ts";
import { limited, waitFor } from "./signals.ts";
import { type Terms, Wire } from "./wire.ts";

const CONNECT_SECONDS = 10;

/** A token, or what makes one for each connection. */
export type Token = string | (() => string | Promise<string>);

/** Where to connect, and how. */
export interface There {
  readonly url: string;
  readonly subprotocol: string;
  readonly token: Token | undefined;
  readonly WebSocket: SocketClass;
  readonly terms: Terms;
}

/** Connect once. Throws `ConnectFailed`: nobody there, or it would not have us. */
export function dial(there: There, signal: AbortSignal | undefined): Promise<Wire> {
  const { url } = there;
  const late = () => new ConnectFailed(url, `no answer in ${CONNECT_SECONDS} s`);
  return limited(CONNECT_SECONDS, signal, late, async (limit) => {
    try {
      const token = typeof there.token === "function" ? await there.token() : there.token;
      const offered = [there.subprotocol, ...(token === undefined ? [] : [tokenProtocol(token)])];
      limit.throwIfAborted();
      return await opened(new there.WebSocket(url, offered), there, limit);
    } catch (error) {
      if (limit.aborted) throw error;
      throw new ConnectFailed(url, error instanceof Error ? error.message : String(error));
    }
  });
}

function opened(socket: Socket, { subprotocol, terms }: There, signal: AbortSignal): Promise<Wire> {
  const leave = (): void => {
    socket.onopen = socket.onclose = null;
    socket.onerror = () => {};
    hangUp(socket, 1000, "");
  };
  return waitFor<Wire>(
    signal,
    ({ settle, fail }) => {
      socket.binaryType = "arraybuffer";
      socket.onerror = socket.onclose = ({ message }) =>
        fail(message || "wrong address, token or origin?");
      socket.onopen = () => {
        if (socket.protocol === subprotocol) return settle(new Wire(socket, terms));
        leave();
        fail(`it speaks ${socket.protocol || "nothing"}, not ${subprotocol}`);
      };
    },
    leave,
  );
}
