// Measures the explorer over the real catalog `community` in Chromium, and ends with status 1 where something takes more
// than its budget: `make bench-pages`, or `node bench.mjs PROGRAM [ROUNDS]`.

import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";

import { launch } from "../playground/tests/setup.mjs";

const [program = "", rounds = "5"] = process.argv.slice(2);
const CORPUS = process.env.CATALOGQL_CORPUS ?? join(homedir(), ".cache/catalogql/corpus");
const SLOW = 4;

/** Between the letters of somebody who types fast, in milliseconds. */
const KEY_INTERVAL = 100;

/** Packages of the large catalog, and versions of each. */
const LARGE = { packages: 2000, versions: 200 };

/** @type {[string, number, number, string][]} */
const results = [];

const server = await serve(join(CORPUS, "community"), "community");
const browser = await launch();
try {
  await firstTile();
  await typing();
  await scrolling();
  await updateGraph();
  await memory();
  await large();
} finally {
  await browser.close();
  server.end();
}
console.log(`${"what".padEnd(44)} ${"measured".padStart(9)} ${"budget".padStart(8)}`);
for (const [what, measured, budget, unit] of results) {
  console.log(`${what.padEnd(44)} ${measured.toFixed(measured < 10 ? 2 : 0).padStart(9)} ${String(budget).padStart(8)} ${unit}${measured > budget ? "  OVER" : ""}`);
}
process.exitCode = results.some(([, measured, budget]) => measured > budget) ? 1 : 0;

/** From the navigation to the first tile, with an empty cache, again, and on a slow processor. */
async function firstTile() {
  /** @type {Record<"cold" | "warm" | "slow", Loaded[]>} */
  const loads = { cold: [], warm: [], slow: [] };
  for (let round = 0; round < Number(rounds); round++) {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    const page = await observed(context);
    loads.cold.push(await loaded(page));
    loads.warm.push(await loaded(page));
    await context.close();
    const other = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    const throttled = await observed(other);
    const session = await other.newCDPSession(throttled);
    await session.send("Emulation.setCPUThrottlingRate", { rate: SLOW });
    loads.slow.push(await loaded(throttled));
    await other.close();
  }
  results.push(["first tile, empty cache", median(loads.cold.map(({ tile }) => tile)), 500, "ms"]);
  results.push(["first tile, again", median(loads.warm.map(({ tile }) => tile)), 150, "ms"]);
  results.push([`first tile, processor ${SLOW} times slower`, median(loads.slow.map(({ tile }) => tile)), 1200, "ms"]);
  results.push(["layout shift", Math.max(...loads.cold.map(({ shift }) => shift)), 0.02, ""]);
  results.push(["longest task", median(loads.cold.map(({ task }) => task)), 100, "ms"]);
  results.push([`longest task, processor ${SLOW} times slower`, median(loads.slow.map(({ task }) => task)), 200, "ms"]);
  const [{ bytes = 0, compressed = 0, milliseconds = 0 } = {}] = loads.cold.map(({ query }) => query);
  results.push(["query for 60 tiles with facets", bytes, 50_000, "bytes"]);
  results.push(["the same compressed", compressed, 8000, "bytes"]);
  results.push(["the same from request to last byte", milliseconds, 100, "ms"]);
}

/**
 * Types a word into the search and tells how long its tiles take from its last letter, in milliseconds.
 *
 * @param {import("playwright-core").Page} page
 * @param {string} word
 */
