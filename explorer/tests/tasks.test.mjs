// What a reader wants to know: which package runs on my cluster, what is installed by which manifest, how do I get to a version.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { launch, lookAt, openPage, serveBoth, settled } from "./setup.mjs";

const EXAMPLE = join(import.meta.dirname, "../../examples/catalog");

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
  [server, browser] = await Promise.all([serveBoth([`twin=${EXAMPLE}`]), launch()]);
});

after(async () => {
  await browser?.close();
  server?.end();
});

beforeEach(async () => {
  context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
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

/** The operators of a cluster, as kubectl prints them. @param {string} version */
function objects(version) {
  const labels = { "operators.coreos.com/quillstore.operators": "" };
  const metadata = { name: `quillstore.v${version}`, namespace: "operators", labels };
  return JSON.stringify({ kind: "List", items: [{ kind: "ClusterServiceVersion", metadata, spec: { version } }] });
}

test("a search offers the kinds of APIs that it begins", async () => {
  await open("?q=backupp");
  await page.getByRole("link", { name: "API BackupPlan (nightjar.example.net): 2 provide, 0 need it" }).click();
  await page.getByRole("heading", { name: "BackupPlan", level: 1 }).waitFor();
});

test("a search whose words find little together says what is found without one of them", async () => {
  await open("?q=quillstore+nothingatall&in=example");
  await page.getByRole("status").filter({ hasText: "0 packages" }).waitFor();
  await page.getByRole("link", { name: "Without “nothingatall”: 1 package" }).click();
  await page.getByRole("status").filter({ hasText: /^1 package$/ }).waitFor();
  assert.equal(new URL(page.url()).search, "?q=quillstore&in=example");
});

test("a package that several catalogs have is one tile, and a switch shows one for each", async () => {
  await open("?q=quillstore");
  const tiles = page.locator('.tile a[href*="package=quillstore"]');
  assert.equal(await tiles.count(), 1);
  await page.getByText("in 2 catalogs").waitFor();
  await page.getByRole("checkbox", { name: "A tile for each catalog" }).check();
  await page.waitForFunction(() => document.querySelectorAll('.tile a[href*="package=quillstore"]').length === 2);
  assert.equal(new URL(page.url()).search, "?q=quillstore&each=catalog");
  await page.getByRole("checkbox", { name: "A tile for each catalog" }).uncheck();
  await page.waitForFunction(() => document.querySelectorAll('.tile a[href*="package=quillstore"]').length === 1);
  await tiles.click();
  await page.getByRole("link", { name: "twin", exact: true }).click();
  await page.waitForURL("**/?catalog=twin&package=quillstore");
});

test("tile and head name the highest version where the default channel has another", async () => {
  await open("?q=quillstore&in=example");
  await page.locator(".tile").filter({ hasText: "1.4.0newest 2.0.0-rc.1" }).waitFor();
  await open("?catalog=example&package=quillstore");
  await page.getByRole("link", { name: "newest 2.0.0-rc.1" }).click();
  await page.waitForURL(/version=2.0.0-rc.1/);
  await open("?catalog=example&package=lampglow");
  assert.equal(await page.getByText(/^newest/).count(), 0);
});

test("beside a ClusterExtension stands what it installs now, and a click keeps it at a version", async () => {
  await open("?catalog=hostile&package=split-channels");
  await page.getByRole("link", { name: "Install" }).first().click();
  const extension = page.locator("section").filter({ hasText: "OLM v1: ClusterExtension" });
  await extension.getByText("Installs 2.0.0 now, from next of hostile, not the 1.0.0 shown above.").waitFor();
  await extension.getByRole("button", { name: "Pin 1.0.0" }).click();
  await extension.getByText("Installs 1.0.0 now, from stable of hostile.").waitFor();
  assert.match((await extension.locator("pre").textContent()) ?? "", /\n {6}version: "1\.0\.0"\n/);
  const subscription = page.locator("section").filter({ hasText: "OLM v0: Subscription" });
  await subscription.getByText("Installs 1.0.0 now, from stable of hostile.").waitFor();
  await subscription.getByRole("button", { name: "Begin with the head" }).click();
  await subscription.getByText("Installs split-channels.v1.0.0 now, from stable of hostile.").waitFor();
  assert.doesNotMatch((await subscription.locator("pre").textContent()) ?? "", /startingCSV/);
});

test("a ClusterExtension that would install nothing says so, and a click keeps it at a version", async () => {
  await open("?catalog=example&package=quillstore&tab=install");
  const extension = page.locator("section").filter({ hasText: "OLM v1: ClusterExtension" });
  await extension.getByText("Installs nothing now: the best bundle has dependencies.").waitFor();
  await extension.getByRole("button", { name: "Pin 1.4.0" }).click();
  await extension.getByText("Installs 1.4.0 now, from candidate, stable of example.").waitFor();
});

test("a platform fills in the names of its catalogs, and the namespace comes along on request", async () => {
  await open("?catalog=example&package=quillstore&tab=install");
  await page.getByRole("radio", { name: "OpenShift" }).check();
  const subscription = page.locator("section").filter({ hasText: "OLM v0: Subscription" });
  assert.equal(await subscription.getByLabel("Namespace of the CatalogSource").inputValue(), "openshift-marketplace");
  await subscription.getByLabel("Namespace", { exact: true }).fill("quill");
  await subscription.getByRole("checkbox", { name: "With its Namespace and OperatorGroup" }).check();
  const text = (await subscription.locator("pre").textContent()) ?? "";
  assert.deepEqual([...text.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => kind), ["Namespace", "OperatorGroup", "Subscription"]);
  const saving = page.waitForEvent("download");
  await subscription.getByRole("button", { name: "Download" }).click();
  const saved = await saving;
  assert.equal(saved.suggestedFilename(), "quillstore-subscription.yaml");
  assert.equal(readFileSync(await saved.path(), "utf8"), text);
  await page.reload();
  await settled(page);
  assert.ok(await page.getByRole("radio", { name: "OpenShift" }).isChecked());
});

test("the reader's cluster is in the address, is remembered, and leaves out what does not run there", async () => {
  await open("?in=example");
  await page.getByRole("button", { name: "My cluster" }).click();
  await page.getByLabel("OpenShift").fill("new");
  await page.getByLabel("OpenShift").press("Tab");
  await page.getByText("“new” is not a version such as 4.18.").waitFor();
  await page.getByLabel("Architecture").selectOption("s390x");
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Runs on s390x: show packages for every cluster" }).waitFor();
  assert.equal(new URL(page.url()).search, "?in=example&architecture=s390x");
  const few = await page.locator(".tile").count();
  await open("");
  assert.equal(new URL(page.url()).search, "?architecture=s390x");
  await open("?in=example&architecture=amd64");
  await page.getByRole("button", { name: "Runs on amd64: show packages for every cluster" }).click();
  await page.getByRole("status").filter({ hasText: /^5 packages$/ }).waitFor();
  assert.ok(few < 5, `${few}`);
  assert.equal(new URL(page.url()).search, "?in=example");
});

test("a version that does not run on the cluster is marked, with the highest that does", async () => {
  await open("?catalog=example&package=quillstore&architecture=s390x");
  await page.getByText("not for s390x").waitFor();
  await page.getByText("no version is").waitFor();
});

test("what is installed is read in the browser, stays out of the address, and marks tiles and packages", async () => {
  await open("?q=quillstore");
  /** @type {string[]} */
  const sent = [];
  page.on("request", (request) => sent.push(request.url() + (request.postData() ?? "")));
  await page.getByRole("button", { name: "My cluster" }).click();
  const field = page.getByRole("textbox", { name: "Installed operators, as JSON" });
  await field.fill("kind: List\nitems: []");
  await page.getByText(/It looks like YAML: use -o json/).waitFor();
  await field.fill(objects("1.2.0"));
  await page.getByText("1 operator found.").waitFor();
  await page.getByText("Deprecated in use").first().waitFor();
  await page.getByRole("button", { name: "Done" }).click();
  await page.locator(".tile").filter({ hasText: "installed 1.2.0" }).filter({ hasText: "update 2.0.0-rc.1" }).waitFor();
  assert.equal(new URL(page.url()).search, "?q=quillstore");
  assert.ok(!sent.some((text) => text.includes("operators.coreos.com")));
  await open("?catalog=example&package=quillstore");
  await page.getByText("installed 1.2.0").waitFor();
  await page.getByRole("button", { name: "My cluster: 1 installed" }).click();
  await page.getByRole("button", { name: "Forget what is installed" }).click();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "My cluster", exact: true }).waitFor();
});

