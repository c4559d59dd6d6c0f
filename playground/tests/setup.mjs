// What the tests of the pages need: the server over a copy of a catalog, and a browser without any other network.

import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const ROOT = resolve(import.meta.dirname, "../..");

/**
 * Serves a copy of a catalog, the example unless another is named, on a free port. Gives the addresses of the pages, where
 * the copy is, and what ends it.
 *
 * @param {object} [options]
 * @param {string} [options.catalog] The folder of the catalog.
 * @param {string} [options.name] Its name.
 * @param {string[]} [options.flags] Further arguments of the program.
 * @param {number} [options.port]
 */
export async function serve({ catalog: original = join(ROOT, "examples/catalog"), name = "example", flags = [], port = 0 } = {}) {
  const program = resolve(ROOT, process.env.CARGO_TARGET_DIR ?? "target", "debug/catalogql");
  if (!existsSync(program)) throw new Error(`${program} is missing: run \`cargo build\``);
  const store = mkdtempSync(join(tmpdir(), "catalogql-pages-"));
  const catalog = mkdtempSync(join(tmpdir(), "catalogql-pages-catalog-"));
  cpSync(original, catalog, { recursive: true });
  const server = spawn(program, ["serve", `${name}=${catalog}`, "--watch", "--listen", `127.0.0.1:${port}`, "--store", store, ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const end = () => {
    server.kill();
    for (const folder of [store, catalog]) rmSync(folder, { recursive: true, force: true });
  };
  let explorer = "";
  for await (const line of createInterface({ input: server.stdout })) {
    const [, page, address = ""] = line.match(/^(Explorer|Playground) at (http:\S+)$/) ?? [];
    if (page === "Explorer") explorer = address;
    const isAll = page === "Playground" || (page === "Explorer" && flags.includes("--trusted-only"));
    if (isAll) return { address, explorer, catalog, end };
  }
  end();
  throw new Error("the server names no playground: run `make pages` and then `cargo build`");
}

/** A headless Chromium. */
export function launch() {
  return chromium.launch({ executablePath: browser(), args: ["--no-sandbox"] });
}

/**
 * A page that reaches nothing but the server. What it should not do is noted in `faults`: requests to elsewhere, errors
 * in the console, violations of its policy, answers that are no success.
 *
 * @param {import("playwright-core").BrowserContext} context
 * @param {string} address
 * @param {string} search What follows the address in the link that is opened.
 */
export async function openPage(context, address, search = "") {
  /** @type {string[]} */
  const faults = [];
  const page = await context.newPage();
  await page.route("**", (route) => {
    const url = route.request().url();
    if (url.startsWith(`${new URL(address).origin}/`) || url.startsWith("data:")) return route.fallback();
    faults.push(`it asked ${url}`);
    return route.abort();
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`thrown: ${error.message}`));
  page.on("response", (answer) => {
    if (answer.status() >= 400) faults.push(`${answer.status()}: ${answer.url()}`);
  });
  await page.goto(address + search);
  return { page, faults };
}

/** Where Chromium is; on a Debian that one may change, it is installed. */
function browser() {
  const found = () =>
    (process.env.PATH ?? "")
      .split(delimiter)
      .map((folder) => join(folder, "chromium"))
      .find(existsSync);
  if (!found() && process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
    execFileSync("apt-get", ["update", "-qq"], { stdio: "inherit" });
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    execFileSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "chromium"], { stdio: "inherit", env });
  }
  const path = found();
  if (!path) throw new Error("chromium is missing: install it (Debian: apt-get install chromium)");
  return path;
}
