import assert from "node:assert/strict";
import { test } from "node:test";
import { dataOf, exampleOf, filesOf, Misfit, plan, typeName, valueOf } from "./schema.ts";
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
  const colours = { enum: ["red", "green"] };
  const it = plan(made(object({ n: { type: "integer" }, j: {}, x: { type: "number" }, c: colours, b: { type: "boolean" } }, ["n", "c", "b"])));
  const [n, j, x, c, b] = it.fields;
  assert.throws(() => valueOf(n!, "1.5"), /n: not an integer/);
  assert.throws(() => valueOf(n!, "x"), /n: not an integer/);
  assert.throws(() => valueOf(n!, "null"), /n: not an integer/);
  assert.throws(() => valueOf(n!, " "), /n: a value is needed/);
  assert.throws(() => valueOf(x!, '"1"'), /x: not a number/);
  assert.throws(() => valueOf(j!, "{"), /j: not JSON: ./);
  assert.throws(() => valueOf(c!, ""), /c: choose one/);
  assert.throws(() => valueOf(b!, ""), (error) => error instanceof Misfit && error.field === "b");
  assert.deepEqual([valueOf(c!, "1"), valueOf(b!, "false")], ["green", false]);
  assert.equal(valueOf(j!, ""), undefined);
});

test("no other number is sent than was typed", () => {
  const it = plan(made(object({ n: { type: "integer" }, j: {}, x: { type: "number" }, c: { enum: [1, 2 ** 64] } })));
  const [n, j, x, c] = it.fields;
  for (const text of ["9007199254740993", "9007199254740993.0", "1e999", "1e-400", "12345678901234567890.5"]) {
    for (const field of [n, j, x]) assert.throws(() => valueOf(field!, text), new RegExp(`: ${text} would be another number in a browser`));
    assert.throws(() => valueOf(j!, `{"id": ${text}}`), /would be another number/);
  }
  assert.throws(() => valueOf(c!, "1"), /would be another number/);
  const fine = [[n, "-9007199254740992"], [n, "1e20"], [n, "3.0"], [j, '{"id": "9007199254740993"}'], [c, "0"]] as const;
  assert.deepEqual(fine.map(([field, text]) => valueOf(field!, text)), [-(2 ** 53), 1e20, 3, { id: "9007199254740993" }, 1]);
  for (const text of ["0.1", "3.14159265358979", "-0.1234567890123456789"]) {
    assert.deepEqual([valueOf(x!, text), valueOf(j!, text)], [Number(text), Number(text)]);
  }
});

test("nothing and null where they may be", () => {
  const integer = { anyOf: [{ type: "integer" }, { type: "null" }] };
  const text = { anyOf: [{ type: "string" }, { type: "null" }], default: null };
  const it = plan(made(object({ a: integer, b: { ...integer, default: 1 }, c: text, d: { type: "string" } }, ["a", "d"])));
  const [a, b, c, d] = it.fields;
  assert.deepEqual([valueOf(a!, ""), valueOf(b!, ""), valueOf(b!, "null")], [null, undefined, null]);
  assert.deepEqual([valueOf(c!, ""), valueOf(d!, "")], [undefined, ""]);
  assert.deepEqual([b?.initial, c?.initial, d?.initial], ["1", "null", ""]);
});

test("one parameter that is left out is sent as its default, if a browser can say it", () => {
  const one = (schema: Schema) => plan(made(object({ x: schema })));
  assert.equal(dataOf(one({ type: "integer", default: 3 }), new Map()), 3);
  assert.equal(dataOf(one({ type: "integer" }), new Map()), null);
  assert.equal(dataOf(one({ anyOf: [{ type: "integer" }, { type: "null" }], default: 3 }), new Map([["x", "null"]])), null);
  const large = one({ type: "integer", default: 2 ** 63 });
  assert.equal(dataOf(large, new Map()), null);
  assert.equal(large.fields[0]?.initial, '"about 9223372036854776000"');
});

test("files have the keys of their parameters, whichever are given", () => {
  const optional = { anyOf: [FILE, { type: "null" }] };
  const it = plan(made(object({ n: { type: "integer" }, a: optional, b: FILE, more: { type: "array", items: FILE } }, ["a", "b"])));
  const chosen: Record<string, string[]> = { a: [], b: ["b"], more: ["c", "d"] };
  assert.deepEqual([...filesOf(it, (name) => chosen[name]!)], [[1, "b"], [2, "c"], [3, "d"]]);
  assert.throws(() => filesOf(it, () => []), (error) => error instanceof Misfit && error.message === "b: choose a file");
  const any = plan(made(undefined, { called: "endpoint" }));
  assert.deepEqual([...filesOf(any, (name) => (name === "" ? ["x", "y"] : []))], [[0, "x"], [1, "y"]]);
});

test("types in words", () => {
  assert.equal(typeName({ anyOf: [{ type: "string" }, { type: "null" }] }), "string or null");
  assert.equal(typeName(FILE), "file");
  assert.equal(typeName(undefined), "any");
  assert.equal(typeName({ type: "array", items: { type: "string", format: "date" } }), "array of string (date)");
  assert.equal(typeName({ enum: ["a", 1] }), 'one of "a", 1');
  assert.equal(typeName({ enum: [1, 2, 3, 4, 5, 6, 7] }), "one of 1, 2, 3, 4, 5, 6, …");
});

test("an example has the shape of the type", () => {
  const defs = { Point: object({ x: { type: "number" }, at: { type: "string", format: "date" } }), Tree: object({ next: { $ref: "#/$defs/Tree" } }) };
  const told: [Schema, string][] = [
    [{ type: "array", items: { $ref: "#/$defs/Point" } }, '[ { "x": 0, "at": "date" } ]'],
    [{ prefixItems: [{ type: "string" }, { enum: [2, 3] }], type: "array" }, '[ "text", 2 ]'],
    [object({ a: { type: "boolean", default: true }, b: { anyOf: [{ type: "integer" }, { type: "string" }] }, c: {} }), '{ "a": true, "b": 0, "c": null }'],
    [{ type: "array" }, "[]"],
    [{ anyOf: [{ type: "null" }, { type: "boolean" }] }, "false"],
    [{ $ref: "#/$defs/Tree" }, '{ "next": { "next": { "next": { "next": { "next": null } } } } }'],
    [{}, ""],
  ];
  for (const [schema, example] of told) assert.equal(exampleOf(schema, defs), example);
});
