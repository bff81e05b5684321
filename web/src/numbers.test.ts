import assert from "node:assert/strict";
import { test } from "node:test";
import { indented, isRounded, lossy, member, written } from "./numbers.ts";

test("numbers that a browser would send as others are found", () => {
  assert.equal(lossy('{"id": [1, 9007199254740993]}'), "9007199254740993");
  const beyond = ["-9007199254740993", "9007199254740993.0", "900719925474099300e-2", "9.007199254740993E15", "1152921504606846976", "1e999", "-1E+999"];
  const fractions = ["12345678901234567890.5", "4503599627370496.3", "0.99999999999999999999", "1e-400", "-0.1e-400"];
  for (const one of [...beyond, ...fractions]) assert.equal(lossy(`[0, ${one}]`), one);
  assert.equal(lossy(`1${"0".repeat(23)}`), `1${"0".repeat(23)}`, "it would be sent as 1e+23, which is no integer");
});

test("others, and digits in strings, are left alone", () => {
  const integers = ["9007199254740991", "-9007199254740992", "3.0", "100", "1e2", "1E+20", "100000000000000000000", "6.02214076e23", "1e308"];
  const zeros = ["0", "-0", "0.0", "-0.00", "0e999", "0e-999"];
  const fractions = ["0.1", "0.10", "3.14159265358979", "-2.5e-7", "0.1234567890123456789", "2251799813685249.7", "5e-324", "1.5E1"];
  const fine = ['{"9007199254740993": "9007199254740993 \\" 1e999"}', "{a", "12ab", "-", ...integers, ...zeros, ...fractions];
  assert.deepEqual(fine.map(lossy), fine.map(() => undefined));
});

test("a number of a million digits is no matter", () => {
  const zeros = "0".repeat(1_000_000);
  assert.equal(lossy(`0.${zeros}1`), `0.${zeros}1`);
  assert.equal(lossy(`1.${zeros}`), undefined);
});

test("a long text is no matter", () => {
  const text = JSON.stringify({ a: 'x\\"'.repeat(2_000_000), b: 1 });
  assert.equal(lossy(text), undefined);
  assert.equal(member(text, "b"), "1");
});

test("of what was read, numbers that may have been others", () => {
  assert.deepEqual([{ a: [2 ** 53] }, Infinity, { a: [2 ** 53 - 1, 0.5, "x", null] }].map(isRounded), [true, true, false]);
});

test("they are told as what they are", () => {
  assert.equal(written({ a: 2 ** 53, b: 1 }), '{"a":"about 9007199254740992","b":1}');
  assert.equal(written(undefined), "");
});

test("what is indented has the numbers of the text", () => {
  const values = [{ a: [1, -2.5e-7, { b: [] }, {}], 'c"\\:,': "{[,:]}", d: null, e: true }, [], {}, [[]], 1, "x", [{ a: 1 }, 2]];
  for (const value of values) assert.equal(indented(JSON.stringify(value)), JSON.stringify(value, null, 2));
  assert.equal(indented('{ "id" :[9007199254740993 , 1.0]}'), '{\n  "id": [\n    9007199254740993,\n    1.0\n  ]\n}');
});

test("one member as it stands in the text", () => {
  const text = '{"endpoint":"x", "d\\u0061ta" : {"data": 1, "n": [9007199254740993, {"a": 1}]} ,"error":null}';
  assert.equal(member(text, "data"), '{"data": 1, "n": [9007199254740993, {"a": 1}]}');
  assert.deepEqual([member(text, "error"), member(text, "endpoint"), member(text, "n"), member("[1]", "n")], ["null", '"x"', undefined, undefined]);
});
