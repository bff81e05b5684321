/** What to type into a shell, so that it reaches this gateway and no other. Pure. */

import type { Addresses, Callable } from "./told.ts";

export type Place = "mfp" | "services" | "workers";

/** What the commands take without being told. */
const OPTIONS: Readonly<Record<Place, readonly [string, string]>> = {
  mfp: ["--url", "ws://127.0.0.1:7400/mfp"],
  services: ["--connect", "tcp://127.0.0.1:7401"],
  workers: ["--connect", "tcp://127.0.0.1:7403"],
};
const EVERYWHERE = /\/\/(0\.0\.0\.0|\*|\[::\])(?=:)/;

/** The command, with the address where it is another than the default; `host` is where this page found the gateway. */
export function shell(text: string, place: Place, addresses: Addresses, host = location.hostname): string {
  const [option, usual] = OPTIONS[place];
  const address = addresses[place]?.replace(EVERYWHERE, `//${host}`) ?? usual;
  return address === usual ? text : `${text} ${option} ${address}`;
}

/** A path as one word of a shell. */
export const quoted = (path: string): string => (/^[\w./~+:@%,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

/** A first call from a shell, or what brings something to call; nothing if there is something, and no telling what it takes. */
export function beginning(callables: readonly Callable[], addresses: Addresses, host?: string): { why: string; command: string } | undefined {
  if (callables.length === 0) {
    return addresses.workers === null
      ? { why: "There is nothing to call here. Start the gateway with an app: ", command: "framehub serve --app MODULE:NAME" }
      : { why: "There is nothing to call yet. A worker brings functions: ", command: shell("framehub worker MODULE:NAME", "workers", addresses, host) };
  }
  const chat = callables.find(({ name, called, mode, parameters }) => name === "chat" && called === "endpoint" && mode === "call" && !parameters);
  return chat && { why: "From a shell: ", command: shell(`framehub request chat '{"text": "hello"}'`, "mfp", addresses, host) };
}
