import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError } from "../errors.ts";
import { Endpoints } from "./endpoints.ts";

test("a handler is found by its name until it is taken away", () => {
  const endpoints = new Endpoints();
  const handler = () => 1;
  const off = endpoints.on("a", handler);
  assert.equal(endpoints.find("a"), handler);
  assert.equal(endpoints.findStream("a"), undefined);
  off();
  assert.equal(endpoints.find("a"), undefined);
  endpoints.on("a", () => 2);
  off();
  assert(endpoints.find("a"));
});

test("messages and streams to one name are two things", () => {
  const endpoints = new Endpoints();
  endpoints.on("a", () => 1);
  endpoints.onStream("a", () => 1);
  assert(endpoints.findStream("a"));
});

test("a name is taken once, by a function; it is not empty, and not the library's", () => {
  const endpoints = new Endpoints();
  endpoints.on("a", () => 1);
  for (const name of ["a", "", "framehub.hello"]) {
    assert.throws(() => endpoints.on(name, () => 1), ConfigError);
  }
  assert.throws(() => endpoints.on("b", undefined as never), ConfigError);
  assert.throws(() => endpoints.onStream("b", {} as never), ConfigError);
});
