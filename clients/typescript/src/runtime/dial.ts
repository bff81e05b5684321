/** One connection to a listener. */

import { CloseCode } from "../codes.ts";
import { ConnectFailed } from "../errors.ts";
import { tokenProtocol } from "../mfp/negotiation.ts";
import { hangUp, type Socket, type SocketClass } from "./link.ts";
import { later, limited, whenAborted } from "./signals.ts";
import { type Terms, Wire } from "./wire.ts";

const CONNECT_SECONDS = 10;
/** Who says nothing by then says no hello, and is spoken to without. */
const HELLO_SECONDS = 1;

/** A token, or what makes one for each connection. */
export type Token = string | (() => string | Promise<string>);

/** Where to connect, and how. */
export interface There {
  readonly url: string;
  readonly subprotocol: string;
  readonly token: Token | null | undefined;
  readonly WebSocket: SocketClass;
  readonly terms: Terms;
}

/** Connect once, and hear what the listener says of itself. Throws `ConnectFailed`: nobody there, or it would not have us. */
export function dial(there: There, signal: AbortSignal | undefined): Promise<Wire> {
  const { url } = there;
  const late = () => new ConnectFailed(url, `no answer in ${CONNECT_SECONDS} s`);
  return limited(CONNECT_SECONDS, signal, late, async (limit) => {
    try {
      const token = typeof there.token === "function" ? await there.token() : there.token;
      const offered = [there.subprotocol, ...(token == null ? [] : [tokenProtocol(token)])];
      limit.throwIfAborted();
      return await opened(new there.WebSocket(url, offered), there, limit);
    } catch (error) {
      throw new ConnectFailed(url, (error as Error)?.message ?? error);
    }
  });
}

/** A limit that aborts leaves the socket, also when somebody was told of the wire and has not taken it yet. */
function opened(socket: Socket, { subprotocol, terms }: There, limit: AbortSignal): Promise<Wire> {
  return new Promise((resolve, reject) => {
    let leave = (): void => {
      socket.onopen = null;
      hangUp(socket, CloseCode.OK, "");
    };
    socket.binaryType = "arraybuffer";
    socket.onerror = socket.onclose = ({ message }) =>
      reject(message || "wrong address, token or origin?");
    socket.onopen = () => {
      if (socket.protocol !== subprotocol) {
        leave();
        return reject(`it does not speak ${subprotocol}`);
      }
      const wire = new Wire(socket, terms);
      leave = () => wire.close(CloseCode.OK, "");
      const ready = () => resolve(wire);
      const stop = later(HELLO_SECONDS, ready);
      void wire.lost.then(reject);
      wire.begun = () => {
        stop();
        ready();
      };
    };
    whenAborted(limit, () => leave());
  });
}