test("the advisor shows the upgrades to the wanted version", async () => {
  await open("?catalog=example&package=quillstore&tab=updates");
  await page.getByLabel("Installed").selectOption({ label: "1.0.0" });
  await page.getByText("3 upgrades from 1.0.0 to 2.0.0-rc.1.").waitFor();
  await page.getByLabel("Wanted").selectOption({ label: "1.4.0" });
  await page.getByText("2 upgrades from 1.0.0 to 1.4.0.").waitFor();
  assert.deepEqual(await page.locator(".advice-steps a").allTextContents(), ["1.1.0", "1.4.0"]);
  assert.equal(new URL(page.url()).search, "?catalog=example&package=quillstore&tab=updates&installed=quillstore.v1.0.0&wanted=quillstore.v1.4.0");
});

test("the advisor shows where upgrades end, and what leads across", async () => {
  await open("?catalog=hostile&package=broken&tab=updates&installed=broken.v0.9.0");
  await page.getByText("No upgrade leads on from 0.9.0.").waitFor();
  await page.getByText("No upgrade leads from 0.9.0 to 1.0.0, the first version from which 1.1.0 can be reached. It replaces nothing.").waitFor();
  await page.getByRole("link", { name: "OLM v1 would install it" }).click();
  await page.getByText("would be installed.").waitFor();
});

