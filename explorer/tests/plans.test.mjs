// Plans for the platform in the browser: an upgrade from version to version, packages side by side, and mirror sets.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { launch, lookAt, openPage, serveBoth, settled } from "./setup.mjs";

const PLATFORM = join(import.meta.dirname, "../../examples/platform");
const WIDTHS = [1400, 820, 390, 320];
const BY_HAND = "installed=inkwell@2.0.0&installed=quillstore@1.0.0:stable&installed=papermill@4.16.1:4.16";

/** Most bytes of the parts that one of these pages needs beside those of the list, compressed. */
const PAGE_BYTES = 20_000;

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

before(async () => {
  const versions = ["4.16", "4.17", "4.18"].map((version) => `redhat-v${version}=${join(PLATFORM, version)}`);
  [server, browser] = await Promise.all([serveBoth(versions), launch()]);
});

after(async () => {
  await browser?.close();
  server?.end();
});

beforeEach(async () => {
  context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: "reduce" });
  faults = [];
});

afterEach(async () => {
  await context.close();
  assert.deepEqual(faults, []);
});

/** @param {string} search */
async function open(search) {
  ({ page, faults } = await openPage(context, server.explorer, search));
  await settled(page);
}

/** The cells of each row of a table. @param {string} name */
function rows(name) {
  return page.getByRole("table", { name }).locator("tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => /** @type {HTMLElement} */ (cell).innerText.replace(/\s+/g, " ").trim())));
}

/** A Subscription with the operator that it installed. @param {string} packageName @param {string} version @param {string} channel @param {string} [approval] */
function subscribed(packageName, version, channel, approval = "Automatic") {
  const name = `${packageName}.v${version}`;
  return [
    { kind: "ClusterServiceVersion", metadata: { name, namespace: "stationery", labels: { [`operators.coreos.com/${packageName}.stationery`]: "" } }, spec: { version } },
    { kind: "Subscription", metadata: { name: packageName, namespace: "stationery" }, spec: { name: packageName, channel, installPlanApproval: approval }, status: { installedCSV: name } },
  ];
}

test("a plan by hand says what to do in which order, as the command line does", async () => {
  await open(`?upgrade-plan=1&from=4.16&to=4.18&${BY_HAND}`);
  await page.getByRole("heading", { name: "OpenShift 4.18 can be reached" }).waitFor();
  assert.deepEqual(await page.locator(".plan-order li").evaluateAll((items) => items.map((item) => /** @type {HTMLElement} */ (item).innerText.replace(/\s+/g, " ").trim())), [
    "Wait for the upgrade of quillstore from 1.0.0 to 1.1.0 quillstore.v1.0.0 supports OpenShift up to 4.16, not OpenShift 4.17",
    "Upgrade the platform to OpenShift 4.17",
    "Switch papermill to channel 4.17 papermill has no channel 4.16 in the catalogs of OpenShift 4.17 (redhat-v4.17)",
    "Wait for the upgrade of quillstore from 1.1.0 to 1.2.0 quillstore.v1.1.0 supports OpenShift up to 4.17, not OpenShift 4.18",
    "Wait for the upgrade of papermill from 4.16.1 to 4.17.2 papermill.v4.16.1 supports OpenShift up to 4.17, not OpenShift 4.18",
    "Upgrade the platform to OpenShift 4.18",
  ]);
  assert.deepEqual(await rows("Packages of the plan"), [
    ["papermill", "4.16.1", "Switches", "4.17.2 in 4.17", "switch to channel 4.17, 1 upgrade"],
    ["quillstore", "1.0.0", "Follows", "1.2.0 in stable", "2 upgrades"],
    ["inkwell", "2.0.0", "Stays", "2.0.0 in stable", "Not said for OpenShift 4.17, OpenShift 4.18."],
  ]);
  await page.getByText("- maximum supported OCP version for /quillstore.v1.0.0 is 4.16").waitFor();
});

test("a plan that is blocked says where the way ends and why", async () => {
  await open("?upgrade-plan=1&from=4.17&to=4.18&installed=sealer@0.9.0");
  await page.getByRole("heading", { name: "No step leads on from OpenShift 4.17" }).waitFor();
  const [row = []] = await rows("Packages of the plan");
  assert.deepEqual(row.slice(0, 3), ["sealer", "0.9.0", "Blocked"]);
  assert.match(row[4] ?? "", /^It supports only lower versions of OpenShift: .*the vendor must publish one/);
});

test("a plan for the objects of the cluster is asked for by keyboard, and they stay out of the address", async () => {
  await open("?openshift=4.16");
  await page.keyboard.press("g");
  await page.keyboard.press("u");
  await page.getByRole("heading", { name: "Upgrade the platform" }).waitFor();
  assert.equal(await page.getByLabel("From version").inputValue(), "4.16");
  await page.getByRole("button", { name: "Paste the objects of my cluster" }).press("Enter");
  const items = [...subscribed("quillstore", "1.0.0", "stable", "Manual"), ...subscribed("papermill", "4.16.1", "4.16")];
  await page.getByRole("textbox", { name: "Installed operators, as JSON" }).fill(JSON.stringify({ kind: "List", items }));
  await page.getByText("2 operators found.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByLabel("To version").fill("4.17");
  await page.keyboard.press("Enter");
  await page.getByText("Approve the upgrade of quillstore from 1.0.0 to 1.1.0").waitFor();
  assert.deepEqual((await rows("Packages of the plan")).map(([name, , verdict]) => [name, verdict]), [
    ["papermill in stationery", "Switches"],
    ["quillstore in stationery", "Follows"],
  ]);
  assert.equal(new URL(page.url()).search, "?upgrade-plan=1&to=4.17&openshift=4.16");
  await page.getByRole("checkbox", { name: "2 operators of my cluster" }).uncheck();
  await page.getByRole("heading", { name: "What is installed?" }).waitFor();
});

test("a package is added by hand and removed, and the address holds it", async () => {
  await open("?upgrade-plan=1&from=4.16&to=4.17");
  await page.getByText("Add a package by hand").click();
  await page.getByLabel("Package").fill("inkwell");
  await page.getByLabel("Installed version").fill("2.0.0");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "OpenShift 4.17 can be reached" }).waitFor();
  assert.equal(new URL(page.url()).search, "?upgrade-plan=1&from=4.16&to=4.17&installed=inkwell@2.0.0");
  await page.getByRole("button", { name: "Remove inkwell 2.0.0" }).click();
  await page.getByRole("heading", { name: "What is installed?" }).waitFor();
});

