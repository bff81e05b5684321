/** Two sockets in memory, and two peers that speak over them: real ones, only the network is left out. */

import { after } from "node:test";
import type { Checksums } from "../mfp/checksum.ts";
import { HELLO, subprotocol } from "../mfp/negotiation.ts";
import { type Settings, settingsOf } from "../mfp/settings.ts";
import { connect, type ConnectOptions } from "../runtime/connect.ts";
import { Endpoints } from "../runtime/endpoints.ts";
import type { Socket } from "../runtime/link.ts";
import { Peer } from "../runtime/peer.ts";
import { Wire } from "../runtime/wire.ts";

const made: Peer[] = [];

// A test that fails leaves its peers open, and their timers would keep Node from ending.
after(async () => {
  for (const peer of made) await peer.close();
});

/** One end. What is sent comes to the other end later, in order; a stalled one keeps it. */
export class MemorySocket implements Socket {
  binaryType = "blob";
  bufferedAmount = 0;
  protocol = "";
  onopen: ((event: any) => void) | null = null;
  onmessage: ((event: any) => void) | null = null;
  onerror: ((event: any) => void) | null = null;
  onclose: ((event: any) => void) | null = null;
  other: MemorySocket | undefined;
  closedWith: [code: number, reason: string] | undefined;
  readonly #kept: Uint8Array[] = [];
  #isStalled = false;
  #isClosed = false;

  /** Keep what is sent, as a socket does whose peer does not read; false: let it go. */
  set stalled(value: boolean) {
    this.#isStalled = value;
    if (!value) for (const data of this.#kept.splice(0)) this.#deliver(data);
  }

  send(data: Uint8Array<ArrayBuffer> | string): void {
    if (this.#isClosed) return;
    if (typeof data === "string") {
      setImmediate(() => this.other?.onmessage?.({ data }));
      return;
    }
    this.bufferedAmount += data.length;
    if (this.#isStalled) this.#kept.push(data.slice());
    else this.#deliver(data.slice());
  }

  close(code = 1005, reason = ""): void {
    if (this.#isClosed) return;
    if (code !== 1000 && !(code >= 3000 && code < 5000)) throw new Error(`a page cannot say ${code}`);
    if (new TextEncoder().encode(reason).length > 123) throw new Error("the reason is too long");
    this.closedWith = [code, reason];
    for (const end of [this, this.other]) end?.cut(code, reason);
  }

  /** The connection is gone, with no goodbye. */
  cut(code = 1006, reason = ""): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    setImmediate(() => this.onclose?.({ code, reason }));
  }

  #deliver(data: Uint8Array): void {
    setImmediate(() => {
      this.bufferedAmount -= data.length;
      if (!this.#isClosed) this.other?.onmessage?.({ data: data.buffer });
    });
  }
}

/** Somebody who listens: makes a WebSocket class whose sockets end at peers of its own. */
export class MemoryListener {
  readonly endpoints = new Endpoints();
  readonly peers: Peer[] = [];
  /** Our ends, and what each client offered. */
  readonly sockets: MemorySocket[] = [];
  readonly offered: string[][] = [];
  /** What it says first; undefined: nothing. */
  hello: unknown = { version: 1, link: "5f0c9a1be27d4433" };
  /** Whether the next one is let in. */
  isOpen = true;
  /** Called for each new connection, before anything can be said on it. */
  onpeer: (peer: Peer, socket: MemorySocket) => void = () => {};
  readonly #settings: Partial<Settings>;

  constructor(settings: Partial<Settings> = {}) {
    this.#settings = settings;
  }

  get WebSocket(): new (url: string, protocols: string[]) => MemorySocket {
    const listener = this;
    return class extends MemorySocket {
      constructor(_url: string, protocols: string[]) {
        super();
        listener.offered.push(protocols);
        setImmediate(() => void listener.#accept(this, protocols[0]!));
      }
    };
  }

  async #accept(client: MemorySocket, protocol: string): Promise<void> {
    if (!this.isOpen) {
      client.onerror?.({ message: "nobody there" });
      client.cut();
      return;
    }
    const socket = new MemorySocket();
    client.other = socket;
    socket.other = client;
    client.protocol = protocol;
    const checksum = protocol.slice(4) as "crc32";
    const [, checksums]: [string, Checksums] = subprotocol(checksum || undefined);
    const settings = settingsOf({ ...this.#settings, checksums });
    const peer = new Peer(this.endpoints, settings);
    const terms = { settings, sealed: !!checksum, endpoints: this.endpoints, peer };
    await peer.start(async () => new Wire(socket, terms), () => undefined);
    this.peers.push(peer);
    made.push(peer);
    this.sockets.push(socket);
    if (this.hello !== undefined) void peer.send({ endpoint: HELLO, data: this.hello });
    this.onpeer(peer, socket);
    client.onopen?.({});
  }
}

/** A listener, and a peer connected to it. */
export async function pair(
  settings: Partial<Settings> = {},
  options: ConnectOptions = {},
): Promise<{ listener: MemoryListener; client: Peer; server: Peer; socket: MemorySocket }> {
  const listener = new MemoryListener(settings);
  const client = await connect("ws://memory/mfp", { WebSocket: listener.WebSocket, ...options });
  made.push(client);
  return { listener, client, server: listener.peers[0]!, socket: listener.sockets[0]! };
}