test("the advisor says of a version that no channel has that it has none", async () => {
  await open("?catalog=example&package=quillstore&tab=updates&installed=none");
  await page.getByText("No channel of this catalog has none.").waitFor();
});

test("packages are filtered by what their authors say of certificates and architectures", async () => {
  await open("?in=example");
  await page.getByRole("button", { name: "Certified", exact: true }).click();
  const certified = page.getByRole("group", { name: "Certified" });
  await certified.getByText("4 say nothing.").waitFor();
  await certified.getByRole("radio", { name: "Not certified" }).check();
  await page.waitForURL("**/?in=example&certified=no");
  await page.getByRole("link", { name: "Remove the filter Certified: no" }).click();
  await page.getByRole("button", { name: "Architecture", exact: true }).click();
  await page.getByRole("group", { name: "Architecture" }).getByRole("checkbox", { name: "amd64" }).check();
  await page.waitForURL("**/?in=example&arch=amd64");
  await page.getByRole("link", { name: "Remove the filter Architecture: amd64" }).waitFor();
});

test("packages are filtered by whether OLM v1 can install them, and a version says why not", async () => {
  await open("?in=example");
  await page.getByRole("button", { name: "OLM v1", exact: true }).click();
  await page.getByRole("group", { name: "OLM v1" }).getByRole("checkbox", { name: "Not installable" }).check();
  await page.waitForURL("**/?in=example&olmv1=NO");
  await page.getByRole("link", { name: "Remove the filter OLM v1: Not installable" }).waitFor();
  await page.getByRole("link", { name: /Nightjar/ }).first().click();
  await page.getByText("Not installable").waitFor();
  await page.getByRole("link", { name: "Install", exact: true }).first().click();
  await page.getByText(/^OLM v1 refuses nightjar/).waitFor();
});

test("a comparison of contents is filtered by name and by kind of change", async () => {
  await open("?diff=1&from=example&to=hostile");
  await page.getByLabel("Filter").fill("plain-00");
  await page.getByLabel("Show").selectOption({ label: "Only removed (0)" });
  await page.getByRole("heading", { name: "No package matches" }).waitFor();
  await page.getByLabel("Show").selectOption({ label: "Only added (10)" });
  await page.waitForURL("**/?diff=1&from=example&to=hostile&q=plain-00&change=added");
  assert.equal(await page.locator(".differences > li").count(), 10);
});

test("a comparison begins with what changed and what did not", async () => {
  await open("?catalog=example&package=quillstore&from=quillstore.v1.2.1&to=quillstore.v1.4.0");
  const summary = page.getByRole("region", { name: "Summary" });
  await summary.getByText(/^Changed: .*images \(\d+\)/).waitFor();
  await summary.getByText(/^No difference: /).waitFor();
  assert.equal(await page.getByText("No difference.", { exact: true }).count(), 0);
});

