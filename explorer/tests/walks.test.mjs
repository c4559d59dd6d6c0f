// What a reader does: by keyboard and pointer, forth and back, while the server goes and comes, and content changes.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { launch, openPage, serve, serveBoth, settled } from "./setup.mjs";

/** Most bytes of the parts that the page of a package needs beside those of the list, compressed. */
const PACKAGE_BYTES = 35_000;

/**
 * The same with its update graph and the comparison of two versions. The wish was 35,000 for all of this: Markdown alone takes
 * 17,000, the graph 10,000.
 */
const ALL_PACKAGE_BYTES = 48_000;

/** @type {Awaited<ReturnType<typeof serveBoth>>} */
let server;
/** @type {import("playwright-core").Browser} */
let browser;
/** @type {import("playwright-core").BrowserContext} */
let context;
/** @type {import("playwright-core").Page} */
let page;
/** @type {string[]} */
let faults;
/** Pages that know what is served, and follow how that changes. @type {Set<import("playwright-core").Page>} */
let following;

before(async () => {
  [server, browser] = await Promise.all([serveBoth(), launch()]);
});

after(async () => {
  await browser?.close();
  server?.end();
});

beforeEach(async () => {
  context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  following = new Set();
  context.on("response", (response) => {
    if (response.url().includes("query=query+Digests")) following.add(response.frame().page());
  });
  ({ page, faults } = await openPage(context, server.explorer));
  await settled(page);
});

afterEach(async () => {
  await context.close();
  assert.deepEqual(faults, []);
});

test("the first page takes four requests and its icon", async () => {
  const fresh = await browser.newContext();
  /** @type {string[]} */
  const requests = [];
  fresh.on("request", (request) => requests.push(new URL(request.url()).pathname.replace(/-[^/]+\./, ".")));
  const opened = await openPage(fresh, server.explorer);
  await opened.page.locator(".tile").first().waitFor();
  const beforeIcons = requests.filter((path) => !path.startsWith("/icons/") && !path.endsWith(".svg"));
  assert.deepEqual(beforeIcons.sort(), ["/", "/assets/index.css", "/assets/index.js", "/graphql"]);
  await fresh.close();
  assert.deepEqual(opened.faults, []);
});

