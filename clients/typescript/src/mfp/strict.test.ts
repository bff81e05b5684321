import assert from "node:assert/strict";
import { test } from "node:test";
import { fault, MAX_DEPTH } from "./strict.ts";

const fine = [
  "0", "-1.5e+3", '""', '"\\\\"', '"\\""', '{"a":1,"b":{"a":1}}', '[{"a":1},{"a":1}]',
  '{"a":["b","b"],"c":"a"}', '"\\ud83e\\udd14"', `${"1".repeat(300)}`, "  [ 1 , 2 ]  ", "true",
  '{"a":{},"b":[]}', '[{},"a","a"]', '{"a":[{"x":1},"y"],"y":2}',
];
for (const json of fine) {
  test(`strict: ${json.slice(0, 40)}`, () => {
    JSON.parse(json);
    assert.equal(fault(json), undefined);
  });
}

const faulty: [json: string, why: RegExp][] = [
  ['{"a":1,"a":2}', /duplicate key "a"/],
  ['{"a":[{}],"b":1,"a":2}', /duplicate key "a"/],
  ['{"\\u0061":1,"a":2}', /duplicate key "a"/],
  ['[[{"x":{"":1,"":1}}]]', /duplicate key ""/],
  ['{"__proto__":1,"__proto__":2}', /duplicate key "__proto__"/],
  ['"\\udc00"', /surrogate/],
  ['{"\\ud800":1}', /surrogate/],
  ["[1e999]", /out of range/],
  [`[-${"9".repeat(400)}]`, /out of range/],
  ["[".repeat(MAX_DEPTH + 2) + "]".repeat(MAX_DEPTH + 2), /nested deeper than 64/],
];
for (const [json, why] of faulty) {
  test(`at fault: ${json.slice(0, 40)}`, () => {
    JSON.parse(json);
    assert.match(fault(json)!, why);
  });
}

test("a payload of many megabytes takes no recursion and little time", () => {
  const json = JSON.stringify({ a: Array.from({ length: 200_000 }, (_, n) => ({ n, s: `\\"${n}` })) });
  assert.equal(fault(json), undefined);
});
