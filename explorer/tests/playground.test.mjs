// Every view opens in the playground what it asked the server itself.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { minified } from "../src/minified.mjs";
import { launch, lookAt, openPage, serveBoth, settled } from "./setup.mjs";

const PACKAGE = "catalog=example&package=quillstore";
const VERSIONS = "from=quillstore.v1.2.0&to=quillstore.v1.4.0";

/** Each view with the operations that it opens. */
const VIEWS = [
  { search: "", operations: ["Packages"] },
  { search: "?q=store&in=example&deprecated=no&sort=new", operations: ["Packages"] },
  { search: "?package=plain-001", operations: ["Package"] },
  { search: "?package=none", operations: ["PackageCatalogs"] },
  { search: `?${PACKAGE}`, operations: ["Package"] },
  { search: `?${PACKAGE}&channel=stable&version=1.2.0`, operations: ["Package"] },
  { search: `?${PACKAGE}&tab=updates`, operations: ["PackageVersions"] },
  { search: `?${PACKAGE}&tab=versions`, operations: ["PackageVersions"] },
  { search: `?${PACKAGE}&tab=contents`, operations: ["BundleContents"] },
  { search: `?${PACKAGE}&tab=install`, operations: ["Package"] },
  { search: "?catalog=hostile&package=broken&tab=problems", operations: ["Problems"] },
  { search: "?catalog=example&package=none", operations: ["Package"] },
  { search: `?${PACKAGE}&bundle=quillstore.v1.2.0`, operations: ["Bundle"] },
  { search: `?${PACKAGE}&bundle=none`, operations: ["Bundle"] },
  { search: `?${PACKAGE}&${VERSIONS}`, operations: ["Compare"] },
  { search: "?resolve=1", operations: ["ResolveForm"] },
  { search: "?resolve=1&name=quillstore&installed=quillstore.v1.2.0", operations: ["Resolve"] },
  { search: "?resolve=1&olm=v0&name=nightjar&installed=quillstore.v1.2.0", operations: ["Solve"] },
  { search: "?api=quillstore.example.org/Quillstore", operations: ["Api"] },
  { search: "?catalogs=1", operations: ["Catalogs"] },
  { search: "?catalogs=1&catalog=hostile", operations: ["Catalog", "Problems"] },
  { search: "?catalogs=1&catalog=none", operations: ["Catalog"] },
  { search: "?diff=1", operations: ["DiffSides"] },
  { search: "?diff=1&from=example&to=hostile", operations: ["Diff"] },
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

for (const { search, operations } of VIEWS) {
  test(`the view ${search || "?"} opens its very queries in the playground`, async () => {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    /** @type {string[]} */
    const asked = [];
    context.on("request", (request) => {
      const url = new URL(request.url());
      if (url.pathname === "/graphql") asked.push(requestText(url.searchParams));
    });
    const { page, faults } = await openPage(context, server.explorer, search);
    await settled(page);
    // A package that only one catalog has leads on to its page there.
    await page.locator("main a.to-playground").nth(operations.length - 1).waitFor();
    const links = await page.locator("main a.to-playground").evaluateAll((links) => links.map((link) => /** @type {HTMLAnchorElement} */ (link).href));
    await context.close();
    const opened = links.map((link) => new URL(link));
    assert.deepEqual(opened.map(({ pathname }) => pathname), operations.map(() => "/playground/"));
    assert.deepEqual(opened.map(({ searchParams }) => /^query (\w+)/.exec(searchParams.get("query") ?? "")?.[1]), operations);
    for (const { searchParams } of opened) assert.ok(asked.includes(requestText(searchParams)), `${searchParams} is not in ${asked.join("\n")}`);
    assert.deepEqual(faults, []);
  });
}

test("the playground shows the query of the view that was left for it, and its response once the reader runs it", async () => {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const { page, faults } = await openPage(context, server.explorer, `?${PACKAGE}&bundle=quillstore.v1.2.0`);
  /** @type {string[]} */
  const sent = [];
  page.on("request", (request) => sent.push(request.postData() ?? ""));
  await page.getByRole("link", { name: "Open in the playground" }).click();
  await page.waitForURL(/\/playground\//);
  await page.locator(".query[data-ready] .cm-line", { hasText: "query Bundle(" }).waitFor();
  assert.deepEqual(sent.filter((body) => body.includes("query Bundle(")), []);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator(".result .cm-content", { hasText: '"quillstore.v1.2.0"' }).waitFor();
  await context.close();
  assert.deepEqual(faults, []);
});

/** A request as text, so that equal ones are equal. @param {URLSearchParams} parameters */
function requestText(parameters) {
  return `${minified(parameters.get("query") ?? "").trim()} ${JSON.stringify(JSON.parse(parameters.get("variables") ?? "{}"))}`;
}

for (const [name, search] of Object.entries({ first: "", linked: "?query=query+Names{catalogs{name}}" })) {
  test(`the playground has no barrier and no fault in either theme on any width: ${name} visit`, async () => {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: "reduce" });
    const { page, faults } = await openPage(context, server.address, search);
    await page.locator(".query[data-ready] .cm-line").first().waitFor();
    if (!search) await page.locator(".result .cm-content", { hasText: '"lampglow"' }).waitFor();
    const found = await lookAt(page, `playground-${name}`);
    await context.close();
    assert.deepEqual([...found, ...faults], []);
  });
}

for (const panel of ["Documentation", "History", "Examples", "Query builder"]) {
  test(`the playground has no barrier and no fault with an open panel: ${panel}`, async () => {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: "reduce" });
    const { page, faults } = await openPage(context, server.address, "?query=query+Names{catalogs{name}}");
    await page.locator(".query[data-ready] .cm-line").first().waitFor();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("button", { name: "Headers" }).click();
    await page.getByRole("button", { name: panel }).click();
    await page.getByRole("region", { name: panel }).getByRole("button").nth(1).waitFor();
    const found = await lookAt(page, `playground-${panel.toLowerCase()}`);
    await context.close();
    assert.deepEqual([...found, ...faults], []);
  });
}
