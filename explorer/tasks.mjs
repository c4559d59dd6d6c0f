// Does what readers come for, over the real catalog `community` and the example of a platform, and tells how many clicks and
// seconds each task takes: `node tasks.mjs PROGRAM`. What was seen last of each is in `dist/screenshots/task-*.png`.
//
// Clicks are those that a reader needs, and a field that is filled counts as one. Seconds are those of a script that waits for
// what it looks for, and not those of a person.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { launch } from "../playground/tests/setup.mjs";

const [program = ""] = process.argv.slice(2);
const CORPUS = process.env.CATALOGQL_CORPUS ?? join(homedir(), ".cache/catalogql/corpus");
const PLATFORM = join(import.meta.dirname, "../examples/platform");
const SCREENSHOTS = join(import.meta.dirname, "dist/screenshots");

const store = mkdtempSync(join(tmpdir(), "catalogql-tasks-"));
const sources = ["4.16", "4.17", "4.18"].map((version) => `redhat-v${version}=${join(PLATFORM, version)}`);
const args = ["serve", `community=${join(CORPUS, "community")}`, ...sources, "--listen", "127.0.0.1:0", "--store", store];
const server = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
const browser = await launch();

/** @typedef {import("playwright-core").Locator} Locator */

/** What a reader does on a page, counted. */
class Reader {
  clicks = 0;

  /** @param {import("playwright-core").Page} page */
  constructor(page) {
    this.page = page;
  }

  /** @param {Locator} target */
  async click(target) {
    this.clicks++;
    await target.first().click();
  }

  /** @param {Locator} field @param {string} text */
  async fill(field, text) {
    this.clicks++;
    await field.fill(text);
    await field.press("Tab");
  }

  /** @param {Locator} select @param {string} label */
  async choose(select, label) {
    this.clicks++;
    await select.selectOption({ label });
  }

  /** @param {string} text */
  async search(text) {
    await this.fill(this.page.getByRole("searchbox", { name: "Search packages" }), text);
  }

  /** @param {string} name The tile of a package. */
  async open(name) {
    await this.click(this.page.locator(`.tile a[href*="package=${name}"]`));
  }

  /** The text of the first element that has it. @param {Locator} target */
  async read(target) {
    await target.first().waitFor();
    return (await target.first().innerText()).replace(/\s+/g, " ").trim();
  }
}