function typed(page, word) {
  return page.evaluate(
    async ([word, interval]) => {
      const field = /** @type {HTMLInputElement} */ (document.querySelector("#search"));
      let started = 0;
      for (let end = 1; end <= word.length; end++) {
        await new Promise((resolve) => setTimeout(resolve, interval));
        started = performance.now();
        field.value = word.slice(0, end);
        field.dispatchEvent(new Event("input", { bubbles: true }));
      }
      const isShown = () => new URLSearchParams(location.search).get("q") === word && !document.querySelector(".tiles.stale");
      await new Promise((resolve, reject) => {
        const look = () => {
          if (isShown()) resolve(undefined);
          else if (performance.now() - started > 10_000) reject(new Error(`${word} was typed, and ${location.search} is shown`));
          else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      });
      return performance.now() - started;
    },
    /** @type {const} */ ([word, KEY_INTERVAL]),
  );
}

/** From the last letter of a word to its tiles. */
async function typing() {
  const page = await opened("");
  const words = ["database", "kafka", "redis", "backup", "monitoring", "aws", "certificate", "storage", "quay", "vault"];
  /** @type {number[]} */
  const times = [];
  for (const word of [...words, ...words.toReversed().slice(1)]) {
    times.push(await typed(page, word));
  }
  results.push(["typing to results, 95th percentile", percentile(times, 95), 150, "ms"]);
  await page.context().close();
}

/** Frames while the whole list goes by. */
async function scrolling() {
  const page = await opened("");
  const frames = await page.evaluate(async () => {
    /** @type {number[]} */
    const frames = [];
    let last = performance.now();
    let still = 0;
    while (still < 60) {
      const before = scrollY;
      scrollBy({ top: 60, behavior: "instant" });
      const now = await new Promise(requestAnimationFrame);
      frames.push(now - last);
      last = now;
      still = scrollY === before ? still + 1 : 0;
    }
    return frames.slice(1, -60);
  });
  results.push([`frame while scrolling, 95th percentile of ${frames.length}`, percentile(frames, 95), 25, "ms"]);
  results.push(["longest frame while scrolling", Math.max(...frames), 150, "ms"]);
  await page.context().close();
}

/** From the navigation to the update graph of the package with the most updates. */
async function updateGraph() {
  /** @type {number[]} */
  const times = [];
  for (let round = 0; round < Number(rounds); round++) {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    const page = await observed(context);
    await page.goto(`${server.address}?catalog=community&package=project-quay&tab=updates`);
    await page.locator(".graph-chunk .graph-row").first().waitFor();
    times.push(await page.evaluate(() => /** @type {any} */ (window).noted.tile));
    await context.close();
  }
  results.push(["update graph of project-quay, from navigation", median(times), 500, "ms"]);
}

/** What is left of twenty pages of packages when the reader is back at the list. */
async function memory() {
  const page = await opened("");
  const session = await page.context().newCDPSession(page);
  const before = await heap(session);
  for (let at = 0; at < 20; at++) {
    await page.locator(".tile a").nth(at).click();
    await page.waitForFunction(() => document.querySelector("h1") && !document.querySelector("main .loading, .tiles"));
    await page.goBack();
    await page.locator(".tile").first().waitFor();
  }
  results.push(["heap after 20 pages of packages and back, more by", ((await heap(session)) - before) / 1e6, 10, "MB"]);
  await page.context().close();
}

/** @param {import("playwright-core").CDPSession} session */
async function heap(session) {
  await session.send("HeapProfiler.collectGarbage");
  return (await session.send("Runtime.getHeapUsage")).usedSize;
}

/**
 * A page that notes when its first tile or row of an update graph is there, what shifts, and which tasks are long.
 *
 * @param {import("playwright-core").BrowserContext} context
 */
async function observed(context) {
  const page = await context.newPage();
  await page.addInitScript(() => {
    const noted = { tile: 0, shift: 0, task: 0 };
    Object.assign(window, { noted });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) noted.shift += /** @type {any} */ (entry).value;
    }).observe({ type: "layout-shift", buffered: true });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) noted.task = Math.max(noted.task, entry.duration);
    }).observe({ type: "longtask", buffered: true });
    const look = () => {
      if (document.querySelector(".tile, .graph-chunk .graph-row")) noted.tile = performance.now();
      else requestAnimationFrame(look);
    };
    look();
  });
  return page;
}

/**
 * @typedef {{ tile: number, shift: number, task: number, query: { bytes: number, compressed: number, milliseconds: number } }} Loaded
 *
 * @param {import("playwright-core").Page} page
 * @param {string} [address]
 * @returns {Promise<Loaded>}
 */
