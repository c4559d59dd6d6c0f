// Much of everything: a thousand packages in three catalogs, forty catalogs, and a session of ten minutes in which the server
// is restarted, its content changes, and a token expires.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { launch, lookAt, openPage, serve, settled } from "./setup.mjs";

/** Packages of which each of three catalogs has its own third, and a third of which is in all of them. */
const PACKAGES = 1000;

/** Tiles of the first page of a list. */
const PAGE = 40;

/** Small catalogs, beside the example. */
const CATALOGS = 40;

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {import("playwright-core").BrowserContext} */
let context;
/** @type {string} */
let folder;
/** @type {(() => void)[]} */
let ends;

before(async () => {
  browser = await launch();
  folder = mkdtempSync(join(tmpdir(), "catalogql-many-"));
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  ends = [];
  context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
});

afterEach(async () => {
  await context.close();
  for (const end of ends) end();
});

/** Writes a catalog of packages of one version, and returns how it is named to the server. @param {string} name @param {readonly string[]} packages */
function written(name, packages) {
  mkdirSync(join(folder, name));
  const blobs = packages.flatMap((each) => [
    { schema: "olm.package", name: each, defaultChannel: "stable", description: `The package ${each}.` },
    { schema: "olm.channel", package: each, name: "stable", entries: [{ name: `${each}.v1.0.0` }] },
    {
      schema: "olm.bundle",
      package: each,
      name: `${each}.v1.0.0`,
      image: `registry.example.org/${each}:1`,
      properties: [{ type: "olm.package", value: { packageName: each, version: "1.0.0" } }],
    },
  ]);
  writeFileSync(join(folder, name, "catalog.json"), blobs.map((blob) => JSON.stringify(blob)).join("\n"));
  return `${name}=${join(folder, name)}`;
}

/** @param {number} port @param {string[]} [flags] */
async function served(port, flags) {
  const server = await serve({ port, ...(flags && { flags }) });
  ends.push(server.end);
  return server;
}

test("a thousand packages in three catalogs are counted, searched and read to their end, each as one tile", async () => {
  const names = Array.from({ length: PACKAGES }, (_, at) => `operator-${String(at).padStart(4, "0")}`);
  const flags = [0, 1, 2].map((catalog) => written(`third-${catalog}`, names.filter((_, at) => at % 4 === 3 || at % 4 === catalog)));
  const server = await served(0, flags);
  const { page, faults } = await openPage(context, server.explorer, "?in=third-0&in=third-1&in=third-2");
  await page.getByRole("status").filter({ hasText: "1,500 packages" }).waitFor();
  // The tiles of the first page are made in a few paintings; the next page comes when the reader scrolls.
  await page.locator(".tile").nth(PAGE - 1).waitFor();
  assert.equal(await page.locator(".tile").count(), PAGE);
  await page.locator(".tile").filter({ hasText: "operator-0003" }).getByText("in 3 catalogs").waitFor();
  await page.waitForFunction((all) => {
    scrollTo(0, document.documentElement.scrollHeight);
    return document.querySelectorAll(".tile").length === all;
  }, PACKAGES);
  const tiles = await page.locator(".tile .name").allInnerTexts();
  assert.deepEqual(tiles, names);
  await page.getByRole("searchbox", { name: "Search packages" }).fill("operator-0777");
  await page.getByRole("status").filter({ hasText: /^1 package$/ }).waitFor();
  assert.deepEqual(faults, []);
});