test("the page of a package loads no more than its budget, also with its update graph and a comparison", async (t) => {
  /** @type {Promise<number>[]} */
  const sizes = [];
  context.on("response", (response) => {
    const isPart = new URL(response.url()).pathname.startsWith("/assets/");
    if (isPart) sizes.push(response.request().sizes().then(({ responseBodySize }) => responseBodySize));
  });
  await page.getByRole("checkbox", { name: /^example/ }).check();
  await page.locator('.tile a[href*="quillstore"]').click();
  await page.waitForURL(/package=/);
  await settled(page);
  const bytes = async () => (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  const overview = await bytes();
  assert.ok(overview > 0 && overview <= PACKAGE_BYTES, `${overview}`);
  await page.getByRole("link", { name: "Updates" }).click();
  await page.locator("[data-row]").first().waitFor();
  await page.getByRole("link", { name: "Versions", exact: true }).click();
  await page.getByRole("link", { name: /Compare with/ }).first().click();
  await page.waitForURL(/from=.*to=/);
  await settled(page);
  const all = await bytes();
  t.diagnostic(`${overview} bytes, and ${all} with the update graph and a comparison`);
  assert.ok(all > overview && all <= ALL_PACKAGE_BYTES, `${all}`);
});

test("search is in the address, and the count follows", async () => {
  await page.keyboard.press("/");
  await page.keyboard.type("quillstore");
  await page.getByRole("status").filter({ hasText: /^1 package$/ }).waitFor();
  assert.equal(new URL(page.url()).search, "?q=quillstore");
  assert.equal(await focusedId(), "search");
  assert.equal(await page.title(), "quillstore · Packages · Operator catalogs");
  await page.getByRole("searchbox", { name: "Search packages" }).fill("");
  await page.getByRole("status").filter({ hasText: /^1\d\d packages$/ }).waitFor();
  assert.equal(new URL(page.url()).search, "");
});

test("a filter is a chip that takes it back", async () => {
  await page.getByRole("checkbox", { name: /^example/ }).check();
  await page.getByRole("status").filter({ hasText: /^5 packages$/ }).waitFor();
  assert.equal(new URL(page.url()).search, "?in=example");
  await page.getByRole("radio", { name: /^Without deprecated/ }).check();
  await page.getByRole("status").filter({ hasText: /^4 packages$/ }).waitFor();
  await page.getByRole("link", { name: "Remove the filter Catalog: example" }).click();
  await page.getByRole("status").filter({ hasText: /^1\d\d packages$/ }).waitFor();
  assert.equal(new URL(page.url()).search, "?deprecated=no");
  await page.goBack();
  await page.getByRole("status").filter({ hasText: /^4 packages$/ }).waitFor();
});

test("tiles are walked by keys, and the way back leads to the one that was left", async () => {
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("ArrowDown");
  const tile = await page.evaluate(() => document.activeElement?.getAttribute("href"));
  assert.match(tile ?? "", /^\?catalog=/);
  await page.keyboard.press("Enter");
  await page.waitForURL(/package=/);
  await settled(page);
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");
  await page.goBack();
  await page.waitForFunction((href) => document.activeElement?.getAttribute("href") === href, tile);
});

test("the end of the list brings more, and the way back finds as many", async () => {
  await page.getByRole("checkbox", { name: /^hostile/ }).check();
  await page.getByRole("status").filter({ hasText: /^134 packages$/ }).waitFor();
  const last = page.locator('.tile a[href*="plain-129"]');
  await page.waitForFunction(() => {
    scrollTo(0, document.documentElement.scrollHeight);
    return document.querySelectorAll(".tile").length === 134;
  });
  await last.scrollIntoViewIfNeeded();
  const depth = await page.evaluate(() => scrollY);
  assert.ok(depth > 3000, `${depth}`);
  await last.click();
  await page.waitForURL(/package=plain-129/);
  await settled(page);
  assert.equal(await page.evaluate(() => scrollY), 0);
  await page.goBack();
  await page.waitForFunction((depth) => Math.abs(scrollY - depth) < 50, depth);
});

test("no key does anything in a field, or when keys are switched off", async () => {
  await page.keyboard.press("/");
  await page.keyboard.type("gc?");
  assert.equal(await page.getByRole("searchbox", { name: "Search packages" }).inputValue(), "gc?");
  await page.getByRole("button", { name: "Help" }).click();
  await page.getByRole("checkbox", { name: "Single-key shortcuts" }).uncheck();
  await page.keyboard.press("Escape");
  await page.locator("h1").click();
  await page.keyboard.press("?");
  assert.equal(await page.getByRole("dialog").count(), 0);
  await page.getByRole("button", { name: "Help" }).click();
  await page.getByRole("checkbox", { name: "Single-key shortcuts" }).check();
  await page.keyboard.press("Escape");
  await page.locator("h1").click();
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await page.getByRole("heading", { name: "Catalogs", level: 1 }).waitFor();
});

test("the theme is remembered and there before anything is shown", async () => {
  await page.getByRole("button", { name: "Theme: system" }).click();
  await page.getByRole("button", { name: "Theme: light" }).click();
  await page.getByRole("button", { name: "Theme: dark" }).waitFor();
  await page.reload();
  const colours = () => page.evaluate(() => ["--page", "--text"].map((token) => {
    const probe = document.body.appendChild(document.createElement("p"));
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  }));
  assert.deepEqual(await colours(), ["rgb(21, 21, 21)", "rgb(242, 242, 242)"]);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.getByRole("button", { name: "Theme: dark" }).click();
  await page.getByRole("button", { name: "Theme: system" }).click();
  await page.getByRole("button", { name: "Theme: light" }).waitFor();
  assert.deepEqual(await colours(), ["rgb(242, 242, 242)", "rgb(21, 21, 21)"]);
});

test("content that changes meanwhile is announced, and shown when the reader wants it", async () => {
  await poll(() => following.has(page));
  const blob = { schema: "olm.package", name: "newcomer", defaultChannel: "stable" };
  const file = join(server.catalog, "newcomer.json");
  writeFileSync(file, JSON.stringify(blob));
  const bar = page.getByRole("status").filter({ hasText: "example has new content." });
  await bar.waitFor();
  assert.equal(await page.locator('.tile a[href*="newcomer"]').count(), 0);
  await bar.getByRole("button", { name: "Show what is served now" }).click();
  await page.getByRole("status").filter({ hasText: /^140 packages$/ }).waitFor();
  await bar.waitFor({ state: "detached" });
  rmSync(file);
});

test("a page that was opened in the background says what changed before it was looked at", async () => {
  const background = await browser.newContext();
  await background.addInitScript(() => {
    let isHidden = true;
    Object.defineProperty(document, "hidden", { get: () => isHidden });
    Object.assign(window, {
      look() {
        isHidden = false;
        dispatchEvent(new Event("visibilitychange"));
      },
    });
  });
  const digests = background.waitForEvent("response", (response) => response.url().includes("query=query+Digests"));
  const opened = await openPage(background, server.explorer);
  await digests;
  await poll(() => following.has(page));
  // Not a file of before: with that, the catalog may be again what the other page shows.
  const file = join(server.catalog, "latecomer.json");
  writeFileSync(file, JSON.stringify({ schema: "olm.package", name: "latecomer", defaultChannel: "stable" }));
  // This page follows what is served, and says when it changes.
  await page.getByRole("status").filter({ hasText: "example has new content." }).waitFor();
  await opened.page.evaluate(() => /** @type {any} */ (window).look());
  await opened.page.getByRole("status").filter({ hasText: "example has new content." }).waitFor();
  rmSync(file);
  await background.close();
  assert.deepEqual(opened.faults, []);
});

test("a server that is gone and back costs the reader nothing", async (t) => {
  const first = await serve();
  t.after(first.end);
  const opened = await openPage(context, first.explorer);
  await settled(opened.page);
  await poll(() => following.has(opened.page));
  first.end();
  await opened.page.getByRole("status").filter({ hasText: "The server does not answer" }).waitFor();
  await opened.page.getByRole("radio", { name: /^Only deprecated/ }).check();
  await opened.page.getByRole("alert").filter({ hasText: "The server cannot be reached" }).waitFor();
  assert.equal(await opened.page.locator(".tile").count(), 5);
  const second = await serve({ port: Number(new URL(first.explorer).port) });
  t.after(second.end);
  await opened.page.getByRole("status").filter({ hasText: /^1 package$/ }).waitFor();
  await opened.page.getByRole("alert").waitFor({ state: "detached" });
  await opened.page.getByRole("status").filter({ hasText: "The server does not answer" }).waitFor({ state: "detached" });
  assert.deepEqual(opened.faults.filter((fault) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED/.test(fault)), []);
});

test("a server that is gone for a minute is asked less and less often, and what the reader has stays", async () => {
  const patient = await browser.newContext();
  await patient.clock.install();
  const opened = await openPage(patient, server.explorer);
  await settled(opened.page);
  const isFollowing = opened.page.waitForResponse((response) => response.url().includes("query=query+Digests"));
  await patient.clock.runFor(3000);
  await isFollowing;
  // Its stream ends, and no other one begins.
  await opened.page.route(/\/graphql/, (route) => route.abort("connectionrefused"));
  let attempts = 0;
  opened.page.on("requestfailed", () => attempts++);
  await opened.page.getByRole("radio", { name: /^Only deprecated/ }).check();
  const bar = opened.page.getByRole("status").filter({ hasText: "The server does not answer" });
  await bar.waitFor();
  for (let second = 0; second < 60; second++) await patient.clock.runFor(1000);
  assert.ok(attempts >= 5 && attempts <= 10, `${attempts} attempts`);
  assert.equal(await opened.page.locator(".tile").count(), 60);
  await opened.page.unroute(/\/graphql/);
  await bar.getByRole("button", { name: "Try now" }).click();
  await opened.page.getByRole("status").filter({ hasText: /^3 packages$/ }).waitFor();
  await bar.waitFor({ state: "detached" });
  await patient.close();
  assert.deepEqual(opened.faults.filter((fault) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED/.test(fault)), []);
});

test("a catalog that is withdrawn stays on the page until the reader wants what is served now", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "catalogql-explorer-"));
  const configuration = join(folder, "catalogql.yaml");
  writeFileSync(configuration, `sources:\n- {name: fleeting, source: ${server.hostile}}\n`);
  const other = await serve({ flags: ["--config", configuration] });
  t.after(() => {
    other.end();
    rmSync(folder, { recursive: true });
  });
  const opened = await openPage(context, other.explorer, "?catalogs=1&catalog=fleeting");
  await opened.page.getByRole("heading", { name: "fleeting", level: 1 }).waitFor();
  await poll(() => following.has(opened.page));
  writeFileSync(configuration, "sources: []\n");
  const bar = opened.page.getByRole("status").filter({ hasText: "fleeting is no longer served" });
  await bar.waitFor();
  assert.equal(await opened.page.getByRole("heading", { name: "Contents" }).count(), 1);
  await bar.getByRole("button", { name: "Show what is served now" }).click();
  await opened.page.getByRole("heading", { name: "No catalog fleeting is served" }).waitFor();
  assert.deepEqual(opened.faults.filter((fault) => !fault.includes("ERR_INCOMPLETE_CHUNKED")), []);
});

