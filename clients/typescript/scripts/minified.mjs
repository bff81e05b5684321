// How sources become what is shipped: one ES module, minified, for browsers of 2023 and Node 20.

import { build } from "esbuild";

/** The text of the bundle of `entry`; `more` are options of esbuild's, for tests. */
export async function minified(entry, more = {}) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } }, // shorter, and the same here
    write: false,
    ...more,
  });
  return outputFiles[0].text;
}
