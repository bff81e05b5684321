/** As much of `node:test` as the tests use, for a browser: whoever opened the page calls `run`. */

interface Result {
  readonly name: string;
  readonly error: string;
}

type Work = () => unknown;

const found: [name: string, work: Work][] = [];
const afterwards: Work[] = [];

export function test(name: string, work: Work): void {
  found.push([name, work]);
}

export function after(work: Work): void {
  afterwards.push(work);
}

/** Every test, one after another; what went wrong with each, or nothing. */
async function run(): Promise<Result[]> {
  const results: Result[] = [];
  for (const [name, work] of found) {
    let error = "";
    try {
      await work();
    } catch (cause) {
      error = cause instanceof Error ? `${cause.stack ?? cause.message}` : String(cause);
    }
    results.push({ name, error });
  }
  for (const work of afterwards) await work();
  return results;
}

// What Node has and a page has not.
globalThis.setImmediate ??= ((work: Work) => setTimeout(work)) as unknown as typeof setImmediate;
Object.assign(globalThis, { run });