test("a server that executes trusted documents only knows those of the explorer", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "catalogql-explorer-"));
  const documents = join(folder, "documents.json");
  writeFileSync(documents, JSON.stringify({ names: "{ catalogs { name } }" }));
  const strict = await serve({ flags: ["--documents", documents, "--trusted-only"] });
  t.after(() => {
    strict.end();
    rmSync(folder, { recursive: true });
  });
  const opened = await openPage(context, strict.explorer);
  await opened.page.getByRole("status").filter({ hasText: /^5 packages$/ }).waitFor();
  await opened.page.locator('.tile a[href*="quillstore"]').click();
  for (const tab of ["Updates", "Versions", "Contents", "Install"]) {
    await settled(opened.page);
    await opened.page.getByRole("navigation", { name: "Package" }).getByRole("link", { name: tab }).click();
  }
  await settled(opened.page);
  // What cannot be opened there is not offered.
  await opened.page.getByRole("link", { name: /playground/i }).first().waitFor({ state: "detached" });
  assert.equal(await opened.page.getByRole("alert").count(), 0);
  assert.deepEqual(opened.faults.filter((fault) => !fault.includes("ERR_INCOMPLETE_CHUNKED")), []);
});

test("from the list to a comparison and back, each by the keyboard", async () => {
  await page.keyboard.press("/");
  await page.keyboard.type("quillstore");
  await page.getByRole("status").filter({ hasText: /^1 package$/ }).waitFor();
  await page.getByRole("searchbox", { name: "Search packages" }).blur();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/package=quillstore/);
  await settled(page);
  await page.keyboard.press("]");
  await page.keyboard.press("]");
  await page.waitForURL(/tab=versions/);
  const compare = page.getByRole("link", { name: /Compare with/ }).first();
  await compare.focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/from=.*to=/);
  await settled(page);
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");
  await page.goBack();
  await page.waitForFunction(() => /Compare with/.test(document.activeElement?.textContent ?? ""));
});

