// What a response means: all of what was asked for, some of it, or why there is none.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { load } from "./module.mjs";

const { failureOf, isErrorOf, isReachable, isTokenWanted, keptAnswer, query, requestKey, forgetAnswers } = await load("src/client.ts");

const OPERATION = { name: "Found", text: "query Found { package { name } }" };
const JSON_TYPE = { "content-type": "application/graphql-response+json; charset=utf-8" };
const ERROR = { message: "page sizes are at most 50", path: ["package", "bundles"], extensions: { code: "BAD_USER_INPUT" } };

const original = { fetch: globalThis.fetch, document: globalThis.document };

beforeEach(() => {
  globalThis.document = /** @type {any} */ ({ baseURI: "http://127.0.0.1/" });
});

afterEach(() => {
  Object.assign(globalThis, original);
  forgetAnswers();
  isReachable.set(true);
  isTokenWanted.set(false);
});

/** Lets every request get a response. @param {number} status @param {Record<string, string>} headers @param {unknown} body */
function respond(status, headers, body) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  globalThis.fetch = async () => new Response(text, { status, headers });
}

/** What a request fails with, in what the page looks at. @param {object} [options] */
async function failure(options) {
  const { kind, code, message, retryAfter } = await query(OPERATION, {}, options).then(
    () => assert.fail("it does not fail"),
    (/** @type {any} */ error) => error,
  );
  return { kind, code, message, retryAfter };
}

test("a response in which a field is null because of an error is none, and is not kept", async () => {
  respond(200, JSON_TYPE, { data: { package: { name: "etcd", bundles: null } }, errors: [ERROR] });
  assert.deepEqual(await failure(), { kind: "incomplete", code: "BAD_USER_INPUT", message: ERROR.message, retryAfter: 0 });
  assert.equal(keptAnswer(requestKey(OPERATION, {})), undefined);
});

test("a field that is spared may have an error, and no other", async () => {
  const data = { package: { name: "etcd", bundles: null } };
  const spares = (/** @type {any} */ error) => isErrorOf(error, "package", "bundles");
  respond(200, JSON_TYPE, { data, errors: [ERROR] });
  assert.deepEqual(await query(OPERATION, {}, { spares }), { data, errors: [ERROR], suggestions: [] });
  respond(200, JSON_TYPE, { data, errors: [ERROR, { message: "too slow", path: ["package", "bundles", 0] }] });
  assert.deepEqual(await failure({ spares }), { kind: "incomplete", code: "", message: "too slow", retryAfter: 0 });
});

test("a complete response is kept", async () => {
  const answer = { data: { package: null }, errors: [], suggestions: [] };
  respond(200, JSON_TYPE, { data: answer.data });
  assert.deepEqual(await query(OPERATION, {}), answer);
  assert.deepEqual(keptAnswer(requestKey(OPERATION, {})), { answer, isFresh: true });
});

test("a server that has no room says so with a code, and is there", async () => {
  const errors = [{ message: "too many bytes of requests are queued: try again later", extensions: { code: "SERVER_OVERLOADED" } }];
  respond(503, { ...JSON_TYPE, "retry-after": "2" }, { errors });
  assert.deepEqual(await failure(), { kind: "busy", code: "SERVER_OVERLOADED", message: errors[0]?.message, retryAfter: 2000 });
  assert.equal(isReachable.get(), true);
});

test("a proxy that finds no server says so without a code, whatever its format", async () => {
  const status = { kind: "Status", message: "no endpoints available for service \"catalogql\"", code: 503 };
  for (const [type, body] of [["application/json", status], ["application/json", "<html>"], ["text/html", "<html>"]]) {
    isReachable.set(true);
    respond(503, { "content-type": /** @type {string} */ (type) }, body);
    assert.deepEqual(await failure(), { kind: "unreachable", code: "", message: "The server is not available (status 503).", retryAfter: 0 });
    assert.equal(isReachable.get(), false);
  }
});

test("a request without data is refused with the code and the words of the server", async () => {
  respond(400, JSON_TYPE, { errors: [{ message: "the query is too deep", extensions: { code: "MAX_DEPTH_LIMIT" } }] });
  assert.deepEqual(await failure(), { kind: "refused", code: "MAX_DEPTH_LIMIT", message: "the query is too deep", retryAfter: 0 });
  respond(421, { "content-type": "text/plain; charset=utf-8" }, "this server does not answer for the host\n");
  assert.deepEqual(await failure(), { kind: "refused", code: "421", message: "this server does not answer for the host", retryAfter: 0 });
});

test("a server that wants to know who asks is there, and a token is wanted", async () => {
  isReachable.set(false);
  respond(401, { "content-type": "text/plain" }, "Unauthorized");
  assert.deepEqual(await failure(), { kind: "unauthorized", code: "401", message: "The server wants to know who asks.", retryAfter: 0 });
  assert.deepEqual([isReachable.get(), isTokenWanted.get()], [true, true]);
});

test("a time that is no number of seconds is none", () => {
  const headers = { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" };
  assert.equal(failureOf(new Response("", { status: 503, headers }), "").retryAfter, 0);
});