test("a comparison leads to the notes of a release where GitHub has the repository", async () => {
  const compare = "?catalog=example&package=quillstore&from=quillstore.v1.2.1&to=quillstore.v1.4.0";
  await open(compare);
  await page.getByRole("region", { name: "Summary" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Release notes" }).count(), 0);
  await context.route(/query=query\+Compare/, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    json.data.package.to.metadata.repository = "https://github.com/example/quillstore.git";
    return route.fulfill({ response, json });
  });
  await open(compare);
  const notes = page.getByRole("link", { name: "Release notes" });
  assert.equal(await notes.getAttribute("href"), "https://github.com/example/quillstore/releases/tag/v1.4.0");
});

test("few keys lead past the filters, which open one by one and stay as the reader left them", async () => {
  await open("?in=example");
  const filters = page.getByRole("complementary", { name: "Filters" });
  const opened = () => filters.getByRole("button", { expanded: true }).allInnerTexts();
  assert.deepEqual(await opened(), ["Catalog", "Category", "Deprecation"]);
  await page.getByRole("link", { name: "Skip the filters" }).focus();
  let stops = -1;
  do {
    await page.keyboard.press("Tab");
    stops++;
  } while (await filters.evaluate((element) => element.contains(document.activeElement)));
  assert.ok(stops >= 10 && stops < 25, `${stops} stops`);
  await filters.getByRole("button", { name: "Category" }).click();
  await filters.getByRole("button", { name: /^Provider/ }).click();
  await filters.getByRole("group", { name: "Provider" }).getByRole("checkbox").first().check();
  await page.getByRole("list", { name: "Active filters" }).getByText("Provider").waitFor();
  await filters.getByRole("button", { name: /^Provider/ }).click();
  await filters.getByRole("button", { name: "Provider (1)" }).waitFor();
  await page.locator(".tile a").first().click();
  await page.waitForURL(/package=/);
  await page.goBack();
  await filters.getByRole("button", { name: "Provider (1)" }).waitFor();
  assert.deepEqual(await opened(), ["Catalog", "Deprecation"]);
});

test("a filter that an address brings is open", async () => {
  await open("?in=example&arch=amd64");
  const architecture = page.getByRole("group", { name: "Architecture" });
  assert.ok(await architecture.getByRole("checkbox", { name: "amd64" }).isChecked());
});

test("a list of filters that goes on below fades there, and at its end it does not", async () => {
  await open("");
  await page.setViewportSize({ width: 1400, height: 500 });
  const side = page.locator(".side");
  const fade = () =>
    side.evaluate((element) => {
      const last = /** @type {Element} */ (element.querySelector(".facets > :last-child")).getBoundingClientRect();
      const height = Number.parseFloat(getComputedStyle(element, "::after").height);
      // The fade is as high as a filter, and ends where the list is cut.
      return { goesOn: last.bottom > element.getBoundingClientRect().bottom, isFaded: last.bottom > element.getBoundingClientRect().bottom - height };
    });
  assert.deepEqual(await fade(), { goesOn: true, isFaded: true });
  await side.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  assert.deepEqual(await fade(), { goesOn: false, isFaded: false });
});

test("a search that finds nothing proposes packages that are spelled alike or begin alike", async () => {
  for (const [q, expected] of /** @type {const} */ ([
    ["quillstore-operatr-for-everybody", ["quillstore"]],
    ["zzz nothing", []],
  ])) {
    await open(`?${new URLSearchParams({ q, in: "example" })}`);
    await page.getByText("No package matches").waitFor();
    if (expected.length > 0) await page.getByText("Did you mean").waitFor();
    assert.deepEqual(await page.locator(".empty p a").allInnerTexts(), expected);
  }
  await open("?q=quillstorx&category=none&in=example");
  await page.getByRole("link", { name: "Remove all filters: 2 packages" }).click();
  await page.waitForURL("**/?q=quillstorx");
});

test("the dialog of the cluster has no barrier and no fault in either theme on any width", async () => {
  await open("?q=quillstore&openshift=4.18");
  await page.getByRole("button", { name: "OpenShift 4.18", exact: true }).click();
  await page.getByRole("textbox", { name: "Installed operators, as JSON" }).fill(objects("1.2.0"));
  await page.getByText("Deprecated in use").first().waitFor();
  assert.deepEqual(await lookAt(page, "cluster-dialog"), []);
});

for (const [name, search] of Object.entries({
  "advisor-gap": "?catalog=hostile&package=broken&tab=updates&installed=broken.v0.9.0",
  "search-hints": "?q=backupp&openshift=4.18",
  "search-nothing": "?q=quillstore-operatr-for-everybody&in=example",
  "package-cluster": "?catalog=example&package=quillstore&architecture=s390x&tab=install",
})) {
  test(`the view ${name} has no barrier and no fault in either theme on any width`, async () => {
    await open(search);
    if (name === "advisor-gap") await page.getByRole("link", { name: "OLM v1 would install it" }).waitFor();
    if (name === "search-nothing") await page.getByText("Did you mean").waitFor();
    if (name === "search-hints") await page.getByText(/need it/).waitFor();
    assert.deepEqual(await lookAt(page, name), []);
  });
}
