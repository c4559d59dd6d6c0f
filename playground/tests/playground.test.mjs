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
  await page.locator(".result .cm-content", { hasText: '"lampglow"' }).waitFor();
});

test("the first result is there before the first click", async () => {
  await page.locator(".result .cm-content", { hasText: '"lampglow"' }).waitFor();
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

test("the editor can be written in before what completes and checks is loaded, and keeps what was written", async () => {
  const slow = await browser.newContext();
  const loaded = gate();
  await slow.route("**/playground/assets/language-*.js", async (route) => {
    await loaded.promise;
    await route.continue();
  });
  /** @type {import("playwright-core").Request[]} */
  const files = [];
  // What the language needs comes at the same time, and nothing waits for it.
  const isLater = (/** @type {string} */ url) => /\/(language|graphql)-[^/]*\.js$|\/schema\.graphql$/.test(url);
  slow.on("requestfinished", (request) => isLater(request.url()) || files.push(request));
  const opened = await openPage(slow, server.address);
  await opened.page.locator(".result .cm-content", { hasText: '"lampglow"' }).waitFor();
  const sizes = await Promise.all(files.map((request) => request.sizes()));
  const bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
  assert.ok(files.length >= 3, "the page, its script and its style");
  assert.ok(bytes < 110_000, `${bytes} bytes before the first result`);
  await write("{ catalogs { name } }", opened.page);
  await opened.page.getByRole("button", { name: "Run", exact: true }).click();
  await opened.page.locator(".result .cm-content", { hasText: '"name": "example"' }).waitFor();
  loaded.resolve(undefined);
  await isReady(opened.page);
  assert.equal(await opened.page.locator(".query .cm-content").innerText(), "{ catalogs { name } }");
  await slow.close();
  assert.deepEqual(opened.faults, []);
});

test("a link carries a query and its variables, which are sent when the reader wants it, and gives back itself", async () => {
  const query = "query Named($name: String!) {\n  catalog(name: $name) { name }\n}";
  const search = `?${new URLSearchParams({ query, variables: '{"name": "example"}' })}`;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  /** @type {string[]} */
  const sent = [];
  context.on("request", (request) => sent.push(request.postData() ?? ""));
  const linked = await openPage(context, server.address, search);
  await linked.page.locator(".query .cm-line", { hasText: "Named" }).waitFor();
  await isReady(linked.page);
  assert.deepEqual(sent.filter((body) => body.includes("Named")), []);
  await linked.page.getByRole("button", { name: "Run", exact: true }).click();
  await linked.page.locator(".result .cm-content", { hasText: '"name": "example"' }).waitFor();
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
  const shown = async (/** @type {string} */ query) => {
    const linked = await openPage(context, server.address, `?${new URLSearchParams({ query })}`);
    await isReady(linked.page);
    await linked.page.locator(".query .cm-line", { hasText: "catalogs" }).waitFor();
    // Whether it is made legible is known once that is loaded.
    await linked.page.waitForFunction(() => performance.getEntriesByType("resource").some(({ name }) => name.includes("prettify")));
    assert.deepEqual(linked.faults, []);
    return lines(linked.page);
  };
  assert.deepEqual(await shown("query Names{catalogs{name}}"), ["query Names {", "  catalogs {", "    name", "  }", "}", ""]);
  assert.deepEqual(await shown("{catalogs{name}} # all"), ["{catalogs{name}} # all"]);
  assert.deepEqual(await shown("{catalogs{name}"), ["{catalogs{name}"]);
});

test("Ctrl-Enter runs what a link brought wherever the focus is, and in the editor begins no line", async () => {
  const linked = await openPage(context, server.address, "?query=query+Names{catalogs{name}}");
  await linked.page.locator(".query .cm-line", { hasText: "Names" }).waitFor();
  await isReady(linked.page);
  assert.equal((await linked.page.locator(".result .cm-content").innerText()).includes("example"), false);
  await linked.page.locator("header.head nav a").last().focus();
  await linked.page.keyboard.press("ControlOrMeta+Enter");
  await linked.page.locator(".result .cm-content", { hasText: '"name": "example"' }).waitFor();
  const sent = linked.page.waitForRequest((request) => request.postDataJSON()?.operationName === "Names");
  const before = await linked.page.locator(".query .cm-content").innerText();
  await linked.page.locator(".query .cm-content").click();
  await linked.page.keyboard.press("ControlOrMeta+Enter");
  await sent;
  assert.equal(await linked.page.locator(".query .cm-content").innerText(), before);
  assert.deepEqual(linked.faults, []);
});

test("the examples are open on the first visit that brings no query, and closed from then on", async () => {
  const examples = page.getByRole("region", { name: "Examples", exact: true });
  assert.equal(await examples.count(), 1);
  await page.reload();
  await settled();
  assert.equal(await examples.count(), 0);
  const editor = await page.locator(".query").boundingBox();
  assert.ok((editor?.width ?? 0) > 600, `${editor?.width} pixels`);
  await page.getByRole("button", { name: "Examples" }).click();
  await examples.waitFor();
  const other = await browser.newContext();
  const linked = await openPage(other, server.address, "?query={catalogs{name}}");
  await linked.page.locator(".query .cm-line").first().waitFor();
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
    await isReady(playground);
    assert.equal(await colour(playground, ".panel a"), await colour(explorer.page, "main a"), theme);
    assert.equal(await colour(playground, "main"), await colour(explorer.page, "main"), theme);
    assert.equal(await colour(playground, ".query .cm-content"), await colour(explorer.page, "main"), theme);
    await other.close();
    assert.deepEqual([...faults, ...explorer.faults], []);
  }
});

test("a phone shows query and result at once", async () => {
  const phone = await browser.newContext({ viewport: { width: 390, height: 844 } });
  const opened = await openPage(phone, server.address);
  await opened.page.locator(".result .cm-content", { hasText: '"lampglow"' }).waitFor();
  const parts = [".query", ".toolbar .primary", ".result"];
  for (const part of parts) {
    const box = await opened.page.locator(part).first().boundingBox();
    assert.ok(box && box.x >= 0 && box.x + box.width <= 390 && box.y + box.height <= 844, `${part}: ${JSON.stringify(box)}`);
    assert.ok(box.height >= 30 && box.width >= 30, `${part}: ${JSON.stringify(box)}`);
  }
  await opened.page.getByRole("button", { name: "Examples" }).click();
  await opened.page.locator(".example b", { hasText: /^Tiles$/ }).click();
  await opened.page.locator(".tabs .shown", { hasText: "Tiles" }).waitFor();
  await phone.close();
  assert.deepEqual(opened.faults, []);
});

test("a field is completed as it is typed", async () => {
  await write("{ packages { nodes { ");
  await page.keyboard.type("defaultCh");
  await page.locator(".cm-tooltip-autocomplete [aria-selected=true]", { hasText: "defaultChannel" }).waitFor();
  await page.locator(".cm-completionInfo", { hasText: "The channel that OLM v0 installs from" }).waitFor();
  // A suggestion can be taken a moment after it is shown, so that nobody takes one unseen.
  await page.waitForFunction(() => {
    const shown = document.querySelector(".cm-tooltip-autocomplete");
    const isNew = Number(Object.assign(window, { since: /** @type {any} */ (window).since ?? performance.now() }).since);
    return shown && performance.now() - isNew > 150;
  });
  await page.keyboard.press("Tab");
  await page.locator(".query .cm-line", { hasText: "nodes { defaultChannel" }).waitFor();
});

test("the description of a field is shown where the pointer is, and in the documentation where it is clicked", async () => {
  const field = page.locator(".query .cm-line").getByText("totalCount");
  await field.hover();
  await page.locator(".cm-tooltip .hover", { hasText: "PackageConnection.totalCount: Int!" }).waitFor();
  await field.click({ modifiers: ["ControlOrMeta"] });
  await page.getByRole("region", { name: "Documentation" }).locator(".sought", { hasText: "totalCount" }).waitFor();
});

test("variables are completed and checked by what the operation declares", async () => {
  await write("query Named($name: String!) { catalog(name: $name) { name } }");
  await page.locator(".tools .cm-content").click();
  await page.keyboard.type('{"na');
  await page.locator(".cm-tooltip-autocomplete", { hasText: '"name"' }).waitFor();
  await page.keyboard.press("Escape");
  await write('{"name": 1, "other": 2}', page, ".tools");
  const mistakes = page.locator(".tools .cm-lintRange");
  await page.waitForFunction(() => document.querySelectorAll(".tools .cm-lintRange").length === 2);
  assert.deepEqual(await mistakes.allInnerTexts(), ['"name"', '"other"']);
  await write('{"name": "example"}', page, ".tools");
  await mistakes.first().waitFor({ state: "detached" });
  const answer = await run("Named");
  assert.deepEqual(answer, { data: { catalog: { name: "example" } } });
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

test("fields are chosen in the query builder, and the query follows", async () => {
  await write("query Chosen { catalogs { name } }");
  await page.getByRole("button", { name: "Query builder" }).click();
  const builder = page.getByRole("region", { name: "Query builder" });
  await builder.locator(".graphiql-explorer-node", { hasText: "catalogs" }).first().waitFor();
  await builder.getByText("displayName", { exact: true }).first().click();
  await page.locator(".query .cm-line", { hasText: "displayName" }).waitFor();
  const answer = await run("Chosen");
  assert.deepEqual(answer.data.catalogs, [{ name: "example", displayName: "example" }]);
});

test("the documentation shows types, and finds them and their fields", async () => {
  await page.getByRole("button", { name: "Documentation" }).click();
  const documentation = page.getByRole("region", { name: "Documentation" });
  await documentation.getByRole("button", { name: "Query", exact: true }).click();
  await documentation.getByText("Packages of several catalogs: list, search, filter, count by facet.").waitFor();
  await documentation.getByRole("searchbox").fill("defaultchannel");
  await documentation.getByRole("button", { name: "Package.defaultChannel", exact: true }).click();
  await documentation.locator(".sought", { hasText: "defaultChannel: Channel" }).waitFor();
});

test("what was executed is in the history, in which favorites stay", async () => {
  await write("query Second { catalogs { name } }");
  await run("Second");
  await page.getByRole("button", { name: "History" }).click();
  const history = page.getByRole("region", { name: "History" });
  const titles = async () => history.locator(".link").allInnerTexts();
  assert.deepEqual(await titles(), ["Second"]);
  await history.getByRole("button", { name: "Add Second to the favorites" }).click();
  await write("query Third { catalogs { digest } }");
  await run("Third");
  await page.reload();
  await settled();
  await history.waitFor();
  assert.deepEqual(await titles(), ["Second", "Third"]);
  await history.getByRole("button", { name: "Forget all but favorites" }).click();
  assert.deepEqual(await titles(), ["Second"]);
  await page.getByRole("button", { name: "Add a tab" }).click();
  await history.getByRole("button", { name: "Second", exact: true }).click();
  await page.locator(".query .cm-line", { hasText: "query Second" }).waitFor();
});

test("tabs of GraphiQL, which the page was before, are there", async () => {
  const former = await browser.newContext();
  await former.addInitScript(() => {
    const tab = (/** @type {string} */ query) => ({ id: query, hash: null, title: query, query, variables: null, headers: null, operationName: null, response: null });
    localStorage.setItem("catalogql:graphiql:tabState", JSON.stringify({ tabs: [tab("query One { catalogs { name } }"), tab("query Two { catalogs { digest } }")], activeTabIndex: 1 }));
  });
  const opened = await openPage(former, server.address);
  await opened.page.locator(".result .cm-content", { hasText: '"digest"' }).waitFor();
  assert.deepEqual(await opened.page.locator(".tabs .title").allInnerTexts(), ["One", "Two"]);
  await opened.page.getByRole("button", { name: "Close Two" }).click();
  await opened.page.locator(".query .cm-line", { hasText: "query One" }).waitFor();
  await former.close();
  assert.deepEqual(opened.faults, []);
});

test("of several operations the one at the cursor is executed, or the one that is chosen", async () => {
  await write("query One { catalogs { name } }\nquery Two { catalogs { digest } }");
  const choice = page.getByLabel("Operation");
  await choice.waitFor();
  await page.keyboard.press("ArrowUp");
  await page.waitForFunction(() => document.querySelector("select")?.value === "One");
  assert.ok((await run("One")).data.catalogs[0].name);
  await choice.selectOption("Two");
  assert.ok((await run("Two")).data.catalogs[0].digest);
});

test("headers are sent and not kept", async () => {
  await write("query WithHeader { catalogs { name } }");
  await page.getByRole("button", { name: "Headers" }).click();
  await write('{"x-of-mine": "secret"}', page, ".tools");
  const sent = page.waitForRequest((request) => request.postDataJSON()?.operationName === "WithHeader");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  assert.equal((await sent).headers()["x-of-mine"], "secret");
  assert.equal(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }).includes("secret")), false);
});

