/** From a function's JSON schema to the fields of a form, and from what was filled in to a request. Pure. */

import type { Callable, Schema } from "./told.ts";

export type Kind = "text" | "integer" | "number" | "boolean" | "choice" | "json" | "file" | "files";

export interface FormField {
  readonly name: string;
  readonly kind: Kind;
  readonly required: boolean;
  readonly nullable: boolean;
  readonly choices: readonly unknown[];
  readonly initial: string;
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
    const defs = isObject(parameters["$defs"]) ? parameters["$defs"] : {};
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
  return { ...empty, name, kind: "json", type: typeName(schema), about };
}

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
  about: "",
  type: "any",
};

function field(name: string, given: Schema, defs: Schema, required: boolean): FormField {
  const { schema, nullable } = plainOf(given, defs);
  const about = typeof schema["description"] === "string" ? schema["description"] : "";
  const base = { ...empty, name, required, nullable, about, type: typeName(given) };
  const initial = "default" in given ? JSON.stringify(given["default"]) : "";
  if (isFile(schema)) return { ...base, kind: "file", type: "file" };
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
      return { ...base, kind: "text", initial: typeof given["default"] === "string" ? given["default"] : "" };
    default:
      return { ...base, kind: "json", initial };
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

/** A schema in a few words: `integer`, `array of string`, `string or null`. */
export function typeName(schema: unknown, depth = 0): string {
  if (!isObject(schema) || depth > 4) return "any";
  if (isFile(schema)) return "file";
  if (typeof schema["$ref"] === "string") return schema["$ref"].split("/").pop() ?? "any";
  if (Array.isArray(schema["anyOf"])) return schema["anyOf"].map((one) => typeName(one, depth + 1)).join(" or ");
  if (Array.isArray(schema["enum"])) return "one of";
  if (schema["type"] === "array" && isObject(schema["items"])) return `array of ${typeName(schema["items"], depth + 1)}`;
  return typeof schema["type"] === "string" ? schema["type"] : "any";
}

/** A value that was typed in; throws what is wrong with it. Undefined: it is left out. */
export function valueOf({ name, kind, required, nullable, choices }: FormField, text: string): unknown {
  if (kind === "text") {
    if (text !== "" || required) return text;
    return nullable ? null : undefined;
  }
  const trimmed = text.trim();
  if (trimmed === "") {
    if (!required) return undefined;
    if (nullable) return null;
    throw new Error(`${name}: a value is needed`);
  }
  if (kind === "choice") return choices[Number(trimmed)];
  let value: unknown;
  try {
    value = JSON.parse(trimmed);
  } catch (error) {
    const wants = kind === "json" ? `JSON: ${(error as Error).message}` : `a${kind === "integer" ? "n" : ""} ${kind}`;
    throw new Error(`${name}: not ${wants}`);
  }
  if (kind === "integer" && !Number.isInteger(value)) throw new Error(`${name}: not an integer`);
  if (kind === "number" && typeof value !== "number") throw new Error(`${name}: not a number`);
  return value;
}

/** The data of a request: one parameter as it is, several by name (spec/rpc.md, section 7). */
export function dataOf({ fields, byName }: Plan, texts: ReadonlyMap<string, string>): unknown {
  const plain = fields.filter(({ kind }) => kind !== "file" && kind !== "files");
  const values = plain.map((one) => [one.name, valueOf(one, texts.get(one.name) ?? "")] as const);
  if (!byName || plain.length === 1) return values[0]?.[1] ?? null;
  if (plain.length === 0) return null;
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}
