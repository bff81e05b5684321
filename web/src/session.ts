/** The connection to the gateway's admin port, and the token that opens it. */

import { connect, type Peer, type ReceivedFiles, type Reply, type Request } from "framehub";
import { Overheard } from "./overheard.ts";
import type { Line, State, Welcome } from "./told.ts";

const TOKEN = "framehub.token";
/** While there is no connection: how often the port is asked whether it would have us. */
const PROBE_MS = 2000;
const LOST = "The connection is lost; trying again.";

/** Who makes one call, and what was said meanwhile. */
export interface Caller {
  readonly peer: Peer;
  readonly heard: Overheard;
}

/** How the port turns us away: a WebSocket does not say, a plain request does. */
interface Refusal {
  readonly reason: string;
  /** The token is none: only another one will do. Else somebody in front of the gateway may have said it, or it passes. */
  readonly isFinal: boolean;
}

export type Status = "connecting" | "open" | "login" | "lost";

/** Where something is, beside this page. */
function beside(path: string, scheme = location.protocol): string {
  const url = new URL(path, location.href);
  url.protocol = scheme;
  url.hash = url.search = "";
  return url.href;
}

const refusedFor = ({ reason }: Refusal): string => `Trying again; the port answers: ${reason}`;
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
const socketUrl = (path: string): string => beside(path, location.protocol === "https:" ? "wss:" : "ws:");

/** One page's session; what it hears, it hands to whoever listens. */
export class Session {
  status: Status = "connecting";
  /** Why somebody has to sign in, or why there is no connection. */
  reason = "";
  welcome: Welcome | undefined;
  onstatus: (status: Status) => void = () => {};
  onstate: (state: State) => void = () => {};
  onframes: (rows: readonly Line[], dropped: number) => void = () => {};
  #peer: Peer | undefined;
  #probed: Peer | undefined;
  readonly #dial: typeof connect;

  constructor(dial: typeof connect = connect) {
    this.#dial = dial;
  }

  get hasToken(): boolean {
    return sessionStorage.getItem(TOKEN) !== null;
  }

  /** Connect, and go on trying; asks for a token where one is needed. */
  async start(): Promise<void> {
    for (let tries = 0; this.#peer === undefined; tries += 1) {
      const isFirst = tries === 0 && this.welcome === undefined;
      this.#move("connecting");
      const refusal = await this.#refusal();
      if (refusal && (isFirst || refusal.isFinal)) return this.#signedOut(refusal.reason);
      try {
        if (refusal) throw new Error(refusedFor(refusal));
        await this.#connect();
        return;
      } catch (error) {
        this.#move("lost", (error as Error).message);
        await pause(Math.min(500 * 2 ** tries, 5000));
      }
    }
  }

  async signIn(token: string): Promise<void> {
    sessionStorage.setItem(TOKEN, token.trim());
    await this.start();
  }

  signOut(): void {
    sessionStorage.removeItem(TOKEN);
    location.reload();
  }

  /** Ask the gateway's console for something. */
  async ask<T>(endpoint: string, data?: unknown): Promise<T> {
    if (!this.#peer) throw new Error("not connected");
    const request: Request = { endpoint, data: data === undefined ? null : data, timeout: 20 };
    try {
      return (await this.#peer.request<T>(request)).data;
    } catch (error) {
      throw new Error((error as Error).message.replace(/^bad_request: /, ""));
    }
  }

  /** A connection of its own for one call: a client as any other. */
  async caller(timeout: number): Promise<Caller> {
    const heard = new Overheard();
    const peer = await this.#dial(socketUrl("call"), { ...this.#token, reconnect: false, timeout, WebSocket: heard.socket() });
    return { peer, heard };
  }

  /** How the port turns us away. Nothing: it does not, or is in trouble, or not there; connecting will say so. */
  async #refusal(): Promise<Refusal | undefined> {
    const token = sessionStorage.getItem(TOKEN);
    try {
      const asked = await fetch(beside("api/state"), {
        headers: token === null ? {} : { authorization: `Bearer ${token}` },
        cache: "no-store",
      });
      if (asked.ok || asked.status >= 500) return undefined;
      if (asked.status !== 401 && (asked.status !== 400 || token === null)) {
        const text = (await asked.text()).trim();
        return { reason: /^[^<\n]{1,200}$/.test(text) ? text : `HTTP ${asked.status}`, isFinal: false };
      }
      if (token === sessionStorage.getItem(TOKEN)) sessionStorage.removeItem(TOKEN);
      return { reason: token === null ? "" : "The gateway does not know this token.", isFinal: true };
    } catch {
      return undefined;
    }
  }

  #signedOut(reason: string): void {
    this.welcome = undefined;
    this.#move("login", reason);
  }

  async #connect(): Promise<void> {
    const peer = await this.#dial(socketUrl("mfp"), { ...this.#token, timeout: 20, reconnect: { most: 5, factor: 2 } });
    this.#peer = peer;
    peer.on("state", (state: State) => this.#tell(() => this.onstate(state)));
    peer.on("frames", ({ rows, dropped }: { rows: Line[]; dropped: number }) => this.#tell(() => this.onframes(rows, dropped)));
    peer.onstate = (state) => void this.#changed(peer, state);
    await this.#watch(peer).catch((error: unknown) => {
      this.#leave(peer);
      throw error;
    });
  }

  async #changed(peer: Peer, state: Peer["state"]): Promise<void> {
    if (peer !== this.#peer) return;
    if (state === "connecting") {
      this.#move("lost", LOST);
      await this.#whileLost(peer);
    } else if (state === "closed") {
      this.#peer = undefined;
      await this.start();
    } else {
      await this.#watch(peer).catch((error: Error) => this.#again(peer, error));
    }
  }

  /** The peer goes on trying by itself; what the port says, a token revoked meanwhile above all, it is not told of. */
  async #whileLost(peer: Peer): Promise<void> {
    if (this.#probed === peer) return;
    this.#probed = peer;
    const isLost = () => peer === this.#peer && peer.state === "connecting";
    while (isLost()) {
      const refusal = await this.#refusal();
      if (refusal?.isFinal && peer === this.#peer) {
        this.#leave(peer);
        this.#signedOut(refusal.reason);
      } else if (isLost()) {
        const reason = refusal ? refusedFor(refusal) : LOST;
        if (reason !== this.reason) this.#move("lost", reason);
        await pause(PROBE_MS);
      }
    }
    if (this.#probed === peer) this.#probed = undefined;
  }

  /** It is connected and does not answer: begin anew. */
  async #again(peer: Peer, error: Error): Promise<void> {
    if (peer !== this.#peer || peer.state !== "open") return;
    this.#leave(peer);
    this.#move("lost", error.message);
    await pause(500);
    await this.start();
  }

  #leave(peer: Peer): void {
    this.#peer = undefined;
    void peer.close();
  }

  async #watch(peer: Peer): Promise<void> {
    const welcome = (await peer.request<Welcome>({ endpoint: "watch", data: null })).data;
    if (peer !== this.#peer) return;
    this.welcome = welcome;
    this.#move("open");
    this.#tell(() => this.onstate(welcome));
  }

  get #token(): { token?: string } {
    const token = sessionStorage.getItem(TOKEN);
    return token === null ? {} : { token };
  }

  #move(status: Status, reason = ""): void {
    this.status = status;
    this.reason = reason;
    this.#tell(() => this.onstatus(status));
  }

  /** What fails on the page is no failure of the connection. */
  #tell(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      reportError(error);
    }
  }
}

export type Answer = Reply<any, ReceivedFiles>;
