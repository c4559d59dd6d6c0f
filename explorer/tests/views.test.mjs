// Every view in both themes and on three widths: no barrier, nothing beyond the edge, no word on the console, no request
// to elsewhere. What was seen is in `dist/screenshots`.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { launch, lookAt, openPage, serveBoth, settled } from "./setup.mjs";


/**
 * @typedef {object} View
 * @property {string} name
 * @property {string} search
 * @property {(page: import("playwright-core").Page) => Promise<unknown>} [act] What is done before it is looked at.
 * @property {(page: import("playwright-core").Page) => Promise<unknown>} [prepare] What is done before it is opened.
 * @property {RegExp} [expected] Faults that belong to the view.
 */

const HOSTILE = "catalog=hostile&package=hostile-operator";
const PACKAGE = "catalog=example&package=quillstore";

/** @type {View[]} */
const VIEWS = [
  { name: "list", search: "" },
  { name: "list-filtered", search: "?q=certificates&in=example&deprecated=no" },
  { name: "list-empty", search: "?q=nothing-is-called-this&category=Database" },
  { name: "list-unknown-value", search: "?level=NO_LEVEL" },
  { name: "list-deprecated", search: "?deprecated=only" },
  { name: "list-refused", search: "?q=refused", prepare: refuse, expected: /400/ },
  { name: "list-filters", search: "", act: (page) => openFilters(page) },
  { name: "help", search: "", act: (page) => page.keyboard.press("?") },
  { name: "catalogs", search: "?catalogs=1" },
  { name: "catalog-invalid", search: "?catalogs=1&catalog=hostile" },
  { name: "catalog", search: "?catalogs=1&catalog=example" },
  { name: "catalog-missing", search: "?catalogs=1&catalog=none" },
  { name: "diff-empty", search: "?diff=1" },
  { name: "diff", search: "?diff=1&from=example&to=hostile", act: (page) => page.locator("summary").first().click() },
  { name: "diff-unknown", search: `?diff=1&from=sha256:${"0".repeat(64)}&to=example` },
  { name: "package", search: `?${PACKAGE}` },
  { name: "package-hostile", search: `?${HOSTILE}` },
  { name: "package-updates", search: `?${PACKAGE}&tab=updates` },
  { name: "package-versions", search: `?${PACKAGE}&tab=versions` },
  { name: "package-contents", search: `?${HOSTILE}&tab=contents` },
  { name: "package-install", search: `?${PACKAGE}&tab=install` },
  { name: "package-problems", search: "?catalog=hostile&package=broken&tab=problems" },
  { name: "package-missing", search: "?catalog=example&package=quilstore" },
  { name: "package-missing-anywhere", search: "?package=quilstore" },
  { name: "package-anywhere", search: "?package=quillstore" },
  { name: "version", search: `?${HOSTILE}&bundle=hostile-operator.v1.0.0` },
  { name: "compare", search: `?catalog=hostile&package=broken&from=broken.v1.0.0&to=broken.v1.1.0` },
  { name: "resolve", search: "?resolve=1" },
  { name: "resolve-answer", search: "?resolve=1&name=quillstore" },
  { name: "resolve-bad-range", search: "?resolve=1&name=quillstore&version=x.y" },
  { name: "resolve-unknown-version", search: "?resolve=1&name=quillstore&installed=9.9.9" },
  { name: "api", search: "?api=hostile.example/Hostile" },
];

/** @type {Awaited<ReturnType<typeof serveBoth>>} */
let server;
/** @type {import("playwright-core").Browser} */
let browser;

before(async () => {
  [server, browser] = await Promise.all([serveBoth(), launch()]);
});

after(async () => {
  await browser?.close();
  server?.end();
});

for (const view of VIEWS) {
  test(`the view ${view.name} has no barrier and no fault in either theme on any width`, async () => {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: "reduce" });
    const { page, faults } = await open(context, view);
    const found = await lookAt(page, view.name);
    await context.close();
    const { expected } = view;
    assert.deepEqual([...found, ...faults.filter((fault) => !expected?.test(fault))], []);
  });
}

/**
 * @param {import("playwright-core").BrowserContext} context
 * @param {View} view
 */
async function open(context, { search, act, prepare }) {
  if (prepare) {
    const page = await context.newPage();
    await prepare(page);
    await page.close();
  }
  const opened = await openPage(context, server.explorer, search);
  await settled(opened.page);
  await act?.(opened.page);
  await settled(opened.page);
  return opened;
}

/** Refuses what the list asks. @param {import("playwright-core").Page} page */
async function refuse(page) {
  const errors = [{ message: "the request costs 123,456 units, at most 100,000 are allowed", extensions: { code: "COST_TOO_HIGH" } }];
  const body = JSON.stringify({ errors });
  await page.context().route(/graphql\?query=query\+Packages/, (route) =>
    route.fulfill({ status: 400, contentType: "application/graphql-response+json", body }),
  );
}

/** @param {import("playwright-core").Page} page */
async function openFilters(page) {
  await page.setViewportSize({ width: 390, height: 900 });
  await page.getByRole("button", { name: "Filters" }).click();
}