test("a query is made legible, and one with comments keeps them", async () => {
  await write("query Names{catalogs{name}}");
  await page.getByRole("button", { name: "Prettify" }).click();
  await page.locator(".query .cm-line", { hasText: /^ {4}name$/ }).waitFor();
  await write("query Names {\n# all\ncatalogs {\nname\n}\n}");
  await page.keyboard.press("ControlOrMeta+Shift+p");
  await page.locator(".query .cm-line", { hasText: /^ {4}name$/ }).waitFor();
  assert.deepEqual(await lines(page), ["query Names {", "  # all", "  catalogs {", "    name", "  }", "}", ""]);
});

test("what the server says in plain text is shown as an error", async () => {
  const text = "too many requests at once\n";
  await page.route("**/graphql", (route) => route.fulfill({ status: 503, contentType: "text/plain", body: text }));
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator(".result .cm-content", { hasText: '"message": "too many requests at once"' }).waitFor();
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
  await page.locator(".tabs .shown", { hasText: "Changes" }).waitFor();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator(".result .cm-content", { hasText: '"last": 2' }).waitFor();
  assert.equal(accepted, "text/event-stream");
});

test("a change of a catalog is shown as it happens", async () => {
  await example("Changes");
  const response = page.waitForResponse((answer) => answer.request().postDataJSON()?.operationName === "Changes");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  assert.equal((await response).headers()["content-type"], "text/event-stream; charset=utf-8");
  const blob = { schema: "olm.package", name: "newcomer", defaultChannel: "stable" };
  writeFileSync(join(server.catalog, "newcomer.json"), JSON.stringify(blob));
  const result = page.locator(".result .cm-content");
  await result.filter({ hasText: '"name": "newcomer"' }).filter({ hasText: '"change": "ADDED"' }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
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
  await opened.page.locator(".result .cm-content", { hasText: '"lampglow"' }).waitFor();
  await isReady(opened.page);
  assert.equal(await opened.page.locator("dialog").count(), 0);
  await opened.page.locator(".example b", { hasText: /^Changes$/ }).click();
  await opened.page.locator(".tabs .shown", { hasText: "Changes" }).waitFor();
  const stream = opened.page.waitForResponse((answer) => answer.headers()["content-type"]?.startsWith("text/event-stream") ?? false);
  await opened.page.getByRole("button", { name: "Run", exact: true }).click();
  assert.equal((await stream).status(), 200);
  assert.ok(authorized.has("text/event-stream") && authorized.size > 1, `${[...authorized]}`);
  const kept = await opened.page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }) + location.href + document.cookie);
  assert.ok(!kept.includes("opensesame"));
  // Whoever gives none sees why there is no result.
  await opened.page.reload();
  await opened.page.getByRole("button", { name: "Run", exact: true }).click();
  await opened.page.getByRole("button", { name: "Cancel" }).click();
  await opened.page.locator(".result .cm-content", { hasText: "Unauthorized" }).waitFor();
  assert.equal(await opened.page.locator("dialog").count(), 0);
  await guarded.close();
  assert.deepEqual(opened.faults.filter((fault) => !fault.includes("401")), []);
});

