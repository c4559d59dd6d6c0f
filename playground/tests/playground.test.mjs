// The playground as a person meets it, in Chromium, with the network cut.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { launch, openPage, serve } from "./setup.mjs";

/** @type {Awaited<ReturnType<typeof serve>>} */
let server;
/** @type {import("playwright-core").Browser} */
let browser;
/** @type {import("playwright-core").BrowserContext} */
let context;
/** @type {import("playwright-core").Page} */
let page;
/** @type {string[]} */
let faults;

before(async () => {
  server = await serve();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  server?.end();
});

beforeEach(async () => {
  context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  ({ page, faults } = await openPage(context, server.address));
  await settled();
});

afterEach(async () => {
  await context.close();
  assert.deepEqual(faults, []);
});

test("the first query answers", async () => {
  const answer = await run("HeadsOfDefaultChannels");
  const names = answer.data.packages.nodes.map((/** @type {{ name: string }} */ { name }) => name);
  assert.deepEqual(names, ["lampglow", "nightjar", "quillstore", "relaybox", "sealwright"]);
  await page.locator(".result-window", { hasText: '"lampglow"' }).waitFor();
});

test("the first result is there before the first click", async () => {
  await page.locator(".result-window", { hasText: '"lampglow"' }).waitFor();
});

test("both pages have the same places in their heads, which lead to the same pages", async () => {
  const places = async (/** @type {import("playwright-core").Page} */ of) =>
    of.locator("header.head a").evaluateAll((links) => links.map((link) => `${link.textContent}: ${/** @type {HTMLAnchorElement} */ (link).href}`));
  const explorer = await openPage(context, server.explorer);
  await explorer.page.locator("header.head a").last().waitFor();
  assert.deepEqual(await places(page), await places(explorer.page));
  assert.equal((await places(page)).length, 6);
  assert.deepEqual(explorer.faults, []);
});

test("a small editor works until the large one is there", async () => {
  const slow = await browser.newContext();
  const requested = gate();
  const loaded = gate();
  await slow.route("**/playground/assets/graphiql-*.js", async (route) => {
    requested.resolve(undefined);
    await loaded.promise;
    await route.continue();
  });
  /** @type {import("playwright-core").Request[]} */
  const files = [];
  const note = (/** @type {import("playwright-core").Request} */ request) => {
    if (!/\/graphiql-|\/graphql/.test(request.url())) files.push(request);
  };
  slow.on("requestfinished", note);
  const small = await openPage(slow, server.address);
  await requested.promise;
  slow.off("requestfinished", note);
  const sizes = await Promise.all(files.map((request) => request.sizes()));
  const bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
  assert.ok(files.length >= 3, "the page, its script and its style");
  assert.ok(bytes < 20_000, `${bytes} bytes before the small editor`);
  const result = small.page.locator(".small .result textarea");
  await valueWith(small.page, '"lampglow"');
  await small.page.locator(".small .query textarea").fill("{ catalogs { name } }");
  await small.page.getByRole("button", { name: "Run" }).click();
  await valueWith(small.page, '"example"');
  assert.match(await result.inputValue(), /"name": "example"/);
  // What was written is not lost.
  loaded.resolve(undefined);
  await small.page.locator(".graphiql-query-editor .view-line", { hasText: "{ catalogs { name } }" }).waitFor();
  await slow.close();
  assert.deepEqual(small.faults, []);
});

