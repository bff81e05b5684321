import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, bytes, count, counted, hexLines, pretty, share, took } from "./format.ts";

test("small counts are exact, large ones short", () => {
  assert.deepEqual([0, 1234, 3.14159, 12_345, 1_000_000].map(count), ["0", "1,234", "3.1", "12.3 k", "1.00 M"]);
  assert.equal(count(Number.NaN), "–");
});

test("sizes are in thousands", () => {
  assert.deepEqual([0, 999, 1000, 12_345_678].map(bytes), ["0 B", "999 B", "1.00 kB", "12.3 MB"]);
});

test("times have three digits and the unit that fits", () => {
  assert.deepEqual([0.0587, 0.5, 12.34, 301, 45_000, 600_000].map(took), [
    "58.7 µs",
    "500 µs",
    "12.3 ms",
    "301 ms",
    "45.0 s",
    "10.0 min",
  ]);
  assert.equal(took(null), "–");
  assert.equal(took(0), "0 ms");
});

test("moments are told from now", () => {
  assert.deepEqual([100_000, 95_000, -400_000].map((ms) => ago(ms, 100_500)), ["now", "6 s ago", "8 min ago"]);
});

test("shares keep two digits", () => {
  assert.deepEqual([share(0, 9), share(1, 3), share(1, 5000), share(3, 3)], ["0 %", "33 %", "< 0.1 %", "100 %"]);
});

test("JSON is indented, other text stays", () => {
  assert.equal(pretty('{"a":1}'), '{\n  "a": 1\n}');
  assert.equal(pretty("{a"), "{a");
  assert.equal(pretty('{"id":9007199254740993}'), '{\n  "id": 9007199254740993\n}');
});

test("one is not many", () => {
  assert.deepEqual([counted(1, "frame"), counted(0, "frame"), counted(2, "query", "queries")], ["1 frame", "0 frames", "2 queries"]);
});

test("bytes in lines of sixteen", () => {
  const lines = hexLines("61".repeat(17) + "00");
  assert.equal(lines.length, 2);
  assert.deepEqual(lines[1], { at: "0010", hex: ["61", "00"], text: "a·" });
});
