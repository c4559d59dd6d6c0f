// The operations of a document, whatever state it is in, and the tabs that hold documents.

import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "../../explorer/tests/module.mjs";

const { executed, operations } = await load("../playground/src/operations.ts");
const { withDraft, withoutTab } = await load("../playground/src/tabs.ts");
const { MAX_EXECUTED, withExecuted } = await load("../playground/src/history.ts");
const { indented, prettifiedJson } = await load("../playground/src/prettify.ts");

/** @param {string} text */
const named = (text) => operations(text).map((/** @type {any} */ { type, name, from, to }) => `${type} ${name ?? ""}: ${text.slice(from, to)}`);

test("operations are found with their types and names", () => {
  assert.deepEqual(named("query One($a: In = {b: 1}) @x { a { b } }\nsubscription Two { c }"), [
    "query One: query One($a: In = {b: 1}) @x { a { b } }",
    "subscription Two: subscription Two { c }",
  ]);
  assert.deepEqual(named("{ query }"), ["query : { query }"]);
  assert.deepEqual(named("query query { mutation }"), ["query query: query query { mutation }"]);
});

test("fragments, comments and strings are no operations", () => {
  assert.deepEqual(named('fragment F on Query { query }\n# query Commented { a }\nquery Real { a(b: "query No { }", c: """ { query No2 """) }'), [
    'query Real: query Real { a(b: "query No { }", c: """ { query No2 """) }',
  ]);
});

test("an operation that is being written lasts to the end", () => {
  assert.deepEqual(named("query Unfinished { a { b"), ["query Unfinished: query Unfinished { a { b"]);
  assert.deepEqual(named("query"), ["query : query"]);
  assert.deepEqual(named("}} ) query After { a }"), ["query After: query After { a }"]);
});

test("what stands before the selection declares the variables", () => {
  const text = "query One($a: In = {b: 1}) { a }";
  const [{ from, selection }] = operations(text);
  assert.equal(text.slice(from, selection), "query One($a: In = {b: 1}) ");
});

test("the named operation is executed, or the first", () => {
  const found = operations("query One { a } query Two { a }");
  assert.deepEqual([executed(found, "Two").name, executed(found, "None").name, executed([], "None")], ["Two", "One", undefined]);
});

test("a draft is shown in the tab that has it, and the tab that is left after one is closed is the one beside it", () => {
  const first = withDraft({ tabs: [], active: 0 }, { query: "{ a }", variables: "" });
  const second = withDraft(first, { query: "{ b }", variables: "1" });
  assert.deepEqual([second.active, second.tabs.map((/** @type {any} */ { query }) => query)], [1, ["{ a }", "{ b }"]]);
  const again = withDraft(second, { query: "{ a }", variables: "2" });
  assert.deepEqual([again.active, again.tabs.map((/** @type {any} */ { variables }) => variables)], [0, ["2", "1"]]);
  assert.deepEqual([withoutTab(second, 0).active, withoutTab(again, 0).active], [0, 0]);
  assert.deepEqual(withoutTab(first, 0).tabs.map((/** @type {any} */ { query }) => query), [""]);
});

test("the history has each draft once, the last one first, at most twenty beside the favorites", () => {
  const draft = (/** @type {number} */ at) => ({ query: `{ a${at} }`, variables: "" });
  let history = [{ ...draft(0), isFavorite: true }];
  for (let at = 1; at <= MAX_EXECUTED + 2; at++) history = withExecuted(history, draft(at));
  history = withExecuted(withExecuted(history, draft(5)), draft(0));
  assert.deepEqual([history.length, history[0]?.isFavorite, history[1]?.query, history.at(-1)?.query], [MAX_EXECUTED + 1, true, "{ a5 }", "{ a3 }"]);
  assert.deepEqual(withExecuted(history, { query: " ", variables: "" }), history);
});

test("a document with comments is indented by its own lines, and what is no JSON stays", () => {
  assert.equal(indented("{a{b}}"), "{\n  a {\n    b\n  }\n}\n");
  assert.equal(indented('query A(\n$a: Int # {\n) {\n      b(c: "}")\n\n}'), 'query A(\n  $a: Int # {\n) {\n  b(c: "}")\n\n}\n');
  assert.deepEqual([prettifiedJson('{"a":1}'), prettifiedJson("{"), prettifiedJson("")], ['{\n  "a": 1\n}', "{", ""]);
});