test("nothing that has the focus is under the head, down the list and up again", async () => {
  await press("j");
  for (let step = 0; step < 40; step++) await stepBy("Tab");
  for (let step = 0; step < 40; step++) await stepBy("Shift+Tab");
});

test("why something is deprecated is shown beside the link that has the focus, and nowhere else", async () => {
  await page.goto(`${server.explorer}?catalog=example&package=relaybox&bundle=relaybox.v2.7.0`);
  await settled(page);
  const tips = page.locator(".tip").filter({ visible: true });
  await press("Tab");
  assert.equal(await focusedText(), "Skip to the content");
  await press("Enter");
  assert.equal(await focusedId(), "main");
  assert.equal(await tips.count(), 0);
  const link = page.locator("tbody th").getByRole("link", { name: "stable-v2" });
  await tabTo(link);
  assert.deepEqual(await tips.allInnerTexts(), ["Version 2 gets no fixes after 2026-12-31. Switch to stable-v3; it upgrades 2.7 directly."]);
  // All of it, although its row is the last one of a table that scrolls.
  assert.deepEqual(await tips.evaluate(corners), [true, true, true, true]);
  await press("Tab");
  assert.equal(await tips.count(), 0);
  await link.locator("xpath=..").locator(".badge.deprecated").hover();
  assert.deepEqual(await tips.evaluate(corners), [true, true, true, true]);
});

test("a tile says whether the package is deprecated or its default channel", async () => {
  await context.route(/query=query\+Packages/, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    for (const { node } of json.data.packages.edges) {
      if (node.name !== "quillstore") continue;
      node.defaultChannel.deprecation = { message: "Use another." };
    }
    return route.fulfill({ response, json });
  });
  const opened = await openPage(context, server.explorer, "?in=example");
  await settled(opened.page);
  const badges = await opened.page.locator(".tile:has(.badge.deprecated)").evaluateAll((tiles) =>
    tiles.map((tile) => [tile.querySelector(".name")?.textContent, tile.querySelector(".badge.deprecated")?.firstChild?.textContent, tile.querySelector(".tip")?.textContent]),
  );
  assert.deepEqual(badges, [
    ["lampglow", "Deprecated", "Lampglow is no longer developed. Its lamps live on in the console of your platform."],
    ["quillstore", "Deprecated channel", "Channel stable: Use another."],
  ]);
  assert.deepEqual(opened.faults, []);
});