test("forty catalogs fit their filter, one tile and the page of catalogs", async () => {
  const flags = Array.from({ length: CATALOGS }, (_, at) => written(`catalog-${String(at).padStart(2, "0")}`, ["everywhere", `only-${at}`]));
  const server = await served(0, flags);
  const { page, faults } = await openPage(context, server.explorer, "?q=everywhere");
  await page.locator(".tile").getByText(`in ${CATALOGS} catalogs`).waitFor();
  const catalogs = page.getByRole("group", { name: "Catalog" });
  assert.equal(await catalogs.getByRole("checkbox").count(), 8);
  await catalogs.getByRole("button", { name: `Show all ${CATALOGS} of Catalog` }).click();
  assert.equal(await catalogs.getByRole("checkbox").count(), CATALOGS);
  assert.deepEqual(await lookAt(page, "forty-catalogs-list"), []);
  await page.setViewportSize({ width: 1400, height: 900 });
  await catalogs.getByRole("checkbox", { name: "catalog-37" }).check();
  await page.getByRole("status").filter({ hasText: /^1 package$/ }).waitFor();
  await page.locator(".tile a").first().click();
  await page.waitForURL(/catalog=catalog-37&package=everywhere/);
  const all = await openPage(context, server.explorer, "?package=everywhere");
  await settled(all.page);
  assert.equal(await all.page.locator("main [data-item]").count(), CATALOGS);
  assert.deepEqual(await lookAt(all.page, "forty-catalogs-package"), []);
  const list = await openPage(context, server.explorer, "?catalogs=1");
  await settled(list.page);
  assert.equal(await list.page.locator("main [data-item]").count(), CATALOGS + 1);
  assert.deepEqual(await lookAt(list.page, "forty-catalogs"), []);
  assert.deepEqual([...faults, ...all.faults, ...list.faults], []);
});

test("a session of ten minutes outlives a change of content, a restart of the server, and a token", async () => {
  const first = await served(0);
  await context.clock.install();
  let accepted = "morning";
  let queries = 0;
  let isFollowing = false;
  await context.route(/\/(graphql|icons\/)/, (route) => {
    if (new URL(route.request().url()).pathname === "/graphql") queries++;
    if (route.request().headers().authorization !== `Bearer ${accepted}`) return route.fulfill({ status: 401, contentType: "text/plain", body: "Unauthorized" });
    return route.fallback();
  });
  context.on("response", (response) => {
    if (response.url().includes("query=query+Digests") && response.ok()) isFollowing = true;
  });
  const { page, faults } = await openPage(context, first.explorer, "?sort=name");
  const give = async (/** @type {string} */ token) => {
    await page.getByRole("dialog", { name: "A token is needed" }).waitFor();
    await page.getByLabel("Bearer token").fill(token);
    await page.getByRole("button", { name: "Use the token" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  /** @param {number} count */
  const minutes = async (count) => {
    for (let second = 0; second < count * 60; second += 10) await page.clock.runFor(10_000);
  };
  const changed = page.getByRole("status").filter({ hasText: "example has new content." });
  const showChange = () => changed.getByRole("button", { name: "Show what is served now" }).click();
  /** @param {RegExp} text */
  const status = (text) => page.getByRole("status").filter({ hasText: text }).waitFor();
  await give("morning");
  await status(/^5 packages$/);
  for (let tries = 0; !isFollowing; tries++) {
    assert.ok(tries < 100, "the page does not follow what is served");
    await page.clock.runFor(500);
  }

  // Nothing happens, so nothing is asked.
  const before = queries;
  await minutes(3);
  assert.equal(queries, before);

  writeFileSync(join(first.catalog, "newcomer.json"), JSON.stringify({ schema: "olm.package", name: "newcomer", defaultChannel: "stable" }));
  await changed.waitFor();
  await showChange();
  await status(/^6 packages$/);
  await minutes(2);

  first.end();
  await status(/^The server does not answer/);
  await minutes(1);
  assert.equal(await page.locator(".tile").count(), 6);
  // The second server has the catalog as it was at first.
  await served(Number(new URL(first.explorer).port));
  await page.getByRole("button", { name: "Try now" }).click();
  await changed.waitFor();
  await showChange();
  await status(/^5 packages$/);
  await minutes(2);

  accepted = "evening";
  await page.getByRole("searchbox", { name: "Search packages" }).fill("quillstore");
  await give("evening");
  await status(/^1 package$/);
  await minutes(2);
  assert.equal(new URL(page.url()).search, "?q=quillstore&sort=name");
  assert.equal(await page.getByRole("alert").count(), 0);
  assert.equal(await page.getByRole("dialog").count(), 0);
  assert.deepEqual(faults.filter((fault) => !/401|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED/.test(fault)), []);
});
