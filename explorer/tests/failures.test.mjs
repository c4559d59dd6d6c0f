// What a page shows where the server does not give all that was asked for, or has no room for a request: never what looks like
// an answer and is none.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { launch, openPage, serveBoth, settled } from "./setup.mjs";

const PACKAGE = "?catalog=example&package=quillstore";
const JSON_TYPE = "application/graphql-response+json";

/** @type {Awaited<ReturnType<typeof serveBoth>>} */
let server;
/** @type {import("playwright-core").Browser} */
let browser;
/** @type {import("playwright-core").BrowserContext} */
let context;
/** Operations that were sent. @type {string[]} */
let sent;

before(async () => {
  [server, browser] = await Promise.all([serveBoth(), launch()]);
});

after(async () => {
  await browser?.close();
  server?.end();
});

beforeEach(async () => {
  context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  sent = [];
  context.on("request", (request) => {
    const name = operation(request);
    if (name) sent.push(name);
  });
});

afterEach(async () => {
  await context.unrouteAll({ behavior: "ignoreErrors" });
  await context.close();
});

/** The name of the operation that a request is for. @param {import("playwright-core").Request} request */
function operation(request) {
  const url = new URL(request.url());
  return url.pathname === "/graphql" ? /^(?:query|subscription) (\w+)/.exec(url.searchParams.get("query") ?? "")?.[1] : undefined;
}

/** Answers the requests for one operation in another way. @param {string} name @param {(route: import("playwright-core").Route) => unknown} answer */
function instead(name, answer) {
  return context.route(
    (url) => url.pathname === "/graphql",
    (route) => (operation(route.request()) === name ? answer(route) : route.fallback()),
  );
}

/** @param {string} search @param {string} [explorer] */
async function open(search, explorer = server.explorer) {
  const { page, faults } = await openPage(context, explorer, search);
  return { page, faults };
}

/** What the first alerts of a page say, which may be gone soon. @param {import("playwright-core").Page} page @returns {Promise<string[]>} */
async function alerts(page) {
  const texts = await page.waitForFunction(() => {
    const said = document.querySelectorAll("main [role=alert] :is(strong, .message)");
    return said.length > 0 && [...said].map((each) => /** @type {HTMLElement} */ (each).innerText);
  });
  return /** @type {Promise<string[]>} */ (texts.jsonValue());
}

for (const { search, name, wrong } of [
  { search: "", name: "Packages", wrong: "No package matches" },
  { search: `${PACKAGE}`, name: "Package", wrong: "No such package" },
  { search: `${PACKAGE}&bundle=quillstore.v1.4.0`, name: "Bundle", wrong: "No such version" },
  { search: `${PACKAGE}&tab=versions`, name: "PackageVersions", wrong: "No versions" },
  { search: `${PACKAGE}&tab=updates`, name: "PackageVersions", wrong: "not in the catalog" },
  { search: "?package=quillstore", name: "PackageCatalogs", wrong: "No such package" },
  { search: "?catalogs=1&catalog=example", name: "Catalog", wrong: "No catalog example is served" },
  { search: "?diff=1&from=example&to=hostile", name: "Diff", wrong: "A content is no longer known" },
]) {
  test(`the page ${search || "?"} shows the error of a field, and not that there is nothing`, async () => {
    await instead(name, async (route) => {
      const response = await route.fetch();
      const { data } = await response.json();
      const [root = ""] = Object.keys(data);
      const path = name === "PackageVersions" ? [root, "bundles"] : [root];
      if (path.length > 1) data[root].bundles = null;
      else data[root] = null;
      const errors = [{ message: "it took too long", path, extensions: { code: "TIMEOUT" } }];
      return route.fulfill({ contentType: JSON_TYPE, body: JSON.stringify({ data, errors }) });
    });
    const { page, faults } = await open(search);
    assert.deepEqual(await alerts(page), ["The server could not respond in full", "it took too long TIMEOUT"]);
    assert.equal(await page.locator("main").getByText(wrong).count(), 0);
    assert.equal(await page.locator("main .loading").count(), 0);
    assert.deepEqual(faults, []);
  });
}

