// What a page shows while something is amiss: nothing is there yet, the server is gone, content changed, a token is needed, a
// catalog cannot be loaded. In both themes and on three widths, as the other views.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { launch, lookAt, openPage, serveBoth, settled } from "./setup.mjs";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {import("playwright-core").BrowserContext} BrowserContext */

/** @type {{ name: string, search: string, prepare?: (context: BrowserContext) => Promise<unknown>, act: (page: Page) => Promise<unknown>, expected?: RegExp }[]} */
const STATES = [
  { name: "state-loading-list", search: "", prepare: (context) => context.route(/graphql/, () => undefined), act: isLoading },
  { name: "state-loading-package", search: "?catalog=example&package=quillstore", prepare: (context) => context.route(/graphql/, () => undefined), act: isLoading },
  { name: "state-gone", search: "", act: takeAway, expected: /ERR_CONNECTION_REFUSED/ },
  { name: "state-changed", search: "", act: change },
  { name: "state-token", search: "", prepare: guard, act: isAsked, expected: /401/ },
  { name: "state-no-catalogs", search: "", prepare: empty, act: settled },
  { name: "state-no-catalogs-page", search: "?catalogs=1", prepare: empty, act: settled },
  { name: "state-failing", search: "?catalogs=1", act: isFailing },
  { name: "state-refused", search: "?catalog=example&package=quillstore", prepare: refuse, act: isRefused },
];

/** @type {Awaited<ReturnType<typeof serveBoth>>} */
let server;
/** @type {import("playwright-core").Browser} */
let browser;
/** @type {string} */
let faulty;

before(async () => {
  faulty = mkdtempSync(join(tmpdir(), "catalogql-faulty-"));
  writeFileSync(join(faulty, "catalog.json"), "{");
  [server, browser] = await Promise.all([serveBoth([`faulty=${faulty}`]), launch()]);
});

after(async () => {
  await browser?.close();
  server?.end();
  rmSync(faulty, { recursive: true, force: true });
});

for (const { name, search, prepare, act, expected } of STATES) {
  test(`the view ${name} has no barrier and no fault in either theme on any width`, async () => {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: "reduce" });
    await prepare?.(context);
    const { page, faults } = await openPage(context, server.explorer, search);
    await act(page);
    const found = await lookAt(page, name);
    await context.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
    assert.deepEqual([...found, ...faults.filter((fault) => !expected?.test(fault))], []);
  });
}

/** @param {Page} page */
async function isLoading(page) {
  await page.locator("main .loading").first().waitFor();
}

/** The server goes, and the reader asks for something else. @param {Page} page */
async function takeAway(page) {
  await settled(page);
  await page.context().route(/graphql/, (route) => route.abort("connectionrefused"));
  await page.getByRole("radio", { name: /^Only deprecated/ }).check();
  await page.getByRole("alert").filter({ hasText: "The server cannot be reached" }).waitFor();
  await page.getByRole("status").filter({ hasText: "The server does not answer" }).waitFor();
}

/** @param {Page} page */
async function change(page) {
  const digests = page.waitForResponse((response) => response.url().includes("query=query+Digests"));
  await settled(page);
  await digests;
  writeFileSync(join(server.catalog, "newcomer.json"), JSON.stringify({ schema: "olm.package", name: "newcomer", defaultChannel: "stable" }));
  await page.getByRole("status").filter({ hasText: "example has new content." }).waitFor();
}

/** @param {BrowserContext} context */
async function guard(context) {
  await context.route(/graphql/, (route) => route.fulfill({ status: 401, contentType: "text/plain", body: "Unauthorized" }));
}

/** @param {Page} page */
async function isAsked(page) {
  await page.getByRole("dialog", { name: "A token is needed" }).waitFor();
}

/** A server without catalogs. @param {BrowserContext} context */
async function empty(context) {
  const lists = ["catalogs", "categories", "providers", "capabilityLevels", "installModes", "infrastructureFeatures", "keywords", "architectures", "olmV1", "certified", "deprecated"];
  const facets = Object.fromEntries(lists.map((name) => [name, []]));
  const data = {
    Packages: { packages: { totalCount: 0, pageInfo: { hasNextPage: false, endCursor: null }, edges: [], facets } },
    Catalogs: { catalogStatuses: [] },
  };
  await context.route(/graphql/, (route) => {
    const operation = /^query (\w+)/.exec(new URL(route.request().url()).searchParams.get("query") ?? "")?.[1];
    if (operation !== "Packages" && operation !== "Catalogs") return route.fallback();
    return route.fulfill({ contentType: "application/graphql-response+json", body: JSON.stringify({ data: data[operation] }) });
  });
}

/** A catalog that the signature policy refuses. @param {BrowserContext} context */
async function refuse(context) {
  await context.route(/graphql/, async (route) => {
    const query = new URL(route.request().url()).searchParams.get("query") ?? "";
    if (!/^query Package\b/.test(query)) return route.fallback();
    const response = await route.fetch();
    const body = await response.json();
    const reason = { code: "SIGNATURE_MISSING", message: "`quay.io/example/catalog:v1` has no signature" };
    body.data.package.catalog.verification = { state: "REFUSED", reason };
    return route.fulfill({ response, json: body });
  });
}

/** @param {Page} page */
async function isRefused(page) {
  await settled(page);
  await page.getByText("The signature policy refuses the image of this catalog").waitFor();
  await page.getByText("SIGNATURE_MISSING").waitFor();
}

/** @param {Page} page */
async function isFailing(page) {
  await settled(page);
  await page.getByText("It cannot be loaded").waitFor();
}
