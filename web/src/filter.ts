/** Which frames somebody wants to see, as it stands in the address. Pure. */

export interface Filter {
  readonly protocols: readonly string[];
  readonly directions: readonly string[];
  readonly kinds: readonly string[];
  readonly name: string;
  readonly link: string;
  readonly exchange: string;
  readonly user: number | null;
  /** Only what belongs to a conversation. */
  readonly calls: boolean;
  readonly problems: boolean;
}

export const ALL: Filter = {
  protocols: [],
  directions: [],
  kinds: [],
  name: "",
  link: "",
  exchange: "",
  user: null,
  calls: false,
  problems: false,
};

export const PROTOCOLS = ["mfp", "rpc", "hub"];
export const DIRECTIONS = ["in", "out"];
/** Kinds of frames, by protocol. */
export const KINDS: Readonly<Record<string, readonly string[]>> = {
  mfp: ["request", "response", "message", "binary", "service"],
  rpc: ["query", "query_received", "result", "exception", "unknown_function", "response_received", "cancel", "heart_beat", "register", "describe"],
  hub: ["first", "message", "last", "command", "stream_error", "service_error"],
  all: ["refused", "link_opened", "link_closed"],
};

/** Whether every frame fits. */
export const isEverything = (filter: Filter): boolean => write(filter) === "";

const HEX = /^([0-9a-f]{1,32})?$/;

/** Whether a link's or conversation's name may begin so. */
export const isBeginning = (text: string): boolean => HEX.test(text);
export const isUser = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) < 65536;

/** From `link=3fa9&problems=1`; what makes no sense is left out. */
export function read(text: string): Filter {
  const told = new URLSearchParams(text);
  const some = (name: string, allowed: readonly string[]) => (told.get(name) ?? "").split(",").filter((one) => allowed.includes(one));
  const hex = (name: string) => (isBeginning(told.get(name) ?? "") ? (told.get(name) ?? "") : "");
  const user = told.get("user") ?? "";
  return {
    protocols: some("protocols", PROTOCOLS),
    directions: some("directions", DIRECTIONS),
    kinds: some("kinds", Object.values(KINDS).flat()),
    name: told.get("name") ?? "",
    link: hex("link"),
    exchange: hex("exchange"),
    user: isUser(user) ? Number(user) : null,
    calls: told.get("calls") === "1",
    problems: told.get("problems") === "1",
  };
}

/** The other way. */
export function write(filter: Filter): string {
  const told = new URLSearchParams();
  for (const name of ["protocols", "directions", "kinds"] as const) {
    if (filter[name].length) told.set(name, filter[name].join(","));
  }
  for (const name of ["name", "link", "exchange"] as const) if (filter[name]) told.set(name, filter[name]);
  if (filter.user !== null) told.set("user", String(filter.user));
  if (filter.calls) told.set("calls", "1");
  if (filter.problems) told.set("problems", "1");
  return told.toString();
}
