import assert from "node:assert/strict";
import { test } from "node:test";
import { dataOf, plan, typeName, valueOf } from "./schema.ts";
import type { Callable, Schema } from "./told.ts";

const made = (parameters?: Schema, more: Partial<Callable> = {}): Callable => ({
  name: "f",
  called: "function",
  mode: "call",
  doc: "",
  ...(parameters && { parameters }),
  ...more,
});
const object = (properties: Schema, required: string[] = []): Schema => ({ type: "object", properties, required });
const FILE = { type: "string", format: "binary" };

test("each parameter has a field of its kind, with its default", () => {
  const { fields, byName } = plan(
    made(
      object(
        {
          a: { type: "number" },
          b: { type: "number", default: 2.0 },
          c: { anyOf: [{ type: "string" }, { type: "null" }] },
          d: { $ref: "#/$defs/Colour" },
          e: { type: "array", items: { type: "string" } },
        },
        ["a"],
      ),
    ),
  );
  assert.equal(byName, true);
  assert.deepEqual(fields.map(({ kind }) => kind), ["number", "number", "text", "json", "json"]);
  assert.deepEqual([fields[0]?.required, fields[1]?.initial, fields[2]?.nullable], [true, "2", true]);
  assert.equal(fields[4]?.type, "array of string");
});

test("a reference is followed, one to itself is not followed for ever", () => {
  const colour = { enum: ["red", "green"] };
  const told = { ...object({ d: { $ref: "#/$defs/Colour" }, e: { $ref: "#/$defs/E" } }), $defs: { Colour: colour, E: { $ref: "#/$defs/E" } } };
  const { fields } = plan(made(told));
  assert.deepEqual([fields[0]?.kind, fields[0]?.choices, fields[1]?.kind], ["choice", ["red", "green"], "json"]);
});

test("files have fields of their own and are no data", () => {
  const it = plan(made(object({ document: FILE, more: { type: "array", items: FILE }, dpi: { type: "integer" } }, ["document", "dpi"])));
  assert.deepEqual(it.fields.map(({ kind }) => kind), ["file", "files", "integer"]);
  assert.equal(dataOf(it, new Map([["dpi", "300"]])), 300);
});

test("one parameter is given as it is, several by name, none as null", () => {
  const one = plan(made(object({ number: { type: "integer" } }, ["number"])));
  assert.equal(dataOf(one, new Map([["number", "360"]])), 360);
  const two = plan(made(object({ a: { type: "number" }, b: { type: "number", default: 2 } }, ["a"])));
  assert.deepEqual(dataOf(two, new Map([["a", "1"]])), { a: 1 });
  assert.equal(dataOf(plan(made(object({}))), new Map()), null);
});

test("an endpoint without a schema takes any JSON, and files", () => {
  const it = plan(made(undefined, { called: "endpoint" }));
  assert.deepEqual([it.fields.length, it.fields[0]?.kind, it.anyFiles], [1, "json", true]);
  assert.deepEqual(dataOf(it, new Map([["data", '{"a": [1]}']])), { a: [1] });
  assert.equal(dataOf(it, new Map()), null);
});

test("what does not fit is said with its name", () => {
  const it = plan(made(object({ n: { type: "integer" }, j: {} }, ["n"])));
  const [n, j] = it.fields;
  assert.throws(() => valueOf(n!, "1.5"), /n: not an integer/);
  assert.throws(() => valueOf(n!, "x"), /n: not an integer/);
  assert.throws(() => valueOf(n!, " "), /n: a value is needed/);
  assert.throws(() => valueOf(j!, "{"), /j: not JSON/);
  assert.equal(valueOf(j!, ""), undefined);
});

test("types in words", () => {
  assert.equal(typeName({ anyOf: [{ type: "string" }, { type: "null" }] }), "string or null");
  assert.equal(typeName(FILE), "file");
  assert.equal(typeName(undefined), "any");
});