test("versions between which there is no way, and catalogs that are not there, are said", async () => {
  await open("?upgrade-plan=1&from=4.18&to=4.16&installed=inkwell@2.0.0");
  await page.getByText("It goes backwards from 4.18 to 4.16.").waitFor();
  await open("?upgrade-plan=1&from=4.18&to=4.19&installed=inkwell@2.1.0");
  await page.getByRole("heading", { name: "Which catalogs does OpenShift 4.19 read?" }).waitFor();
  await page.getByText("Catalogs of OpenShift 4.19: none").click();
  await page.locator("details[open]").getByLabel("redhat-v4.18").check();
  await page.getByRole("heading", { name: "OpenShift 4.19 can be reached" }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get("step"), "4.19=redhat-v4.18");
});

test("the mirror set of a plan has the versions that it goes through", async () => {
  await open(`?upgrade-plan=1&from=4.16&to=4.18&${BY_HAND}`);
  await page.getByRole("link", { name: "Mirror set of redhat-v4.17: 2 packages" }).click();
  await page.getByRole("heading", { name: "Mirror set of redhat-v4.17", level: 1 }).waitFor();
  await page.getByRole("heading", { name: "2 bundles and 2 images of 2 packages" }).waitFor();
  assert.deepEqual(await rows("Bundles of the mirror set"), [
    ["papermill", "4.17.2", "in the range of 4.17"],
    ["quillstore", "1.2.0", "in the range of stable"],
  ]);
});

test("packages stand side by side, with a mark for what happens to each", async () => {
  await open("?matrix=1");
  assert.deepEqual(await rows("Packages side by side"), [
    ["inkwell Same channels", "stable 2.0.0", "stable 2.1.0", "stable 2.1.0"],
    ["papermill No common channel", "4.16 4.16.1 up to 4.17", "4.17 4.17.2 another default up to 4.18", "4.18 4.18.0 another default 1 other channel, not all in every catalog"],
    ["quillstore Same channels", "stable 1.1.0 up to 4.17", "stable 1.2.0 up to 4.18", "stable 1.2.0 up to 4.18"],
    ["sealer Bars the next version", "stable 0.9.0 up to 4.17", "stable 0.9.0 up to 4.17 only", "stable 1.0.0 up to 4.18"],
  ]);
  await page.keyboard.press("/");
  await page.keyboard.type("er");
  await page.getByRole("status").filter({ hasText: "2 packages" }).waitFor();
  await page.getByLabel("Show").selectOption({ label: "Bars the next version (1)" });
  await page.getByRole("status").filter({ hasText: "1 package" }).waitFor();
  assert.equal(new URL(page.url()).search, "?matrix=1&q=er&mark=barred");
  await page.getByRole("link", { name: "sealer" }).click();
  await page.waitForURL("**/?catalog=redhat-v4.18&package=sealer");
});

