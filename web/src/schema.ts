/** From a function's JSON schema to the fields of a form, and from what was filled in to a request. Pure. */

import { isRounded, lossy, written } from "./numbers.ts";
import type { Callable, Schema } from "./told.ts";

export type Kind = "text" | "integer" | "number" | "boolean" | "choice" | "json" | "file" | "files";

export interface FormField {
  readonly name: string;
  readonly kind: Kind;
  readonly required: boolean;
  readonly nullable: boolean;
  readonly choices: readonly unknown[];
  /** The default in words; nothing if there is none. */
  readonly initial: string;
  /** The default itself, if there is one. */
  readonly fallback?: unknown;
  /** What a value may look like. */
  readonly example: string;
  readonly about: string;
  /** The type in words. */
  readonly type: string;
}

export interface Plan {
  readonly fields: readonly FormField[];
  /** A field for each parameter; else there is one for all of the data. */
  readonly byName: boolean;
  /** Whether any files may be attached, beside those that have a field. */
  readonly anyFiles: boolean;
}

const CHANGED = "would be another number in a browser, and is not sent";
const WANTED: Readonly<Record<string, string>> = { integer: "an integer", number: "a number" };
const MOST_CHOICES = 6;
/** How far an example goes into types that refer to each other. */
const DEEPEST = 4;

const isObject = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isFile = (schema: Schema): boolean => schema["type"] === "string" && schema["format"] === "binary";

/** What a form for it has to ask. */
export function plan({ parameters, called, mode, coders }: Callable): Plan {
  if (mode === "stream" && called === "endpoint") {
    return { fields: [whole({}, "data"), file("file", true)], byName: false, anyFiles: false };
  }
  if (isObject(parameters) && isFile(parameters)) {
    return { fields: [{ ...whole({}, "body"), kind: "text", about: "the first message, as it is" }], byName: false, anyFiles: true };
  }
  if (isObject(parameters) && isObject(parameters["properties"])) {
    const defs = defsOf(parameters);
    const required: unknown[] = Array.isArray(parameters["required"]) ? parameters["required"] : [];
    const fields = Object.entries(parameters["properties"]).map(([name, schema]) =>
      field(name, isObject(schema) ? schema : {}, defs, required.includes(name)),
    );
    return { fields, byName: true, anyFiles: false };
  }
  const takesFiles = called === "endpoint" || coders?.[0] === "bytes" || coders?.[0] === "arrow";
  return { fields: [whole(parameters ?? {}, "data")], byName: false, anyFiles: takesFiles };
}

function whole(schema: Schema, name: string): FormField {
  const about = "JSON, or nothing";
  return { ...empty, name, kind: "json", type: typeName(schema), about, example: exampleOf(schema, defsOf(schema)) };
}

const defsOf = (schema: Schema): Schema => (isObject(schema["$defs"]) ? schema["$defs"] : {});

function file(name: string, required: boolean): FormField {
  return { ...empty, name, kind: "file", required, type: "file" };
}

const empty: FormField = {
  name: "",
  kind: "json",
  required: false,
  nullable: false,
  choices: [],
  initial: "",
  example: "",
  about: "",
  type: "any",
};

function field(name: string, given: Schema, defs: Schema, required: boolean): FormField {
  const { schema, nullable } = plainOf(given, defs);
  const about = typeof schema["description"] === "string" ? schema["description"] : "";
  const isKnown = "default" in given && !isRounded(given["default"]); // null stands for another one: RPC-7.4
  const fallback = isKnown ? { fallback: given["default"] as unknown } : {};
  const base = { ...empty, ...fallback, name, required, nullable, about, type: typeName(given) };
  const initial = "default" in given ? written(given["default"]) : "";
  if (isFile(schema)) return { ...base, kind: "file", required: required && !nullable, type: "file" };
  if (schema["type"] === "array" && isObject(schema["items"]) && isFile(schema["items"])) {
    return { ...base, kind: "files", required: false, type: "files" };
  }
  if (Array.isArray(schema["enum"])) return { ...base, kind: "choice", choices: schema["enum"], initial };
  switch (schema["type"]) {
    case "integer":
    case "number":
      return { ...base, kind: schema["type"], initial };
    case "boolean":
      return { ...base, kind: "boolean", initial };
    case "string":
      return { ...base, kind: "text", initial: typeof given["default"] === "string" ? given["default"] : initial };
    default:
      return { ...base, kind: "json", initial, example: exampleOf(given, defs) };
  }
}