test("a link carries a query and its variables, which are sent when the reader wants it, and gives back itself", async () => {
  const query = "query Named($name: String!) {\n  catalog(name: $name) { name }\n}";
  const search = `?${new URLSearchParams({ query, variables: '{"name": "example"}' })}`;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  /** @type {string[]} */
  const sent = [];
  context.on("request", (request) => sent.push(request.postData() ?? ""));
  const linked = await openPage(context, server.address, search);
  await linked.page.locator(".graphiql-query-editor .view-line", { hasText: "Named" }).waitFor();
  await linked.page.locator(".graphiql-spinner").waitFor({ state: "detached" });
  assert.deepEqual(sent.filter((body) => body.includes("Named")), []);
  await linked.page.getByRole("button", { name: /Execute query/ }).click();
  await linked.page.locator(".result-window", { hasText: '"name": "example"' }).waitFor();
  await linked.page.getByRole("button", { name: "Copy link" }).click();
  await linked.page.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await linked.page.evaluate(() => navigator.clipboard.readText()), server.address + search);
  await linked.page.getByRole("button", { name: "Copy as curl" }).click();
  await linked.page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("curl"));
  const command = await linked.page.evaluate(() => navigator.clipboard.readText());
  const answer = execFileSync("sh", ["-c", command], { encoding: "utf8" });
  assert.deepEqual(JSON.parse(answer), { data: { catalog: { name: "example" } } });
  assert.deepEqual(linked.faults, []);
});

test("a query that is linked in one line is shown in many, unless that would lose a comment", async () => {
  const lines = async (/** @type {string} */ query) => {
    const linked = await openPage(context, server.address, `?${new URLSearchParams({ query })}`);
    await linked.page.locator(".graphiql-query-editor .view-line").first().waitFor();
    await linked.page.getByText("catalogs").first().waitFor();
    const shown = await linked.page.locator(".graphiql-query-editor .view-line").allInnerTexts();
    assert.deepEqual(linked.faults, []);
    return shown.map((line) => line.replaceAll("\u00a0", " ").trimEnd());
  };
  assert.deepEqual(await lines("query Names{catalogs{name}}"), ["query Names {", "  catalogs {", "    name", "  }", "}", ""]);
  assert.deepEqual(await lines("{catalogs{name}} # all"), ["{catalogs{name}} # all"]);
  assert.deepEqual(await lines("{catalogs{name}"), ["{catalogs{name}"]);
});

test("Ctrl-Enter runs what a link brought wherever the focus is, and not what is being asked", async () => {
  const linked = await openPage(context, server.address, "?query=query+Names{catalogs{name}}");
  await linked.page.locator(".graphiql-query-editor .view-line", { hasText: "Names" }).waitFor();
  await linked.page.locator(".graphiql-spinner").waitFor({ state: "detached" });
  await linked.page.getByRole("button", { name: /settings/i }).click();
  await linked.page.getByRole("dialog").waitFor();
  await linked.page.keyboard.press("ControlOrMeta+Enter");
  await linked.page.keyboard.press("Escape");
  await linked.page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal((await linked.page.locator(".result-window").innerText()).includes("example"), false);
  await linked.page.locator("header.head nav a").last().focus();
  await linked.page.keyboard.press("ControlOrMeta+Enter");
  await linked.page.locator(".result-window", { hasText: '"name": "example"' }).waitFor();
  // In an editor it runs once, too.
  const sent = linked.page.waitForRequest((request) => request.postDataJSON()?.operationName === "Names");
  await linked.page.locator(".graphiql-query-editor .view-lines").click();
  await linked.page.keyboard.press("ControlOrMeta+Enter");
  await sent;
  assert.deepEqual(linked.faults, []);
});

test("the examples are open on the first visit that brings no query, and closed from then on", async () => {
  const examples = page.getByRole("region", { name: "Examples", exact: true });
  assert.equal(await examples.count(), 1);
  await page.reload();
  await settled();
  assert.equal(await examples.count(), 0);
  const editor = await page.locator(".graphiql-query-editor").boundingBox();
  assert.ok((editor?.width ?? 0) > 600, `${editor?.width} pixels`);
  await page.getByRole("button", { name: /Examples/ }).click();
  await examples.waitFor();
  const other = await browser.newContext();
  const linked = await openPage(other, server.address, "?query={catalogs{name}}");
  await linked.page.locator(".graphiql-query-editor .view-line").first().waitFor();
  assert.equal(await linked.page.getByRole("region", { name: "Examples", exact: true }).count(), 0);
  await other.close();
  assert.deepEqual(linked.faults, []);
});

