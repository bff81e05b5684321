/**
 * What two peers agree on when a connection opens (spec/mfp.md, section 9). Pure.
 *
 * A WebSocket sub-protocol names the checksums: `mfp` (off), `mfp.crc32`, `mfp.xor8` (by flag), and either of
 * the last two with `.always`. A peer that offered one is told the rest in a first message, the hello.
 */

import { ConfigError } from "../errors.ts";
import { BY_FLAG, type Checksums } from "./checksum.ts";

export const HELLO = "framehub.hello";
export const RESERVED = "framehub.";

/** With this reason, and 1008, a listener shows out whose token is no longer good. */
export const REVOKED = "token revoked";

/** What `connect` takes; undefined is none. */
export type Checksum = Checksums["algorithm"] | `${Checksums["algorithm"]}.always`;

/** The sub-protocol for a checksum, and what it agrees on. Throws `ConfigError`: there is no such one. */
export function subprotocol(checksum: Checksum | undefined): [name: string, agreed: Checksums] {
  if (checksum === undefined) return ["mfp", { ...BY_FLAG, mode: "off" }];
  const [, algorithm, always] = /^(crc32|xor8)(\.always)?$/.exec(checksum) ?? [];
  if (!algorithm) throw new ConfigError(`checksum ${checksum}: want crc32 or xor8`);
  const mode = always ? "always" : "flag";
  return [`mfp.${checksum}`, { mode, algorithm: algorithm as Checksums["algorithm"] }];
}

/** How a browser, which cannot set headers, shows its token: as a sub-protocol that is never echoed. */
export function tokenProtocol(token: string): string {
  const base64 = btoa(String.fromCharCode(...new TextEncoder().encode(token)));
  return `token.${base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** What a hello says that can be used; nonsense counts as not said. */
export interface Told {
  readonly requestTimeout: number;
  readonly limits: Readonly<Record<string, unknown>>;
  readonly link: string;
}

/** Read the `data` of a hello: a client uses what makes sense of it and does without the rest. */
export function understand(data: unknown): Told {
  const { request_timeout: seconds, limits, link } = Object(data) as Record<string, unknown>;
  return {
    requestTimeout: typeof seconds === "number" && seconds > 0 ? seconds : Infinity,
    limits: Object(limits) as Record<string, unknown>,
    link: typeof link === "string" && /^[0-9a-f]{16}$/.test(link) ? link : "",
  };
}