test("a server with smaller pages than those of the list says so", async (t) => {
  const other = await serveBoth(["--max-page-size", "50"]);
  t.after(other.end);
  const { page, faults } = await open("", other.explorer);
  const [title, message] = await alerts(page);
  assert.equal(title, "The server could not respond in full");
  assert.match(message ?? "", / 50\b.* BAD_USER_INPUT$/);
  assert.equal(await page.locator("main .loading").count(), 0);
  assert.deepEqual(faults, []);
});

test("a server with smaller pages than those of the versions shows the package, and why it lists none", async (t) => {
  const other = await serveBoth(["--max-page-size", "100"]);
  t.after(other.end);
  const { page, faults } = await open(PACKAGE, other.explorer);
  await page.getByText(/^Versions cannot be listed: .* BAD_USER_INPUT$/).waitFor();
  await page.getByRole("region", { name: "Description" }).waitFor();
  assert.equal(await page.locator(".chooser select").last().inputValue(), "1.4.0");
  for (const tab of ["Updates", "Versions"]) {
    await page.getByRole("link", { name: tab, exact: true }).click();
    assert.equal((await alerts(page))[0], "The server could not respond in full");
    assert.equal(await page.getByText("No versions").count(), 0);
  }
  await page.goto(`${other.explorer}${PACKAGE}&from=quillstore.v1.2.1&to=quillstore.v1.4.0`);
  await page.getByText(/^Versions cannot be listed: .* BAD_USER_INPUT$/).waitFor();
  await page.getByText("1 upgrade, the fewest possible:").waitFor();
  assert.deepEqual(faults, []);
});

test("no version is in a malformed range, which is no failure", async () => {
  const { page, faults } = await open(`${PACKAGE}&version=nothing`);
  await page.getByRole("heading", { name: "No version matches" }).waitFor();
  assert.equal(await page.locator("main [role=alert]").count(), 0);
  assert.deepEqual(faults, []);
});

/** No room. @param {import("playwright-core").Route} route @param {string} code */
function busy(route, code) {
  const errors = [{ message: "no room: try again later", extensions: { code } }];
  return route.fulfill({ status: 503, contentType: JSON_TYPE, headers: { "retry-after": "1" }, body: JSON.stringify({ errors }) });
}

test("what a busy server had no room for is asked for again, and nothing else", async () => {
  let times = 0;
  await instead("PackageVersions", (route) => (++times <= 2 ? busy(route, "SERVER_OVERLOADED") : route.fallback()));
  const { page, faults } = await open(`${PACKAGE}&tab=updates`);
  assert.deepEqual(await alerts(page), ["The server is busy", "no room: try again later SERVER_OVERLOADED"]);
  await page.locator("[data-row]").first().waitFor();
  assert.deepEqual(
    sent.filter((name) => name.startsWith("Package")),
    ["Package", "PackageVersions", "PackageVersions", "PackageVersions"],
  );
  assert.equal(await page.getByText("The server does not answer").count(), 0);
  assert.deepEqual(faults.filter((fault) => !fault.includes("503")), []);
});

test("a server without room for another stream is asked for one again later, and what is shown is not", async () => {
  await context.clock.install();
  let streams = 0;
  await instead("CatalogChanged", (route) => {
    streams++;
    return busy(route, "MAX_STREAMS_LIMIT");
  });
  let packages = 0;
  await instead("Packages", (route) => {
    packages++;
    return route.fallback();
  });
  const { page, faults } = await open("");
  await settled(page);
  for (let second = 0; second < 60; second++) await context.clock.runFor(1000);
  assert.ok(streams >= 2 && streams <= 8, `${streams} streams`);
  assert.equal(packages, 1);
  assert.equal(await page.getByText("The server does not answer").count(), 0);
  assert.deepEqual(faults.filter((fault) => !fault.includes("503")), []);
});