test("the playground has the theme that was chosen in the explorer, and its colours", async () => {
  const colour = (/** @type {import("playwright-core").Page} */ of, /** @type {string} */ selector) =>
    of.locator(selector).first().evaluate((element) => getComputedStyle(element).color);
  for (const theme of ["light", "dark"]) {
    const other = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: theme === "dark" ? "light" : "dark" });
    await other.addInitScript((theme) => localStorage.setItem("catalogql:theme", theme), theme);
    const explorer = await openPage(other, server.explorer, "?catalogs=1");
    await explorer.page.locator("main a").first().waitFor();
    const { page: playground, faults } = await openPage(other, server.address);
    await playground.locator(".graphiql-spinner").waitFor({ state: "detached" });
    assert.equal(await colour(playground, ".examples a"), await colour(explorer.page, "main a"), theme);
    assert.equal(await colour(playground, ".graphiql-container"), await colour(explorer.page, "main"), theme);
    await playground.locator(".monaco-editor.vs-dark, .monaco-editor.vs").first().waitFor();
    assert.equal(await playground.locator(".monaco-editor.vs-dark").count() > 0, theme === "dark");
    await other.close();
    assert.deepEqual([...faults, ...explorer.faults], []);
  }
});

test("a phone shows query and result at once", async () => {
  const phone = await browser.newContext({ viewport: { width: 390, height: 844 } });
  const opened = await openPage(phone, server.address);
  await opened.page.locator(".result-window", { hasText: '"lampglow"' }).waitFor();
  const parts = [".graphiql-query-editor", ".graphiql-execute-button", ".result-window"];
  for (const part of parts) {
    const box = await opened.page.locator(part).first().boundingBox();
    assert.ok(box && box.x >= 0 && box.x + box.width <= 390 && box.y + box.height <= 844, `${part}: ${JSON.stringify(box)}`);
    assert.ok(box.height >= 30 && box.width >= 30, `${part}: ${JSON.stringify(box)}`);
  }
  await opened.page.getByRole("button", { name: /Examples/ }).click();
  await opened.page.locator(".examples button b", { hasText: /^Tiles$/ }).click();
  await opened.page.locator(".graphiql-tab-active", { hasText: "Tiles" }).waitFor();
  await phone.close();
  assert.deepEqual(opened.faults, []);
});

test("a field is completed as it is typed", async () => {
  await write("{ nmae }");
  await mistakeMarked();
  await write("{ packages { nodes { ");
  await page.keyboard.type("defaultCh");
  // The editor takes Tab for the suggestion only once its row is selected.
  const suggestion = page.locator(".suggest-widget .monaco-list-row.focused", { hasText: "defaultChannel" });
  await suggestion.waitFor();
  await page.keyboard.press("Tab");
  await page.locator(".graphiql-query-editor .view-line", { hasText: "nodes { defaultChannel" }).waitFor();
});

test("a field that is not there is marked", async () => {
  await write("{ packages { nodes { nmae } } }");
  await mistakeMarked();
});

test("every example answers without errors", async () => {
  const panel = page.getByRole("region", { name: "Examples", exact: true });
  assert.deepEqual(await panel.getByRole("heading", { level: 3 }).allInnerTexts(), [
    "Consoles",
    "Resolvers",
    "Mirroring",
    "Watching",
    "Anything else",
  ]);
  const names = await panel.getByRole("button").locator("b").allInnerTexts();
  assert.ok(names.length >= 13, `${names}`);
  // A subscription has no answer; what it is told is below.
  for (const name of names.filter((name) => name !== "Changes")) {
    await example(name);
    const answer = await run(name);
    assert.equal(answer.errors, undefined, `${name}: ${JSON.stringify(answer.errors)}`);
    const empty = Object.entries(answer.data).filter(([, value]) => value === null);
    assert.deepEqual(empty, [], name);
  }
});

test("each group of examples leads back into the explorer", async () => {
  const links = page.getByRole("region", { name: "Examples", exact: true }).getByRole("link");
  const places = await links.evaluateAll((links) => links.map((link) => `${link.textContent}: ${/** @type {HTMLAnchorElement} */ (link).href}`));
  const root = new URL("../", server.address).href;
  assert.deepEqual(places, [
    `Packages: ${root}`,
    `Resolve: ${root}?resolve=1`,
    `Packages: ${root}`,
    `Compare contents: ${root}?diff=1`,
    `Catalogs: ${root}?catalogs=1`,
  ]);
  await links.nth(3).click();
  await page.getByRole("heading", { level: 1, name: "Compare contents" }).waitFor();
});