test("catalogs are walked by the keyboard, and the way back leads to the one that was left", async () => {
  await press("g", "c");
  await arrived("Catalogs");
  await press("j", "j");
  assert.equal(await focusedText(), "hostile");
  await press("Enter");
  await arrived("hostile");
  await tabTo(page.getByRole("link", { name: "134 packages" }));
  await tabTo(page.getByRole("button", { name: "Copy the digest" }).first());
  await press("j");
  assert.equal(await focusedText(), "hostile-operator");
  await press("Enter");
  await page.waitForURL(/package=hostile-operator&tab=problems/);
  await page.goBack();
  await page.waitForFunction(() => document.activeElement?.textContent === "hostile-operator");
  await page.goBack();
  await page.waitForFunction(() => document.activeElement?.textContent === "hostile");
});

test("two contents are chosen and compared by the keyboard", async () => {
  await press("g", "c");
  await arrived("Catalogs");
  await tabTo(page.getByRole("link", { name: "Compare contents" }));
  await press("Enter");
  await arrived("Compare contents");
  await tabTo(page.getByLabel("From"));
  await press("e");
  await page.waitForURL(/from=example/);
  await tabTo(page.getByLabel("To"));
  await press("h");
  await page.waitForURL(/from=example&to=hostile/);
  await page.getByRole("status").filter({ hasText: /^139 packages differ/ }).waitFor();
  await tabTo(page.locator("summary").first());
  await press("ArrowDown", "ArrowUp", "Enter");
  await page.locator("details[open] .within").getByText("broken.v1.1.0").waitFor();
  await press("j");
  assert.match((await focusedText()) ?? "", /hostile-operator/);
  await page.goBack();
  await page.waitForURL((url) => !url.search.includes("to="));
  await page.getByRole("heading", { name: "Choose two contents" }).waitFor();
});

test("what would be installed is asked and followed by the keyboard", async () => {
  await press("g", "r");
  await arrived("What would be installed");
  await tabTo(page.getByLabel("Package"));
  await page.keyboard.type("lampglow");
  await press("Enter");
  await page.getByText("would be installed.", { exact: true }).waitFor();
  assert.match(page.url(), /resolve=1&name=lampglow/);
  await tabTo(page.getByRole("group", { name: "Channels" }).getByRole("checkbox").first());
  await press("Space");
  await page.waitForURL(/channel=/);
  await tabTo(page.getByRole("group", { name: "Catalogs" }).getByRole("checkbox", { name: /^example/ }));
  await press("Space");
  await page.waitForURL(/in=example/);
  const chosen = page.getByRole("row", { name: /Chosen$/ }).getByRole("link");
  await tabTo(chosen);
  const version = await chosen.innerText();
  await press("Enter");
  await arrived(`Lampglow dashboard ${version}`);
  await page.goBack();
  await page.waitForFunction((version) => document.activeElement?.textContent === version, version);
  assert.equal(await page.getByLabel("Package").inputValue(), "lampglow");
  // From the first field back to the rules, of which an arrow chooses the others.
  await page.getByRole("radio", { name: /^OLM v1/ }).focus();
  await press("ArrowDown");
  await page.waitForURL(/olm=v0/);
  await page.getByRole("heading", { name: "1 bundle would be installed" }).waitFor();
});

test("who provides an API is found by the keyboard", async () => {
  await page.goto(`${server.explorer}?catalog=example&package=quillstore`);
  await settled(page);
  await tabTo(page.getByRole("link", { name: "Database", exact: true }).first());
  await press("Enter");
  await page.waitForURL(/api=/);
  await arrived("Database");
  const versions = page.locator("main .tag");
  const heads = await versions.count();
  await tabTo(page.getByRole("checkbox", { name: /^All versions/ }));
  await press("Space");
  await page.waitForFunction((heads) => document.querySelectorAll("main .tag").length > heads, heads);
  await press("Tab", "j");
  assert.equal(await focusedText(), "Quillstore");
  await press("Enter");
  await arrived("Quillstore");
  await page.goBack();
  await page.waitForFunction(() => document.activeElement?.textContent === "Quillstore");
});