/** Waits until the editor knows the schema. */
async function settled() {
  await isReady(page);
}

/** @param {import("playwright-core").Page} of */
async function isReady(of) {
  await of.locator(".query[data-ready]").waitFor();
}

/** The lines of the query. @param {import("playwright-core").Page} of */
async function lines(of) {
  return (await of.locator(".query .cm-line").allInnerTexts()).map((line) => line.trimEnd());
}

/**
 * Opens an example.
 *
 * @param {string} name
 */
async function example(name) {
  await page.locator(".example b", { hasText: new RegExp(`^${name}$`) }).click();
  await page.locator(".tabs .shown", { hasText: name }).waitFor();
}

/**
 * Runs the operation of this name. Gives what the server answers.
 *
 * @param {string} name
 */
async function run(name) {
  const response = page.waitForResponse((answer) => answer.request().postDataJSON()?.operationName === name);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  return (await response).json();
}

/**
 * Replaces what is in an editor, at once: nothing is completed meanwhile.
 *
 * @param {string} text
 * @param {import("playwright-core").Page} [of]
 * @param {string} [place]
 */
async function write(text, of = page, place = ".query") {
  await of.locator(`${place} .cm-content`).click();
  await of.keyboard.press("ControlOrMeta+a");
  await of.keyboard.insertText(text);
}

/** The titles of the tabs. */
function tabs() {
  return page.locator(".tabs .title").allInnerTexts();
}

/** Waits until the editor marks a mistake. */
async function mistakeMarked() {
  await page.locator(".query .cm-lintRange-error").waitFor();
}

/**
 * Waits until the browser keeps this operation in a tab, with its variables.
 *
 * @param {string} name
 */
async function stored(name) {
  await page.waitForFunction((name) => {
    const { tabs } = JSON.parse(localStorage.getItem("catalogql:graphiql:tabState") ?? '{"tabs":[]}');
    return tabs.some((/** @type {any} */ tab) => tab.title === name && tab.variables);
  }, name);
}

/** A promise that the test resolves; `Promise.withResolvers` is not in Node 20. */
function gate() {
  /** @type {(value: unknown) => void} */
  let resolve = () => {};
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}
