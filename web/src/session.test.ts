import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import type { connect, Peer } from "framehub";
import { Session, type Status } from "./session.ts";

type Answer = () => Promise<unknown>;

/** What a session sees of a connection. */
class Connection {
  state = "open";
  onstate: (state: string) => void = () => {};
  readonly handlers = new Map<string, (told: unknown) => void>();
  #watch: Answer;

  constructor(watch: Answer) {
    this.#watch = watch;
  }

  on(name: string, handler: (told: unknown) => void): void {
    this.handlers.set(name, handler);
  }

  async request(): Promise<{ data: unknown }> {
    return { data: await this.#watch() };
  }

  async close(): Promise<void> {
    this.state = "closed";
    this.onstate("closed");
  }

  becomes(state: string): void {
    this.state = state;
    this.onstate(state);
  }
}

const welcome: Answer = async () => ({ at: 1 });
let port: { status: number; text?: string } | undefined;
let stored: Map<string, string>;
let reported: unknown[];

beforeEach(() => {
  port = { status: 200 };
  stored = new Map();
  reported = [];
  const fetch = async () => {
    if (!port) throw new TypeError("Failed to fetch");
    return { ok: port.status < 300, status: port.status, text: async () => port?.text ?? "" };
  };
  const sessionStorage = {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => stored.set(name, value),
    removeItem: (name: string) => stored.delete(name),
  };
  const location = { href: "http://127.0.0.1:7404/#/frames", protocol: "http:" };
  Object.assign(globalThis, { fetch, sessionStorage, location, reportError: (error: unknown) => reported.push(error) });
  mock.timers.enable({ apis: ["setTimeout"] });
});
afterEach(() => mock.timers.reset());

/** Everything that is due without time passing. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}

async function pass(ms: number): Promise<void> {
  await settled();
  mock.timers.tick(ms);
  await settled();
}

/** A session whose connections are these, one after another, and all that it became. */
function begun(...there: (Connection | Error)[]): { session: Session; was: Status[]; asked: string[] } {
  const asked: string[] = [];
  const dial = (async (url: string) => {
    asked.push(url);
    const next = there.shift();
    if (!(next instanceof Connection)) throw next ?? new Error("nobody there");
    return next as unknown as Peer;
  }) as typeof connect;
  const session = new Session(dial);
  const was: Status[] = [];
  session.onstatus = (status) => void was.push(status);
  void session.start();
  return { session, was, asked };
}

test("it connects beside the page, and again while nobody is there", async () => {
  const { session, was, asked } = begun(new Error("nobody there"), new Connection(welcome));
  await pass(499);
  assert.deepEqual([session.status, session.reason], ["lost", "nobody there"]);
  await pass(1);
  assert.deepEqual(was, ["connecting", "lost", "connecting", "open"]);
  assert.equal(asked[0], "ws://127.0.0.1:7404/mfp");
});

test("who is not let in signs in", async () => {
  port = { status: 401 };
  const { session, was } = begun(new Connection(welcome));
  await settled();
  assert.deepEqual([was.at(-1), session.reason], ["login", ""]);
  await session.signIn(" wrong ");
  assert.deepEqual([session.status, session.reason, session.hasToken], ["login", "The gateway does not know this token.", false]);
  port = { status: 200 };
  await session.signIn(" right ");
  assert.deepEqual([session.status, stored.get("framehub.token")], ["open", "right"]);
});

test("a refusal that is not about the token is told, a gateway in trouble is tried", async () => {
  port = { status: 403, text: "not from there\n" };
  const refused = begun();
  await settled();
  assert.deepEqual([refused.session.status, refused.session.reason], ["login", "not from there"]);
  port = { status: 503 };
  const tried = begun(new Connection(welcome));
  await settled();
  assert.equal(tried.session.status, "open");
});

test("a token that is revoked while the connection is lost leads to the sign-in", async () => {
  stored.set("framehub.token", "mine");
  const connection = new Connection(welcome);
  const { session, was } = begun(connection);
  await settled();
  port = undefined;
  connection.becomes("connecting");
  await pass(2000);
  assert.equal(session.status, "lost");
  port = { status: 401 };
  await pass(2000);
  assert.deepEqual([session.status, session.hasToken, session.welcome], ["login", false, undefined]);
  assert.equal(connection.state, "closed");
  connection.becomes("open");
  await settled();
  assert.deepEqual(was, ["connecting", "open", "lost", "login"]);
});

for (const [status, text, told] of [
  [429, "too many wrong tokens\n", "too many wrong tokens"],
  [403, "", "HTTP 403"],
  [404, "<html>\nno such page</html>", "HTTP 404"],
] as const) {
  test(`${status} while the connection is lost is told, and it is tried again`, async () => {
    stored.set("framehub.token", "mine");
    const connection = new Connection(welcome);
    const { session, was } = begun(connection);
    await settled();
    port = { status, text };
    connection.becomes("connecting");
    await pass(2000);
    assert.deepEqual([session.status, session.reason, session.hasToken], ["lost", `Trying again; the port answers: ${told}`, true]);
    port = undefined;
    await pass(2000);
    assert.deepEqual([session.status, session.reason], ["lost", "The connection is lost; trying again."]);
    port = { status, text };
    connection.becomes("open");
    await pass(2000);
    assert.deepEqual([session.status, connection.state], ["open", "open"]);
    assert.deepEqual(was, ["connecting", "open", "lost", "lost", "lost", "open"]);
  });

  test(`${status} is no end either while a connection is begun anew`, async () => {
    const dumb = new Connection(async () => Promise.reject(new Error("no answer in 20 s")));
    const { session } = begun(dumb, new Connection(welcome));
    await settled();
    port = { status, text };
    await pass(500);
    assert.deepEqual([session.status, session.reason], ["lost", `Trying again; the port answers: ${told}`]);
    port = { status: 200 };
    await pass(1000);
    assert.equal(session.status, "open");
  });
}

test("a session that was open once is not ended by what is not about its token", async () => {
  const first = new Connection(welcome);
  const { session } = begun(first, new Connection(welcome));
  await settled();
  port = { status: 404 };
  first.becomes("closed");
  await settled();
  assert.deepEqual([session.status, session.reason], ["lost", "Trying again; the port answers: HTTP 404"]);
  port = { status: 200 };
  await pass(500);
  assert.equal(session.status, "open");
});

test("a token that is none of any kind leads to the sign-in, a bad request without one does not", async () => {
  const connection = new Connection(welcome);
  const { session } = begun(connection);
  await settled();
  port = { status: 400 };
  connection.becomes("connecting");
  await settled();
  assert.equal(session.status, "lost");
  stored.set("framehub.token", "n o");
  await pass(2000);
  assert.deepEqual([session.status, session.hasToken], ["login", false]);
});

test("a connection that is found again is asked to tell again", async () => {
  const connection = new Connection(welcome);
  const { was } = begun(connection);
  await settled();
  port = undefined;
  connection.becomes("connecting");
  await settled();
  connection.becomes("open");
  await pass(2000);
  assert.deepEqual(was, ["connecting", "open", "lost", "open"]);
});

test("a connection that opens and does not answer is left, and another one begun", async () => {
  const dumb = new Connection(async () => Promise.reject(new Error("no answer in 20 s")));
  const { session, was } = begun(dumb, new Connection(welcome));
  await settled();
  assert.deepEqual([session.status, session.reason, dumb.state], ["lost", "no answer in 20 s", "closed"]);
  await pass(500);
  assert.deepEqual(was, ["connecting", "lost", "connecting", "open"]);
});

test("so is one that answered once, and was lost, and does not answer any more", async () => {
  let answers = true;
  const once = new Connection(async () => (answers ? {} : Promise.reject(new Error("no answer"))));
  const { session, was } = begun(once, new Connection(welcome));
  await settled();
  answers = false;
  once.becomes("connecting");
  once.becomes("open");
  await settled();
  assert.deepEqual([session.status, once.state], ["lost", "closed"]);
  await pass(500);
  assert.deepEqual(was, ["connecting", "open", "lost", "lost", "connecting", "open"]);
});

test("a connection that is closed for good is begun anew", async () => {
  const first = new Connection(welcome);
  const { was } = begun(first, new Connection(welcome));
  await settled();
  first.becomes("closed");
  await settled();
  assert.deepEqual(was, ["connecting", "open", "connecting", "open"]);
});

test("what fails on the page is reported, and is no failure of the connection", async () => {
  const connection = new Connection(welcome);
  const { session } = begun(connection);
  const fault = new Error("a view is broken");
  session.onstate = () => {
    throw fault;
  };
  await settled();
  assert.deepEqual([session.status, reported], ["open", [fault]]);
  const rows: unknown[] = [];
  session.onframes = (some) => void rows.push(...some);
  connection.handlers.get("frames")!({ rows: [1], dropped: 0 });
  connection.handlers.get("state")!({ at: 2 });
  assert.deepEqual([rows, reported], [[1], [fault, fault]]);
});
