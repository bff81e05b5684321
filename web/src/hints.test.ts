import assert from "node:assert/strict";
import { test } from "node:test";
import { beginning, quoted, shell } from "./hints.ts";

const usual = { mfp: "ws://127.0.0.1:7400/mfp", services: "tcp://127.0.0.1:7401", clients: null, workers: "tcp://127.0.0.1:7403", journal: null };
const other = { ...usual, mfp: "ws://127.0.0.1:17400/mfp", services: "tcp://0.0.0.0:17401", workers: "tcp://[::]:17403" };
const one = { called: "endpoint", mode: "call", doc: "" };

test("a command names the gateway unless it is where commands look anyway", () => {
  assert.equal(shell("framehub ping", "mfp", usual, "here"), "framehub ping");
  assert.equal(shell("framehub ping", "mfp", other, "here"), "framehub ping --url ws://127.0.0.1:17400/mfp");
});

test("who listens everywhere is reached by the name that the page has for it", () => {
  assert.equal(shell("framehub service a:b", "services", other, "box"), "framehub service a:b --connect tcp://box:17401");
  assert.equal(shell("framehub worker a:b", "workers", other, "box"), "framehub worker a:b --connect tcp://box:17403");
  assert.equal(shell("framehub ping", "mfp", { ...usual, mfp: "ws://0.0.0.0:7400/mfp" }, "127.0.0.1"), "framehub ping");
});

test("a first call is one that there is, and without any, what brings some", () => {
  const chat = beginning([{ ...one, name: "chat" }], other, "box")?.command;
  assert.equal(chat, `framehub request chat '{"text": "hello"}' --url ws://127.0.0.1:17400/mfp`);
  assert.equal(beginning([{ ...one, name: "talk" }], other, "box"), undefined);
  assert.equal(beginning([{ ...one, name: "chat", parameters: { type: "integer" } }], other, "box"), undefined);
  assert.equal(beginning([], other, "box")?.command, "framehub worker MODULE:NAME --connect tcp://box:17403");
  assert.equal(beginning([], { ...other, workers: null }, "box")?.command, "framehub serve --app MODULE:NAME");
});

test("a path is one word", () => {
  assert.deepEqual(["/a/b-1", "/my things", "it's"].map(quoted), ["/a/b-1", "'/my things'", "'it'\\''s'"]);
});
