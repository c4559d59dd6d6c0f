// States of packages that are rare: refused, deprecated, invalid, hostile. In both themes and on three widths they
// have no barrier, nothing beyond the edge, no word on the console, and nothing of a catalog is executed.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { launch, lookAt, openPage, serveBoth, settled } from "./setup.mjs";

const EXAMPLE = join(import.meta.dirname, "../../examples/catalog");

/** A catalog whose bundles have their manifests. */
const PREVIEW = join(import.meta.dirname, "../../examples/preview");

/** @typedef {import("playwright-core").Page} Page */

/** An installed bundle that much has come after. */
const OLD = "quillstore.v1.0.0@1.0.0";

/** @type {{ name: string, search: string, act?: (page: Page) => Promise<unknown>, refused?: boolean }[]} */
const VIEWS = [
  { name: "package-refused", search: "?catalog=example&package=quillstore", refused: true },
  { name: "package-version-missing", search: "?catalog=example&package=quillstore&version=9.9.9" },
  {
    name: "package-install-hostile",
    search: "?catalog=hostile&package=hostile-operator&tab=install",
    act: openDetails,
  },
  { name: "package-permissions", search: "?catalog=preview&package=beacon&tab=permissions", act: compareAndOpen },
  { name: "package-permissions-missing", search: "?catalog=example&package=quillstore&tab=permissions" },
  { name: "package-updates-selected", search: "?catalog=example&package=quillstore&tab=updates", act: select },
  { name: "package-updates-invalid", search: "?catalog=hostile&package=broken&tab=updates", act: select },
  {
    name: "version-deprecated",
    search: "?catalog=example&package=quillstore&bundle=quillstore.v1.2.0",
    act: openDetails,
  },
  { name: "version-missing", search: "?catalog=example&package=quillstore&bundle=none" },
  {
    name: "compare-changed",
    search: "?catalog=example&package=quillstore&from=quillstore.v1.2.0&to=quillstore.v2.0.0-rc.1",
    act: openDetails,
  },
  { name: "compare-missing", search: "?catalog=example&package=quillstore&from=quillstore.v1.2.0&to=none" },
  { name: "resolve-ambiguous", search: "?resolve=1&name=quillstore&channel=stable" },
  { name: "resolve-deprecated", search: "?resolve=1&name=hostile-operator", act: openDetails },
  { name: "resolve-similar", search: "?resolve=1&name=quilstore" },
  { name: "resolve-cluster", search: "?resolve=1&name=quillstore&in=example&openshift=4.20&architecture=amd64" },
  { name: "solve", search: "?resolve=1&olm=v0&name=nightjar&channel=stable&in=example" },
  { name: "solve-conflict", search: `?resolve=1&olm=v0&name=nightjar&channel=stable&in=example&installed=${OLD}` },
  { name: "solve-upgrade", search: `?resolve=1&olm=v0&name=quillstore&in=example&installed=${OLD}`, act: openDetails },
  { name: "solve-nothing", search: "?resolve=1&olm=v0&name=quillstore&channel=stable&in=example&installed=quillstore.v1.4.0" },
  { name: "solve-refused", search: "?resolve=1&olm=v0&name=broken&in=none" },
  { name: "solve-hostile", search: "?resolve=1&olm=v0&name=hostile-operator&in=hostile" },
  { name: "api-unknown", search: "?api=example.com/None" },
];

/** @type {Awaited<ReturnType<typeof serveBoth>>} */
let server;
/** @type {import("playwright-core").Browser} */
let browser;

before(async () => {
  [server, browser] = await Promise.all([serveBoth([`twin=${EXAMPLE}`, `preview=${PREVIEW}`]), launch()]);
});

after(async () => {
  await browser?.close();
  server?.end();
});

for (const { name, search, act, refused } of VIEWS) {
  test(`the view ${name} has no barrier and no fault in either theme on any width`, async () => {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: "reduce" });
    if (refused) await context.route(/graphql\?query=query\+Package/, refuse);
    const { page, faults } = await openPage(context, server.explorer, search);
    await settled(page);
    await act?.(page);
    await settled(page);
    const found = await lookAt(page, name);
    await context.close();
    assert.deepEqual([...found, ...faults.filter((fault) => !refused || !fault.includes("400"))], []);
  });
}

/** @param {import("playwright-core").Route} route */
function refuse(route) {
  const errors = [
    { message: "the request costs 123,456 units, at most 100,000 are allowed", extensions: { code: "COST_TOO_HIGH" } },
  ];
  return route.fulfill({
    status: 400,
    contentType: "application/graphql-response+json",
    body: JSON.stringify({ errors }),
  });
}

/** Opens what can be opened. @param {Page} page */
async function openDetails(page) {
  await page.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
}

/** Compares with the version before, and opens every object. @param {Page} page */
async function compareAndOpen(page) {
  await page.getByLabel("Compared with").selectOption({ label: "1.0.0" });
  await page.getByRole("heading", { name: "Changes" }).waitFor();
  await openDetails(page);
}

/** Selects the second version of an update graph. @param {Page} page */
async function select(page) {
  await page.locator("[data-row]").nth(1).click();
}

test("permissions are those of the version that is shown, with what it may do beyond another version", async () => {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const { page, faults } = await openPage(context, server.explorer, "?catalog=preview&package=beacon&tab=permissions");
  const risks = page.locator("section", { has: page.getByRole("heading", { name: "Risks" }) });
  await risks.getByText("It may read Secrets of the cluster, or of namespaces other than its own.").waitFor();
  assert.deepEqual(await page.locator("table", { hasText: "secrets" }).getByRole("row").allInnerTexts(), [
    "May\tOn",
    "get, list, watch, update\tsignals, signals/status of beacon.example.com",
    "get, list\tdeployments of apps",
    "get, list, watch\tsecrets",
  ]);
  await compareAndOpen(page);
  const changes = page.locator("section", { has: page.getByRole("heading", { name: "Changes" }) });
  assert.deepEqual(await changes.getByRole("listitem").allInnerTexts(), [
    "READS_SECRETS",
    "get, list, watch secrets",
    "quay.io/example/beacon:v1.1.0",
    "quay.io/example/beacon:v1.0.0",
    "signals.beacon.example.com: version v1beta1 is no longer served",
  ]);
  await page.getByRole("group", { name: /^ClusterRole beacon/ }).getByText("kind: ClusterRole").waitFor();
  await page.goto(`${server.explorer}?catalog=preview&package=beacon&tab=permissions&version=1.0.0`);
  await page.getByText("Its service accounts have none of the rights that need a second look.").waitFor();
  await page.goto(`${server.explorer}?catalog=example&package=quillstore&tab=permissions`);
  await page.getByRole("heading", { name: "The manifests are not here" }).waitFor();
  await page.getByText("which a server fetches only with --bundle-images").waitFor();
  await context.close();
  assert.deepEqual(faults, []);
});
