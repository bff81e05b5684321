/** As much of `node:assert/strict` as the tests use, for a browser. */

type Expected = RegExp | (new (...args: any[]) => unknown) | ((error: unknown) => unknown) | object;

class AssertionError extends Error {}

export default function assert(value: unknown, message: unknown = `not so: ${String(value)}`): asserts value {
  if (!value) throw new AssertionError(String(message));
}

assert.equal = (found: unknown, wanted: unknown, message = ""): void =>
  assert(Object.is(found, wanted), `${message} want ${shown(wanted)}, found ${shown(found)}`);

assert.deepEqual = (found: unknown, wanted: unknown, message = ""): void =>
  assert(same(found, wanted), `${message} want ${shown(wanted)}, found ${shown(found)}`);

assert.match = (text: string, pattern: RegExp): void =>
  assert(pattern.test(text), `want ${pattern}, found ${text}`);

assert.fail = (message = "failed"): never => {
  throw new AssertionError(message);
};

assert.throws = (work: () => unknown, expected?: Expected): void => {
  let thrown: unknown;
  try {
    work();
  } catch (error) {
    thrown = error;
  }
  assert(thrown !== undefined, "nothing was thrown");
  check(thrown, expected);
};

assert.rejects = async (work: Promise<unknown> | (() => Promise<unknown>), expected?: Expected): Promise<void> => {
  const nothing = {};
  const promise = typeof work === "function" ? work() : work;
  const thrown = await promise.then(() => nothing, (error: unknown) => error);
  assert(thrown !== nothing, "nothing was thrown");
  check(thrown, expected);
};

function check(error: unknown, expected: Expected | undefined): void {
  if (expected === undefined) return;
  if (expected instanceof RegExp) {
    assert.match(String(error), expected);
  } else if (typeof expected !== "function") {
    for (const [name, wanted] of Object.entries(expected)) {
      const found = (error as Record<string, unknown>)[name];
      if (wanted instanceof RegExp) assert.match(String(found), wanted);
      else assert.deepEqual(found, wanted, name);
    }
  } else if (Error.isPrototypeOf(expected) || expected === Error) {
    assert(error instanceof (expected as new () => unknown), `not that kind of error: ${String(error)}`);
  } else {
    assert((expected as (error: unknown) => unknown)(error) === true, `not that error: ${String(error)}`);
  }
}

/** The same types, and inside them the same values; of what is no plain object, array, map or set, itself. */
function same(a: any, b: any): boolean {
  if (Object.is(a, b)) return true;
  if (Object(a) !== a || Object(b) !== b || Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (a instanceof Map || a instanceof Set) return same([...a], [...b]);
  if (a instanceof Error) return same([a.name, a.message, { ...a }], [b.name, b.message, { ...b }]);
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

function shown(value: unknown): string {
  const plain = (_: string, inner: unknown) =>
    inner instanceof Map || inner instanceof Set ? [...inner] : inner instanceof Error ? String(inner) : inner;
  return String(JSON.stringify(value, plain)).slice(0, 500);
}