test("a package that a later catalog does not have is gone, and catalogs are in the order of their versions", async () => {
  await open("?matrix=1&in=example&in=redhat-v4.17&q=inkwell");
  await page.getByText("Gone").first().waitFor({ state: "attached" });
  await page.getByText("Catalogs: example, redhat-v4.17").click();
  await page.getByLabel("redhat-v4.16").check();
  await page.waitForURL(/in=redhat-v4.16&in=redhat-v4.17&in=example/);
  await settled(page);
  assert.deepEqual((await rows("Packages side by side"))[0], ["inkwell Gone", "stable 2.0.0", "stable 2.1.0", "not there"]);
});

test("a mirror set is chosen by package, channel and range, and its files are saved", async () => {
  await open("?catalogs=1&catalog=example");
  await page.getByRole("link", { name: "Mirror a part" }).click();
  await page.getByRole("heading", { name: "Which packages?" }).waitFor();
  await page.getByLabel("Package").fill("quillstore");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "quillstore" }).getByText("Channels: every channel").click();
  await page.getByLabel("stable · default · 1.4.0").check();
  await page.getByLabel("Lowest").fill("1.2.0");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "3 bundles and 9 images of 1 package" }).waitFor();
  assert.equal(new URL(page.url()).searchParams.get("pick"), "quillstore:stable@1.2.0..");
  assert.deepEqual((await rows("Bundles of the mirror set")).map(([, version, why]) => [version, why]), [
    ["1.2.0 Deprecated", "in the range of stable"],
    ["1.2.1", "in the range of stable"],
    ["1.4.0", "in the range of stable"],
  ]);
  await page.getByText("oc-mirror: does not mirror these images").waitFor();
  const saving = page.waitForEvent("download");
  await page.getByRole("region", { name: "Files" }).getByRole("button", { name: "Download" }).click();
  const saved = await saving;
  assert.equal(saved.suggestedFilename(), "example-imageset.yaml");
  assert.match(readFileSync(await saved.path(), "utf8"), /kind: ImageSetConfiguration[^]*minVersion: "1\.2\.0"/);
  await page.getByLabel("Registry to copy to").fill("mirror.example.com/olm");
  await page.keyboard.press("Enter");
  await page.getByText("kind: ImageDigestMirrorSet").waitFor();
});

test("a mirror set by need has the way from what is installed, and what has no way is refused", async () => {
  await open("?mirror=1&catalog=example&pick=quillstore:stable@1.1.0>1.4.0");
  await page.getByRole("cell", { name: "installed" }).first().waitFor();
  await open("?mirror=1&catalog=example&pick=quillstore@2.0.0-rc.1>1.0.0");
  await page.getByRole("heading", { name: "This selection is refused" }).waitFor();
  await page.getByText("STRANDED").waitFor();
});

test("a page of these loads no more than its budget", async () => {
  for (const search of [`?upgrade-plan=1&from=4.16&to=4.18&${BY_HAND}`, "?matrix=1", "?mirror=1&catalog=example&pick=quillstore"]) {
    /** @type {Promise<number>[]} */
    const sizes = [];
    const fresh = await browser.newContext();
    fresh.on("response", (response) => {
      const { pathname } = new URL(response.url());
      if (pathname.startsWith("/assets/") && !pathname.startsWith("/assets/index-")) sizes.push(response.request().sizes().then(({ responseBodySize }) => responseBodySize));
    });
    const opened = await openPage(fresh, server.explorer, search);
    await settled(opened.page);
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    await fresh.close();
    assert.ok(bytes > 0 && bytes <= PAGE_BYTES, `${search}: ${bytes}`);
  }
});

for (const [name, search] of Object.entries({
  "plan-empty": "?upgrade-plan=1",
  plan: `?upgrade-plan=1&from=4.16&to=4.18&${BY_HAND}&installed=sealer@0.9.0`,
  "plan-unknown": "?upgrade-plan=1&from=4.17&to=4.18&installed=nothing@1.0.0",
  matrix: "?matrix=1",
  "matrix-one": "?matrix=1&in=example",
  "matrix-hostile": "?matrix=1&in=hostile&in=example",
  mirror: "?mirror=1&catalog=example&pick=quillstore:stable@1.1.0..1.4.0!&pick=lampglow&to=mirror.example.com/olm&openshift=4.18",
  "mirror-empty": "?mirror=1",
  "mirror-hostile": "?mirror=1&catalog=hostile&pick=hostile-operator&to=mirror.example.com",
  "mirror-refused": "?mirror=1&catalog=hostile&pick=broken@0.9.0>1.1.0&pick=none",
})) {
  test(`the view ${name} has no barrier and no fault in either theme on any width`, async () => {
    await open(search);
    await page.locator("main details").evaluateAll((all) => all.forEach((each) => (/** @type {HTMLDetailsElement} */ (each).open = true)));
    assert.deepEqual(await lookAt(page, name, WIDTHS), []);
  });
}
