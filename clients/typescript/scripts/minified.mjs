// How sources become what is shipped: one ES module, for browsers of 2023 and Node 20. esbuild puts it together
// and names what is internal; terser finds shorter ways to say the rest. Public names stay.

import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { minify } from "terser";

/**
 * Names of fields and methods that nobody outside sees: they become one letter; `_name` is what is `#name` in the
 * sources. A line has those that one object may have together, so that they get different letters; others may share
 * one. None of them may be in a public type, in an option, on the wire or in a standard object, nor be written in
 * quotes.
 */
const TOGETHER = `
  expected final kind needAck own payload ref streaming
  byPeer exchange frame ref roundTrip
  accept bytes deadline delivered exchange fault kind missing
    _bad _files _frame _isAnnounced _leftOut _missing _settings
  abortStream acks cancel checkAnnounced chunk conduct drop dropped end endOurs endTheirs forget giveUp givenUp heard
    ignore isTelling keepTo leave liveness mayCancel nextDeadline onService ours outbox pastOurs pastTheirs patience
    pinged pings receive refuse respond settings strike theirs tick told unknowns
    _acked _refused _begin _binary _checkCount _checkHeld _checkRoom _done _send
    _acknowledge _blame _held _onBinary _onMessage _onRequest _onResponse _open
  accepts checkFrame checkSizes drain end ended exchanges ids newId said seal service _checksums _frames _isLive
  heard look lookAt used _due _idle _knock _lastCall _outbox _over _pinged _sent _silence
  cancels pings strays strikes
  begun chunkBytes ended gone greeting inflow load lost mind outcome outflow patience room say settings told
    _alarm _cancels _connection _flush _goes _handle _hear _lose _opened _received _refused _serving _socket _tick
    _vanish _waiter _waiting
  discard end feed forget lose _abort _chunks _isOver _isRead _most _open _unread _wake
  look turn _isFull _queue _timer
  about fail settle
  failure present report wire _endpoints _out _settings _within _end _ended _keep _move _opened _stop _waiting
  sealed settings subprotocol terms
  payload report wire
  payload sizes
  algorithm mode
  cancel due _ring _stop
  cancel end _answer _answers _endpoints _failure _peer _run _running _wire
  _handlers _streams
  _bound _old _young
  bad
  hasGiven _next _wrapped
  tell _outbox _said`;

export const GROUPS = TOGETHER.trim().split(/\n  (?! )/).map((line) => line.split(/\s+/));

/**
 * A letter for each of them, and the order in which variables take theirs: any that keep the rule will do; names.mjs
 * looks for those that compress best.
 */
const CHOSEN = JSON.parse(readFileSync(new URL("names.json", import.meta.url), "utf-8"));

function check(letters) {
  for (const group of GROUPS) {
    const given = group.map((name) => letters[name]);
    if (given.includes(undefined) || new Set(given).size < given.length) {
      throw new Error(`names.json has no letters of their own for ${group.join(" ")}: node scripts/names.mjs`);
    }
  }
}

/** What is private in the sources, by the `#` of the language, is so in what is shipped by its short name alone. */
const withoutHashes = {
  name: "without-hashes",
  setup: (it) =>
    it.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, "utf-8").replace(/#(?=[a-z])/g, "_");
      const names = contents.match(/(?<=\bthis\.)_\w+/g) ?? [];
      if (names.length && !GROUPS.some((group) => names.every((name) => group.includes(name)))) {
        throw new Error(`${path}: its private names stand in no line together: ${[...new Set(names)].join(" ")}`);
      }
      return { contents, loader: "ts" };
    }),
};

/** The bundle of `entry`, and how it calls what is internal; `more` are options of esbuild's, for tests. */
export async function minified(entry, more = {}, { letters, variables } = CHOSEN) {
  check(letters);
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } }, // shorter, and the same here
    mangleProps: new RegExp(`^(${Object.keys(letters).join("|")})$`),
    mangleCache: letters,
    plugins: [withoutHashes],
    write: false,
    ...more,
  });
  const { code } = await minify(outputFiles[0].text, {
    module: true,
    ecma: 2022,
    compress: {
      passes: 4,
      hoist_funs: true,
      inline: 1,
      keep_fargs: false,
      pure_getters: true,
      unsafe: true,
      unsafe_arrows: true,
      unsafe_methods: true,
    },
    format: { quote_style: 2 },
    mangle: { nth_identifier: { get: (n) => variables[n] ?? `v${n}` } },
  });
  return { text: `${code}\n`, names: letters };
}