async function loaded(page, address = server.address) {
  const response = page.waitForResponse((response) => response.url().includes("graphql?query=query"));
  await page.goto(address);
  await page.locator(".tile").first().waitFor();
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 500)));
  const noted = await page.evaluate(() => /** @type {any} */ (window).noted);
  const body = await (await response).body();
  const timing = (await response).request().timing();
  const query = { bytes: body.length, compressed: gzipSync(body).length, milliseconds: timing.responseEnd - timing.requestStart };
  return { ...noted, query };
}

/** @param {string} search */
async function opened(search) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  await page.goto(server.address + search);
  await page.locator(".tile").first().waitFor();
  return page;
}

/** A catalog larger than any real one: its list, a search in it, and the update graph of a package. */
async function large() {
  const folder = mkdtempSync(join(tmpdir(), "catalogql-bench-large-"));
  writeLarge(join(folder, "catalog.json"));
  const { address, end } = await serve(folder, "large");
  try {
    /** @type {{ tile: number[], search: number[], graph: number[] }} */
    const times = { tile: [], search: [], graph: [] };
    for (let round = 0; round < Number(rounds); round++) {
      const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
      const page = await observed(context);
      times.tile.push((await loaded(page, address)).tile);
      times.search.push(await typed(page, `package-${1000 + round}`));
      await page.goto(`${address}?${new URLSearchParams({ catalog: "large", package: `package-${round}`, tab: "updates" })}`);
      await page.locator(".graph-chunk .graph-row").first().waitFor();
      times.graph.push(await page.evaluate(() => /** @type {any} */ (window).noted.tile));
      await context.close();
    }
    const what = `${LARGE.packages} packages of ${LARGE.versions} versions`;
    results.push([`first tile of ${what}`, median(times.tile), 500, "ms"]);
    results.push(["typing to results there", median(times.search), 300, "ms"]);
    results.push(["update graph of one of them", median(times.graph), 500, "ms"]);
  } finally {
    end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes the large catalog: each package has one channel, in which each version replaces the one before. @param {string} path */
function writeLarge(path) {
  const file = openSync(path, "w");
  for (let at = 0; at < LARGE.packages; at++) {
    const name = `package-${at}`;
    const bundles = Array.from({ length: LARGE.versions }, (_, minor) => `${name}.v1.${minor}.0`);
    const entries = bundles.map((bundle, minor) => ({ name: bundle, ...(minor > 0 && { replaces: bundles[minor - 1] }) }));
    const blobs = [
      { schema: "olm.package", name, defaultChannel: "stable", description: `The package number ${at} of a large catalog.` },
      { schema: "olm.channel", package: name, name: "stable", entries },
      ...bundles.map((bundle, minor) => ({
        schema: "olm.bundle",
        package: name,
        name: bundle,
        image: `registry.example.org/${name}:${minor}`,
        properties: [{ type: "olm.package", value: { packageName: name, version: `1.${minor}.0` } }],
      })),
    ];
    writeSync(file, blobs.map((blob) => `${JSON.stringify(blob)}\n`).join(""));
  }
  closeSync(file);
}

/** Serves a catalog by the program. @param {string} catalog @param {string} name */
async function serve(catalog, name) {
  if (!existsSync(catalog)) throw new Error(`${catalog} is missing: CONTRIBUTING.md says what the corpus is`);
  if (!existsSync(program)) throw new Error("usage: node bench.mjs PROGRAM [ROUNDS]");
  const store = mkdtempSync(join(tmpdir(), "catalogql-bench-"));
  const child = spawn(program, ["serve", `${name}=${catalog}`, "--listen", "127.0.0.1:0", "--store", store], { stdio: ["ignore", "pipe", "ignore"] });
  const end = () => {
    child.kill();
    rmSync(store, { recursive: true, force: true });
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const address = line.match(/^Explorer at (http:\S+)$/)?.[1];
    if (address) return { address, end };
  }
  end();
  throw new Error("the program has no explorer: run `make explorer`, then build it again");
}

/** @param {number[]} values */
function median(values) {
  return percentile(values, 50);
}

/** @param {number[]} values @param {number} percent */
function percentile(values, percent) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN;
}