/** What a reference stands for, and of "this or null" the this. */
function plainOf(schema: Schema, defs: Schema, depth = 0): { schema: Schema; nullable: boolean } {
  const ref = schema["$ref"];
  if (typeof ref === "string" && depth < 8) {
    const target = defs[ref.replace(/^#\/\$defs\//, "")];
    return isObject(target) ? plainOf(target, defs, depth + 1) : { schema, nullable: false };
  }
  const any = schema["anyOf"];
  if (Array.isArray(any)) {
    const others = any.filter((one) => isObject(one) && one["type"] !== "null");
    if (others.length === 1 && others.length < any.length) {
      return { schema: plainOf(others[0], defs, depth + 1).schema, nullable: true };
    }
  }
  return { schema, nullable: false };
}

/** A schema in a few words: `integer`, `array of string`, `string or null`, `string (date)`, `one of "a", "b"`. */
export function typeName(schema: unknown, depth = 0): string {
  if (!isObject(schema) || depth > 4) return "any";
  if (isFile(schema)) return "file";
  if (typeof schema["$ref"] === "string") return schema["$ref"].split("/").pop() ?? "any";
  if (Array.isArray(schema["anyOf"])) return schema["anyOf"].map((one) => typeName(one, depth + 1)).join(" or ");
  if (Array.isArray(schema["enum"])) return choicesName(schema["enum"]);
  if (schema["type"] === "array" && isObject(schema["items"])) return `array of ${typeName(schema["items"], depth + 1)}`;
  if (typeof schema["type"] !== "string") return "any";
  return typeof schema["format"] === "string" ? `${schema["type"]} (${schema["format"]})` : schema["type"];
}

function choicesName(choices: readonly unknown[]): string {
  const some = choices.slice(0, MOST_CHOICES).map((choice) => JSON.stringify(choice));
  return `one of ${some.join(", ")}${choices.length > MOST_CHOICES ? ", …" : ""}`;
}

/** What a value may look like, as JSON; nothing where the schema says nothing. */
export function exampleOf(schema: Schema, defs: Schema): string {
  const made = skeleton(schema, defs, 0);
  return made === undefined ? "" : JSON.stringify(made, null, 1).replace(/\n\s*/g, " ");
}

function skeleton(given: unknown, defs: Schema, depth: number): unknown {
  if (!isObject(given) || depth > DEEPEST) return undefined;
  if ("default" in given) return given["default"];
  const { schema } = plainOf(given, defs);
  const any = schema["anyOf"];
  if (Array.isArray(any)) return skeleton(any[0], defs, depth + 1);
  if (Array.isArray(schema["enum"])) return schema["enum"][0];
  switch (schema["type"]) {
    case "object": {
      const properties = Object.entries(isObject(schema["properties"]) ? schema["properties"] : {});
      return Object.fromEntries(properties.map(([name, one]) => [name, skeleton(one, defs, depth + 1) ?? null]));
    }
    case "array": {
      const items = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : [schema["items"]];
      const made = items.map((one) => skeleton(one, defs, depth + 1));
      return made.filter((one) => one !== undefined);
    }
    case "string":
      return typeof schema["format"] === "string" ? schema["format"] : "text";
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    case "null":
      return null;
    default:
      return undefined;
  }
}

/** What is wrong with a value, and whose it is. */
export class Misfit extends Error {
  readonly field: string;

  constructor(field: string, text: string) {
    super(`${field}: ${text}`);
    this.field = field;
  }
}

/** A value that was typed in; throws a `Misfit`. Undefined: it is left out. */
export function valueOf({ name, kind, required, nullable, choices }: FormField, text: string): unknown {
  if (kind === "text") return text !== "" || required ? text : undefined;
  const trimmed = text.trim();
  if (trimmed === "") {
    if (!required) return undefined;
    if (nullable) return null;
    throw new Misfit(name, kind === "choice" || kind === "boolean" ? "choose one" : "a value is needed");
  }
  if (kind === "choice") {
    const choice = choices[Number(trimmed)];
    if (isRounded(choice)) throw new Misfit(name, CHANGED);
    return choice;
  }
  let value: unknown;
  try {
    value = JSON.parse(trimmed);
  } catch (error) {
    throw new Misfit(name, `not ${WANTED[kind] ?? `JSON: ${(error as Error).message}`}`);
  }
  if (kind === "integer" || kind === "number") {
    if (value === null && nullable) return null;
    const isFraction = typeof value === "number" && Number.isFinite(value) && value % 1 !== 0;
    if (typeof value !== "number" || (kind === "integer" && isFraction)) throw new Misfit(name, `not ${WANTED[kind]}`);
  }
  const changed = lossy(trimmed);
  if (changed !== undefined) throw new Misfit(name, `${changed} ${CHANGED}`);
  return value;
}

/** The data of a request: one parameter as it is, several by name (spec/rpc.md, section 7). */
export function dataOf({ fields, byName }: Plan, texts: ReadonlyMap<string, string>): unknown {
  const plain = fields.filter(({ kind }) => kind !== "file" && kind !== "files");
  const values = plain.map((one) => [one.name, valueOf(one, texts.get(one.name) ?? "")] as const);
  if (!byName || plain.length === 1) {
    const [value, fallback] = [values[0]?.[1], plain[0]?.fallback];
    return (value === undefined ? fallback : value) ?? null;
  }
  if (plain.length === 0) return null;
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** The files of a request by their keys (spec/rpc.md, RPC-7.9); those without a field are chosen for "". */
export function filesOf<F>({ fields, anyFiles }: Plan, chosen: (field: string) => readonly F[]): Map<number, F> {
  const found = new Map<number, F>();
  const own = fields.filter(({ kind }) => kind === "file" || kind === "files");
  own.forEach(({ name, required }, key) => {
    const some = chosen(name);
    if (required && !some.length) throw new Misfit(name, "choose a file");
    some.forEach((file, place) => found.set(key + place, file));
  });
  if (anyFiles) chosen("").forEach((file, place) => found.set(own.length + place, file));
  return found;
}
