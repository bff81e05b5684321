// How sources become what is shipped: one ES module, for browsers of 2023 and Node 20. esbuild puts it together
// and names what is internal; terser finds shorter ways to say the rest. Public names stay.

import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { minify } from "terser";

/**
 * Names of fields and methods that nobody outside sees: they become one letter. A line has those that one object
 * may have together, so that they get different letters; others may share one. None of them may be in a public
 * type, in an option, on the wire or in a standard object, nor be written in quotes.
 */
const TOGETHER = `
  expected final kind needAck own payload ref streaming
  byPeer exchange frame ref roundTrip
  accept bytes deadline delivered exchange fault kind missing
  abortStream acks cancel checkAnnounced chunk conduct drop dropped end endOurs endTheirs forget giveUp givenUp heard
    ignored isTelling keepTo liveness nextDeadline onService ours outbox pastOurs pastTheirs patience pending pinged
    pings receive refuse respond settings strike theirs tick told unknowns
  accepts checkFrame checkSizes drain end ended exchanges ids newId said seal service
  heard look lookAt used
  cancels pings strays strikes
  chunkBytes ended gone greeting inflow load lost mind outcome outflow patience room say settings told
  discard end feed forget lose
  look turn
  about fail settle
  failure present wire
  sealed settings subprotocol terms
  payload wire
  payload sizes
  algorithm mode
  cancel due
  cancel end
  bad
  hasGiven
  tell`;

export const GROUPS = TOGETHER.trim().split(/\n  (?! )/).map((line) => line.split(/\s+/));

/** A letter for each of them: any that keep the rule will do; names.mjs looks for those that compress best. */
const LETTERS = JSON.parse(readFileSync(new URL("names.json", import.meta.url), "utf-8"));

function check(letters) {
  for (const group of GROUPS) {
    const given = group.map((name) => letters[name]);
    if (given.includes(undefined) || new Set(given).size < given.length) {
      throw new Error(`names.json has no letters of their own for ${group.join(" ")}: node scripts/names.mjs`);
    }
  }
}

/** The bundle of `entry`, and how it calls what is internal; `more` are options of esbuild's, for tests. */
export async function minified(entry, more = {}, letters = LETTERS) {
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
    write: false,
    ...more,
  });
  const { code } = await minify(outputFiles[0].text, {
    module: true,
    ecma: 2022,
    compress: {
      passes: 4,
      hoist_funs: true,
      keep_fargs: false,
      pure_getters: true,
      unsafe: true,
      unsafe_arrows: true,
      unsafe_methods: true,
    },
  });
  return { text: `${code}\n`, names: letters };
}