/** Each ends with what the reader wanted to know. @type {Record<string, (reader: Reader) => Promise<string>>} */
const TASKS = {
  "a: PostgreSQL for OpenShift 4.16, not deprecated": async (reader) => {
    const { page } = reader;
    await reader.click(page.getByRole("button", { name: "My cluster" }));
    await reader.fill(page.getByRole("dialog").getByLabel("OpenShift"), "4.16");
    await reader.click(page.getByRole("button", { name: "Done" }));
    await reader.search("postgresql");
    await reader.click(page.getByRole("radio", { name: "Without deprecated" }));
    await page.waitForURL(/q=postgresql.*deprecated=no/);
    await page.waitForFunction(() => !document.querySelector(".tiles.stale, main .loading"));
    return reader.read(page.locator('.summary-row [role="status"]').filter({ hasText: /package/ }));
  },
  "b: what changed between two versions of Argo CD": async (reader) => {
    const { page } = reader;
    await reader.search("argocd");
    await reader.open("argocd-operator");
    await reader.click(page.getByRole("navigation", { name: /./ }).getByRole("link", { name: /^Versions/ }));
    await reader.click(page.locator("main").getByRole("link", { name: /Compare with/ }));
    return reader.read(page.getByRole("region", { name: "Summary" }));
  },
  "c: from Strimzi 0.45.0 to the newest, and what blocks": async (reader) => {
    const { page } = reader;
    await reader.search("strimzi");
    await reader.open("strimzi-kafka-operator");
    await reader.click(page.getByRole("navigation", { name: /./ }).getByRole("link", { name: /^Updates/ }));
    await reader.choose(page.getByLabel("Installed"), "0.45.0");
    const blocked = page.locator(".alert.warning").filter({ hasText: "No upgrade leads from" });
    return `${await reader.read(page.getByText(/upgrades? from 0\.45\.0/))} ${await reader.read(blocked.locator("p"))}`;
  },
  "d: who provides and who needs the API Certificate": async (reader) => {
    const { page } = reader;
    await reader.search("Certificate");
    await reader.click(page.getByRole("link", { name: /^API Certificate \(cert-manager\.io\)/ }));
    await page.getByRole("heading", { name: "Certificate", level: 1 }).waitFor();
    await page.waitForFunction(() => !document.querySelector("main .loading, main [aria-busy=true]"));
    return (await page.locator("main h2").allInnerTexts()).join(", ");
  },
  "e: YAML for OLM v1 and v0": async (reader) => {
    const { page } = reader;
    await reader.search("strimzi");
    await reader.open("strimzi-kafka-operator");
    await reader.click(page.getByRole("link", { name: "Install" }));
    const extension = page.locator("section").filter({ hasText: "OLM v1: ClusterExtension" });
    const said = await reader.read(extension.getByText(/^Installs .* now/));
    await reader.click(extension.getByRole("button", { name: "Copy" }));
    await reader.click(page.locator("section").filter({ hasText: "OLM v0: Subscription" }).getByRole("button", { name: "Copy" }));
    return said;
  },
  "f: the platform from 4.16 to 4.18, with three packages installed": async (reader) => {
    const { page } = reader;
    await reader.click(page.getByRole("link", { name: "Upgrade", exact: true }));
    await reader.fill(page.getByLabel("From version"), "4.16");
    await reader.fill(page.getByLabel("To version"), "4.18");
    await reader.click(page.getByRole("button", { name: "Paste the objects of my cluster" }));
    await reader.fill(page.getByRole("textbox", { name: "Installed operators, as JSON" }), objects());
    await reader.click(page.getByRole("button", { name: "Done" }));
    return reader.read(page.locator(".plan-verdict"));
  },
  "g: which images that upgrade needs without internet": async (reader) => {
    const { page } = reader;
    await page.goto(`${page.url()}?upgrade-plan=1&from=4.16&to=4.18&installed=quillstore@1.0.0:stable&installed=papermill@4.16.1:4.16`);
    await reader.click(page.getByRole("link", { name: "Mirror set of redhat-v4.17" }));
    return reader.read(page.getByRole("heading", { name: /bundles? and/ }));
  },
};

/** Operators of a cluster, as kubectl prints them. */
function objects() {
  const items = [
    ["inkwell", "2.0.0", "stable"],
    ["quillstore", "1.0.0", "stable"],
    ["papermill", "4.16.1", "4.16"],
  ].flatMap(([name, version, channel]) => {
    const bundle = `${name}.v${version}`;
    const labels = { [`operators.coreos.com/${name}.stationery`]: "" };
    return [
      { kind: "ClusterServiceVersion", metadata: { name: bundle, namespace: "stationery", labels }, spec: { version } },
      { kind: "Subscription", metadata: { name, namespace: "stationery" }, spec: { name, channel }, status: { installedCSV: bundle } },
    ];
  });
  return JSON.stringify({ kind: "List", items });
}

/** The address of the explorer, once every catalog is served. */
async function address() {
  for await (const line of createInterface({ input: server.stdout })) {
    const found = line.match(/^Explorer at (http:\S+)$/)?.[1];
    if (found) return found;
  }
  throw new Error("usage: node tasks.mjs PROGRAM, which was built with the pages");
}

try {
  const explorer = await address();
  mkdirSync(SCREENSHOTS, { recursive: true });
  for (const [task, act] of Object.entries(TASKS)) {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, permissions: ["clipboard-read", "clipboard-write"] });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    await page.goto(explorer);
    await page.locator(".tile").first().waitFor();
    const reader = new Reader(page);
    const started = performance.now();
    const answer = await act(reader).catch((error) => `FAILED: ${String(error).split("\n")[0]}`);
    const seconds = (performance.now() - started) / 1000;
    await page.screenshot({ path: join(SCREENSHOTS, `task-${task[0]}.png`) });
    console.log(`${task}\n  ${reader.clicks} clicks, ${seconds.toFixed(1)} s: ${answer}`);
    if (answer.startsWith("FAILED")) process.exitCode = 1;
    await context.close();
  }
} finally {
  await browser.close();
  server.kill();
  rmSync(store, { recursive: true, force: true });
}
