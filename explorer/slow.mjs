// Measures first visits as Lighthouse does, on a processor that is four times slower and, but for the editor of the playground,
// over Slow 4G: `node slow.mjs PROGRAM [ROUNDS]`. Serves the real catalog `community`, and the example to compare it with.
// Prints the median of the rounds and the load of the machine, which makes every time an upper bound, and ends with status 1
// where something takes more than its budget.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { launch } from "../playground/tests/setup.mjs";

const [program = "", rounds = "3"] = process.argv.slice(2);
const COMMUNITY = join(process.env.CATALOGQL_CORPUS ?? join(homedir(), ".cache/catalogql/corpus"), "community");
const EXAMPLE = join(import.meta.dirname, "../examples/catalog");

/** How much slower the processor is. */
const SLOWER = 4;

/** Slow 4G of Chromium's developer tools, which Lighthouse calls so too: milliseconds, and bytes in a second. */
const SLOW_4G = { offline: false, latency: 562.5, downloadThroughput: 180_000, uploadThroughput: 84_375 };

const FULL_SPEED = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 };

/** What a reader waits for is there so long after the navigation, in milliseconds. */
const LARGEST_PAINT = 2500;
const EDITOR = 1500;

/** Most bytes until the editor is there, and completes fields, as they are sent. */
const EDITOR_BYTES = 700_000;

/** @typedef {{ what: string, address: string, ready: string, isFast?: boolean, paint?: number, time?: number, bytes?: number }} View */

/** @type {View[]} */
const VIEWS = [
  { what: "list", address: "", ready: ".tile", paint: LARGEST_PAINT },
  { what: "search", address: "?q=kafka", ready: ".tile" },
  { what: "package", address: "?catalog=community&package=project-quay", ready: ".markdown" },
  { what: "updates", address: "?catalog=community&package=project-quay&tab=updates", ready: "[data-row]" },
  { what: "install", address: "?catalog=community&package=project-quay&tab=install", ready: "pre" },
  { what: "comparison of catalogs", address: "?diff=1&from=example&to=community", ready: ".differences > li" },
  { what: "playground, editor", address: "playground/", ready: ".query .cm-line", isFast: true, time: EDITOR, bytes: EDITOR_BYTES },
  { what: "playground, completion", address: "playground/", ready: ".query[data-ready]", isFast: true, bytes: EDITOR_BYTES },
  { what: "playground over Slow 4G, editor", address: "playground/", ready: ".query .cm-line" },
  { what: "playground over Slow 4G, completion", address: "playground/", ready: ".query[data-ready]" },
];

if (!existsSync(COMMUNITY)) throw new Error(`${COMMUNITY} is missing: CONTRIBUTING.md says what the corpus is`);
const store = mkdtempSync(join(tmpdir(), "catalogql-slow-"));
const server = spawn(program, ["serve", `community=${COMMUNITY}`, `example=${EXAMPLE}`, "--listen", "127.0.0.1:0", "--store", store], {
  stdio: ["ignore", "pipe", "ignore"],
});
const browser = await launch();
try {
  const root = await explorer();
  console.log(`${"first visit".padEnd(38)} ${"ready".padStart(7)} ${"largest".padStart(8)} ${"blocked".padStart(8)} ${"shift".padStart(6)} ${"kB".padStart(6)}  load`);
  for (const view of VIEWS) await measure(root, view);
} finally {
  await browser.close();
  server.kill();
  rmSync(store, { recursive: true, force: true });
}

/** @typedef {{ ready: number, largest: number, blocked: number, shift: number, bytes: number }} Visit */

/** Prints a view. @param {string} root @param {View} view */
async function measure(root, view) {
  /** @type {Visit[]} */
  const visits = [];
  for (let round = 0; round < Number(rounds); round++) visits.push(await visit(root, view));
  /** @param {(visit: Visit) => number} of */
  const median = (of) => visits.map(of).sort((one, other) => one - other)[Math.floor(visits.length / 2)] ?? Number.NaN;
  const { paint = Infinity, time = Infinity, bytes = Infinity } = view;
  const [ready, largest, size] = [median(({ ready }) => ready), median(({ largest }) => largest), median(({ bytes }) => bytes)];
  const over = [ready > time && `ready after ${time} ms`, largest > paint && `largest paint after ${paint} ms`, size > bytes && `more than ${bytes / 1000} kB`].filter(Boolean);
  if (over.length > 0) process.exitCode = 1;
  const numbers = [ready.toFixed(0).padStart(7), largest.toFixed(0).padStart(8), median(({ blocked }) => blocked).toFixed(0).padStart(8)];
  numbers.push(median(({ shift }) => shift).toFixed(3).padStart(6), (size / 1000).toFixed(0).padStart(6));
  console.log(`${view.what.padEnd(38)} ${numbers.join(" ")}  ${(loadavg()[0] ?? 0).toFixed(1)}${over.length > 0 ? `  OVER: ${over.join(", ")}` : ""}`);
}

/**
 * Visits a view with an empty cache. Times are in milliseconds from the navigation: until what the reader came for is there,
 * until the largest paint, and of that between the first paint and the end when nothing else could be done.
 *
 * @param {string} root
 * @param {View} view
 * @returns {Promise<Visit>}
 */
async function visit(root, { address, ready, isFast = false }) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  await page.addInitScript((ready) => {
    const noted = Object.assign(window, { noted: { ready: 0, largest: 0, blocked: 0, shift: 0 } }).noted;
    /** @param {string} type @param {(entry: any) => void} note */
    const observe = (type, note) => new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true });
    observe("largest-contentful-paint", ({ startTime }) => (noted.largest = startTime));
    observe("longtask", ({ duration }) => (noted.blocked += duration - 50));
    observe("layout-shift", ({ value, hadRecentInput }) => (noted.shift += hadRecentInput ? 0 : value));
    const look = () => {
      if (document.querySelector(ready)) noted.ready = performance.now();
      else requestAnimationFrame(look);
    };
    look();
  }, ready);
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await session.send("Network.emulateNetworkConditions", isFast ? FULL_SPEED : SLOW_4G);
  await session.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
  await page.goto(root + address, { waitUntil: "commit" });
  await page.locator(ready).first().waitFor();
  const sent = bytes;
  // The largest paint may be that of a picture, or of what follows.
  await page.waitForFunction(() => [...document.images].every(({ complete, y }) => complete || y > innerHeight));
  await page.evaluate(() => new Promise((rested) => requestIdleCallback(rested)));
  const noted = await page.evaluate(() => /** @type {any} */ (window).noted);
  await context.close();
  return { ...noted, bytes: sent };
}

/** The address of the explorer, once every catalog is served. */
async function explorer() {
  for await (const line of createInterface({ input: server.stdout })) {
    const found = line.match(/^Explorer at (http:\S+)$/)?.[1];
    if (found) return found;
  }
  throw new Error("usage: node slow.mjs PROGRAM [ROUNDS], PROGRAM built with the pages");
}
