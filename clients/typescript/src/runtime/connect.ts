/** `connect`: reach a listener over WebSocket. */

import { CloseCode } from "../codes.ts";
import { ConfigError } from "../errors.ts";
import { type Checksum, REVOKED, subprotocol } from "../mfp/negotiation.ts";
import { type Settings, settingsOf } from "../mfp/settings.ts";
import { type Backoff, backoffOf } from "./backoff.ts";
import { dial, type Token } from "./dial.ts";
import { Endpoints } from "./endpoints.ts";
import type { SocketClass } from "./link.ts";
import { Peer } from "./peer.ts";
import type { Again } from "./reconnect.ts";

export interface ConnectOptions {
  /** Who we are; a function is called for each connection. It travels as a sub-protocol. */
  readonly token?: Token | null;
  /** Our frames carry this checksum; with `.always` every frame both ways must. Default: none. */
  readonly checksum?: Checksum;
  /** What answers the other side; default: none, `peer.on` adds to it. */
  readonly endpoints?: Endpoints;
  /** Connect again when the connection is lost (the default), and how long to wait before that. */
  readonly reconnect?: boolean | Partial<Backoff>;
  /** Seconds for requests that name no time of their own; default 30. */
  readonly timeout?: number;
  /** Other limits and times than the defaults. */
  readonly limits?: Partial<Omit<Settings, "checksums">>;
  /** A WebSocket class, where there is no global one: Node 20. */
  readonly WebSocket?: SocketClass;
  /** Gives up the first connection. */
  readonly signal?: AbortSignal;
}

/**
 * Connect to a listener: `ws://HOST:PORT/mfp` or `wss://...`.
 *
 * Throws `ConfigError`: this cannot be asked for; `ConnectFailed`: nobody there, or it would not have us.
 */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Peer> {
  const { token, checksum, endpoints = new Endpoints(), reconnect = true, signal, limits } = options;
  const { WebSocket = globalThis.WebSocket as SocketClass, timeout: requestTimeout = 30 } = options;
  if (!WebSocket) throw new ConfigError("no WebSocket here: give a class");
  const [name, checksums] = subprotocol(checksum);
  const settings = settingsOf({ requestTimeout, ...limits, checksums });
  // A page is not told that its token is wrong (401). So that it does not ask on and on with one that was
  // revoked, it takes its time, and a revocation as the end.
  const patience = token == null ? {} : { factor: 3, most: 60 };
  const backoff = backoffOf({ ...patience, ...(typeof reconnect === "object" && reconnect) });
  const again: Again = ({ code, reason }) => {
    const isRevoked = typeof token === "string" && code === CloseCode.POLICY && reason === REVOKED;
    return reconnect === false || isRevoked ? undefined : backoff;
  };
  const peer = new Peer(endpoints, settings);
  const terms = { settings, sealed: checksum !== undefined, endpoints, peer };
  const there = { url, subprotocol: name, token, WebSocket, terms };
  await peer.start((stop) => dial(there, stop), again, signal);
  return peer;
}