test("a server that wants to know who asks gets the token that the reader gives, and icons and changes are asked for with it", async () => {
  const guarded = await browser.newContext();
  /** @type {Set<string>} */
  const authorized = new Set();
  await guarded.route(/\/(graphql|icons\/)/, (route) => {
    const request = route.request();
    if (request.headers().authorization !== "Bearer opensesame") return route.fulfill({ status: 401, contentType: "text/plain", body: "Unauthorized" });
    authorized.add(request.headers().accept?.startsWith("text/event-stream") ? "changes" : new URL(request.url()).pathname.split("/")[1] ?? "");
    return route.fallback();
  });
  const opened = await openPage(guarded, server.explorer, "?in=example");
  await opened.page.getByRole("dialog", { name: "A token is needed" }).waitFor();
  // What no header can carry is not sent, and the page says why.
  await opened.page.getByLabel("Bearer token").fill("open sesame…");
  await opened.page.getByRole("button", { name: "Use the token" }).click();
  const field = opened.page.getByLabel("Bearer token");
  const fault = await field.evaluate((input) => /** @type {HTMLInputElement} */ (input).validationMessage);
  assert.equal(fault, "A token has letters, digits and signs of ASCII only, and no spaces.");
  await field.fill(" wrong\t");
  await opened.page.getByRole("button", { name: "Use the token" }).click();
  await opened.page.getByText("The token was not accepted.").waitFor();
  await opened.page.getByLabel("Bearer token").fill("opensesame");
  await opened.page.getByRole("button", { name: "Use the token" }).click();
  await opened.page.getByRole("status").filter({ hasText: /^5 packages$/ }).waitFor();
  await opened.page.waitForFunction(() => document.querySelector('.tile img[src^="blob:"]'));
  const stored = await opened.page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }) + location.href + document.cookie);
  assert.ok(!stored.includes("opensesame"));
  await opened.page.waitForFunction(() => !document.querySelector("dialog[open]"));
  await poll(() => authorized.has("changes"));
  assert.deepEqual([...authorized].sort(), ["changes", "graphql", "icons"]);
  await guarded.close();
  assert.deepEqual(opened.faults.filter((fault) => !fault.includes("401")), []);
});

/** Waits until something holds. @param {() => boolean} holds */
async function poll(holds) {
  const end = Date.now() + 20_000;
  while (!holds()) {
    assert.ok(Date.now() < end, "it does not come to hold");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The id of the element that has the focus. */
function focusedId() {
  return page.evaluate(() => document.activeElement?.id);
}

/** @param {string[]} keys */
async function press(...keys) {
  for (const key of keys) await page.keyboard.press(key);
}

/** Waits until a page is there whose heading has the focus. @param {string} title */
async function arrived(title) {
  await page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
  await settled(page);
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");
}

/** Goes on by Tab until an element has the focus. Whatever has it on the way is in sight. @param {import("playwright-core").Locator} target */
async function tabTo(target) {
  const passed = [];
  while (passed.length < 200) {
    passed.push(await stepBy("Tab"));
    if (await target.evaluate((element) => element === document.activeElement)) return;
  }
  assert.fail(`Tab does not lead there, but to ${passed.join(", ")}`);
}

/** Presses a key that moves the focus, and tells what has it then, which is in sight. @param {string} key */
async function stepBy(key) {
  await page.keyboard.press(key);
  const { text, isSeen } = await page.evaluate(focusSeen);
  assert.ok(isSeen, `the focus cannot be seen: ${text}`);
  return text;
}

/** What has the focus, and whether some of it is in the window with nothing before it. */
function focusSeen() {
  const focused = document.activeElement ?? document.body;
  const text = `${focused.tagName} ${focused.textContent?.slice(0, 40)}`;
  if (focused === document.body) return { text, isSeen: true };
  const isSeen = [...focused.getClientRects()].some(({ left, right, top, bottom }) => {
    const [x, y] = [(Math.max(left, 0) + Math.min(right, innerWidth)) / 2, (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2];
    const there = document.elementFromPoint(x, y);
    // A label belongs to its field.
    return focused.contains(there) || Boolean(there?.closest("label")?.contains(focused));
  });
  return { text, isSeen };
}

/** The text of the element that has the focus. */
function focusedText() {
  return page.evaluate(() => document.activeElement?.textContent);
}

/** Whether what is seen at each corner of an element is the element. @param {Element} element */
function corners(element) {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  // They are round.
  const [from, to, above, below] = [left + 8, right - 8, top + 8, bottom - 8];
  return [[from, above], [to, above], [from, below], [to, below]].map(([x = 0, y = 0]) => element.contains(document.elementFromPoint(x, y)));
}