test("an example is opened once", async () => {
  await example("Tiles");
  await example("Images");
  await example("Tiles");
  assert.deepEqual(await tabs(), ["HeadsOfDefaultChannels", "Tiles", "Images"]);
});

test("tabs are there again after a reload", async () => {
  await example("GetBundle");
  await stored("GetBundle");
  await page.reload();
  await settled();
  assert.deepEqual(await tabs(), ["HeadsOfDefaultChannels", "GetBundle"]);
  const answer = await run("GetBundle");
  assert.equal(answer.errors, undefined);
});

test("fields can be chosen in the explorer", async () => {
  await page.getByRole("button", { name: /GraphiQL Explorer/ }).click();
  await page.locator(".graphiql-explorer-root", { hasText: "facets" }).waitFor();
});

test("the description of a type is shown", async () => {
  await page.getByRole("button", { name: /Documentation Explorer/ }).click();
  await page.locator(".graphiql-doc-explorer a", { hasText: /^Query$/ }).click();
  await page.locator(".graphiql-doc-explorer", { hasText: "packages" }).waitFor();
});

test("what the server says in plain text is shown as an error", async () => {
  const text = "too many requests at once\n";
  await page.route("**/graphql", (route) => route.fulfill({ status: 503, contentType: "text/plain", body: text }));
  await page.getByRole("button", { name: /Execute query/ }).click();
  await page.locator(".result-window", { hasText: '"message": "too many requests at once"' }).waitFor();
  assert.deepEqual(faults.splice(0).map((fault) => fault.slice(0, 5)).sort(), ["503: ", "error"]);
});

test("what the server streams is shown as it comes", async () => {
  /** @type {string | undefined} */
  let accepted;
  await page.route("**/graphql", (route) => {
    accepted = route.request().headers().accept;
    const body = 'event: next\ndata: {"data":{"first":1}}\n\nevent: next\ndata: {"data":{"last":2}}\n\nevent: complete\n\n';
    return route.fulfill({ headers: { "content-type": "text/event-stream" }, body });
  });
  await write("subscription Changes { changes }");
  await page.locator(".graphiql-tab-active", { hasText: "Changes" }).waitFor();
  await page.getByRole("button", { name: /Execute query/ }).click();
  await page.locator(".result-window", { hasText: '"last": 2' }).waitFor();
  assert.equal(accepted, "text/event-stream");
});

test("a change of a catalog is shown as it happens", async () => {
  await example("Changes");
  const response = page.waitForResponse((answer) => answer.request().postDataJSON()?.operationName === "Changes");
  await page.getByRole("button", { name: /Execute query/ }).click();
  assert.equal((await response).headers()["content-type"], "text/event-stream; charset=utf-8");
  const blob = { schema: "olm.package", name: "newcomer", defaultChannel: "stable" };
  writeFileSync(join(server.catalog, "newcomer.json"), JSON.stringify(blob));
  const result = page.locator(".result-window");
  await result.filter({ hasText: '"name": "newcomer"' }).filter({ hasText: '"change": "ADDED"' }).waitFor();
  await page.getByRole("button", { name: /Stop query/ }).click();
});

