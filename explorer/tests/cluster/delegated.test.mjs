// What a reader of the explorer sees at a real API server with --auth=delegated. tests/cluster/browser.rs starts it, with two
// catalogs and service accounts, and says in CATALOGQL_CLUSTER where they are.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";

import { launch, openPage, settled } from "../setup.mjs";

/** @type {{ address: string, kubectl: string, kubeconfig: string, tokens: Record<string, string>, nextContent: string }} */
const { address, kubectl, kubeconfig, tokens, nextContent } = JSON.parse(process.env.CATALOGQL_CLUSTER ?? "{}");

/** What may take so long: the server knows for some seconds what it asked the API server. */
const PATIENCE = 60_000;

/** @typedef {import("playwright-core").Page} Page */

/** @type {import("playwright-core").Browser} */
let browser;

before(async () => {
  browser = await launch();
});

after(() => browser?.close());

test("without a token the page asks for one, and shows nothing to who gives none", async () => {
  const { page, faults, close } = await open();
  await dialog(page).getByRole("button", { name: "Close" }).click();
  await page.getByText("This needs a token").waitFor();
  assert.equal(await page.locator(".tile").count(), 0);
  await close();
  assert.deepEqual(faults.filter((fault) => !fault.includes("401")), []);
});

test("a token without rights is told from a server without catalogs", async () => {
  const { page, faults, close } = await open();
  await give(page, "stranger");
  await page.getByRole("heading", { name: "Your token may read no catalog" }).waitFor();
  await page.getByRole("link", { name: "Catalogs", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Catalogs" }).waitFor();
  await page.getByRole("heading", { name: "Your token may read no catalog" }).waitFor();
  await close();
  assert.deepEqual(faults.filter((fault) => !fault.includes("401")), []);
});

test("a token with a right to one catalog shows that one, and nothing tells of the other", async () => {
  const { page, faults, close } = await open();
  await give(page, "one");
  assert.deepEqual(await tiles(page), ["openly", "openly-icon"]);
  await page.getByRole("link", { name: "Catalogs", exact: true }).click();
  await page.getByText("These are the catalogs that your token may read.").waitFor();
  await page.locator(".catalog-card h2").first().waitFor();
  assert.deepEqual(await page.locator(".catalog-card h2").allInnerTexts(), ["openly"]);
  await close();
  assert.deepEqual(faults.filter((fault) => !fault.includes("401")), []);
  const linked = await open("?catalog=secret&package=secret");
  await give(linked.page, "one");
  await linked.page.getByRole("heading", { name: "No such package" }).waitFor();
  await linked.close();
});

test("a token with rights to both shows both, with their icons and their changes, until it is revoked", async () => {
  const { page, faults, close } = await open();
  /** @type {{ url: string, hasToken: boolean, status: number }[]} */
  const answered = [];
  page.on("response", async (response) => {
    const { authorization } = await response.request().allHeaders();
    answered.push({ url: response.url(), hasToken: authorization === `Bearer ${tokens.revocable}`, status: response.status() });
  });
  const stream = page.waitForResponse((response) => response.headers()["content-type"]?.startsWith("text/event-stream") ?? false);
  await give(page, "revocable");
  assert.deepEqual(await tiles(page), ["openly", "openly-icon", "secret", "secret-icon"]);
  await page.waitForFunction(() => document.querySelectorAll(".tile img[src^='blob:']").length === 2);
  const { authorization } = await (await stream).request().allHeaders();
  assert.equal(authorization, `Bearer ${tokens.revocable}`);
  const icons = answered.filter(({ url }) => url.includes("/icons/"));
  assert.deepEqual(icons.map(({ hasToken, status }) => ({ hasToken, status })), [{ hasToken: true, status: 200 }, { hasToken: true, status: 200 }]);

  const source = { spec: { source: { image: { ref: nextContent } } } };
  administrate("patch", "clustercatalog", "openly", "--type=merge", `--patch=${JSON.stringify(source)}`);
  await page.getByText("openly has new content").waitFor({ timeout: PATIENCE });
  await page.getByRole("button", { name: "Show what is served now" }).click();
  await page.locator(".tile", { hasText: "openly-icon" }).filter({ hasText: "0.0.2" }).waitFor();

  administrate("delete", "secret", "lives", "--namespace=default");
  await refused(tokens.revocable ?? "");
  await page.getByRole("link", { name: "Catalogs", exact: true }).click();
  await dialog(page).getByText("The token was not accepted.").waitFor({ timeout: PATIENCE });
  await give(page, "both");
  await page.waitForFunction(() => document.querySelectorAll(".catalog-card").length === 2);
  await close();
  assert.deepEqual(faults.filter((fault) => !/401|403/.test(fault)), []);
});

/** Opens the explorer in a window of its own. @param {string} [search] */
async function open(search = "") {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const { page, faults } = await openPage(context, address, search);
  await dialog(page).waitFor();
  return { page, faults, close: () => context.close() };
}

/** @param {Page} page */
function dialog(page) {
  return page.getByRole("dialog", { name: "A token is needed" });
}

/** Gives the token of a caller. @param {Page} page @param {string} caller */
async function give(page, caller) {
  await page.getByLabel("Bearer token").fill(tokens[caller] ?? "");
  await page.getByRole("button", { name: "Use the token" }).click();
  await dialog(page).waitFor({ state: "hidden" });
  await settled(page);
}

/** The names of the packages that are shown. @param {Page} page */
async function tiles(page) {
  await page.locator(".tile").first().waitFor();
  await settled(page);
  const names = await page.locator(".tile .name").allInnerTexts();
  return names.map((name) => name.trim()).sort();
}

/** @param {string[]} args */
function administrate(...args) {
  execFileSync(kubectl, ["--kubeconfig", kubeconfig, ...args]);
}

/** Waits until the server refuses a token. @param {string} token */
async function refused(token) {
  const ends = Date.now() + PATIENCE;
  for (;;) {
    const response = await fetch(`${address}graphql?query={__typename}`, { headers: { authorization: `Bearer ${token}` } });
    if (response.status === 401) return;
    if (Date.now() > ends) throw new Error(`the token is accepted after ${PATIENCE} ms`);
    await setTimeout(100);
  }
}
