// What the test of the playground needs: the server over the example catalog, and a browser without any other network.

import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const ROOT = resolve(import.meta.dirname, "../..");

/** Serves a copy of the example catalog on a free port. Gives the address of the playground, where the copy is, and what ends it. */
export async function serve() {
  const program = resolve(ROOT, process.env.CARGO_TARGET_DIR ?? "target", "debug/catalogql");
  if (!existsSync(program)) throw new Error(`${program} is missing: run \`cargo build\``);
  const store = mkdtempSync(join(tmpdir(), "catalogql-playground-"));
  const catalog = mkdtempSync(join(tmpdir(), "catalogql-playground-catalog-"));
  cpSync(join(ROOT, "examples/catalog"), catalog, { recursive: true });
  const source = `example=${catalog}`;
  const server = spawn(program, ["serve", source, "--watch", "--listen", "127.0.0.1:0", "--store", store], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const end = () => {
    server.kill();
    for (const folder of [store, catalog]) rmSync(folder, { recursive: true });
  };
  for await (const line of createInterface({ input: server.stdout })) {
    const address = line.match(/^Playground at (http:\S+)$/)?.[1];
    if (address) return { address, catalog, end };
  }
  end();
  throw new Error("the server names no playground: run `make playground` and then `cargo build`");
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
    if (url.startsWith(address) || url.startsWith("data:")) return route.fallback();
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