test("a server that wants to know who asks gets the token that the reader gives, and subscriptions are opened with it", async () => {
  const guarded = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  /** @type {Set<string>} */
  const authorized = new Set();
  await guarded.route("**/graphql", (route) => {
    const request = route.request();
    if (request.headers().authorization !== "Bearer opensesame") return route.fulfill({ status: 401, contentType: "text/plain", body: "Unauthorized" });
    authorized.add(request.headers().accept ?? "");
    return route.fallback();
  });
  const opened = await openPage(guarded, server.address);
  const give = async (/** @type {string} */ token) => {
    await opened.page.getByRole("dialog", { name: "A token is needed" }).waitFor();
    await opened.page.getByLabel("Bearer token").fill(token);
    await opened.page.getByRole("button", { name: "Use the token" }).click();
  };
  // What no header can carry is not sent, and the page says why.
  await give("open sesame…");
  const fault = await opened.page.getByLabel("Bearer token").evaluate((input) => /** @type {HTMLInputElement} */ (input).validationMessage);
  assert.equal(fault, "A token has letters, digits and signs of ASCII only, and no spaces.");
  await give(" wrong\t");
  await opened.page.getByText("The token was not accepted.").waitFor();
  await give("opensesame");
  await opened.page.locator(".result-window", { hasText: '"lampglow"' }).waitFor();
  await opened.page.locator(".graphiql-spinner").waitFor({ state: "detached" });
  assert.equal(await opened.page.locator("dialog").count(), 0);
  await opened.page.locator(".examples button b", { hasText: /^Changes$/ }).click();
  await opened.page.locator(".graphiql-tab-active", { hasText: "Changes" }).waitFor();
  const stream = opened.page.waitForResponse((answer) => answer.headers()["content-type"]?.startsWith("text/event-stream") ?? false);
  await opened.page.getByRole("button", { name: /Execute query/ }).click();
  assert.equal((await stream).status(), 200);
  assert.ok(authorized.has("text/event-stream") && authorized.size > 1, `${[...authorized]}`);
  const kept = await opened.page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }) + location.href + document.cookie);
  assert.ok(!kept.includes("opensesame"));
  // Whoever gives none sees why there is no result.
  await opened.page.reload();
  await opened.page.getByRole("button", { name: "Cancel" }).click();
  await opened.page.locator("dialog").waitFor({ state: "detached" });
  await guarded.close();
  assert.deepEqual(opened.faults.filter((fault) => !fault.includes("401")), []);
});

/** Waits until the editors are there and know the schema. */
async function settled() {
  await page.locator(".graphiql-query-editor .view-line").first().waitFor();
  await page.locator(".graphiql-spinner").waitFor({ state: "detached" });
}

/**
 * Opens an example.
 *
 * @param {string} name
 */
async function example(name) {
  await page.locator(".examples button b", { hasText: new RegExp(`^${name}$`) }).click();
  await page.locator(".graphiql-tab-active", { hasText: name }).waitFor();
}

/**
 * Runs the operation of this name. Gives what the server answers.
 *
 * @param {string} name
 */
async function run(name) {
  const response = page.waitForResponse((answer) => answer.request().postDataJSON()?.operationName === name);
  await page.getByRole("button", { name: /Execute query/ }).click();
  return (await response).json();
}

/**
 * Replaces what is in the editor, at once: nothing is completed meanwhile.
 *
 * @param {string} text
 */
async function write(text) {
  await page.locator(".graphiql-query-editor .view-lines").click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

/**
 * Waits until the small editor shows a result with this text.
 *
 * @param {import("playwright-core").Page} page
 * @param {string} text
 */
async function valueWith(page, text) {
  await page.waitForFunction((text) => {
    const field = document.querySelector(".small .result textarea");
    return field instanceof HTMLTextAreaElement && field.value.includes(text);
  }, text);
}

/** The titles of the tabs. */
function tabs() {
  return page.locator(".graphiql-tab-button").allInnerTexts();
}

/** Waits until the editor marks a mistake, so that what completes and checks in the background knows the schema. */
async function mistakeMarked() {
  await page.locator(".graphiql-query-editor .squiggly-error").waitFor();
}

/**
 * Waits until the browser keeps this operation in a tab, with its variables.
 *
 * @param {string} name
 */
async function stored(name) {
  await page.waitForFunction((name) => {
    const { tabs } = JSON.parse(localStorage.getItem("catalogql:graphiql:tabState") ?? '{"tabs":[]}');
    return tabs.some((/** @type {any} */ tab) => tab.operationName === name && tab.variables);
  }, name);
}

/** A promise that the test resolves; `Promise.withResolvers` is not in Node 20. */
function gate() {
  /** @type {(value: unknown) => void} */
  let resolve = () => {};
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}