test("a server that is back is asked for what failed, and for nothing that is shown", async () => {
  const { page, faults } = await open(PACKAGE);
  await settled(page);
  await instead("BundleContents", (route) => route.abort("connectionrefused"));
  const failed = page.waitForEvent("requestfailed", (request) => operation(request) === "BundleContents");
  await page.getByRole("link", { name: "Contents" }).click();
  await failed;
  await context.unrouteAll();
  await page.getByRole("heading", { name: /^Images/ }).waitFor();
  assert.deepEqual(
    sent.filter((name) => name === "Package"),
    ["Package"],
  );
  assert.deepEqual(faults.filter((fault) => !fault.includes("ERR_CONNECTION_REFUSED")), []);
});

test("no facet is said to lack what has not been looked for yet, or could not be", async () => {
  let isFailing = false;
  await instead("FacetValues", (route) => {
    const { search } = JSON.parse(new URL(route.request().url()).searchParams.get("variables") ?? "{}");
    if (search === "waiting") return undefined;
    return isFailing ? busy(route, "SERVER_OVERLOADED") : route.fallback();
  });
  const { page, faults } = await open("?in=example");
  await page.getByRole("button", { name: "Keyword", exact: true }).click();
  await page.getByRole("button", { name: "Find another of Keyword" }).click();
  const field = page.getByRole("searchbox", { name: "Find a keyword" });
  await field.fill("nothing-is-called-this");
  await page.getByText("None has “nothing-is-called-this” in it.").waitFor();
  const asked = page.waitForRequest((request) => request.url().includes("waiting"));
  await field.fill("waiting");
  await asked;
  assert.equal(await page.getByText(/^None has/).count(), 0);
  isFailing = true;
  await field.fill("storage");
  await page.getByRole("alert").filter({ hasText: "The server is busy" }).waitFor();
  assert.equal(await page.getByText(/^None has/).count(), 0);
  assert.deepEqual(faults.filter((fault) => !fault.includes("503")), []);
});

test("a page whose code could not be loaded is shown when the server is back", async () => {
  const { page } = await open("");
  await page.locator(".tile").first().waitFor();
  await context.route(
    (url) => url.pathname === "/graphql" || url.pathname.includes("/assets/"),
    (route) => route.abort("connectionrefused"),
  );
  await page.getByRole("link", { name: "Resolve", exact: true }).click();
  await page.getByText("The server does not answer. What is loaded stays here.").waitFor();
  assert.equal(await page.getByText("This page cannot be loaded").count(), 0);
  await context.unrouteAll();
  await page.getByRole("button", { name: "Try now" }).click();
  await page.getByRole("heading", { level: 1, name: /Resolve|install/ }).waitFor();
  // With its style sheet.
  const unstyled = await page.evaluate(() => [...document.querySelectorAll("link[rel=stylesheet]")].filter((link) => !(/** @type {HTMLLinkElement} */ (link).sheet)).length);
  assert.equal(unstyled, 0);
});

test("code that the server no longer has needs a reload", async () => {
  const { page } = await open("");
  await page.locator(".tile").first().waitFor();
  await context.route(
    (url) => url.pathname.includes("/assets/"),
    (route) => route.fulfill({ status: 404, body: "" }),
  );
  await page.getByRole("link", { name: "Resolve", exact: true }).click();
  await page.getByRole("heading", { name: "This page cannot be loaded" }).waitFor();
});

test("too many requests are repeated, and the failure of a proxy is said in words", async () => {
  let times = 0;
  await instead("Package", (route) => (++times === 1 ? route.fulfill({ status: 429, headers: { "retry-after": "1" } }) : route.fallback()));
  const { page, faults } = await open(PACKAGE);
  assert.deepEqual(await alerts(page), ["The server is busy", "There were too many requests (status 429)."]);
  await page.getByRole("region", { name: "Description" }).waitFor();
  await instead("Catalogs", (route) => route.fulfill({ status: 500 }));
  const other = await context.newPage();
  await other.goto(`${server.explorer}?catalogs=1`);
  assert.deepEqual(await alerts(other), ["The server refused the request", "The server failed (status 500)."]);
  assert.deepEqual(faults.filter((fault) => !/429/.test(fault)), []);
});
