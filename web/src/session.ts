/** The connection to the gateway's admin port, and the token that opens it. */

import { connect, type Peer, type ReceivedFiles, type Reply, type Request } from "framehub";
import type { Line, State, Welcome } from "./told.ts";

const TOKEN = "framehub.token";

export type Status = "connecting" | "open" | "login" | "lost";

/** Where something is, beside this page. */
function beside(path: string, scheme = location.protocol): string {
  const url = new URL(path, location.href);
  url.protocol = scheme;
  url.hash = url.search = "";
  return url.href;
}

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

  get hasToken(): boolean {
    return sessionStorage.getItem(TOKEN) !== null;
  }

  /** Connect, and go on trying; asks for a token where one is needed. */
  async start(): Promise<void> {
    for (let tries = 0; this.#peer === undefined; tries += 1) {
      if (!(await this.#mayEnter())) return;
      try {
        await this.#connect();
        return;
      } catch (error) {
        this.#move("lost", (error as Error).message);
        await new Promise((done) => setTimeout(done, Math.min(500 * 2 ** tries, 5000)));
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
    return (await this.#peer.request<T>(request)).data;
  }

  /** A connection of its own for one call: a client as any other. */
  caller(timeout: number): Promise<Peer> {
    return connect(socketUrl("call"), { ...this.#token, reconnect: false, timeout });
  }

  /** Whether the port lets us in: a WebSocket does not say why it was refused, a plain request does. */
  async #mayEnter(): Promise<boolean> {
    this.#move("connecting");
    const token = sessionStorage.getItem(TOKEN);
    try {
      const asked = await fetch(beside("api/state"), {
        headers: token === null ? {} : { authorization: `Bearer ${token}` },
        cache: "no-store",
      });
      if (asked.ok) return true;
      const text = (await asked.text()).trim();
      if (asked.status === 401 || asked.status === 400) {
        sessionStorage.removeItem(TOKEN);
        this.#move("login", token === null ? "" : "The gateway does not know this token.");
      } else {
        this.#move("login", text || `HTTP ${asked.status}`);
      }
      return false;
    } catch {
      return true; // nobody there: connecting will say so, and try again
    }
  }

  async #connect(): Promise<void> {
    const peer = await connect(socketUrl("mfp"), { ...this.#token, timeout: 20, reconnect: { most: 5, factor: 2 } });
    this.#peer = peer;
    peer.on("state", (state: State) => this.onstate(state));
    peer.on("frames", ({ rows, dropped }: { rows: Line[]; dropped: number }) => this.onframes(rows, dropped));
    peer.onstate = (state) => void this.#changed(state);
    await this.#watch(peer);
  }

  async #changed(state: Peer["state"]): Promise<void> {
    const peer = this.#peer;
    if (!peer) return;
    if (state === "connecting") this.#move("lost", "The connection is lost; trying again.");
    if (state === "closed") {
      this.#peer = undefined;
      await this.start();
    }
    if (state === "open") await this.#watch(peer).catch(() => {});
  }

  async #watch(peer: Peer): Promise<void> {
    this.welcome = (await peer.request<Welcome>({ endpoint: "watch", data: null })).data;
    this.#move("open");
    this.onstate(this.welcome);
  }

  get #token(): { token?: string } {
    const token = sessionStorage.getItem(TOKEN);
    return token === null ? {} : { token };
  }

  #move(status: Status, reason = ""): void {
    this.status = status;
    this.reason = reason;
    this.onstatus(status);
  }
}

export type Answer = Reply<any, ReceivedFiles>;
